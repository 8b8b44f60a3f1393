"""Writing is atomic, durable and refused in one clear line."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import StorageError
from dragoman.core.files import (
    atomic_directory,
    atomic_write,
    content_digest,
    remove_directory,
    storage_errors,
    sweep,
    write_json,
)


def refused(message: str) -> AbstractContextManager[object]:
    return pytest.raises(StorageError, match=message)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def umask() -> Iterator[int]:
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


class TestAtomicWrite:
    def test_the_file_is_there_only_when_the_block_has_ended(self, tmp_path: Path) -> None:
        path = tmp_path / "a" / "b" / "file.txt"
        with atomic_write(path) as stream:
            stream.write("één\n")
            stream.flush()
            assert not path.exists()
        assert path.read_bytes() == "één\n".encode()
        assert names(path.parent) == {"file.txt"}

    def test_a_block_that_raises_leaves_the_old_content_and_no_litter(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.write_text("old")
        with pytest.raises(KeyError), atomic_write(path) as stream:
            stream.write("new")
            raise KeyError
        assert path.read_text() == "old"
        assert names(tmp_path) == {"file"}

    def test_bytes_and_line_ends_are_written_as_they_are(self, tmp_path: Path) -> None:
        with atomic_write(tmp_path / "b", "wb") as stream:
            stream.write(b"\x00\r\n")
        with atomic_write(tmp_path / "t") as stream:
            stream.write("a\r\nb\n")
        assert (tmp_path / "b").read_bytes() == b"\x00\r\n"
        assert (tmp_path / "t").read_bytes() == b"a\r\nb\n"

    def test_permissions_follow_the_umask(self, tmp_path: Path, umask: int) -> None:
        with atomic_write(tmp_path / "file") as stream:
            stream.write("x")
        assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~umask

    @pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
    def test_a_file_keeps_its_permissions(self, tmp_path: Path, mode: int) -> None:
        path = tmp_path / "file"
        path.write_text("old")
        path.chmod(mode)
        with atomic_write(path) as stream:
            stream.write("new")
            written = next(one for one in tmp_path.iterdir() if one != path)
            assert written.stat().st_mode & 0o777 == mode, "while it is written, too"
        assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", mode)

    @pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
    def test_what_a_process_has_open_is_added_to_and_not_replaced(self, tmp_path: Path) -> None:
        """As in ``--output /dev/stdout >> file``."""
        path = tmp_path / "file"
        with path.open("a") as output:
            output.write("before\n")
            output.flush()
            for line in ("new\n", "newer\n"):
                with atomic_write(f"/proc/self/fd/{output.fileno()}") as stream:
                    stream.write(line)
        assert path.read_text() == "before\nnew\nnewer\n"

    def test_a_full_disk_keeps_the_old_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "file"
        path.write_text("old")

        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        with refused("file: the disk is full; free some space"), atomic_write(path) as stream:
            stream.write("new")
        assert path.read_text() == "old"
        assert names(tmp_path) == {"file"}

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_device_is_told_as_such(self) -> None:
        with (
            refused("the disk is full"),
            storage_errors(Path("/dev/full")),
            open("/dev/full", "w") as stream,
        ):
            stream.write("x")

    def test_a_read_only_directory_is_told_as_such(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if os.geteuid() == 0:  # root may write anywhere: let the kernel's answer be played

            def refuse(*_: object, **__: object) -> None:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

            monkeypatch.setattr(Path, "open", refuse)
        tmp_path.chmod(0o500)
        try:
            with (
                refused("permission denied; choose another directory"),
                atomic_write(tmp_path / "file") as stream,
            ):
                stream.write("x")
        finally:
            tmp_path.chmod(0o700)
        assert names(tmp_path) == set()

    def test_a_file_in_the_place_of_a_directory(self, tmp_path: Path) -> None:
        (tmp_path / "run").write_text("")
        with (
            refused("a file is where a directory should be"),
            atomic_write(tmp_path / "run" / "config.yaml"),
        ):
            pass
        with (
            refused("a file is where a directory should be"),
            atomic_write(tmp_path / "run" / "data" / "x"),
        ):
            pass

    def test_a_directory_in_the_place_of_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "run").mkdir()
        with (
            refused("a directory is where the file should be"),
            atomic_write(tmp_path / "run") as stream,
        ):
            stream.write("x")
        assert names(tmp_path) == {"run"}

    @pytest.mark.parametrize("name", [".", "..", "/", "run/.."])
    def test_directories_without_a_name_of_their_own(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "run").mkdir()
        monkeypatch.chdir(tmp_path)
        with refused("a directory is where the file should be"), atomic_write(name):
            pass
        assert names(tmp_path) == {"run"}

    def test_a_pipe_or_device_is_written_to_and_not_replaced(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        read: list[str] = []
        reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
        reader.start()
        with atomic_write(pipe) as stream:
            stream.write("text")
        reader.join()
        assert read == ["text"]
        assert pipe.is_fifo()

    def test_a_name_that_is_too_long(self, tmp_path: Path) -> None:
        with refused("choose a shorter path"), atomic_write(tmp_path / ("x" * 300)):
            pass

    @pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
    def test_a_place_that_has_no_directories(self) -> None:
        with refused("nothing can be made there"), atomic_write("/proc/self/none/file"):
            pass

    def test_errors_that_are_no_refusals_pass_through(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "file"):
            (tmp_path / "missing").read_text()

    def test_the_message_is_one_line(self, tmp_path: Path) -> None:
        (tmp_path / "run").write_text("")
        with pytest.raises(StorageError) as caught, atomic_write(tmp_path / "run" / "x"):
            pass
        assert "\n" not in str(caught.value)
        assert caught.value.exit_code == 6

    def test_writers_of_one_file_at_once_leave_one_whole_version(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        versions = [str(number) * 10_000 for number in range(8)]

        def write(text: str) -> None:
            with atomic_write(path) as stream:
                stream.write(text)

        threads = [threading.Thread(target=write, args=(text,)) for text in versions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert path.read_text() in versions
        assert names(tmp_path) == {"file"}


class TestAtomicDirectory:
    def test_the_directory_is_there_only_when_the_block_has_ended(self, tmp_path: Path) -> None:
        path = tmp_path / "runs" / "step-1"
        with atomic_directory(path) as folder:
            (folder / "deep").mkdir()
            (folder / "deep" / "a").write_text("1")
            assert not path.exists()
        assert (path / "deep" / "a").read_text() == "1"
        assert names(path.parent) == {"step-1"}

    def test_an_old_directory_is_replaced_wholly(self, tmp_path: Path) -> None:
        path = tmp_path / "model"
        with atomic_directory(path) as folder:
            (folder / "old").write_text("")
        with atomic_directory(path, {"old"}) as folder:
            (folder / "new").write_text("")
        assert names(path) == {"new"}
        assert names(tmp_path) == {"model"}

    def test_a_block_that_raises_leaves_the_old_one_and_no_litter(self, tmp_path: Path) -> None:
        path = tmp_path / "model"
        with atomic_directory(path) as folder:
            (folder / "old").write_text("")
        with pytest.raises(KeyError), atomic_directory(path, {"old"}) as folder:
            (folder / "new").write_text("")
            raise KeyError
        assert names(path) == {"old"}
        assert names(tmp_path) == {"model"}

    def test_a_rename_that_fails_brings_the_old_one_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "model"
        with atomic_directory(path) as folder:
            (folder / "old").write_text("")
        replace = os.replace

        def fail_for_the_new(source: Path, destination: Path) -> None:
            if (Path(source) / "new").exists():
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            replace(source, destination)

        monkeypatch.setattr(os, "replace", fail_for_the_new)
        with refused("the disk reports an error"), atomic_directory(path, {"old"}) as folder:
            (folder / "new").write_text("")
        assert names(path) == {"old"}
        assert names(tmp_path) == {"model"}

    def test_what_is_not_ours_is_never_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").write_text("precious")
        with (
            refused("holds thesis.tex, which Dragoman did not put there; move it away"),
            atomic_directory(tmp_path, {"old"}),
        ):
            pytest.fail("the work would be in vain")
        assert names(tmp_path) == {"thesis.tex"}

    def test_a_link_stays_one(self, tmp_path: Path) -> None:
        (tmp_path / "disk").mkdir()
        (tmp_path / "disk" / "old").touch()
        (tmp_path / "model").symlink_to("disk")
        with atomic_directory(tmp_path / "model", {"old"}) as folder:
            (folder / "new").touch()
        assert (tmp_path / "model").is_symlink()
        assert names(tmp_path / "disk") == {"new"}
        assert names(tmp_path) == {"model", "disk"}

    def test_a_file_at_its_place_is_never_removed(self, tmp_path: Path) -> None:
        (tmp_path / "model").write_text("precious")
        with (
            refused("a file is where a directory should be"),
            atomic_directory(tmp_path / "model"),
        ):
            pytest.fail("the work would be in vain")
        assert (tmp_path / "model").read_text() == "precious"

    def test_permissions_follow_the_umask(self, tmp_path: Path, umask: int) -> None:
        with atomic_directory(tmp_path / "model"):
            pass
        assert (tmp_path / "model").stat().st_mode & 0o777 == 0o777 & ~umask

    def test_a_full_disk_while_filling_it(self, tmp_path: Path) -> None:
        with refused("model: the disk is full"), atomic_directory(tmp_path / "model"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        assert names(tmp_path) == set()


KILLED = """
import os, signal, sys
from pathlib import Path
from dragoman.core.files import atomic_directory, atomic_write

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

