"""Training learns, and says how it goes."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from itertools import combinations, count
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from reversal import Records, Reversal, weights
from torch.nn.functional import cross_entropy

from dragoman.data.batches import Batch
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.dropout import Dropout
from dragoman.text.vocabularies import PAD
from dragoman.training.checkpoint import Progress, checkpoints, read_progress, step_of
from dragoman.training.distributed import World
from dragoman.training.trainer import Trainer

MakeTrainer = Callable[..., Trainer]


@pytest.mark.no_cover
def test_learns_to_reverse(trainer: MakeTrainer) -> None:
    schedule = {"warmup_steps": 50, "peak_learning_rate": 0.02}
    once = dict.fromkeys(("max_steps", "validation_steps", "checkpoint_steps"), 320)
    run = trainer(dropout=0.0, schedule=schedule, **once)
    run.observers = [records := Records()]
    run.train()
    figures = records.of("training")
    assert figures[0]["nll"] > 2.5
    assert figures[-1]["nll"] < 1.0  # five seeds end between 0.4 and 0.9


@pytest.mark.no_cover
def test_learns_in_bfloat16_what_it_learns_in_float32(trainer: MakeTrainer, tmp_path: Path) -> None:
    losses = {}
    for precision in ("float32", "bfloat16"):
        run = trainer(tmp_path / precision, precision=precision, max_steps=60)
        run.observers = [records := Records()]
        run.train()
        losses[precision] = [record["nll"] for record in records.of("training")]
        saved = weights(tmp_path / precision, 60)
        assert {tensor.dtype for tensor in saved.values()} == {torch.float32}
    assert losses["bfloat16"] != losses["float32"]
    assert losses["bfloat16"][-1] == pytest.approx(losses["float32"][-1], rel=0.03)
    assert losses["float32"][-1] < 0.9 * losses["float32"][0]


def test_several_passes_equal_one_joint_batch(trainer: MakeTrainer, tmp_path: Path) -> None:
    class Joined(Reversal):
        """Two batches of Reversal at a time, as one."""

        def all_batches(self, epoch: int = 0, window: int = 0, start: int = 0) -> Iterator[Batch]:
            parts = list(Reversal(2 * self.steps).all_batches(epoch, window))
            for a, b in list(zip(parts[::2], parts[1::2], strict=True))[start:]:
                yield join(a, b)

    for run, stream in (("many", Reversal(2, passes=2)), ("one", Joined(2))):
        settings = {"dropout": 0.0, "max_steps": 6, "checkpoint_steps": 6}
        trainer(tmp_path / run, stream=stream, **settings).train()
    many, one = weights(tmp_path / "many", 6), weights(tmp_path / "one", 6)
    for name, values in many.items():
        torch.testing.assert_close(values, one[name], rtol=1e-3, atol=1e-5)


def join(a: Batch, b: Batch) -> Batch:
    def cat(name: str) -> torch.Tensor:
        first, second = getattr(a, name), getattr(b, name)
        width = max(first.shape[1], second.shape[1])
        padded = [
            torch.nn.functional.pad(part, (0, width - part.shape[1])) for part in (first, second)
        ]
        return torch.cat(padded)

    return Batch(
        source=cat("source"),
        source_mask=cat("source_mask"),
        target_input=cat("target_input"),
        target_output=cat("target_output"),
        rows=torch.arange(32),
        target_tokens=a.target_tokens + b.target_tokens,
    )


def test_patience_stops_and_the_best_is_kept(trainer: MakeTrainer, tmp_path: Path) -> None:
    losses = iter([3.0, 1.0, 2.0, 2.5, 0.5])
    run = trainer(
        validate=lambda model: {"loss": next(losses)},
        max_steps=50,
        validation_steps=2,
        checkpoint_steps=2,
        keep_checkpoints=1,
        average_checkpoints=1,
        patience=2,
    )
    progress = run.train()
    assert progress.step == 8
    assert progress.best is not None
    assert (progress.best.step, progress.best.value) == (4, 1.0)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-000004", "step-000008"]


def test_patience_counts_validations_in_a_row_without_a_better_one(trainer: MakeTrainer) -> None:
    losses = iter([3.0, 4.0, 1.0, 2.0, 0.5, 0.6, 0.7, 0.1])
    choices = {"max_steps": 50, "validation_steps": 2, "checkpoint_steps": 2, "patience": 2}
    progress = trainer(validate=lambda model: {"loss": next(losses)}, **choices).train()
    assert progress.step == 14
    assert progress.best is not None
    assert progress.best.value == 0.5
    assert progress.stale_validations == 2


@pytest.mark.parametrize(
    ("limit", "steps"), [({"max_epochs": 2}, 10), ({"max_minutes": 1e-9}, 2), ({"max_steps": 3}, 3)]
)
def test_limits_and_the_last_step_is_validated(
    trainer: MakeTrainer, limit: dict[str, float], steps: int
) -> None:
    """Processes agree on the time with the next step, hence one more."""
    choices = {"max_steps": None, "validation_steps": 100, "checkpoint_steps": steps, **limit}
    records = Records()
    for _ in range(2):  # what is resumed when it is finished stays as it is
        run = trainer(**choices)
        run.observers = [records]
        run.resume()
        assert run.train().step == steps
    assert [record["step"] for record in records.of("validation")] == [steps]


def test_the_end_of_the_last_epoch_is_saved(trainer: MakeTrainer, tmp_path: Path) -> None:
    """Also where its last step is validated before the epoch is known to end."""
    choices = {"max_steps": None, "max_epochs": 2, "validation_steps": 5, "checkpoint_steps": 5}
    run = trainer(**choices)
    run.observers = [records := Records()]
    assert run.train().epoch == 2
    saved = read_progress(checkpoints(tmp_path)[-1])
    assert (saved.step, saved.epoch) == (10, 2)
    assert run._config.limit_reached(saved) == "max_epochs"
    assert [record["step"] for record in records.of("validation")] == [5, 10]


def test_figures_of_a_step(trainer: MakeTrainer) -> None:
    run = trainer(max_steps=3)
    run.observers = [records := Records()]
    run.train()
    figures = records.of("training")
    assert [record["step"] for record in figures] == [1, 2, 3]
    assert figures[0]["learning_rate"] == pytest.approx(0.001)
    assert json.dumps(figures)
    tokens = sum(batch.target_tokens for batch in list(Reversal().all_batches())[:3])
    assert figures[-1]["target_tokens"] == tokens


def test_the_log_tells_how_evenly_experts_are_used(trainer: MakeTrainer) -> None:
    run = trainer(model={"mixture": {"experts": 3}}, max_steps=4, log_steps=2)
    run.observers = [records := Records()]
    run.train()
    for record in records.of("training"):
        assert 0 <= record["least_used_expert"] <= 2 / 3 <= record["most_used_expert"] <= 1
        assert record["expert_load_variation"] >= 0
        assert record["expert_importance_variation"] >= 0
    assert json.dumps(records.of("training"))
    plain = trainer(max_steps=1)
    plain.observers = [others := Records()]
    plain.train()
    assert not any("expert" in name for name in others.of("training")[0])


def masks_of(run: Trainer) -> list[torch.Tensor]:
    """What the first dropout of each step keeps, once the run has been trained."""
    kept: list[torch.Tensor] = []

    def note(module: torch.nn.Module, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
        if module.training:
            kept.append(output != 0)

    first = next(module for module in run.model.modules() if isinstance(module, Dropout))
    first.register_forward_hook(note)
    run.train()
    return kept


def test_dropout_differs_by_step_and_by_process(trainer: MakeTrainer, tmp_path: Path) -> None:
    class Same(Reversal):
        """One batch again and again."""

        def all_batches(self, epoch: int = 0, window: int = 0, start: int = 0) -> Iterator[Batch]:
            (batch,) = Reversal(1).all_batches()
            yield from [batch] * (self.steps - start)

    runs = [trainer(tmp_path / name, stream=Same(), max_steps=3) for name in ("first", "second")]
    runs[1]._world = World(1, 1, torch.device("cpu"))  # another rank; there is no one to sum with
    kept = [mask for run in runs for mask in masks_of(run)]
    assert len(kept) == 6
    assert not any(torch.equal(a, b) for a, b in combinations(kept, 2))


def test_validation_sees_the_model_as_it_is_used(trainer: MakeTrainer) -> None:
    """Without dropout, and training has it again afterwards."""
    modes: list[bool] = []

    def validate(model: TranslationModel) -> dict[str, float]:
        modes.append(model.training)
        return {"loss": 1.0}

    run = trainer(validate=validate, max_steps=4, validation_steps=2)
    assert len(masks_of(run)) == 4
    assert modes == [False, False]


def test_figures_of_the_first_step_are_pytorchs(trainer: MakeTrainer) -> None:
    """Loss with smoothing, likelihood and gradient norm, a token; the rate of equation 3."""
    schedule = {"warmup_steps": 10}
    run = trainer(dropout=0.0, label_smoothing=0.3, schedule=schedule, max_steps=1)
    run.observers = [records := Records()]
    reference = copy.deepcopy(run.model).double()
    (batch,) = Reversal(1).all_batches()
    memory = reference.encode(batch.source, batch.source_mask)
    hidden, _ = reference.decode(batch.target_input, memory, reference.start(memory))
    logits, gold = reference.logits(hidden).flatten(0, 1), batch.target_output.flatten()
    loss, nll = (
        cross_entropy(logits, gold, ignore_index=PAD, label_smoothing=smoothing)
        for smoothing in (0.3, 0.0)
    )
    norm = torch.stack(
        [g.norm() for g in torch.autograd.grad(loss, list(reference.parameters()))]
    ).norm()
    run.train()
    (figures,) = records.of("training")
    assert figures["loss"] == pytest.approx(loss.item(), rel=1e-5)
    assert figures["nll"] == pytest.approx(nll.item(), rel=1e-5)
    assert figures["perplexity"] == pytest.approx(nll.exp().item(), rel=1e-5)
    assert figures["gradient_norm"] == pytest.approx(norm.item(), rel=1e-4)
    assert figures["learning_rate"] == pytest.approx(16**-0.5 * 10**-1.5)
    assert run.progress.early_losses == [figures["nll"]]


@pytest.mark.parametrize(("metric", "sign"), [("bleu", 1), ("chrf", 1), ("ter", -1), ("loss", -1)])
def test_an_equal_score_is_no_better(trainer: MakeTrainer, metric: str, sign: int) -> None:
    """Higher ones are, but for the loss."""
    scores = iter([3.0, 5.0, 5.0, 4.0, 9.0])
    run = trainer(
        validate=lambda model: {"loss": 1.0, metric: sign * next(scores)},
        best_metric=metric,
        max_steps=50,
        validation_steps=1,
        patience=2,
    )
    progress = run.train()
    assert progress.step == 4
    assert progress.best is not None
    assert (progress.best.step, progress.best.value) == (2, sign * 5.0)


@pytest.mark.parametrize(
    ("metric", "measured", "best"),
    [("bleu", "a", (1, 9.0)), ("bleu", "b", (3, 4.0)), ("loss", "b", (1, 1.0))],
)
def test_scores_that_were_measured_otherwise_are_not_compared(
    trainer: MakeTrainer, metric: str, measured: str, best: tuple[int, float]
) -> None:
    """But the loss does not depend on how translations are made and scored."""
    scores = iter([9.0, 3.0, 4.0, 3.5])
    for settings, steps in (("a", 1), (measured, 4)):
        run = trainer(
            validate=lambda model: {"loss": 1.0, "bleu": next(scores)},
            best_metric=metric,
            max_steps=steps,
            validation_steps=1,
            checkpoint_steps=1,
            measured=settings,
        )
        run.resume()
        progress = run.train()
    assert progress.best is not None
    assert (progress.best.step, progress.best.value) == best
    assert progress.best.measured == (measured if best[0] > 1 else "a")


def test_minutes_are_counted_over_all_steps(
    trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that says a quarter of a minute for each step."""
    clock = SimpleNamespace(perf_counter=count(step=15).__next__)
    monkeypatch.setattr("dragoman.training.trainer.time", clock)
    progress = trainer(max_steps=None, max_minutes=1).train()
    assert progress.step == 5  # the time of a step is agreed on with the next one
    assert progress.seconds == 60


