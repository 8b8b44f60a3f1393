"""What a disk keeps: of the model, and of what writes files by ``dragoman.core.files``.

The same program is cut off at each of its operations, by a kill and by a power loss.
"""

from __future__ import annotations

import copy
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from dragoman.core.files import sweep
from soak.instrument import NoInstrumentError, Operation, build, read_log
from soak.power_model import Disk

PROGRAM = """
import os, shutil, signal, sys
from pathlib import Path
from dragoman.core.files import atomic_directory, remove_directory, write_json
from soak.instrument import arm

def work(folder):
    for version in (1, 2):
        write_json(folder / "deep" / "er" / "settings.json", {"version": version})
        with atomic_directory(folder / "model", {"weights", "config"}) as new:
            for name in ("weights", "config"):
                (new / name).write_text(f"{name} {version}" * 50)
    remove_directory(folder / "checkpoint")

base, places = Path(sys.argv[1]), Path(sys.argv[2])
number = 0
while True:
    place = places / str(number)
    if number:
        shutil.copytree(base, place)
    child = os.fork()
    if not child:
        log = places / "log" if not number else None
        arm(place, log, number)
        work(place)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if number and os.waitstatus_to_exitcode(status) == 0:
        break
    assert os.waitstatus_to_exitcode(status) == (-signal.SIGKILL if number else 0), status
    number += 1
"""
OLD = {"weights": "old weights", "state": "old state"}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint in it."""
    folder = tmp_path_factory.mktemp("disk").resolve() / "base"
    (folder / "checkpoint").mkdir(parents=True)
    for name, content in OLD.items():
        (folder / "checkpoint" / name).write_text(content)
    return folder


class Tried(NamedTuple):
    """What the program has done."""

    places: Path
    """``0`` is what it leaves, ``n`` what it leaves if killed at operation n."""
    before: Disk
    """What was in ``0`` before."""
    operations: list[Operation]

    def disk(self, at: int | None = None) -> Disk:
        """The disk after ``at`` operations, or all."""
        disk = copy.deepcopy(self.before)
        disk.apply(self.operations[:at])
        return disk


@pytest.fixture(scope="module")
def tried(base: Path) -> Tried:
    try:
        library = build(base.parent)
    except NoInstrumentError as error:
        pytest.skip(str(error))
    places = base.parent / "places"
    shutil.copytree(base, places / "0")
    before = Disk(places / "0")
    command = [sys.executable, "-c", PROGRAM, str(base), str(places)]
    subprocess.run(command, env={**os.environ, "LD_PRELOAD": str(library)}, check=True)
    return Tried(places, before, list(read_log(places / "log")))


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()} if folder.exists() else {}


def model(version: int) -> dict[str, str]:
    return {name: f"{name} {version}" * 50 for name in ("weights", "config")}


def check(place: Path, where: str) -> None:
    """Each file and directory is as it was at some time, and complete."""
    for folder in (place, place / "deep" / "er"):
        sweep(folder)
    assert texts(place / "model") in ({}, model(1), model(2)), where
    assert texts(place / "checkpoint") in ({}, OLD), where
    settings = texts(place / "deep" / "er").get("settings.json")
    assert settings in (None, *(f'{{\n  "version": {n}\n}}\n' for n in (1, 2))), where
    assert not list(place.rglob(".*")), where


def test_a_kill_at_any_operation_leaves_what_was_or_what_is(tried: Tried) -> None:
    killed = sorted(int(path.name) for path in tried.places.iterdir() if path.name.isdigit())
    assert len(killed) > 40
    for number in killed:
        check(tried.places / str(number), f"killed at operation {number}")


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_power_loss_at_any_operation_leaves_what_was_or_what_is(
    tried: Tried, seed: int | None, tmp_path: Path
) -> None:
    operations = tried.operations
    finished = [  # by then, the directory that replaced another is safe
        number
        for number, one in enumerate(operations)
        if one.what == "unlink" and ".model." in one.path
    ]
    for at in range(len(operations) + 1):
        place = tmp_path / str(at)
        tried.disk(at).after_loss(place, None if seed is None else random.Random(seed * 1000 + at))
        where = f"after {at} operations, of which the last is {operations[at - 1]}, seed {seed}"
        check(place, where)
        if at > finished[0]:
            assert texts(place / "model") == model(2), where
    assert texts(place / "deep" / "er"), "new directories are safe too"
    assert not (place / "checkpoint").exists()


def test_the_whole_log_explains_what_is_there(tried: Tried, tmp_path: Path) -> None:
    places = tried.places
    tried.disk().everything(tmp_path / "all")
    found = {path.relative_to(tmp_path / "all") for path in (tmp_path / "all").rglob("*")}
    assert found == {path.relative_to(places / "0") for path in (places / "0").rglob("*")}
    assert texts(tmp_path / "all" / "model") == texts(places / "0" / "model") == model(2)


class TestTheModel:
    """Operations on a folder with the file ``f``, which holds ``old``."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "d"
        folder.mkdir()
        (folder / "f").write_text("old")
        return folder

    def after(self, folder: Path, *operations: Operation) -> dict[str, str]:
        disk = Disk(folder)
        disk.apply(operations)
        disk.after_loss(folder.parent / "after")
        return texts(folder.parent / "after")

    def test_what_is_not_flushed_is_gone(self, folder: Path) -> None:
        node = (folder / "f").stat().st_ino
        wrote = Operation("write", node, 1, str(folder / "f"), data=b"ew")
        assert self.after(folder, wrote) == {"f": "old"}

    def test_what_is_flushed_stays(self, folder: Path) -> None:
        node = (folder / "f").stat().st_ino
        wrote = Operation("write", node, 1, str(folder / "f"), data=b"ew")
        flushed = Operation("fsync", node, 0, str(folder / "f"))
        assert self.after(folder, wrote, flushed) == {"f": "oew"}

    def test_a_new_file_needs_its_directory_flushed(self, folder: Path) -> None:
        made = Operation("create", 7, 0, str(folder / "g"))
        wrote = Operation("write", 7, 0, str(folder / "g"), data=b"new")
        flushed = Operation("fsync", 7, 0, str(folder / "g"))
        named = Operation("fsync", folder.stat().st_ino, 0, str(folder))
        assert self.after(folder, made, wrote, flushed) == {"f": "old"}
        (folder.parent / "after" / "f").unlink()
        (folder.parent / "after").rmdir()
        assert self.after(folder, made, wrote, flushed, named) == {"f": "old", "g": "new"}

    def test_a_file_that_is_renamed_before_it_is_flushed_may_be_empty(self, folder: Path) -> None:
        made = Operation("create", 7, 0, str(folder / "g"))
        wrote = Operation("write", 7, 0, str(folder / "g"), data=b"new")
        renamed = Operation("rename", 0, 0, str(folder / "g"), str(folder / "f"))
        named = Operation("fsync", folder.stat().st_ino, 0, str(folder))
        assert self.after(folder, made, wrote, renamed, named) == {"f": ""}
