"""What is a run, what is somebody else's, and that one process at a time works in a run."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dragoman.core.errors import ConfigError, SavedError, StorageError
from dragoman.core.locks import lock
from dragoman.run.run_directory import MARKER, begin, check_usable, claim, is_run

EXPERIMENT = "data: {}\ntraining: {}\n"


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(EXPERIMENT if name == "config.yaml" else "", encoding="utf-8")
    return folder


class TestUsable:
    @pytest.mark.parametrize(
        "names",
        [
            [],
            [".DS_Store"],
            ["vocabulary.model"],
            ["vocabulary.source.model", "vocabulary.target.model", "vocabulary.json"],
            [MARKER, "config.yaml", "notes.txt"],
            # without a marker: runs of older releases, and copies of runs
            ["config.yaml", "data/store.json", "notes.txt"],
            ["config.yaml", "checkpoints/step-000001/state.json"],
            ["config.yaml", "vocabulary.json", "vocabulary.model"],
        ],
        ids=" ".join,
    )
    def test_empty_or_vocabularies_or_a_run(self, tmp_path: Path, names: list[str]) -> None:
        check_usable(write(tmp_path / "run", *names))
        check_usable(tmp_path / "absent")

    @pytest.mark.parametrize(
        "names",
        [
            ["config.yaml"],
            ["thesis.tex", "vocabulary.model"],
            ["config.yaml", "data/train.en"],
            ["config.yaml", "vocabulary.model", "model.safetensors"],
            ["config.yaml", "model/model.safetensors"],
            ["settings/config.yaml"],
            ["checkpoints/step-000001/state.json"],
        ],
        ids=" ".join,
    )
    def test_anything_else_is_refused(self, tmp_path: Path, names: list[str]) -> None:
        write(tmp_path, *names)
        before = sorted(tmp_path.rglob("*"))
        with (
            pytest.raises(
                ConfigError, match=r"holds \w+.* and is not a run; choose a new or empty"
            ),
            begin(tmp_path),
        ):
            pytest.fail("nothing may be done there")
        assert sorted(tmp_path.rglob("*")) == before

    def test_a_configuration_of_something_else(self, tmp_path: Path) -> None:
        write(tmp_path, "data/store.json")
        for text in ("server: {port: 80}", "data: [", "- data\n- training", ""):
            (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
            assert not is_run(tmp_path)

    def test_names_that_cannot_be(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        for path, error, said in (
            (tmp_path / "file", StorageError, "a file is where a directory should be"),
            (tmp_path / ("x" * 300), StorageError, "the name is too long"),
            (Path(os.fsdecode(b"run\xff")), ConfigError, "not UTF-8"),
        ):
            with pytest.raises(error, match=said), begin(path):
                pass

    def test_a_directory_that_may_not_be_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

        monkeypatch.setattr(os, "listdir", refuse)
        with pytest.raises(StorageError, match="permission denied"):
            check_usable(tmp_path)


HOLDER = """
import os, sys
from dragoman.core.locks import lock
descriptor = os.open(sys.argv[1], os.O_RDWR)
assert lock(descriptor)
print(os.getpid(), flush=True)
sys.stdin.read()
"""


class TestClaim:
    def test_only_one_process_at_a_time(self, tmp_path: Path) -> None:
        run = tmp_path / "run"
        with claim(run):
            pass
        with subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(run / MARKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as holder:
            assert holder.stdout is not None
            assert int(holder.stdout.readline()) == holder.pid
            with pytest.raises(SavedError, match="is using this run; wait"), claim(run):
                pytest.fail("two processes in one run")
            holder.send_signal(signal.SIGKILL)
        with claim(run):  # however it ended
            pass

    def test_the_error_names_who(self, tmp_path: Path) -> None:
        with claim(tmp_path):
            content = (tmp_path / MARKER).read_bytes()
        descriptor = os.open(tmp_path / MARKER, os.O_RDWR)
        assert lock(descriptor)
        who = f"process {os.getpid()} on {socket.gethostname()}"
        for written, said in ((content, who), (b"?", "another process"), (b"[5]", "another")):
            (tmp_path / MARKER).write_bytes(written)
            with pytest.raises(SavedError, match=said), claim(tmp_path):
                pass
        os.close(descriptor)

    def test_again_in_the_same_process(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with claim(Path("run")):
            with claim(tmp_path / "run"):
                pass
            descriptor = os.open(tmp_path / "run" / MARKER, os.O_RDWR)
            with pytest.raises(BlockingIOError):  # the inner one did not release it
                lock(descriptor)
            os.close(descriptor)
        assert is_run(tmp_path / "run")

    def test_followers_leave_it_to_the_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with claim(tmp_path):
            descriptor = os.open(tmp_path / MARKER, os.O_RDWR)
        assert lock(descriptor)
        monkeypatch.setenv("RANK", "1")
        with claim(tmp_path):
            pass
        monkeypatch.setenv("RANK", "0")
        with pytest.raises(SavedError), claim(tmp_path):
            pass
        os.close(descriptor)

    def test_without_locks_it_goes_on_with_a_warning(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def no_locks(*_: object) -> None:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        monkeypatch.setattr("dragoman.core.locks.fcntl.flock", no_locks)
        with claim(tmp_path):
            assert "its file system has no locks" in caplog.text

    def test_what_a_killed_process_left_is_swept(self, tmp_path: Path) -> None:
        left = [
            ".metrics.jsonl.0123456789abcdef",
            ".data.0123456789abcdef/source.ids",
            "checkpoints/.step-000003.0123456789abcdef/model.safetensors",
            "model/.ctranslate2.0123456789abcdef/model.bin",
        ]
        write(tmp_path, "config.yaml", "checkpoints/step-000002/state.json", *left)
        with claim(tmp_path):
            found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
        assert found == {
            *(MARKER, "config.yaml", "checkpoints", "checkpoints/step-000002"),
            *("checkpoints/step-000002/state.json", "model"),
        }


def test_another_thread_may_not_work_in_it(tmp_path: Path) -> None:
    """It would train beside the first, into the same files."""
    refused: list[BaseException] = []

    def other() -> None:
        try:
            with claim(tmp_path):
                pass
        except SavedError as error:
            refused.append(error)

    def start_another() -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    with claim(tmp_path):
        with claim(tmp_path):
            start_another()
        start_another()
    start_another()
    assert [f"process {os.getpid()}" in str(error) for error in refused] == [True, True]
