"""The directory of a back-translation."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flushes import watch_flushes

from dragoman.techniques.backtranslation.directory import link_model


def test_the_link_to_the_model_outlasts_a_power_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command has said that it has finished, and what to translate with."""
    plan: Any = SimpleNamespace(directory=tmp_path)
    flushed = watch_flushes(monkeypatch)
    assert link_model(plan, tmp_path / "round-1" / "forward") == tmp_path
    assert (tmp_path / "model").readlink() == Path("round-1/forward/model")
    assert flushed == [tmp_path]
