"""What a program flushes to the disk, as it happens."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def watch_flushes(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A list to which every file and directory is added that is flushed from now on."""
    flushed: list[Path] = []
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        fsync(descriptor)
        flushed.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))

    monkeypatch.setattr(os, "fsync", watched)
    return flushed
