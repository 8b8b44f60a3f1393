"""The files of a generated corpus: finished shards, their origin, and the joined corpus.

While a corpus is made, its directory has ``origin.json`` and ``shards/``, in which shard n is the
file ``n.jsonl.gz`` and its counts ``n.json``.  The counts are written last, so that their presence
marks a finished shard.  At the end the shards become one file, since gzip members may be
concatenated.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any

from dragoman.core.errors import ConfigError, DataError, SavedError
from dragoman.core.files import (
    atomic_write,
    content_digest,
    read_json,
    storage_errors,
    sweep,
    write_json,
)
from dragoman.core.wording import named
from dragoman.text.lines import write_text

log = logging.getLogger(__name__)

PAIRS_FILE = "pairs.jsonl.gz"
ORIGIN_FILE = "origin.json"
TEACHER_REPORT_FILE = "report.json"
"""The report on the answers of a teacher behind an API, beside its pairs."""
SHARDS_DIRECTORY = "shards"
_OURS = frozenset([PAIRS_FILE, ORIGIN_FILE, SHARDS_DIRECTORY])


@dataclass(frozen=True)
class Made:
    """Words for the corpus in errors."""

    what: str = "synthetic corpus"
    again: str = "translate"
    """Verb for making it, as in "repeat the command to translate it again"."""


@dataclass
class Counts:
    """Numbers of lines by outcome."""

    lines: int = 0
    """Pairs."""
    refused: int = 0
    """Lines that are too long for the model."""
    empty: int = 0
    """Lines that are empty or whose translation is."""

    def __add__(self, other: Counts) -> Counts:
        sums = {
            one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)
        }
        return Counts(**sums)


class Shard:
    """A shard that is being written."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.counts = Counts()
        self.first_refusal = ""

    def add(self, row: Mapping[str, Any]) -> None:
        """Write a pair."""
        self._stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        self.counts.lines += 1

    def refuse(self, reason: str) -> None:
        """Count a line that cannot be translated, without writing it."""
        self.first_refusal = self.first_refusal or reason
        self.counts.refused += 1

    def leave_empty(self) -> None:
        """Count a line without text or without translation, without writing it."""
        self.counts.empty += 1


