"""State and gradients that are shared out: the same weights and checkpoints as of replicas.

The processes are threads, joined by gloo.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from reversal import SharedReversal, assert_same, tiny_config, tiny_model, translation
from torch import Tensor
from worlds import GlooThreads, gloo_together

from dragoman.data.batches import Batch
from dragoman.models.interface import TranslationModel
from dragoman.saved.model import read_tensors
from dragoman.training.checkpoint import checkpoints
from dragoman.training.chosen_optimizer import chosen_optimizer
from dragoman.training.gradient_sharding import GradientSharding
from dragoman.training.objectives import CrossEntropy
from dragoman.training.optimizer import Optimizer
from dragoman.training.tasks import Task
from dragoman.training.trainer import Trainer

SHARDINGS = ("state", "gradients")
FILES = ("model.safetensors", "optimizer.safetensors")
PART_NUMBERS = 300  # of 4,000 parameters


class Uneven(SharedReversal):
    """Some processes have two passes in a step, some one, and in every third step one has none."""

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
        for number, (batch,) in enumerate(super().window(epoch, window, start), start):
            if (number + self.world.rank) % 3 == 2:
                yield []
            elif self.world.rank == 0:
                rows = torch.arange(batch.sentences)
                yield [_rows(batch, rows[:3]), _rows(batch, rows[3:])]
            else:
                yield [batch]


def _rows(batch: Batch, rows: Tensor) -> Batch:
    target = batch.target_output[rows]
    return Batch(
        source=batch.source[rows],
        source_mask=batch.source_mask[rows],
        target_input=batch.target_input[rows],
        target_output=target,
        rows=rows,
        target_tokens=int((target != 0).sum()),
    )


def train(
    run: Path,
    size: int,
    sharding: str,
    steps: int = 7,
    stream: type[SharedReversal] = SharedReversal,
    **values: Any,
) -> list[GlooThreads]:
    """Train two tiny tasks, or go on with them, by so many processes."""
    models = [tiny_model(dropout=0.0) for _ in range(size)]  # threads share a generator
    worlds: list[GlooThreads] = []

    def work(world: GlooThreads) -> None:
        settings = {"max_steps": steps, "validation_steps": 4, "checkpoint_steps": 3, **values}
        config = tiny_config(sharding=sharding, **settings)

        def optimizer(model: TranslationModel) -> Optimizer:
            precision = torch.bfloat16 if config.precision == "bfloat16" else torch.float32
            if sharding == "gradients" and size > 1:
                own = config.optimizer, precision, config.ema_decay
                return GradientSharding(model, *own, world=world, part_numbers=PART_NUMBERS)
            return chosen_optimizer(config, world)(model)

        trainer = Trainer(
            models[world.rank],
            [
                translation(stream(world)),
                Task("other", SharedReversal(world), CrossEntropy(0.0), 0.5),
            ],
            loss_of,
            config,
            run,
            seed=5,
            d_model=16,
            world=world,
            make_optimizer=optimizer,
        )
        trainer.resume()
        trainer.train()
        worlds.append(world)

    for one in gloo_together(size, work):
        one.result()
    return worlds


def loss_of(model: TranslationModel) -> dict[str, float]:
    """A figure of the weights that are validated: it goes into the checkpoint."""
    return {"loss": float(sum(p.detach().double().sum() for p in model.parameters()))}


def saved(run: Path, name: str = FILES[0]) -> dict[str, Tensor]:
    return read_tensors(checkpoints(run)[-1] / name)


def assert_close(run: Path, other: Path, names: Sequence[str] = FILES) -> None:
    for name in names:
        first, second = saved(run, name), saved(other, name)
        assert first.keys() == second.keys()
        for key, values in first.items():
            torch.testing.assert_close(second[key], values, rtol=1e-3, atol=1e-5, msg=key)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_two_processes_learn_what_replicas_do_bit_for_bit(tmp_path: Path, precision: str) -> None:
    """A sum of two does not depend on their order."""
    values = {"precision": precision, "ema_decay": 0.9, "optimizer": {"weight_decay": 0.1}}
    train(tmp_path / "none", 2, "none", **values)
    train(tmp_path / "state", 2, "state", **values)
    for name in FILES:
        assert_same(saved(tmp_path / "none", name), saved(tmp_path / "state", name))
    # Two tasks are two passes, whose sums are added up in another order.
    train(tmp_path / "gradients", 2, "gradients", **values)
    if precision == "float32":
        assert_close(tmp_path / "none", tmp_path / "gradients")


@pytest.mark.parametrize("sharding", SHARDINGS)
def test_a_clipped_gradient_has_the_norm_of_all_shares(tmp_path: Path, sharding: str) -> None:
    values: dict[str, Any] = {"optimizer": {"clip_norm": 0.05}}
    train(tmp_path / "none", 2, "none", **values)
    train(tmp_path / sharding, 2, sharding, **values)
    assert_close(tmp_path / "none", tmp_path / sharding)


@pytest.mark.parametrize("sharding", SHARDINGS)
def test_a_run_goes_on_whoever_kept_what(tmp_path: Path, sharding: str) -> None:
    """Bit for bit with as many processes; within rounding by three, and by one without shares."""
    train(tmp_path / "whole", 2, sharding)
    for size, kind in ((2, sharding), (3, sharding), (1, sharding), (2, "none")):
        run = tmp_path / f"{size}-{kind}"
        train(run, 2, sharding, steps=4)
        train(run, size, kind)
        if (size, kind) == (2, sharding):
            for name in FILES:
                assert_same(saved(tmp_path / "whole", name), saved(run, name))
        else:
            assert_close(tmp_path / "whole", run)


@pytest.mark.parametrize("sharding", SHARDINGS)
def test_processes_with_fewer_batches_or_none_take_part(tmp_path: Path, sharding: str) -> None:
    train(tmp_path / "none", 3, "none", stream=Uneven)
    train(tmp_path / sharding, 3, sharding, stream=Uneven)
    assert_close(tmp_path / "none", tmp_path / sharding)
