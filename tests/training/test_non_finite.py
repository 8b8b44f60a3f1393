"""Steps whose loss or gradient is not finite: skipped, and given up when they do not end."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from reversal import Records, Stopper, assert_same, weights

from dragoman.core.errors import InterruptedRunError, TrainingError
from dragoman.training.checkpoint import path_of
from dragoman.training.observers import MetricsFile, Record
from dragoman.training.trainer import Trainer

MakeTrainer = Callable[..., Trainer]


def poison(trainer: Trainer, steps: set[int], rollbacks: int | None = None) -> None:
    """Make the gradient of given steps infinite, until there were so many rollbacks."""
    collect = trainer.sharding.collect

    def collect_poison() -> None:
        collect()
        if trainer.progress.step in steps and trainer.progress.rollbacks != rollbacks:
            trainer.sharding.gradient[0] = float("nan")

    trainer.sharding.collect = collect_poison  # type: ignore[method-assign]


def test_a_non_finite_step_is_skipped(trainer: MakeTrainer, tmp_path: Path) -> None:
    run = trainer(checkpoint_steps=1, keep_checkpoints=12)
    run.observers = [records := Records()]
    poison(run, {6})
    run.train()
    assert_same(weights(tmp_path, 5), weights(tmp_path, 6))
    assert any(
        not torch.equal(a, b)
        for a, b in zip(weights(tmp_path, 6).values(), weights(tmp_path, 7).values(), strict=True)
    )
    (warning,) = records.of("warning")
    assert warning["step"] == 6
    assert "not finite" in warning["message"]


def test_persistent_non_finite_steps_roll_back(trainer: MakeTrainer) -> None:
    run = trainer(non_finite_steps=3, validation_steps=12)
    run.observers = [records := Records()]
    poison(run, {5, 6, 7})
    collect = run.sharding.collect

    def collect_then_heal() -> None:
        collect()
        if run.progress.rollbacks:
            run.sharding.gradient.nan_to_num_()

    run.sharding.collect = collect_then_heal  # type: ignore[method-assign]
    progress = run.train()
    assert progress.rollbacks == 1
    assert progress.learning_rate_factor == 0.5
    assert progress.step == 12
    assert "went back to the checkpoint of step 4" in records.of("warning")[-1]["message"]
    rates = {record["step"]: record["learning_rate"] for record in records.of("training")}
    assert rates[4] == pytest.approx(0.004)
    assert rates[9] == pytest.approx(0.5 * 0.009)


def test_after_a_rollback_each_step_is_told_once(trainer: MakeTrainer, tmp_path: Path) -> None:
    run = trainer(non_finite_steps=3, validation_steps=12)
    path = tmp_path / "metrics.jsonl"
    run.observers = [MetricsFile(path, 0), records := Records()]
    poison(run, {6, 7, 8}, rollbacks=1)
    run.train()
    told = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert told == records
    assert [record["step"] for record in records.of("training")] == list(range(1, 13))
    (warning,) = records.of("warning")
    assert warning["step"] == 4
    assert "up to step 8: went back to the checkpoint of step 4" in warning["message"]
    order = [record["step"] for record in told]
    assert order == sorted(order)


def test_after_a_rollback_figures_are_those_of_a_resumed_run(
    trainer: MakeTrainer, tmp_path: Path
) -> None:
    """Means, and the use of experts, hold nothing of the steps that were given up."""
    mixture = {"mixture": {"experts": 3}}
    choices = {"model": mixture, "log_steps": 4, "validation_steps": 12, "non_finite_steps": 2}
    back, resumed = (trainer(tmp_path / name, **choices) for name in ("back", "resumed"))
    back.observers = [found := Records()]
    poison(back, {6, 7}, rollbacks=1)
    back.train()
    kept = path_of(tmp_path / "back", 4)
    shutil.copytree(kept, path_of(tmp_path / "resumed", 4))
    resumed.resume()
    resumed.progress.rollbacks, resumed.progress.learning_rate_factor = 1, 0.5
    resumed.observers = [expected := Records()]
    resumed.train()
    clock = {"seconds", "tokens_per_second"}

    def figures(records: Records) -> list[Record]:
        return [{k: v for k, v in one.items() if k not in clock} for one in records.of("training")]

    assert figures(found)[1:] == figures(expected)
    assert [one["step"] for one in expected.of("training")] == [8, 12]


def ruined_at(trainer: Trainer, step: int) -> None:
    """Spoil the weights after a step, once: whatever follows is not finite."""
    finish = trainer.sharding.step
    done: list[int] = []

    def spoil(*given: Any, **named: Any) -> Any:
        result = finish(*given, **named)
        if trainer.progress.step == step and not done:
            done.append(step)
            with torch.no_grad():
                next(trainer.model.parameters()).fill_(float("nan"))
        return result

    trainer.sharding.step = spoil  # type: ignore[method-assign]


@pytest.mark.parametrize(("step", "keep", "rollbacks"), [(7, 1, 1), (7, 5, 1), (8, 5, 2)])
def test_it_goes_back_to_weights_that_are_sound(
    trainer: MakeTrainer, step: int, keep: int, rollbacks: int
) -> None:
    """Though the checkpoint of step 8 was written among the steps that were not, or before them."""
    run = trainer(
        non_finite_steps=3, validation_steps=12, keep_checkpoints=keep, average_checkpoints=1
    )
    run.observers = [records := Records()]
    ruined_at(run, step)
    progress = run.train()
    assert (progress.step, progress.rollbacks) == (12, rollbacks)
    assert "went back to the checkpoint of step 4" in records.of("warning")[-1]["message"]
    assert all(tensor.isfinite().all() for tensor in run.sharding.weights().values())


def poisoned(
    trainer: MakeTrainer, folder: Path, steps: set[int], **choices: int
) -> tuple[Trainer, Trainer, Trainer]:
    """Two trainers of one run, to stop and to resume, and the trained one of another."""
    stopped, resumed, whole = (
        trainer(folder / name, **choices) for name in ("parted", "parted", "whole")
    )
    for run in (stopped, resumed, whole):
        poison(run, steps, rollbacks=1)
    whole.train()
    return stopped, resumed, whole


def test_a_run_that_was_stopped_goes_back_as_far_as_one_that_was_not(
    trainer: MakeTrainer, tmp_path: Path
) -> None:
    choices = {"non_finite_steps": 2, "validation_steps": 12}
    stopped, resumed, _ = poisoned(trainer, tmp_path, {7, 8}, **choices)
    stopped.observers = [Stopper(6)]
    with pytest.raises(InterruptedRunError, match="step 6"):
        stopped.train()
    resumed.resume()
    resumed.observers = [records := Records()]
    resumed.train()
    assert "went back to the checkpoint of step 4" in records.of("warning")[0]["message"]
    assert_same(weights(tmp_path / "parted", 12), weights(tmp_path / "whole", 12))


def test_a_run_that_was_stopped_among_non_finite_steps_counts_on(
    trainer: MakeTrainer, tmp_path: Path
) -> None:
    choices = {"non_finite_steps": 3, "validation_steps": 12}
    stopped, resumed, whole = poisoned(trainer, tmp_path, {5, 6, 7}, **choices)
    stopped.observers = [Stopper(6, kind="warning")]
    with pytest.raises(InterruptedRunError, match="step 6"):
        stopped.train()
    assert resumed.resume()
    assert resumed.progress.rollbacks == 0
    resumed.train()
    assert (resumed.progress.rollbacks, whole.progress.rollbacks) == (1, 1)
    assert_same(weights(tmp_path / "parted", 12), weights(tmp_path / "whole", 12))


def test_a_validation_that_is_not_a_number_is_never_the_best(trainer: MakeTrainer) -> None:
    """As where the model overflows on a line of the dev set; whatever comes later is better."""
    values = iter([float("nan"), 3.0, float("nan"), 4.0])
    run = trainer(validate=lambda model: {"loss": next(values)}, validation_steps=3)
    best = run.train().best
    assert best is not None
    assert (best.value, best.step) == (3.0, 6)


def test_without_end_non_finite_is_an_error(trainer: MakeTrainer) -> None:
    run = trainer(non_finite_steps=2)
    poison(run, set(range(5, 1000)))
    with pytest.raises(TrainingError, match=r"non-finite after 3 rollbacks.*peak_learning_rate"):
        run.train()


def test_a_loss_that_is_not_finite_skips_the_step(
    trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the gradient be finite."""
    run = trainer(max_steps=2, checkpoint_steps=1)
    collect = run._gradients.collect

    def endless(*step: Any, **of: Any) -> list[torch.Tensor]:
        return [sums * torch.inf for sums in collect(*step, **of)]

    monkeypatch.setattr(run._gradients, "collect", endless)
    run.train()
    assert run.progress.target_tokens == 0
    assert_same(weights(tmp_path, 1), weights(tmp_path, 2))
