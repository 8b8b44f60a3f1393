"""A run that was stopped or killed goes on as if it had not been, bit for bit."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from forked import forked_program
from reversal import Records, Reversal, Stopper, assert_same, two_tasks, weights

from dragoman.core.errors import InterruptedRunError, SavedError, StorageError
from dragoman.data.batches import Batch
from dragoman.models.interface import TranslationModel
from dragoman.saved.weights import read_tensors
from dragoman.training.checkpoint import Best, Place, checkpoints, read_checkpoint, read_progress
from dragoman.training.observers import Record
from dragoman.training.trainer import Trainer

MakeTrainer = Callable[..., Trainer]


@pytest.mark.parametrize(
    ("stream", "epochs"),
    [(Reversal(5), 2), (Reversal(2, parts=3), 1), (Reversal(3, parts=2, passes=2), 1)],
    ids=["one window", "windows", "windows, several passes"],
)
@pytest.mark.parametrize("stop", [1, 4, 5, 10])
def test_resumed_equals_uninterrupted(
    trainer: MakeTrainer,
    tmp_path: Path,
    stream: Reversal,
    epochs: int,
    stop: int,
) -> None:
    """Also when the stop is at the end of an epoch, of a window or at a checkpoint."""
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    run = trainer(whole, stream=stream)
    run.train()
    assert run.progress.places["translation"].epoch == epochs
    trainer(parted, stream=stream, max_steps=stop).train()
    second = trainer(parted, stream=stream)
    assert second.resume()
    second.train()
    assert_same(weights(parted, 12), weights(whole, 12))


def test_a_step_that_is_done_is_saved_before_the_next_batch(
    trainer: MakeTrainer, tmp_path: Path
) -> None:
    class Breaks(Reversal):
        def all_batches(self, epoch: int = 0, window: int = 0, start: int = 0) -> Iterator[Batch]:
            yield from super().all_batches(epoch, window, start)
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone"):
        trainer(stream=Breaks(4), checkpoint_steps=4).train()
    assert [path.name for path in checkpoints(tmp_path)] == ["step-000004"]


@pytest.mark.no_cover
def test_killed_at_a_random_moment_and_resumed_equals_uninterrupted(
    trainer: MakeTrainer, tmp_path: Path
) -> None:
    """A real process with two tasks, killed with SIGKILL wherever it happens to be, twice."""
    program = Path(__file__).with_name("train_reversal.py")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    steps = {"max_steps": 60, "checkpoint_steps": 3, "validation_steps": 30}  # as it does
    trainer(whole, tasks=two_tasks(), **steps).train()
    chance = random.Random(time.time_ns())  # any moment must do
    for _ in range(2):
        process = forked_program(program, killed)
        started = time.monotonic()
        while not checkpoints(killed) and time.monotonic() - started < 60:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.5))
        process.kill()
        process.join()
    last_of_all = trainer(killed, tasks=two_tasks(), **steps)
    assert last_of_all.resume()
    last_of_all.train()
    last = checkpoints(whole)[-1].name
    assert checkpoints(killed)[-1].name == last
    assert not list(killed.glob("checkpoints/.*"))
    assert_same(
        read_tensors(killed / "checkpoints" / last / "model.safetensors"),
        read_tensors(whole / "checkpoints" / last / "model.safetensors"),
    )


class Signals(Reversal):
    """Sends this process a signal in the middle of a window."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__()
        self.number = number

    def all_batches(self, epoch: int = 0, window: int = 0, start: int = 0) -> Iterator[Batch]:
        for number, batch in enumerate(super().all_batches(epoch, window, start)):
            if number == 2:
                os.kill(os.getpid(), self.number)
            yield batch


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_and_says_how_to_go_on(
    number: signal.Signals, trainer: MakeTrainer, tmp_path: Path
) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # these tests may run under nohup
    try:
        with pytest.raises(
            InterruptedRunError, match=rf"{number.name}.*dragoman resume"
        ) as stopped:
            trainer(stream=Signals(number)).train()
        assert stopped.value.exit_code == 128 + number
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    progress, _, _ = read_checkpoint(checkpoints(tmp_path)[-1])
    assert 1 <= progress.step <= 5
    place = progress.places["translation"]
    assert place.epoch * 5 + place.step == progress.step


@pytest.mark.parametrize("stops", [(2,), (5, 7), (8,), (6, 8, 11)], ids=str)
def test_a_run_that_was_stopped_has_the_checkpoints_of_one_that_was_not(
    stops: tuple[int, ...], trainer: MakeTrainer, tmp_path: Path
) -> None:
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    choices = {"validation_steps": 12, "keep_checkpoints": 2, "average_checkpoints": 2}
    trainer(whole, **choices).train()
    for stop in stops:
        run = trainer(parted, **choices)
        run.resume()
        run.observers = [Stopper(stop)]
        with pytest.raises(InterruptedRunError, match=f"stopped at step {stop} "):
            run.train()
    last = trainer(parted, **choices)
    assert last.resume()
    last.train()
    names = [path.name for path in checkpoints(whole)]
    assert [path.name for path in checkpoints(parted)] == names
    for name in names:
        step = int(name.removeprefix("step-"))
        assert_same(weights(parted, step), weights(whole, step))


