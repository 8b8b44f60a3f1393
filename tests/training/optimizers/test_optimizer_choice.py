"""Optimizers by name: ours, and those of other packages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from installed_package import installed_package
from reversal import SharedReversal, assert_same, tiny_model
from sharded_reversal import FILES, saved, sharded_trainer
from torch import nn
from worlds import ALONE, GlooThreads, gloo_together

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, SavedError
from dragoman.training.checkpoint import checkpoints
from dragoman.training.optimizers import GROUP
from dragoman.training.optimizers.interface import OptimizerConfig, Parameter
from dragoman.training.settings import TrainingConfig

PAGE = (Path(__file__).parents[3] / "docs" / "optimizers.md").read_text(encoding="utf-8")
PLUG_IN = PAGE.partition("```python\n")[2].partition("```")[0]
ADAFACTOR = {"kind": "adafactor", "weight_decay": 0.1, "clip_norm": 0.5}


@pytest.fixture(autouse=True)
def plug_in(tmp_path: Path) -> Iterator[None]:
    """A package of somebody else: one file, and one line of entry points."""
    entries = {"adafactor": "adafactor:AdafactorConfig"}
    with installed_package(tmp_path / "site", "adafactor", PLUG_IN, GROUP, entries):
        yield


def config(**optimizer: object) -> OptimizerConfig:
    return parse(TrainingConfig, {"optimizer": optimizer}, "run.yaml").optimizer


def test_kinds_have_their_own_keys() -> None:
    assert config() == config(kind="adam", beta2=0.98)
    with pytest.raises(ConfigError, match=r"unknown key 'optimizer\.beta1'"):
        config(kind="adafactor", beta1=0.9)
    with pytest.raises(ConfigError, match=r"optimizer\.kind: .* found 'adan'; did you mean 'adam'"):
        config(kind="adan")


def test_the_keys_keep_their_order_in_files() -> None:
    """A new key of every optimizer must not move those of older runs."""
    keys = ["kind", "beta1", "beta2", "epsilon", "weight_decay", "clip_norm"]
    assert list(config().model_dump()) == keys


def test_sharding_needs_an_elementwise_optimizer() -> None:
    values = {"optimizer": ADAFACTOR, "sharding": "state"}
    with pytest.raises(ConfigError, match=r"adafactor needs them whole; set sharding: none"):
        parse(TrainingConfig, values, "run.yaml")


def test_a_matrix_of_one_step_is_that_of_the_paper() -> None:
    """A rank-one matrix of squares is estimated exactly: the first update has only signs."""
    rows, columns = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, -5.0])
    values = torch.zeros(3, 2)
    values.grad = rows[:, None] * columns
    optimizer = config(kind="adafactor").build([Parameter(values, True)])
    optimizer.step(0.1)
    torch.testing.assert_close(values, -0.1 * values.grad.sign())
    assert {name: tuple(t.shape) for name, t in optimizer.state[0].items()} == {
        "rows": (3,),
        "columns": (2,),
    }


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_an_outsider_adds_adafactor_in_a_file_and_a_line(tmp_path: Path, precision: str) -> None:
    """It trains, is saved in matrix shapes, and a resumed run is the same, bit for bit."""

    def train(run: str) -> None:
        model = tiny_model(dropout=0.1)
        trainer = sharded_trainer(
            tmp_path / run, ALONE, model, optimizer=ADAFACTOR, precision=precision, ema_decay=0.9
        )
        trainer.train()

    train("whole")
    for checkpoint in checkpoints(tmp_path / "whole")[:-1]:
        shutil.copytree(checkpoint, tmp_path / "resumed" / "checkpoints" / checkpoint.name)
    train("resumed")
    for name in FILES:
        assert_same(saved(tmp_path / "whole", name), saved(tmp_path / "resumed", name))
    weights, moments = (saved(tmp_path / "whole", name) for name in FILES)
    fresh = dict(tiny_model().named_parameters())
    for name, values in weights.items():
        assert not torch.equal(values, fresh[name])
        shape = (values.shape[0],) if values.dim() == 2 else values.shape
        kind = "rows" if values.dim() == 2 else "second_moment"
        assert moments[f"{kind}.{name}"].shape == shape


def test_two_processes_learn_what_they_do_when_gradients_are_sent_earlier(tmp_path: Path) -> None:
    models = {when: [tiny_model(dropout=0.0) for _ in range(2)] for when in ("after", "during")}

    def train(when: str) -> None:
        def work(world: GlooThreads) -> None:
            values: dict[str, Any] = {"optimizer": ADAFACTOR, "send_gradients": when}
            model = models[when][world.rank]
            sharded_trainer(tmp_path / when, world, model, SharedReversal, **values).train()

        for process in gloo_together(2, work):
            process.result()

    train("after")
    train("during")
    for name in FILES:
        assert_same(saved(tmp_path / "after", name), saved(tmp_path / "during", name))


def test_a_checkpoint_of_another_optimizer_is_refused(tmp_path: Path) -> None:
    sharded_trainer(tmp_path / "run", ALONE, tiny_model(), max_steps=3).train()
    with pytest.raises(SavedError, match=r"rows\..* should be \[\d+\], found nothing"):
        sharded_trainer(tmp_path / "run", ALONE, tiny_model(), optimizer=ADAFACTOR)


def test_state_is_made_for_parameters_as_the_model_has_them() -> None:
    layer = nn.Linear(3, 5)
    optimizer = config(kind="adafactor").build(
        [Parameter(p.detach(), p.dim() == 2) for p in layer.parameters()]
    )
    shapes = [{name: tuple(t.shape) for name, t in state.items()} for state in optimizer.state]
    assert shapes == [{"rows": (5,), "columns": (3,)}, {"second_moment": (5,)}]
