"""The interface of a file format: how it reads and writes sentence pairs."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from pathlib import Path
from typing import ClassVar, Self

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.wording import named
from dragoman.text.pairs import Link, Pair

_MOST_COMPARED, _LONGEST_COMPARED = 1000, 80
"""Limits on the search for a similar name: the number of names, and characters of each."""


Sides = tuple[str, str]
"""Names of the source and the target in a file: columns, keys, languages ..."""

AddPair = Callable[[Pair], object]
"""A function that writes one more pair."""


class Format(ABC):
    """A format of files that hold pairs.

    Bad content is a :class:`~dragoman.core.errors.DataError` that names file, line and remedy.
    Texts are read with :func:`dragoman.text.lines.read_lines` or ``open_bytes`` and written with
    ``write_text``, which handle compression and never leave a partial file.
    """

    name: ClassVar[str]
    """Its name in configurations and commands, such as ``tsv``."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Suffixes of its files, such as ``.tsv``. Suffixes of compression may follow them."""
    sides: ClassVar[str | None] = None
    """The sort of names that ``source`` and ``target`` are in its files, in the plural, such as
    "columns". It is None if a file has just two sides, which need no names."""
    counts: ClassVar[str] = "line"
    """What :attr:`Pair.line` counts: lines, or in formats without lines units or segments."""
    one_file: ClassVar[bool] = True
    """Whether one file has both sides. If not, each side has a file."""
    is_folder: ClassVar[bool] = False
    """Whether its pairs are in the files of a folder."""
    has_states: ClassVar[bool] = False
    """Whether a translation can be marked as not reviewed, like a fuzzy message of gettext."""
    reads_unreviewed = False
    """Whether translations that are not reviewed are read as well."""

    @abstractmethod
    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        """Reads the pairs unchanged, including empty ones, in constant memory if possible.

        Args:
            files: the file with both sides, or those of the source lines (if wanted) and target
                lines.
            sides: names of the two sides, which may be the same. Formats without :attr:`sides`
                ignore them.

        Raises:
            DataError: while iterating: missing, damaged, of another format or without a side.
        """

    def files(self, path: Path, sides: Sides) -> list[Path]:
        """The files from which the pairs of a path are read; of a folder, those of its files."""
        return [path]

    def with_unreviewed(self) -> Self:
        """The same format, which also reads translations that are not reviewed."""
        other = copy(self)
        other.reads_unreviewed = True
        return other

    def write(self, files: Sequence[Path], sides: Sides) -> AbstractContextManager[AddPair]:
        """Writes files, which appear at the end of the ``with`` block if it succeeds.

        Reading the files again gives the same pairs.

        Args:
            files: as for :meth:`read`; compressed if the suffix says so.

        Raises:
            ConfigError: the format cannot be written, or cannot have these names.
            DataError: in the block: the format cannot hold a pair.
            StorageError: the file cannot be written to the disk.
        """
        raise ConfigError(
            f"{files[0]}: files of the format {self.name} are read and not written; choose another "
            "format, such as tsv or jsonl"
        )

    @property
    def names_sides(self) -> bool:
        """Whether the two sides have to be named within a file."""
        return self.one_file and self.sides is not None

    def offered_sides(self, path: Path) -> list[str]:
        """The names that a side of this file can have; empty if sides have no names.

        Raises:
            DataError: it cannot be read.
        """
        return []

    def languages(self, path: Path) -> tuple[str | None, str | None]:
        """The languages of a file whose sides have no names, if it states them.

        Raises:
            DataError: it cannot be read.
        """
        return None, None

    def scored_side(self, side: str) -> str:
        """The side that outputs for ``side`` are scored against, if ``side`` leaves something out.

        A metric may need more than a model writes, such as the tags of a tree.
        """
        return side

    def aligns(self, sides: Sides) -> bool:
        """Whether the kinds of these two sides determine the links between their words."""
        return False

    def links(self, pair: Pair) -> list[Link]:
        """The links between words of a pair of such sides; none in other formats.

        Raises:
            DataError: the pair is not of those sides.
        """
        return []


def instead(name: str, known: Iterable[str], what: str) -> str:
    """A list of the known names, and those that ``name`` was probably meant to be."""
    names = [" ".join(one.split()) for one in known]
    short = [one for one in names[:_MOST_COMPARED] if len(one) <= _LONGEST_COMPARED]
    close = difflib.get_close_matches(name[:_LONGEST_COMPARED], short, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    return f"{meant or ';'} {what} there: {named(names) or 'none'}"


def check_names(path: Path, sides: Sides) -> None:
    """Refuses names that the two sides of one file cannot have.

    Raises:
        ConfigError: they are the same.
    """
    if sides[0] == sides[1]:
        raise ConfigError(f"{path}: both sides would be called {sides[0]!r}; give them two names")


def unwritable(path: Path, pair: Pair, side: str, what: str) -> DataError:
    """The error for a pair that a format cannot hold."""
    return DataError(
        f"{path}: the {side} of the pair of line {pair.line} has {what}, which this format cannot "
        f"hold; write JSONL, which can, or correct it: {getattr(pair, side)[:40]!r}"
    )
