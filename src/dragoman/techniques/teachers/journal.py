"""The answers of a teacher, kept one by one, so that none is asked for or paid twice.

``answers.jsonl`` has a record for each request.  It is flushed to the disk before the next request
counts as done; a record that a crash cut off is dropped, and its lines are asked for again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from dragoman.core.errors import SavedError
from dragoman.core.files import storage_errors
from dragoman.techniques.teachers.answer_checks import Problem
from dragoman.techniques.teachers.spending import Spending

ANSWERS_FILE = "answers.jsonl"


@dataclass(frozen=True)
class TaughtLine:
    """The outcome of a line."""

    place: int
    """Place of the line in the text, from 0."""
    candidates: tuple[str, ...] = ()
    """Translations that passed the checks; empty: the line is dropped."""
    problem: Problem | None = None
    """Why the line is dropped."""
    rejected: str = ""
    """The last translation that did not pass, for the report."""
    model: str = ""
    """The model, as the server names it."""
    date: str = ""
    """Of the answer, ``YYYY-MM-DD``."""


class Journal:
    """The file of answers; use it as a context manager to add to it.

    Args:
        path: the file; it is made when the first answer comes.

    Raises:
        SavedError: a record other than the last is damaged.
        StorageError: the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answers: dict[int, TaughtLine] = {}
        self.spent = Spending()
        self._stream: IO[bytes] | None = None
        self._length = 0  # of the whole records
        with storage_errors(path):
            content = path.read_bytes() if path.exists() else b""
        *lines, _cut_off = content.split(b"\n")
        for number, line in enumerate(lines, 1):
            self._read(line, number)
            self._length += len(line) + 1

    def _read(self, line: bytes, number: int) -> None:
        try:
            record = json.loads(line)
            found = [
                TaughtLine(**{**one, "candidates": tuple(one.get("candidates", ()))})
                for one in record["lines"]
            ]
            self.spent = self.spent + Spending(**record["spent"])
        except (ValueError, LookupError, TypeError) as error:
            raise SavedError(
                f"{self.path}:{number}: damaged; restore the file, or remove it to ask for all "
                "its lines again"
            ) from error
        self.answers.update((one.place, one) for one in found)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def add(self, answers: Iterable[TaughtLine], spent: Spending) -> None:
        """Keep what a request has brought, on the disk.

        Raises:
            StorageError: the disk refuses.
        """
        known = list(answers)
        record = {"lines": [_plain(one) for one in known], "spent": asdict(spent)}
        with storage_errors(self.path):
            if self._stream is None:
                self._stream = self.path.open("ab")
                self._stream.truncate(self._length)
            self._stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())
        self.spent = self.spent + spent
        self.answers.update((one.place, one) for one in known)


def _plain(answer: TaughtLine) -> dict[str, Any]:
    return {name: value for name, value in asdict(answer).items() if value or name == "place"}
