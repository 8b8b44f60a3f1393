"""Two processes that train together give what one gives on their joint batches."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import torch

from dragoman.saved import read_tensors
from dragoman.training.checkpoint import checkpoints

PROGRAM = Path(__file__).with_name("train_shared_reversal.py")


def train(run: Path, size: int) -> dict[str, torch.Tensor]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    processes = []
    for rank in range(size):
        place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}
        environment = {**os.environ, **address, **place}
        processes.append(subprocess.Popen([sys.executable, PROGRAM, run], env=environment))
    assert [process.wait(timeout=100) for process in processes] == [0] * size
    return read_tensors(checkpoints(run)[-1] / "model.safetensors")


def test_two_processes_equal_one(tmp_path: Path) -> None:
    one, two = train(tmp_path / "one", 1), train(tmp_path / "two", 2)
    for name, values in one.items():
        torch.testing.assert_close(two[name], values, rtol=1e-3, atol=1e-5)
