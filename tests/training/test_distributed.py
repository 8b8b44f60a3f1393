"""Processes that train together: the same result as one, and one end for all."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from forked import forked_program
from reversal import VOCABULARY, shared_trainer, tiny_config, tiny_model, translation
from stores import write_store
from worlds import ALONE, together

from dragoman.core.errors import DataError, StorageError, WorkerError
from dragoman.data.batches import Batches
from dragoman.models.interface import TranslationModel
from dragoman.saved.weights import read_tensors
from dragoman.training.checkpoint import checkpoints, read_progress
from dragoman.training.distributed import World
from dragoman.training.trainer import Trainer

PROGRAM = Path(__file__).with_name("train_shared_reversal.py")


def weights(run: Path) -> dict[str, torch.Tensor]:
    return read_tensors(checkpoints(run)[-1] / "model.safetensors")


def test_two_processes_equal_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    for name, value in {**place, "RANK": "0", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    other = forked_program(PROGRAM, tmp_path / "two", environment={"RANK": "1", "LOCAL_RANK": "1"})
    world = World.join()
    assert not torch.distributed.is_initialized(), "whoever waits now has no time limit"
    shared_trainer(tmp_path / "two", world).train()
    world.leave()
    other.join(timeout=100)
    assert other.exitcode == 0
    shared_trainer(tmp_path / "one", ALONE).train()
    two = weights(tmp_path / "two")
    for name, values in weights(tmp_path / "one").items():
        torch.testing.assert_close(two[name], values, rtol=1e-3, atol=1e-5)


def test_results_come_by_rank() -> None:
    for size in (1, 2, 3):
        found = together(size, lambda world: world.gather(lambda: ["é" * world.rank, world.rank]))
        assert [one.result() for one in found] == [[["é" * r, r] for r in range(size)]] * size


def test_what_fails_in_one_ends_all() -> None:
    def work(world: World) -> None:
        world.gather(lambda: fail() if world.rank == 1 else None)

    def fail() -> None:
        raise DataError("dev.tsv: bad")

    first, second, third = together(3, work)
    assert isinstance(second.exception(), DataError)
    for other in (first, third):
        error = other.exception()
        assert isinstance(error, WorkerError)
        assert (str(error), error.exit_code) == ("process 1: dev.tsv: bad", DataError.exit_code)


def test_the_leading_process_goes_first() -> None:
    order: list[int] = []

    def work(world: World) -> None:
        if world.is_leader:
            time.sleep(0.05)  # long enough for others that do not wait
        order.append(world.rank)

    for one in together(3, lambda world: world.leader_first("preparing", lambda: work(world))):
        one.result()
    assert order[0] == 0
    assert sorted(order) == [0, 1, 2]


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (DataError("bad"), "process 0: bad", 3),
        (ZeroDivisionError("0"), "process 0: ZeroDivisionError: 0", 1),
        (KeyboardInterrupt(), "the leading process was interrupted", 8),
    ],
)
def test_nobody_waits_for_a_leading_process_that_failed(
    error: BaseException, message: str, code: int
) -> None:
    def work(world: World) -> None:
        assert world.is_leader, "the others do not begin"
        raise error

    first, second = together(2, lambda world: world.leader_first("x", lambda: work(world)))
    assert first.exception() is error
    found = second.exception()
    assert isinstance(found, WorkerError)
    assert (str(found), found.exit_code) == (message, code)


def test_a_lost_process_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("Connection closed by peer\nand a long trace")

    monkeypatch.setattr("torch.distributed.is_initialized", lambda: True)
    monkeypatch.setattr("torch.distributed.all_reduce", broken)
    with pytest.raises(
        WorkerError, match=r"ended or cannot be reached \(Connection closed by peer\)$"
    ):
        World(0, 2, torch.device("cpu")).all_reduce(torch.zeros(1))


def test_a_validation_that_fails_in_one_ends_all_and_costs_no_step(tmp_path: Path) -> None:
    def work(world: World) -> None:
        def validate(model: TranslationModel) -> dict[str, float]:
            world.gather(lambda: 1 / (world.rank - 1))
            return {"loss": 1.0}

        shared_trainer(tmp_path, world, validate).train()

    first, second = together(2, work)
    assert isinstance(second.exception(), ZeroDivisionError)
    assert isinstance(first.exception(), WorkerError)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-000003"]


def test_a_checkpoint_that_cannot_be_written_ends_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("dragoman.training.trainer.write_checkpoint", full)
    first, second = together(2, lambda world: shared_trainer(tmp_path, world).train())
    assert isinstance(first.exception(), StorageError)
    error = second.exception()
    assert isinstance(error, WorkerError)
    assert error.exit_code == StorageError.exit_code


def test_all_know_the_best_validation(tmp_path: Path) -> None:
    def work(world: World) -> Any:
        values = iter([3.0, 1.0, 2.0])
        return shared_trainer(tmp_path, world, lambda model: {"loss": next(values)}).train()

    for one in together(2, work):
        progress = one.result()
        assert progress.best is not None
        assert (progress.best.step, progress.stale_validations) == (6, 1)


def test_the_leading_process_says_which_checkpoint_is_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine may still see a shared directory as it was before."""
    shared_trainer(tmp_path, ALONE).train()
    here = threading.local()
    monkeypatch.setattr(
        "dragoman.training.trainer.checkpoints",
        lambda run: checkpoints(run) if here.rank == 0 else checkpoints(run)[:1],
    )

    def work(world: World) -> int:
        here.rank = world.rank
        trainer = shared_trainer(tmp_path, world)
        assert trainer.resume()
        return trainer.progress.step

    assert [one.result() for one in together(2, work)] == [7, 7]


def test_a_run_goes_on_with_any_number_of_processes(tmp_path: Path) -> None:
    """Saved by four, taken up by one and by three: the same sentences a step, the same weights."""
    random = np.random.default_rng(1)
    ids = [random.integers(4, VOCABULARY, random.integers(1, 9)).tolist() for _ in range(90)]
    store = write_store(tmp_path / "store", [(one, one[::-1]) for one in ids])

    def go(run: Path, size: int, steps: int) -> None:
        models = [tiny_model(dropout=0.0) for _ in range(size)]  # threads share a generator

        def work(world: World) -> None:
            stream = Batches(store, 60, 12, seed=3, rank=world.rank, world_size=world.size)
            trainer = Trainer(
                models[world.rank],
                [translation(stream)],
                lambda model: {"loss": 1.0},
                tiny_config(max_steps=steps, validation_steps=100, checkpoint_steps=100),
                run,
                seed=5,
                d_model=16,
                world=world,
            )
            trainer.resume()
            trainer.train()

        for one in together(size, work):
            one.result()

    go(tmp_path / "alone", 1, 9)
    expected = read_progress(checkpoints(tmp_path / "alone")[-1])
    for size in (1, 3):
        run = tmp_path / str(size)
        go(run, 4, 5)
        go(run, size, 9)
        found = read_progress(checkpoints(run)[-1])
        assert (found.places, found.target_tokens) == (expected.places, expected.target_tokens)
        saved = weights(run)
        for name, values in weights(tmp_path / "alone").items():
            torch.testing.assert_close(saved[name], values, rtol=1e-3, atol=1e-5)
