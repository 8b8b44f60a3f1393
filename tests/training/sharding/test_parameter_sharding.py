"""All kinds of sharding in two real processes, which PyTorch's own sharding of weights needs."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from forked import forked_program
from reversal import assert_same, tiny_model
from sharded_reversal import (
    COMMON,
    FILES,
    Uneven,
    assert_close,
    begun,
    lose_one,
    saved,
    sharded_trainer,
    train_all,
)
from worlds import ALONE

from dragoman.training.checkpoint import checkpoints, read_progress
from dragoman.training.distributed import World, lost_on_the_way

LOST = "lost.txt"
PROGRAM = Path(__file__).parents[2] / "sharded_reversal.py"

pytestmark = pytest.mark.skipif(
    not hasattr(torch.cpu.Stream, "record_event"), reason="this PyTorch has no FSDP2 on CPUs"
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Trained by two processes; this one is the leader."""
    folder = tmp_path_factory.mktemp("runs")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**place, "RANK": "0", "LOCAL_RANK": "0"}.items():
            patch.setenv(name, value)
        other = forked_program(PROGRAM, folder, environment={"RANK": "1", "LOCAL_RANK": "1"})
        joined = World.join()
    world = World(0, 2, torch.device("cpu"), joined.store)
    train_all(folder, world)
    try:
        lose_one(folder, world)
    except Exception as error:
        (folder / LOST).write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
    world.leave()
    other.join(timeout=100)
    assert other.exitcode == 0
    yield folder


@pytest.mark.parametrize("sharding", ["state", "gradients", "parameters"])
def test_the_same_is_learned_and_saved(runs: Path, sharding: str) -> None:
    """With dropout, a clipped gradient, an average, two tasks and other numbers of passes."""
    assert_close(runs / "none", runs / sharding)
    best = [read_progress(checkpoints(runs / name)[-1]).best for name in ("none", sharding)]
    assert best[0] is not None
    assert best[1] is not None
    assert best[0].value == pytest.approx(best[1].value, rel=1e-4)


def test_a_step_may_have_fewer_sentences_than_processes(runs: Path) -> None:
    assert_close(runs / "sparse-none", runs / "sparse-parameters")


def test_a_process_may_have_nothing_to_predict_of_masked_sentences(runs: Path) -> None:
    assert_close(runs / "hidden-none", runs / "hidden-parameters")


def test_in_bfloat16_the_same_is_learned(runs: Path) -> None:
    ours, theirs = saved(runs / "bfloat16-parameters"), saved(runs / "bfloat16-none")
    for name, values in theirs.items():
        torch.testing.assert_close(ours[name], values, rtol=1e-3, atol=1e-3, msg=name)


def test_a_run_goes_on_bit_for_bit_also_where_layers_are_computed_again(runs: Path) -> None:
    for name in FILES:
        assert_same(saved(runs / "parameters", name), saved(runs / "recomputed", name))


def test_a_run_goes_on_with_other_sharding(runs: Path) -> None:
    assert_close(runs / "parameters", runs / "later")


def test_a_process_that_dies_in_a_pass_is_told_from_other_errors(runs: Path) -> None:
    """Only so may the launcher start all again; PyTorch sends weights by itself."""
    told = (runs / LOST).read_text(encoding="utf-8")
    assert told.startswith("WorkerError: another of the training processes ended or cannot be rea")


@pytest.mark.parametrize("told", ["out of memory", "sizes of matrices in [2, 3] do not fit"])
def test_other_errors_of_a_pass_stay_what_they_are(told: str) -> None:
    with pytest.raises(RuntimeError) as found, lost_on_the_way():
        raise RuntimeError(told)
    assert str(found.value) == told


def test_a_run_goes_on_alone(runs: Path, tmp_path: Path) -> None:
    begun(runs / "parameters", tmp_path)
    model = tiny_model(dropout=0.1)
    trainer = sharded_trainer(tmp_path, ALONE, model, Uneven, sharding="parameters", **COMMON)
    assert trainer.progress.step == 3
    trainer.train()
    assert trainer.progress.step == 5
