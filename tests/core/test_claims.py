"""Another process cannot work in a claimed directory, or make the same output."""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest
from flushes import watch_flushes

from dragoman.core.claims import claimed, new_output, new_outputs
from dragoman.core.errors import ConfigError, StorageError
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


REMEDY = "name another"


def test_an_output_that_exists_is_refused(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("there", "link"):
        message = f"{name}: exists already; name another"
        with pytest.raises(ConfigError, match=message), new_output(tmp_path / name, REMEDY):
            raise AssertionError


def test_an_output_is_kept_for_one_process_until_it_is_done(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "model"
    with new_output(path, REMEDY):
        message = "model: another process is making it; name another"
        with pytest.raises(ConfigError, match=message), new_output(path, REMEDY):
            raise AssertionError
        with new_output(path.with_name("other"), REMEDY), atomic_directory(path) as folder:
            (folder / "x").touch()
    assert [one.name for one in path.parent.iterdir()] == ["model"]
    with pytest.raises(ConfigError, match="exists already"), new_output(path, REMEDY):
        raise AssertionError


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_outputs([tmp_path / "a/b", tmp_path / "a/c"], "x"):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())
    (tmp_path / "mine").mkdir()
    with pytest.raises(ZeroDivisionError), new_output(tmp_path / "mine" / "a", REMEDY):
        raise ZeroDivisionError
    assert (tmp_path / "mine").exists()


def test_a_killed_process_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / ".a.0000000000000000").touch()  # its lock has gone with it
    with new_output(tmp_path / "a", REMEDY), atomic_write(tmp_path / "a") as stream:
        stream.write("text")
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_no_place_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError), new_output(tmp_path / "file" / "model", REMEDY):
        raise AssertionError


def _make(path: Path, together: Barrier, number: int, outcomes: Any) -> None:
    together.wait()
    try:
        with new_output(path, REMEDY), atomic_write(path) as stream:
            stream.write(str(number))
        outcomes.put(number)
    except ConfigError:
        outcomes.put(None)


def test_of_several_processes_one_wins(tmp_path: Path) -> None:
    processes = multiprocessing.get_context("fork")
    for attempt in range(5):
        together, outcomes = processes.Barrier(4), processes.Queue()
        path = tmp_path / f"new-{attempt}" / "model"
        workers = [
            processes.Process(target=_make, args=(path, together, number, outcomes))
            for number in range(4)
        ]
        for worker in workers:
            worker.start()
        found = [outcomes.get(timeout=60) for _ in workers]
        for worker in workers:
            worker.join()
        (winner,) = [one for one in found if one is not None]
        assert path.read_text() == str(winner)
        assert [one.name for one in path.parent.iterdir()] == ["model"]