folder, moment = Path(sys.argv[1]), sys.argv[2]
if moment == "file":
    with atomic_write(folder / "file") as stream:
        stream.write("half")
        die()
with atomic_directory(folder / "model", {"old"}) as new:
    (new / "new").touch()
    if moment == "directory":
        die()
    if moment == "between":  # the old one is renamed, the new one is not
        replace, renamed = os.replace, []
        os.replace = lambda *paths: die() if renamed else renamed.append(replace(*paths))
    else:  # it is renamed, and the old one is not removed
        import shutil
        shutil.rmtree = die
"""


def killed(folder: Path, moment: str) -> None:
    """Let a process be killed while it replaces ``model``, or writes ``file``."""
    (folder / "model").mkdir()
    (folder / "model" / "old").touch()
    ended = subprocess.run([sys.executable, "-c", KILLED, str(folder), moment], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(list(folder.glob(".*"))) >= 1


class TestSweep:
    """What a killed process leaves."""

    @pytest.mark.parametrize("moment", ["file", "directory", "between", "after"])
    def test_is_removed_and_a_directory_is_there_again(self, tmp_path: Path, moment: str) -> None:
        killed(tmp_path, moment)
        assert (tmp_path / "model").exists() == (moment != "between")
        (tmp_path / ".model.notes").touch()
        (tmp_path / ".model.0123456789abcdef.txt").touch()
        sweep(tmp_path)
        mine = {".model.notes", ".model.0123456789abcdef.txt"}
        assert names(tmp_path) == {"model", *mine}
        assert names(tmp_path / "model") == {"new" if moment == "after" else "old"}

    @pytest.mark.parametrize("moment", ["directory", "between", "after"])
    def test_writing_to_the_same_place_sweeps(self, tmp_path: Path, moment: str) -> None:
        killed(tmp_path, moment)
        with atomic_directory(tmp_path / "model", {"old", "new"}) as folder:
            (folder / "newest").touch()
        assert names(tmp_path) == {"model"}
        assert names(tmp_path / "model") == {"newest"}

    def test_what_a_living_process_writes_stays(self, tmp_path: Path) -> None:
        with atomic_directory(tmp_path / "model") as folder:
            (folder / "a").touch()
            with atomic_write(tmp_path / "file") as stream:
                sweep(tmp_path)
                stream.write("whole")
        assert names(tmp_path) == {"model", "file"}
        assert names(tmp_path / "model") == {"a"}

    def test_what_cannot_be_removed_does_not_keep_the_rest(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(4):
            (tmp_path / f".file.{number:016x}").touch()
        opened, refuse = os.open, iter([True, False, True, False])

        def some(*arguments: Any) -> int:
            if next(refuse):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return opened(*arguments)

        monkeypatch.setattr(os, "open", some)
        sweep(tmp_path)
        assert len(names(tmp_path)) == 2

    def test_without_locks_nothing_is_removed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        killed(tmp_path, "directory")

        def no_locks(*_: object) -> None:
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

        monkeypatch.setattr("dragoman.core.locks.fcntl.flock", no_locks)
        before = names(tmp_path)
        sweep(tmp_path)
        assert names(tmp_path) == before
        with atomic_write(tmp_path / "file") as stream:
            stream.write("x")
        assert names(tmp_path) == {*before, "file"}

    def test_a_directory_that_is_removed_goes_whole(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "step-000001").mkdir()
        (tmp_path / "step-000001" / "state.json").touch()
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # as if killed there
            remove_directory(tmp_path / "step-000001")
        assert not (tmp_path / "step-000001").exists()
        sweep(tmp_path)
        assert names(tmp_path) == set()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abü"), inner),
    max_leaves=5,
)


@given(value=json_values)
def test_json_is_read_back_as_it_was(
    value: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "value.json"
    write_json(path, value)
    text = path.read_text(encoding="utf-8")
    assert json.loads(text) == value
    assert text.endswith("\n")


@pytest.mark.parametrize("size", [0, 1, 2**20, 2**20 + 7])
def test_the_digest_of_a_file_is_that_of_its_content(size: int, tmp_path: Path) -> None:
    content = bytes(range(251)) * (size // 251 + 1)
    (tmp_path / "file").write_bytes(content[:size])
    assert content_digest(tmp_path / "file") == hashlib.sha256(content[:size]).hexdigest()


def test_a_directory_that_is_taken_away_meanwhile_is_told_as_such(tmp_path: Path) -> None:
    """As when a network disk goes away; what is open can still be written to."""
    folder = tmp_path / "disk"
    with (
        pytest.raises(StorageError, match=r"disk/file: its directory was removed or taken away"),
        atomic_write(folder / "file") as stream,
    ):
        stream.write("text")
        folder.rename(tmp_path / "away")
