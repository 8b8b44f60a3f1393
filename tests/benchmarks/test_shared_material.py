"""What contenders share appears whole or not at all."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from dragoman.core.errors import StorageError

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # its programs name one another like this

import shared_material  # noqa: E402
from loops.shared import read_batches  # noqa: E402
from shared_material import Material  # noqa: E402


class StoppedError(Exception):
    """As if somebody had pressed Ctrl-C."""


def test_numbered_pairs_are_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was cut off would be measured as if it had all pairs."""
    for side in shared_material.SIDES:
        (tmp_path / f"train.{side}").write_text(f"a {side}\nb {side}\n", encoding="utf-8")
    whole = Material(tmp_path)

    def stopping(lines: object) -> Iterator[str]:
        yield "a"
        raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(shared_material, "cycle", stopping)
        with pytest.raises(StoppedError):
            whole.numbered(3)
    path = whole.numbered(3)
    for side in shared_material.SIDES:
        text = path.with_name(f"pairs.3.{side}").read_text("utf-8")
        assert text == f"a {side} 0\nb {side} 1\na {side} 2\n"


def test_batches_are_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are written last, and what has them is taken as prepared."""
    batch = SimpleNamespace(source=torch.ones(2, 3), target_input=torch.ones(2, 3))
    batch.target_output = torch.ones(2, 3)
    prepared = SimpleNamespace(store=None, vocabularies=SimpleNamespace(target=range(7)))
    opened = SimpleNamespace(prepare=lambda: prepared)
    monkeypatch.setattr("dragoman.experiment.Experiment.open", lambda _: opened)
    made = SimpleNamespace(epoch=lambda _: iter([[batch]]))
    monkeypatch.setattr("dragoman.data.batches.Batches", lambda *_, **__: made)

    def full_disk(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    one = Material(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(StorageError):
            shared_material._write_batches(one, tmp_path)
    assert not list(tmp_path.iterdir())
    shared_material._write_batches(one, tmp_path)
    size, (found,) = read_batches(one.batches)
    assert size == 7
    assert found.target_output.shape == (2, 3)
