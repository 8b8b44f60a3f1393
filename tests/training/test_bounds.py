"""Training ends where a dev set has lost more than it may, and the model is from before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reversal import Records, Reversal, assert_same, tiny_config, tiny_model, translation, weights
from worlds import ALONE

from dragoman.models.interface import TranslationModel
from dragoman.training.bounds import BoundConfig, Watched, unfit_bounds
from dragoman.training.checkpoint import checkpoints, chosen_checkpoints, read_progress, step_of
from dragoman.training.trainer import Trainer

BOUNDS = {"general": {"may_lose": 1.0, "patience": 0}}
KEEP_ONE = {"keep_checkpoints": 1, "average_checkpoints": 0}


class Validations:
    """Given scores of the general set, one at each validation; the domain always improves."""

    def __init__(self, general: Sequence[float]) -> None:
        self.general, self.count = general, 0

    def __call__(self, model: TranslationModel) -> dict[str, float]:
        value = self.general[self.count]
        self.count += 1
        return {"loss": 9.0 - self.count, "chrf/dev_general": value}


def trainer(run: Path, general: Sequence[float], **values: object) -> Trainer:
    return Trainer(
        tiny_model(),
        [translation(Reversal())],
        Validations(general),
        tiny_config(**{"validation_steps": 2, "checkpoint_steps": 2, **values}),
        run,
        seed=3,
        d_model=16,
        world=ALONE,
        observers=[Records()],
    )


def test_it_ends_outside_of_the_bound_and_keeps_what_was_within(tmp_path: Path) -> None:
    one = trainer(tmp_path, [50, 49.5, 49, 48.9, 60], bounds=BOUNDS, **KEEP_ONE)
    assert one.train().step == 6
    (records,) = one.observers
    assert isinstance(records, Records)
    near, warning = records.of("warning")
    assert "near at step 4: general: chrF 50.00 -> 49.00, may lose 1" in near["message"]
    assert "stopped at step 6: general: chrF 50.00 -> 48.90, may lose 1" in warning["message"]
    assert [record["step"] for record in records.of("validation")] == [0, 2, 4, 6]
    (newest,) = chosen_checkpoints(tmp_path, 1)
    (best,) = chosen_checkpoints(tmp_path, 0)
    assert step_of(newest) == step_of(best) == 4, "a loss of exactly the bound is within it"
    assert [step_of(path) for path in checkpoints(tmp_path)] == [0, 4, 6]


def test_a_loss_may_count_from_a_given_score(tmp_path: Path) -> None:
    given = {"general": {"may_lose": 1.0, "before": 50.0}}
    one = trainer(tmp_path, [48.5, 48.9, 49.2], bounds=given, max_steps=4, **KEEP_ONE)
    one.train()
    (records,) = one.observers
    assert isinstance(records, Records)
    first, second = [str(record["message"]) for record in records.of("warning")]
    assert first == (
        "training.bounds: outside before the first step: general: chrF 50.00 -> 48.50, may lose 1"
    )
    assert "outside at step 2: general: chrF 50.00 -> 48.90, may lose 1" in second
    (best,) = chosen_checkpoints(tmp_path, 0)
    assert step_of(best) == 4


def test_where_no_step_is_within_the_first_is_the_model(tmp_path: Path) -> None:
    given = {"general": {"may_lose": 1.0, "before": 50.0, "patience": 1}}
    one = trainer(tmp_path, [48, 48, 48, 60], bounds=given, **KEEP_ONE)
    assert one.train().step == 4, "the state before the first step is not counted"
    (records,) = one.observers
    assert isinstance(records, Records)
    assert str(records.of("warning")[-1]["message"]).endswith("may lose 1; no step was within")
    for count in (0, 1):
        (chosen,) = chosen_checkpoints(tmp_path, count)
        assert step_of(chosen) == 0
    watched = read_progress(checkpoints(tmp_path)[-1]).watched
    assert watched is not None and watched.kept_step is None


def test_it_warns_once_when_the_bound_is_near(tmp_path: Path) -> None:
    """Also where it was stopped in between; outside of the bound says more, and is not near."""
    general = [50, 49.31, 49.29, 50, 49, 48, 49.2, 49]
    patient = {"general": {"may_lose": 1.0}}
    one = trainer(tmp_path, general[:4], bounds=patient, max_steps=6, **KEEP_ONE)
    one.train()
    later = trainer(tmp_path, general[4:], bounds=patient, max_steps=14, **KEEP_ONE)
    assert later.resume()
    later.train()
    told = []
    for (records,) in (one.observers, later.observers):
        assert isinstance(records, Records)
        told += [str(record["message"]) for record in records.of("warning")]
    near, outside = told
    assert near == ("training.bounds: near at step 4: general: chrF 50.00 -> 49.29, may lose 1")
    assert "outside at step 10" in outside


def test_a_loss_that_went_past_the_bound_at_once_was_not_near_it(tmp_path: Path) -> None:
    one = trainer(tmp_path, [50, 48, 49.2], bounds={"general": {"may_lose": 1.0}}, max_steps=4)
    one.train()
    (records,) = one.observers
    assert isinstance(records, Records)
    (warning,) = records.of("warning")
    assert "outside at step 2" in warning["message"]


def test_it_ends_when_the_loss_does_not_pass(tmp_path: Path) -> None:
    general = [50, 48, 48.9, 49.2, 48, 48, 48, 60]
    patient = {"general": {"may_lose": 1.0}}
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    one = trainer(whole, general, bounds=patient, **KEEP_ONE)
    assert one.train().step == 12, "the third in a row"
    (records,) = one.observers
    assert isinstance(records, Records)
    warnings = [str(record["message"]) for record in records.of("warning")]
    assert [("goes on" in text) for text in warnings] == [True, True, True, True, False]
    assert "outside at step 2: general: chrF 50.00 -> 48.00, may lose 1" in warnings[0]
    for count in (0, 1):
        (chosen,) = chosen_checkpoints(whole, count)
        assert step_of(chosen) == 6, "the only one within"
    trainer(parted, general[:6], bounds=patient, max_steps=10, **KEEP_ONE).train()
    later = trainer(parted, general[6:], bounds=patient, max_steps=20, **KEEP_ONE)
    assert later.resume()
    assert later.train().step == 12
    assert_same(weights(parted, 12), weights(whole, 12))


def test_the_newest_within_the_bound_is_kept_beside_the_best(tmp_path: Path) -> None:
    values = {"bounds": BOUNDS, "keep_checkpoints": 1, "average_checkpoints": 1}
    one = trainer(tmp_path, [50, 49.5, 49, 48.9], **values)
    validate = one._validate
    one._validate = lambda model: {**validate(model), "loss": 1.0}
    one.train()
    assert [step_of(path) for path in checkpoints(tmp_path)] == [0, 4, 6]
    (newest,) = chosen_checkpoints(tmp_path, 1)
    assert step_of(newest) == 4


def test_a_bound_that_cannot_be_met_leaves_the_weights_as_they_were(tmp_path: Path) -> None:
    one = trainer(tmp_path, [50, 40], bounds=BOUNDS, **KEEP_ONE)
    before = {name: value.clone() for name, value in one.sharding.weights().items()}
    one.train()
    (chosen,) = chosen_checkpoints(tmp_path, 0)
    assert step_of(chosen) == 0
    assert_same(weights(tmp_path, 0), before)


def test_it_resumes_as_if_uninterrupted(tmp_path: Path) -> None:
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    general = [50.0, 49.9, 49.8, 49.7, 40]
    trainer(whole, general, bounds=BOUNDS, max_steps=20).train()
    trainer(parted, general[:3], bounds=BOUNDS, max_steps=4).train()
    later = trainer(parted, general[3:], bounds=BOUNDS, max_steps=20)
    assert later.resume()
    assert later.train().step == 8
    assert_same(weights(parted, 8), weights(whole, 8))
    assert read_progress(checkpoints(parted)[-1]).watched == Watched(
        {"general": 50.0}, {"general": 40.0}, 6, {"general": 1}, {"general": 8}
    )


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_is_outside(bad: float, tmp_path: Path) -> None:
    """And the run can be resumed all the same."""
    bounds = {"general": {"may_lose": 1.0, "metric": "loss"}}
    losses = iter([2.0, bad, 2.5])

    def validate(model: TranslationModel) -> dict[str, float]:
        return {"loss": 1.0, "loss/dev_general": next(losses)}

    one, later = (trainer(tmp_path, [], bounds=bounds, max_steps=n, **KEEP_ONE) for n in (2, 4))
    one._validate = later._validate = validate
    one.train()
    assert one.progress.watched is not None
    assert (one.progress.watched.kept_step, one.progress.watched.outside) == (0, {"general": 1})
    assert later.resume()
    watched = later.train().watched
    assert watched is not None
    assert (watched.kept_step, watched.outside) == (4, {})


def test_with_another_metric_nothing_outside_becomes_the_model(tmp_path: Path) -> None:
    """The best so far is forgotten, and none outside of the bound is the best of the new metric."""
    values = {"bounds": {"general": {"may_lose": 1.0}}, **KEEP_ONE}
    trainer(tmp_path, [50.0, 49.9, 49.8], max_steps=4, **values).train()
    later = trainer(tmp_path, [], best_metric="chrf", max_steps=8, **values)
    later._validate = lambda model: {"loss": 1.0, "chrf": 20.0, "chrf/dev_general": 40.0}
    assert later.resume()
    assert later.train().best is None
    (chosen,) = chosen_checkpoints(tmp_path, 0)
    assert step_of(chosen) == 4


def test_runs_without_bounds_are_as_before(tmp_path: Path) -> None:
    trainer(tmp_path, [50.0] * 7).train()
    assert step_of(checkpoints(tmp_path)[0]) > 0, "no validation before it"
    state = json.loads((checkpoints(tmp_path)[-1] / "state.json").read_text(encoding="utf-8"))
    assert "watched" not in state, "an older release would refuse it"


@given(st.floats(-100, 100), st.floats(-100, 100), st.sampled_from(["chrf", "loss"]))
def test_losing_is_becoming_worse(before: float, now: float, metric: str) -> None:
    bound = BoundConfig.model_validate({"may_lose": 0, "metric": metric})
    assert (bound.lost(before, now) > 0) == (now < before if metric == "chrf" else now > before)


@pytest.mark.parametrize(
    ("sets", "metrics", "averaged", "problem"),
    [
        (["domain", "general"], ["chrf"], 0, None),
        ([], ["chrf"], 0, "no dev set in data.dev has this name; give data.dev sets by name"),
        (["domain", "other"], ["chrf"], 0, "names there: domain, other"),
        (["general"], ["chrf"], 0, "every dev set is bounded"),
        (["domain", "general"], ["bleu"], 0, "chrf is not among evaluation.metrics"),
        (["domain", "general"], ["chrf"], 5, "5 checkpoints would be averaged"),
    ],
)
def test_bounds_that_do_not_fit(
    sets: list[str], metrics: list[str], averaged: int, problem: str | None
) -> None:
    found = list(unfit_bounds({"general": BoundConfig(may_lose=1)}, sets, metrics, averaged))
    assert len(found) == (problem is not None)
    assert problem is None or problem in found[0]
