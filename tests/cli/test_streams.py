"""Standard streams that are closed, full or unread; how commands end then."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import write_experiment

from dragoman.cli.main import run
from dragoman.cli.streams import guarded_streams
from dragoman.core.errors import StorageError

FULL = Path("/dev/full")
has_full = pytest.mark.skipif(not FULL.is_char_device(), reason="no device that is always full")
LOST = "dragoman: error: cannot write to standard output: "


@contextmanager
def standard(name: str, path: Path | int, mode: str = "w") -> Iterator[None]:
    """One of the standard streams, replaced."""
    before = getattr(sys, name)
    with open(path, mode, encoding="utf-8") as stream:
        setattr(sys, name, stream)
        try:
            yield
        finally:
            setattr(sys, name, before)


def closed() -> int:
    """A descriptor on which writing fails as on one that is closed."""
    return os.open(os.devnull, os.O_RDONLY)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines"
    path.write_text("a b c d\n", encoding="utf-8")
    return path


@has_full
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_full_output_is_an_error(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with standard("stdout", FULL):
        assert run([option]) == StorageError.exit_code
    assert capsys.readouterr().err.startswith(f"{LOST}No space left on device; ")


@has_full
def test_a_full_output_of_bytes_is_an_error(
    trained: Path, lines: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with standard("stdout", FULL):
        assert run(["translate", str(trained), "--input", str(lines)]) == StorageError.exit_code
    assert capsys.readouterr().err.startswith(f"{LOST}No space left on device; ")


@has_full
def test_a_full_output_of_many_lines_is_an_error() -> None:
    with standard("stdout", FULL), guarded_streams(), pytest.raises(StorageError):
        sys.stdout.writelines(f"{number}\n" for number in range(10_000))


@has_full
def test_a_full_error_stream_ends_nothing(lines: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with standard("stderr", FULL):
        assert run(["evaluate", str(lines), str(lines)]) == 0
        assert run(["evaluate", str(lines), "nowhere"]) == 3
    assert "BLEU = 100.00" in capsys.readouterr().out


def test_training_goes_to_its_end_with_both_streams_closed(text: Path, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    limits = ["training.max_steps=1", "training.average_checkpoints=1", "data.test={}"]
    settings = [argument for limit in limits for argument in ("--set", limit)]
    with standard("stdout", closed()), standard("stderr", closed()):
        code = run(["train", str(write_experiment(text)), "--run", str(directory), *settings])
    assert code == StorageError.exit_code  # the scores were not seen
    assert {"model", "scores.json", "report.html"} <= {path.name for path in directory.iterdir()}


def test_what_was_swallowed_once_is_still_an_error() -> None:
    with standard("stdout", closed()), guarded_streams():
        with pytest.raises(StorageError):
            print("lost", flush=True)
        with pytest.raises(StorageError):
            print("lost as well", flush=True)


def test_characters_that_an_encoding_lacks_are_written_with_backslashes() -> None:
    before = sys.stdout
    sys.stdout = stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    try:
        with guarded_streams():
            print("\u2192 \udcff", flush=True)
    finally:
        sys.stdout = before
    assert stream.detach().getvalue() == b"\\u2192 \\udcff\n"


@pytest.mark.parametrize(
    ("command", "code", "printed", "told"),
    [
        ("--version >&-", 6, "", f"{LOST}it is closed; "),
        ("--version 2>&-", 0, "dragoman, version ", ""),
        ("evaluate - - <&-", 3, "", "dragoman: error: standard input: cannot be read: Bad file"),
        ("--wrong <&- >&- 2>&-", 2, "", ""),
    ],
)
def test_streams_that_are_closed_from_the_start(
    command: str, code: int, printed: str, told: str
) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -m dragoman {command}'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert (bool(done.stdout), bool(done.stderr)) == (bool(printed), bool(told))
    assert done.stdout.startswith(printed)
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == bool(told)
