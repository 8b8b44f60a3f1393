"""A training process that is killed, and started again by its launcher."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from threading import Thread

import pytest
from command_line import CommandLine, experiment, write_experiment
from reversal import assert_same

from dragoman.saved.weights import read_tensors
from dragoman.training.checkpoint import checkpoints, read_progress

STEPS = 100
WORKER = "dragoman.cli.worker"


def workers() -> list[int]:
    """The ids of the workers that this process has started."""
    children = " ".join(file.read_text() for file in Path("/proc/self/task").glob("*/children"))
    found = [int(number) for number in children.split()]
    return [one for one in found if WORKER in Path(f"/proc/{one}/cmdline").read_text()]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc")
def test_a_killed_process_starts_again_and_learns_the_same(
    text: Path, tmp_path: Path, dragoman: CommandLine
) -> None:
    values = experiment()
    for part in (*values["data"]["train"], values["data"]["dev"], values["data"]["test"]["news"]):
        part["path"] = str(text / part["path"])
    values["training"] |= {"max_steps": STEPS, "validation_steps": STEPS, "checkpoint_steps": 20}
    config, run, whole = write_experiment(tmp_path, values), tmp_path / "run", tmp_path / "whole"
    killed: list[int] = []

    def kill() -> None:
        while not checkpoints(run):
            time.sleep(0.01)
        (worker,) = workers()
        os.kill(worker, signal.SIGKILL)
        killed.append(worker)

    killer = Thread(target=kill, daemon=True)
    killer.start()
    outcome = dragoman("train", config, "--run", run, "--restarts", 1)
    assert outcome.code == 0, outcome.err
    killer.join(timeout=1)
    assert killed
    said = "killed: process 0; starting again from the last checkpoint (restart 1 of 1)"
    assert said in outcome.err
    assert dragoman("train", config, "--run", whole).code == 0
    found, expected = (checkpoints(one)[-1] for one in (run, whole))
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert_same(read_tensors(found / name), read_tensors(expected / name))
    assert read_progress(found).target_tokens == read_progress(expected).target_tokens
