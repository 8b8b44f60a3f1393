"""Scores of lines by a program of another environment: asked once for each, and kept.

The program reads a JSON object from each line of its standard input, and prints a number for each,
in order.  It gets neither our modules nor our environment's.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import queue
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any

from tqdm.auto import tqdm

from dragoman.core.errors import ConfigError, StorageError, WorkerError
from dragoman.core.files import make_directory, user_data_folder
from dragoman.evaluation.metric_commands import MetricCommand
from dragoman.evaluation.metric_file import metrics_file

_OURS = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")  # would lead the program to our packages
_LARGEST_SCRIPT = 2**20  # bytes of a file whose content counts, not its name alone
_QUIET_FOR = 2  # seconds without a progress bar
_AT_ONCE = 500  # keys in a query


def program_scores(
    name: str, program: MetricCommand, lines: Sequence[Mapping[str, Any]]
) -> list[float]:
    """A score for each line; the program is asked for those that it has not scored before.

    Scores that it gives before it fails are kept.

    Args:
        name: of the metric, for errors and the bar.
        program: how to run it.
        lines: what it reads about each translation.

    Raises:
        ConfigError: the program cannot be started.
        StorageError: scores cannot be kept.
        WorkerError: it fails, hangs, or gives other than a number for each line.
    """
    texts = [json.dumps(line, sort_keys=True) for line in lines]
    with ScoreCache(name, program) as kept:
        known = kept.find(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            # The scores come first, so that their end is waited for, and with it the exit code.
            for score, text in zip(_computed(name, program, missing), missing, strict=True):
                known[text] = score
                kept.add(text, score)
    return [known[text] for text in texts]


class ScoreCache:
    """Scores of one program on this disk.

    Raises:
        StorageError: the file cannot be opened.
    """

    def __init__(self, name: str, program: MetricCommand) -> None:
        folder = user_data_folder() / "scores"
        make_directory(folder)
        self.path = folder / f"{name}-{_digest(program)}.sqlite"
        try:
            self._base = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("CREATE TABLE IF NOT EXISTS scores (line BLOB PRIMARY KEY, score)")
        except sqlite3.Error as error:
            raise StorageError(
                f"{self.path}: scores cannot be kept there ({error}); delete it"
            ) from error

    def __enter__(self) -> ScoreCache:
        return self

    def __exit__(self, *error: object) -> None:
        self._base.close()

    def find(self, texts: Sequence[str]) -> dict[str, float]:
        """The scores that are known."""
        keys = {_key(text): text for text in texts}
        found = {}
        for part in _parts(list(keys)):
            marks = ",".join("?" * len(part))
            query = f"SELECT line, score FROM scores WHERE line IN ({marks})"
            found.update({keys[key]: score for key, score in self._base.execute(query, part)})
        return found

    def add(self, text: str, score: float) -> None:
        """Keep a score.

        Raises:
            StorageError: the disk refuses it.
        """
        try:
            self._base.execute("INSERT OR REPLACE INTO scores VALUES (?, ?)", (_key(text), score))
        except sqlite3.Error as error:
            raise StorageError(f"{self.path}: a score cannot be kept: {error}") from error


def _parts(keys: list[bytes]) -> Iterator[list[bytes]]:
    return (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _digest(program: MetricCommand) -> str:
    """Changes with the command, the content of its scripts, and the model that it names."""
    digest = hashlib.sha256(json.dumps([program.command, program.signature]).encode())
    for word in program.command[1:]:
        with suppress(OSError, ValueError):
            path = Path(word)
            if path.is_file() and path.stat().st_size <= _LARGEST_SCRIPT:
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _computed(name: str, program: MetricCommand, texts: Sequence[str]) -> Iterator[float]:
    """The scores, as the program prints them."""
    with tempfile.TemporaryFile() as errors:
        process = _started(name, program, errors)
        try:
            output = _Output(process, texts)
            count = 0
            with tqdm(total=len(texts), desc=name, unit=" lines", delay=_QUIET_FOR) as bar:
                while (line := output.next(program.silence_seconds)) is not None:
                    count += 1
                    if count > len(texts):
                        break
                    yield _number(name, line, count)
                    bar.update()
            _check_end(name, process, errors, count, len(texts))
        except queue.Empty as error:
            raise WorkerError(
                f"metric {name}: its program printed nothing for {program.silence_seconds:g} "
                f"seconds, after {count:,} of {len(texts):,} scores, and was ended; if it needs "
                f"longer, raise silence_seconds in {metrics_file()}"
            ) from error
        finally:
            _end(process)


def _started(name: str, program: MetricCommand, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    environment = {key: value for key, value in os.environ.items() if key not in _OURS}
    executable = shutil.which(program.command[0])
    try:
        if executable is None:
            raise FileNotFoundError("no such program")
        return subprocess.Popen(
            [executable, *program.command[1:]],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,  # so that its own processes end with it
        )
    except OSError as error:
        raise ConfigError(
            f"metric {name}: {program.command[0]} cannot be started ({error.strerror or error}); "
            f"correct its command in {metrics_file()}"
        ) from error


class _Output:
    """The lines that a process prints, read while its input is written."""

    def __init__(self, process: subprocess.Popen[bytes], texts: Sequence[str]) -> None:
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        assert process.stdin is not None
        assert process.stdout is not None
        threading.Thread(target=_write, args=(process.stdin, texts), daemon=True).start()
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()

    def next(self, seconds: float) -> bytes | None:
        """The next line; None at the end; ``queue.Empty`` if there is none for so long."""
        return self._lines.get(timeout=seconds)

    def _read(self, stream: IO[bytes]) -> None:
        with suppress(OSError, ValueError), closing(stream):
            for line in stream:
                self._lines.put(line)
        self._lines.put(None)


def _write(stream: IO[bytes], texts: Sequence[str]) -> None:
    with suppress(OSError, ValueError), closing(stream):  # it ended early: its exit code says so
        for text in texts:
            stream.write(text.encode() + b"\n")


def _number(name: str, line: bytes, count: int) -> float:
    try:
        score = float(line)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise WorkerError(
            f"metric {name}: line {count} of what its program prints is no finite number: "
            f"{line.strip()!r:.80}; it must print scores alone, and anything else on standard error"
        )
    return score


def _check_end(
    name: str, process: subprocess.Popen[bytes], errors: IO[bytes], count: int, wanted: int
) -> None:
    if count > wanted:
        raise WorkerError(
            f"metric {name}: its program prints more than the {wanted:,} scores of its lines"
        )
    code = process.wait()
    if code == 0 and count == wanted:
        return
    errors.seek(0)
    said = errors.read().decode("utf-8", "replace").strip().splitlines()
    last = f": {said[-1].strip():.300}" if said else ""
    how = f"ended with exit code {code}" if code else "ended"
    raise WorkerError(
        f"metric {name}: its program {how} after {count:,} of {wanted:,} scores{last}"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and those that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