def test_a_decay_ends_in_time_and_goes_on_exactly(
    trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock of 15 seconds a step, of which 3 minutes are 12; the run plans 40."""
    settings = {
        "schedule": {"warmup_steps": 2, "peak_learning_rate": 0.01, "decay": "linear"},
        **{"max_steps": 40, "max_minutes": 3, "checkpoint_steps": 2, "keep_checkpoints": 20},
        "log_steps": 1,
    }

    def trained(name: str) -> tuple[Progress, Records]:
        clock = SimpleNamespace(perf_counter=count(step=15).__next__)
        monkeypatch.setattr("dragoman.training.trainer.time", clock)
        run, records = trainer(tmp_path / name, **settings), Records()
        run.observers = [records]
        run.resume()
        return run.train(), records

    progress, records = trained("whole")
    assert progress.end is not None
    assert progress.step == progress.end.last < 15  # the time of a step is known with the next one
    rates = [record["learning_rate"] for record in records.of("training")]
    assert rates[-1] == pytest.approx(0, abs=1e-9)
    assert "3 minutes are enough for" in records.of("warning")[0]["message"]

    decided = checkpoints(tmp_path / "whole")[3]
    shutil.copytree(decided, tmp_path / "copy" / "checkpoints" / decided.name)
    assert read_progress(decided).end is not None
    trained("copy")
    step = step_of(decided) + 2
    for name, values in weights(tmp_path / "whole", step).items():
        assert torch.equal(values, weights(tmp_path / "copy", step)[name])


def test_a_run_that_learns_nothing_is_told(
    trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "dragoman.training.trainer.learns_nothing",
        lambda early, loss, step: f"{len(early)} losses up to step {step}",
    )
    run = trainer(max_steps=2)
    run.observers = [records := Records()]
    run.train()
    told = [record["message"] for record in records.of("warning")]
    assert told == ["1 losses up to step 1", "2 losses up to step 2"]
    started = trainer(tmp_path / "started", max_steps=2, start_from="another")
    started.observers = [records := Records()]
    started.train()
    assert records.of("training") and not records.of("warning"), "it has little left to gain"
