"""Claiming a directory."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from flushes import watch_flushes

from dragoman.core.claims import claimed
from dragoman.core.errors import StorageError
from dragoman.core.files import atomic_directory, atomic_write


def test_a_directory_that_is_made_outlasts_a_power_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is flushed within it later would be lost with its name."""
    flushed = watch_flushes(monkeypatch)
    with claimed(tmp_path / "runs" / "mine" / ".lock", "this run"):
        assert {tmp_path, tmp_path / "runs"} <= {*flushed}


def replaced(path: Path) -> None:
    """Another directory takes the place, marker and all."""
    path.rename(path.with_name("moved"))
    path.mkdir()
    (path / ".lock").touch()


@pytest.mark.parametrize(
    "lose", [lambda path: path.rename(path.with_name("moved")), shutil.rmtree, replaced]
)
def test_nothing_is_written_in_the_old_place_of_a_directory_that_was_moved_or_removed(
    lose: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in (tmp_path / "mine", Path("mine")):
        with claimed(place / ".lock", "this run"):
            with atomic_write(place / "a" / "b.txt") as stream:
                stream.write("b")
            lose(tmp_path / "mine")
            message = "mine was renamed or deleted while this process was working in it"
            with pytest.raises(StorageError, match=message), atomic_write(place / "a" / "b.txt"):
                pass
            with pytest.raises(StorageError, match=message), atomic_directory(place / "c"):
                pass
            assert not (tmp_path / "mine" / "a").exists()
            with atomic_write("beside.txt") as stream:  # other places are free
                stream.write("c")
        with atomic_write(place / "a" / "b.txt") as stream:  # the claim has ended
            stream.write("b")
        shutil.rmtree(tmp_path / "mine")
        shutil.rmtree(tmp_path / "moved", ignore_errors=True)