class Shards:
    """The directory of a corpus that is made shard by shard.

    Args:
        output: the directory.
        made: words for the corpus in errors.
        more_files: names of further files that may be in the directory.
    """

    def __init__(
        self, output: Path, made: Made | None = None, more_files: Collection[str] = ()
    ) -> None:
        self.output = output
        self._files = _OURS.union(more_files)
        self._made = made or Made()
        self.path = output / PAIRS_FILE
        self.done = 0
        """Lines of the input that are in finished shards."""
        self._count = 0
        self._found = Counts()
        self._digests: list[str] = []

    def check_usable(self) -> None:
        """Refuse a directory with other files; hidden files are ignored.

        Raises:
            ConfigError: there are other files.
        """
        with storage_errors(self.output):
            there = list(self.output.iterdir()) if self.output.exists() else []
        names = {path.name for path in there if not path.name.startswith(".")}
        if strangers := names - self._files:
            raise ConfigError(
                f"{self.output}: holds {min(strangers)} and is no {self._made.what}; choose a "
                "new or empty directory"
            )

    def begin(self, origin: Mapping[str, Any]) -> dict[str, Any] | None:
        """Find the shards that an earlier call has finished, or start a new corpus.

        ``origin`` has everything that the corpus depends on.

        Returns:
            The origin of a finished corpus, with its counts; None if there is work left.

        Raises:
            ConfigError: the directory holds a corpus with another origin.
            SavedError: a file is damaged.
        """
        sweep(self.output)
        sweep(self.output / SHARDS_DIRECTORY)
        file = self.output / ORIGIN_FILE
        if not file.exists():
            if self.path.exists():
                raise ConfigError(
                    f"{self.output}: holds {PAIRS_FILE} without {ORIGIN_FILE}, which says what it "
                    "was made from; choose another directory, or remove that file"
                )
            write_json(file, origin)
            return None
        found, wanted = self._read(file), json.loads(json.dumps(origin))
        made = found.pop("output", None)
        if found != wanted:
            raise ConfigError(
                f"{self.output}: was made with other settings ({differing(found, wanted)}; see "
                f"{ORIGIN_FILE}); choose another directory, or remove this one to begin again"
            )
        if made is not None:
            return self._finished(found, made)
        self._find_shards()
        return None

    def _finished(self, origin: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
        if not self.path.is_file() or content_digest(self.path) != made.get("sha256"):
            raise SavedError(
                f"{self.path}: missing or altered; restore it, or remove {self.output} to "
                f"{self._made.again} the text again"
            )
        self._remove_shards()
        return {**origin, "output": made}

    def _find_shards(self) -> None:
        while (file := self._file(self._count, "json")).exists():
            self._include(self._read(file), file)

    def _include(self, record: Mapping[str, Any], file: Path) -> None:
        """Count a finished shard."""
        self.done += self._input_lines(record, file)
        try:
            self._found += Counts(**record["counts"])
            self._digests.append(record["sha256"])
        except (KeyError, TypeError) as error:
            raise self._damage(file) from error
        self._count += 1

    def _input_lines(self, record: Mapping[str, Any], file: Path) -> int:
        try:
            return int(record["input_lines"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._damage(file) from error

    def _damage(self, file: Path) -> SavedError:
        return SavedError(f"{file}: damaged; remove it to {self._made.again} the shard again")

    @contextmanager
    def next(self, input_lines: int) -> Iterator[Shard]:
        """Write the shard of the next ``input_lines``; it is finished when the block ends."""
        number = self._count
        with self.numbered(number, input_lines) as shard:
            yield shard
        file = self._file(number, "json")
        self._include(self._read(file), file)

    def finished(self) -> dict[int, int]:
        """Number of input lines of each finished shard, by shard number."""
        return {
            int(file.stem): self._input_lines(self._read(file), file)
            for file in (self.output / SHARDS_DIRECTORY).glob("*.json")
            if file.stem.isdecimal()
        }

    def include(self, input_lines: int) -> None:
        """Count all shards, which must be finished, including those of other processes.

        Raises:
            SavedError: a shard is missing.
        """
        self._find_shards()
        if self.done != input_lines:
            raise SavedError(
                f"{self._file(self._count, 'json')}: missing; repeat the command to "
                f"{self._made.again} the shard again"
            )

    @contextmanager
    def numbered(self, number: int, input_lines: int) -> Iterator[Shard]:
        """Write the shard of a number, in this process or another; see :meth:`next`."""
        path = self._file(number, "jsonl.gz")
        with write_text(path) as stream:
            shard = Shard(stream)
            yield shard
        if shard.counts.refused:
            log.warning(
                "%d of %d lines are left out, the first because %s",
                *(shard.counts.refused, input_lines, shard.first_refusal),
            )
        record = {
            "input_lines": input_lines,
            "counts": asdict(shard.counts),
            "sha256": content_digest(path),
        }
        write_json(self._file(number, "json"), record)

    def join(self, origin: Mapping[str, Any]) -> dict[str, Any]:
        """Join all shards into one file, and return ``origin`` with the counts of the whole.

        Raises:
            DataError: no line has a translation.
            SavedError: a shard is damaged.
        """
        if not self._found.lines:
            raise DataError(
                f"{self.output}: none of the {self.done:,} lines has a translation "
                f"({self._found.refused:,} too long, {self._found.empty:,} empty)"
            )
        whole = hashlib.sha256()
        with atomic_write(self.path, "wb") as stream:
            for number, digest in enumerate(self._digests):
                content = self._content(number, digest)
                whole.update(content)
                stream.write(content)
        made = {**asdict(self._found), "sha256": whole.hexdigest()}
        finished = {**origin, "output": made}
        write_json(self.output / ORIGIN_FILE, finished)
        self._remove_shards()
        return finished

    def _content(self, number: int, digest: str) -> bytes:
        """The bytes of a shard; a damaged shard loses its counts, so that it is made again."""
        path = self._file(number, "jsonl.gz")
        content = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() != digest:
            for later in range(number, self._count):
                self._file(later, "json").unlink(missing_ok=True)
            raise SavedError(
                f"{path}: altered since it was written; repeat the command to {self._made.again} "
                "it again"
            )
        return content

    def _file(self, number: int, suffix: str) -> Path:
        return self.output / SHARDS_DIRECTORY / f"{number:06}.{suffix}"

    def _remove_shards(self) -> None:
        shutil.rmtree(self.output / SHARDS_DIRECTORY, ignore_errors=True)

    def _read(self, file: Path) -> dict[str, Any]:
        try:
            content = read_json(file)
            if not isinstance(content, dict):
                raise ValueError("not a record")
        except (OSError, ValueError) as error:
            raise SavedError(
                f"{file}: damaged; remove {self.output} to {self._made.again} the text again"
            ) from error
        return content


def differing(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """The names of the values that differ."""
    names = dict.fromkeys([*wanted, *found])
    return named(name for name in names if found.get(name) != wanted.get(name))
