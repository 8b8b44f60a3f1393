"""Training resumes bit for bit, survives what goes wrong, and learns."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from reversal import Reversal

from dragoman.data.batches import Batch
from dragoman.errors import InterruptedRunError, SavedError, TrainingError
from dragoman.saved import read_tensors
from dragoman.training.checkpoint import checkpoints, path_of, read_checkpoint
from dragoman.training.progress import MetricsFile, Record
from dragoman.training.trainer import Trainer

MakeTrainer = Callable[..., Trainer]


class Records(list[Record]):
    """An observer that remembers."""

    def record(self, record: Record) -> None:
        self.append(record)

    def rewind(self, step: int) -> None:
        self[:] = [record for record in self if record["step"] <= step]

    def close(self) -> None:
        pass

    def of(self, kind: str) -> list[Record]:
        return [record for record in self if record["kind"] == kind]


def weights(run: Path, step: int) -> dict[str, torch.Tensor]:
    return read_tensors(path_of(run, step) / "model.safetensors")


def assert_same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> None:
    assert first.keys() == second.keys()
    different = [name for name in first if not torch.equal(first[name], second[name])]
    assert different == []


def test_learns_to_reverse(trainer: MakeTrainer) -> None:
    schedule = {"warmup_steps": 50, "peak_learning_rate": 0.02}
    run = trainer(dropout=0.0, max_steps=500, validation_steps=500, schedule=schedule)
    run.observers = [records := Records()]
    run.train()
    figures = records.of("training")
    assert figures[0]["nll"] > 2.5
    assert figures[-1]["nll"] < 0.5


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


@pytest.mark.parametrize(
    ("batches", "accumulation", "epochs"),
    [(Reversal(5), 1, 2), (Reversal(2, parts=3), 1, 1), (Reversal(3, parts=2), 2, 2)],
    ids=["one window", "windows", "windows that accumulation does not divide"],
)
@pytest.mark.parametrize("stop", [1, 4, 5, 10])
def test_resumed_equals_uninterrupted(
    trainer: MakeTrainer,
    tmp_path: Path,
    batches: Reversal,
    accumulation: int,
    epochs: int,
    stop: int,
) -> None:
    """Also when the stop is at the end of an epoch, of a window or at a checkpoint."""
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    run = trainer(whole, batches=batches, accumulation=accumulation)
    run.train()
    assert run.progress.epoch == epochs
    trainer(parted, batches=batches, accumulation=accumulation, max_steps=stop).train()
    second = trainer(parted, batches=batches, accumulation=accumulation)
    assert second.resume()
    second.train()
    assert_same(weights(parted, 12), weights(whole, 12))


def test_a_step_that_is_done_is_saved_before_the_next_batch(
    trainer: MakeTrainer, tmp_path: Path
) -> None:
    class Breaks(Reversal):
        def window(self, epoch: int, window: int, start: int = 0) -> Iterator[Batch]:
            yield from super().window(epoch, window, start)
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone"):
        trainer(batches=Breaks(4), checkpoint_steps=4).train()
    assert [path.name for path in checkpoints(tmp_path)] == ["step-000004"]


def test_accumulation_equals_a_larger_batch(trainer: MakeTrainer, tmp_path: Path) -> None:
    class Joined(Reversal):
        """Two batches of Reversal at a time, as one."""

        def window(self, epoch: int, window: int, start: int = 0) -> Iterator[Batch]:
            parts = list(Reversal(self.batches).window(epoch, window))
            for a, b in list(zip(parts[::2], parts[1::2], strict=True))[start:]:
                yield join(a, b)

    for run, batches, accumulation in (("many", Reversal(4), 2), ("one", Joined(4), 1)):
        trainer(
            tmp_path / run,
            batches=batches,
            accumulation=accumulation,
            dropout=0.0,
            max_steps=6,
            checkpoint_steps=6,
        ).train()
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

    names = ("source", "source_mask", "target_input", "target_output")
    tokens = a.target_tokens + b.target_tokens
    return Batch(**{n: cat(n) for n in names}, rows=torch.arange(32), target_tokens=tokens)


def test_killed_at_a_random_moment_and_resumed_equals_uninterrupted(
    trainer: MakeTrainer, tmp_path: Path
) -> None:
    """A real process, killed with SIGKILL wherever it happens to be, several times."""
    program = Path(__file__).with_name("train_reversal.py")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    trainer(whole, max_steps=60, checkpoint_steps=3, validation_steps=30).train()  # as it does
    chance = random.Random(time.time_ns())  # any moment must do
    for _ in range(2):
        with subprocess.Popen([sys.executable, program, killed], env=environment) as process:
            started = time.monotonic()
            while not checkpoints(killed) and time.monotonic() - started < 60:
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.5))
            process.kill()
    before = checkpoints(killed)
    assert before
    subprocess.run([sys.executable, program, killed], check=True, env=environment)
    last = checkpoints(whole)[-1].name
    assert checkpoints(killed)[-1].name == last
    assert not list(killed.glob("checkpoints/.*"))
    assert_same(
        read_tensors(killed / "checkpoints" / last / "model.safetensors"),
        read_tensors(whole / "checkpoints" / last / "model.safetensors"),
    )


def test_a_signal_saves_and_says_how_to_go_on(trainer: MakeTrainer, tmp_path: Path) -> None:
    class Signals(Reversal):
        def window(self, epoch: int, window: int, start: int = 0) -> Iterator[Batch]:
            for number, batch in enumerate(super().window(epoch, window, start)):
                if number == 2:
                    os.kill(os.getpid(), signal.SIGTERM)
                yield batch

    handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(InterruptedRunError, match=r"SIGTERM.*dragoman resume") as stopped:
        trainer(batches=Signals()).train()
    assert stopped.value.exit_code == 143
    assert signal.getsignal(signal.SIGTERM) is handler
    progress, _, _ = read_checkpoint(checkpoints(tmp_path)[-1])
    assert 1 <= progress.step <= 5
    assert progress.epoch * 5 + progress.batch == progress.step


def poison(trainer: Trainer, steps: set[int], rollbacks: int | None = None) -> None:
    """Make the gradient of given steps infinite, until there were so many rollbacks."""
    collect = trainer.optimizer.collect

    def collect_poison() -> None:
        collect()
        if trainer.progress.step in steps and trainer.progress.rollbacks != rollbacks:
            trainer.optimizer.gradient[0] = float("nan")

    trainer.optimizer.collect = collect_poison  # type: ignore[method-assign]


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
    collect = run.optimizer.collect

    def collect_then_heal() -> None:
        collect()
        if run.progress.rollbacks:
            run.optimizer.gradient.nan_to_num_()

    run.optimizer.collect = collect_then_heal  # type: ignore[method-assign]
    progress = run.train()
    assert progress.rollbacks == 1
    assert progress.learning_rate_factor == 0.5
    assert progress.step == 12
    assert "went back to the checkpoint of step 4" in records.of("warning")[-1]["message"]


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


def test_without_end_non_finite_is_an_error(trainer: MakeTrainer) -> None:
    run = trainer(non_finite_steps=2)
    poison(run, set(range(5, 1000)))
    with pytest.raises(TrainingError, match=r"non-finite after 3 rollbacks.*peak_learning_rate"):
        run.train()


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


def test_a_checkpoint_of_another_config_is_refused(trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer(max_steps=4).train()
    other = trainer(max_steps=4)
    torch.manual_seed(0)
    path = checkpoints(tmp_path)[-1] / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(SavedError, match=r"model\.safetensors: truncated or damaged"):
        other.resume()


def test_figures_of_a_step(trainer: MakeTrainer) -> None:
    run = trainer(max_steps=3)
    run.observers = [records := Records()]
    run.train()
    figures = records.of("training")
    assert [record["step"] for record in figures] == [1, 2, 3]
    assert figures[0]["learning_rate"] == pytest.approx(0.001)
    assert json.dumps(figures)
    tokens = sum(batch.target_tokens for batch in list(Reversal().window(0, 0))[:3])
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
