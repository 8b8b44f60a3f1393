"""What is given hostile input, and what may come of it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

from dragoman.core.errors import DragomanError

MEBIBYTE = 2**20
_SEEDS = Path(__file__).parent / "seeds"


class Hostile(NamedTuple):
    """One input: a file or a request."""

    name: str
    """Of the file, or of the kind of request; the suffix may say the format."""
    content: bytes


@dataclass(frozen=True)
class Bounds:
    """What one input may cost; more is a failure."""

    seconds: float = 2.0
    """Of processor time, so that a busy machine does not count."""
    seconds_per_mebibyte: float = 20.0
    """Of the input, in addition."""
    mebibytes: float = 256.0
    """Of memory beyond what the process had before."""
    mebibytes_per_mebibyte: float = 200.0
    """Of the input, in addition."""
    waiting: float = 60.0
    """Seconds of the clock in which a process that uses none of its own must end."""

    def processor_seconds(self, size: int) -> float:
        """What an input of ``size`` bytes may take."""
        return self.seconds + self.seconds_per_mebibyte * size / MEBIBYTE

    def memory(self, size: int) -> int:
        """Bytes that an input of ``size`` bytes may take."""
        return int(self.mebibytes * MEBIBYTE + self.mebibytes_per_mebibyte * size)


@dataclass(frozen=True)
class Target:
    """A reader, and how it is attacked."""

    name: str
    call: Callable[[Hostile], object]
    """Reads an input whole: what is lazy is exhausted."""
    seeds: Sequence[Hostile]
    """Good inputs, each of which must be accepted, unless :attr:`refused_seeds`."""
    refusals: tuple[type[Exception], ...] = (DragomanError,)
    """Errors that say what is wrong with the input; any other one is a failure."""
    tokens: Sequence[bytes] = ()
    """Of the format, for inserting."""
    bombs: Sequence[Hostile] = ()
    """Inputs that cost much if they are read carelessly."""
    made: Callable[[Random], Hostile] | None = None
    """Makes an input with knowledge of the format, such as a digest that is right."""
    bounds: Bounds = Bounds()
    refused_seeds: bool = False
    """Whether seeds may be refused, such as a request for something that is not there."""
    coverage_guided: bool = False
    """Whether its code is Python that atheris can follow."""


def from_file(read: Callable[[Path], object], folder: Path) -> Callable[[Hostile], object]:
    """A call that writes its input to a file of that name, and has it read.

    Args:
        read: reads a path.
        folder: where to write.
    """

    def call(hostile: Hostile) -> object:
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            path = Path(temporary) / hostile.name
            path.write_bytes(hostile.content)
            return read(path)

    return call


def from_directory(
    read: Callable[[Path], object], template: Path, folder: Path
) -> Callable[[Hostile], object]:
    """A call that replaces one file of a directory by its input, and has the copy read.

    Args:
        read: reads a directory.
        template: the good directory; the name of an input is a path in it.
        folder: where to copy it.
    """

    def call(hostile: Hostile) -> object:
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            copy = Path(temporary) / template.name
            shutil.copytree(template, copy)
            (copy / hostile.name).write_bytes(hostile.content)
            return read(copy)

    return call


def files_in(directory: Path, *left_out: str) -> list[Hostile]:
    """The files of a directory, each as a seed."""
    return [
        Hostile(path.relative_to(directory).as_posix(), path.read_bytes())
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in left_out
    ]


def seed(name: str) -> Hostile:
    """A file in ``soak/fuzzing/seeds``."""
    return Hostile(name, (_SEEDS / name).read_bytes())


def texts(name: str, *contents: str) -> list[Hostile]:
    """Seeds of one name."""
    return [Hostile(name, content.encode()) for content in contents]


def tokens(words: str | Iterable[str]) -> tuple[bytes, ...]:
    """Tokens of a format; a string is divided at its spaces."""
    return tuple(word.encode() for word in (words.split() if isinstance(words, str) else words))
