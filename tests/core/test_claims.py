"""Claiming a directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from flushes import watch_flushes

from dragoman.core.claims import claimed


def test_a_directory_that_is_made_outlasts_a_power_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is flushed within it later would be lost with its name."""
    flushed = watch_flushes(monkeypatch)
    with claimed(tmp_path / "runs" / "mine" / ".lock", "this run"):
        assert {tmp_path, tmp_path / "runs"} <= {*flushed}