@pytest.mark.parametrize("model", [{}, {"mixture": {"experts": 3}}], ids=["plain", "experts"])
@pytest.mark.parametrize("stops", [(3,), (5,), (3, 7)], ids=str)
def test_a_run_that_was_stopped_logs_what_one_that_was_not_logs(
    stops: tuple[int, ...], model: dict[str, Any], trainer: MakeTrainer, tmp_path: Path
) -> None:
    """Figures are means over steps, some of which were taken before the stop."""

    def logged(run: str, ends: Sequence[int]) -> list[Record]:
        records = Records()
        for last in ends:
            choices = {"tasks": two_tasks(), "log_steps": 5, "max_steps": last}
            one = trainer(tmp_path / run, **choices, model=model, dropout=0.0)
            one.resume()
            one.observers = [records]
            one.train()
        clock = {"seconds", "tokens_per_second"}
        return [{k: v for k, v in one.items() if k not in clock} for one in records.of("training")]

    whole = logged("whole", (12,))
    assert [record["step"] for record in whole] == [5, 10]
    assert all(("least_used_expert" in record) == bool(model) for record in whole)
    assert logged("parted", (*stops, 12)) == whole


def test_a_validation_that_failed_is_made_up_for(trainer: MakeTrainer, tmp_path: Path) -> None:
    """As where the disk was full: the best weights may be those that it did not see."""
    losses: Iterator[float | Exception]
    losses = iter([3.0, StorageError("full"), 1.0, 2.0, 2.0])

    def validate(model: TranslationModel) -> dict[str, float]:
        if isinstance(loss := next(losses), Exception):
            raise loss
        return {"loss": loss}

    run, again = (trainer(validate=validate, validation_steps=3) for _ in range(2))
    with pytest.raises(StorageError):
        run.train()
    assert again.resume()
    assert again.progress.step == 6
    best = again.train().best
    assert best is not None
    assert (best.value, best.step) == (1.0, 6)


def test_a_signal_in_the_last_validation_is_obeyed(trainer: MakeTrainer, tmp_path: Path) -> None:
    """What comes after training takes time, too; there is no later step that would see it."""
    validated = []

    def validate(model: object) -> dict[str, float]:
        validated.append(model)
        if len(validated) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return {"loss": 1.0}

    with pytest.raises(InterruptedRunError, match="stopped at step 12 by SIGTERM"):
        trainer(validate=validate).train()
    assert not read_progress(checkpoints(tmp_path)[-1]).unplanned
    later = trainer(validate=validate)
    assert later.resume()
    assert later.train().step == 12
    assert len(validated) == 2


def test_a_hang_up_that_nohup_ignores_stays_ignored(trainer: MakeTrainer) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert trainer(stream=Signals(signal.SIGHUP)).train().step == 12
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_place_beyond_the_data_is_the_next_epoch(trainer: MakeTrainer, tmp_path: Path) -> None:
    """The text may have become less since the checkpoint."""
    trainer(max_steps=3).train()
    (newest,) = checkpoints(tmp_path)
    state = json.loads((newest / "state.json").read_text())
    state["places"]["translation"] |= {"window": 7, "step": 2}
    (newest / "state.json").write_text(json.dumps(state))
    resumed = trainer(max_steps=4)
    assert resumed.resume()
    assert resumed.train().places == {"translation": Place(1, 0, 1)}


def test_the_best_of_another_metric_is_forgotten(trainer: MakeTrainer, tmp_path: Path) -> None:
    """Its value cannot be compared; validations without a better one begin again from none."""

    def validate(model: object) -> dict[str, float]:
        return {"loss": 1.0, "chrf": 0.5}

    first = trainer(tmp_path, validate=validate, max_steps=12, validation_steps=4)
    first.train()
    assert first.progress.best == Best("loss", 1.0, 4)
    assert first.progress.stale_validations == 2
    second = trainer(
        tmp_path, validate=validate, max_steps=14, best_metric="chrf", validation_steps=4
    )
    assert second.resume()
    second.train()
    assert second.progress.best == Best("chrf", 0.5, 14)
    assert second.progress.stale_validations == 0


def test_a_checkpoint_of_another_config_is_refused(trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer(max_steps=4).train()
    other = trainer(max_steps=4)
    torch.manual_seed(0)
    path = checkpoints(tmp_path)[-1] / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(SavedError, match=r"model\.safetensors: truncated or damaged"):
        other.resume()


def test_noise_of_experts_is_resumed_too(trainer: MakeTrainer, tmp_path: Path) -> None:
    """Drawn by PyTorch's generator, unlike the masks of dropout."""
    choices = {"model": {"mixture": {"experts": 3}}, "dropout": 0.0, "max_steps": 6}
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    trainer(whole, **choices).train()
    trainer(parted, **{**choices, "max_steps": 4}).train()
    second = trainer(parted, **choices)
    torch.manual_seed(99)
    assert second.resume()
    second.train()
    assert_same(weights(parted, 6), weights(whole, 6))
