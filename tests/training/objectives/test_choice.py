"""Objectives by name: ours, those of older runs, and those of other packages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from installed_package import installed_package
from reversal import Records, Reversal, tiny_model, translation
from worlds import ALONE

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.models import TransformerConfig
from dragoman.training.objectives import CrossEntropy, RDrop
from dragoman.training.objectives.choice import GROUP
from dragoman.training.settings import TrainingConfig
from dragoman.training.tasks import Objective
from dragoman.training.trainer import Trainer

PLUG_IN = """
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import Field

from dragoman.training.objectives import CrossEntropy, ObjectiveConfig


class FocusConfig(ObjectiveConfig):
    kind: str = "focus"
    power: float = Field(2.0, ge=0)

    def build(self, smoothing, model):
        return Focus(CrossEntropy(smoothing), self.power)


@dataclass(frozen=True)
class Focus:
    inner: CrossEntropy
    power: float
    totals = ("loss", "nll", "tokens")

    def backward(self, model, batch, scale):
        return self.inner.backward(model, batch, scale * self.power)

    def figures(self, totals):
        return self.inner.figures(totals)
"""


@pytest.fixture
def plug_in(tmp_path: Path) -> Iterator[None]:
    """A package of somebody else: one file, and one line of entry points."""
    entries = {
        "focus": "focus:FocusConfig",
        "broken": "no_such_module:X",
        "empty": "dragoman.training.objectives:ObjectiveConfig",
        "other": "json:JSONDecoder",
    }
    with installed_package(tmp_path / "site", "focus", PLUG_IN, GROUP, entries):
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
    training = config(kind="focus", power=3.0)
    values = json.loads(training.model_dump_json())
    assert values["objective"] == {"kind": "focus", "power": 3.0}
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
    with pytest.raises(ConfigError, match=r"objective\.power: Input should be greater than or"):
        config(kind="focus", power=-1)
    with pytest.raises(ConfigError, match=r"unknown key 'objective\.pwer'"):
        config(kind="focus", pwer=1)


@pytest.mark.usefixtures("plug_in")
def test_a_package_that_is_broken_is_named_and_costs_no_other() -> None:
    assert built(config(kind="r_drop")) == RDrop(0.1, 5.0)
    with pytest.raises(ConfigError, match=r"broken \(no_such_module:X of focus\) cannot be loaded"):
        config(kind="broken")
    with pytest.raises(ConfigError, match=r"other \(json:JSONDecoder of focus\) is not a subclass"):
        config(kind="other")
    with pytest.raises(ConfigError, match=r"empty .* is abstract without build; update"):
        config(kind="empty")
    with pytest.raises(ConfigError, match=r"one of .*'focus'.*'r_drop'.* did you mean 'focus'"):
        config(kind="focsu")
