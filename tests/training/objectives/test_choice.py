"""Objectives by name: ours, those of older runs, and those of other packages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from installed_package import installed_package
from reversal import Records, Reversal, tiny_model, translation
from worlds import ALONE

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.data.batches import make_batch
from dragoman.models import TransformerConfig
from dragoman.training.objectives import GROUP, CrossEntropy, RDrop, read_target
from dragoman.training.settings import TrainingConfig
from dragoman.training.tasks import Objective
from dragoman.training.trainer import Trainer

PAGE = (Path(__file__).parents[3] / "docs" / "objectives.md").read_text(encoding="utf-8")
PLUG_IN = PAGE.partition("```python\n")[2].partition("```")[0]


@pytest.fixture
def plug_in(tmp_path: Path) -> Iterator[None]:
    """A package of somebody else: one file, and one line of entry points."""
    entries = {
        "focal": "focal:FocalConfig",
        "broken": "no_such_module:X",
        "empty": "dragoman.training.objectives:ObjectiveConfig",
        "other": "json:JSONDecoder",
    }
    with installed_package(tmp_path / "site", "focal", PLUG_IN, GROUP, entries):
        yield


def config(**objective: object) -> TrainingConfig:
    return parse(TrainingConfig, {"objective": objective}, "run.yaml")


def built(training: TrainingConfig) -> Objective:
    return training.objective.build(training.label_smoothing, TransformerConfig())


def test_ours_are_chosen_by_kind() -> None:
    assert built(TrainingConfig()) == CrossEntropy(0.1)
    assert built(config()) == CrossEntropy(0.1)
    assert built(config(kind="r_drop")) == RDrop(0.1, 5.0)
    again = TrainingConfig.model_validate_json(config(kind="r_drop", alpha=3).model_dump_json())
    assert built(again) == RDrop(0.1, 3.0)


def test_older_runs_are_read() -> None:
    assert parse(TrainingConfig, {"r_drop": 0.0}, "run.yaml") == TrainingConfig()
    assert built(parse(TrainingConfig, {"r_drop": 4}, "run.yaml")) == RDrop(0.1, 4.0)
    both = {"r_drop": 4, "objective": {"kind": "r_drop"}}
    with pytest.raises(ConfigError, match="r_drop is an older name of objective"):
        parse(TrainingConfig, both, "run.yaml")


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ({"kind": "r_dorp"}, r"objective\.kind: .* found 'r_dorp'; did you mean 'r_drop'\?"),
        ({"kind": "r_drop", "alhpa": 1}, r"unknown key 'objective\.alhpa'; did you mean 'alpha'"),
        ({"kind": "r_drop", "alpha": -1}, r"objective\.alpha: Input should be greater than 0"),
        ({"alpha": 1}, r"unknown key 'objective\.alpha'"),
    ],
)
def test_wrong_ones_are_told(objective: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(**objective)
    with pytest.raises(ConfigError, match="objective: Input should be a section of keys"):
        parse(TrainingConfig, {"objective": "r_drop"}, "run.yaml")


@pytest.mark.usefixtures("plug_in")
def test_an_outsider_adds_one_in_a_file_and_a_line(tmp_path: Path) -> None:
    """It is named in a configuration with keys of its own, written into the run and read again."""
    training = config(kind="focal", gamma=3.0)
    values = json.loads(training.model_dump_json())
    assert values["objective"] == {"kind": "focal", "gamma": 3.0}
    again = parse(TrainingConfig, values, "run.yaml")
    objective = built(again)
    run = Trainer(
        tiny_model(),
        [translation(Reversal(), objective)],
        lambda model: {"loss": 1.0},
        again.model_copy(update={"max_steps": 2, "best_metric": "loss"}),
        tmp_path / "run",
        seed=5,
        d_model=16,
        world=ALONE,
    )
    run.observers = [records := Records()]
    assert run.train().step == 2
    assert records.of("validation")
    with pytest.raises(ConfigError, match=r"objective\.gamma: Input should be greater than or"):
        config(kind="focal", gamma=-1)
    with pytest.raises(ConfigError, match=r"unknown key 'objective\.gmma'"):
        config(kind="focal", gmma=1)


@pytest.mark.usefixtures("plug_in")
def test_the_page_shows_the_focal_loss() -> None:
    """Lin et al. 2017, equation 4; cross-entropy if gamma is 0."""
    model = tiny_model().eval()
    batch = make_batch([[5, 6, 7], [8]], [[7, 6, 5], [8]])
    hidden, gold, _ = read_target(model, batch)
    p = model.logits(hidden).double().softmax(-1).gather(-1, gold.unsqueeze(-1))
    for gamma in (0.0, 2.0):
        found = built(config(kind="focal", gamma=gamma)).backward(model, batch, 1.0)
        expected = -((1 - p) ** gamma * p.log()).sum()
        assert found["loss"].item() == pytest.approx(expected.item(), rel=1e-5)
        assert found["nll"].item() == pytest.approx(-p.log().sum().item(), rel=1e-5)


def test_an_objective_that_returns_no_totals_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CrossEntropy, "backward", lambda *_: {"loss": torch.zeros(())})
    run = Trainer(
        tiny_model(),
        [translation(Reversal(), CrossEntropy(0.1))],
        lambda model: {"loss": 1.0},
        TrainingConfig(max_steps=1, best_metric="loss"),
        tmp_path / "run",
        seed=5,
        d_model=16,
        world=ALONE,
    )
    with pytest.raises(ConfigError, match=r"CrossEntropy: backward returned no tensor nll, tokens"):
        run.train()


@pytest.mark.usefixtures("plug_in")
def test_a_package_that_is_broken_is_named_and_costs_no_other() -> None:
    assert built(config(kind="r_drop")) == RDrop(0.1, 5.0)
    with pytest.raises(ConfigError, match=r"broken \(no_such_module:X of focal\) cannot be loaded"):
        config(kind="broken")
    with pytest.raises(ConfigError, match=r"other \(json:JSONDecoder of focal\) is not a subclass"):
        config(kind="other")
    with pytest.raises(ConfigError, match=r"empty .* is abstract without build; update"):
        config(kind="empty")
    with pytest.raises(ConfigError, match=r"one of .*'focal'.*'r_drop'.* did you mean 'focal'"):
        config(kind="foacl")
