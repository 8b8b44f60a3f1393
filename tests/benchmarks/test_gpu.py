"""The benchmark of a GPU can be tried without one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # its programs name one another like this

import gpu  # noqa: E402


def test_the_peak_of_a_processor_takes_no_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products as large as a GPU needs would take ten on two cores."""
    monkeypatch.setattr(gpu, "DEVICE", torch.device("meta"))
    with FlopCounterMode(display=False) as counter:
        gpu.peak()
    assert counter.get_total_flops() < 10e9 * 55


def test_a_profile_names_what_takes_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "DEVICE", torch.device("cpu"))
    monkeypatch.setattr(gpu, "VOCABULARY", 50)
    assert "aten::mm" in gpu.profile("tiny", "100")
