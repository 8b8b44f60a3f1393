"""What tests of several parts of an adaptation need."""

from __future__ import annotations

import pytest

from dragoman.core.errors import InterruptedRunError


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal comes as soon as training begins."""

    def stop(*_: object, **__: object) -> None:
        raise InterruptedRunError("saved")

    monkeypatch.setattr("dragoman.workflows.runs.CommandLineHost.train", stop)
