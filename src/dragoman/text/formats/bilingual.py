"""The interface of files that state the two languages of their pairs: XLIFF, Qt Linguist."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.text.formats.interface import Format, Sides
from dragoman.text.pairs import Pair

StatedLanguages = tuple[str | None, str | None]
"""The languages that a part states for its sources and its targets."""
IsWanted = Callable[[str | None, str | None], bool]
"""Whether a part in two languages is read."""


class BilingualUnit(NamedTuple):
    """A source with its translation."""

    number: int
    """Of the unit in its file, from 1; of the segments of a unit, all the same."""
    source: str
    target: str
    is_unreviewed: bool


class BilingualFormat(Format):
    """Files with one source and one target language, at least in each part."""

    counts = "unit"
    has_states = True
    remedy: ClassVar[str]
    """The remedy if no translation is finished."""

    @abstractmethod
    def units(self, path: Path, is_wanted: IsWanted) -> Iterator[BilingualUnit]:
        """The translations in parts in some languages, also unreviewed ones.

        Raises:
            DataError: while iterating: damaged.
        """

    @abstractmethod
    def stated_languages(self, path: Path) -> list[StatedLanguages]:
        """The languages of each part, without repetitions."""

    @override
    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        (path,) = files
        languages: StatedLanguages = None, None
        found = False

        def agrees(*stated: str | None) -> bool:
            nonlocal languages
            languages = _agreed(path, languages, stated)  # type: ignore[arg-type]  # two
            return True

        for unit in self.units(path, agrees):
            if self.reads_unreviewed or not unit.is_unreviewed:
                found = True
                yield Pair(unit.source, unit.target, unit.number)
        if not found:
            raise DataError(f"{path}: no unit has a finished translation; {self.remedy}")

    @override
    def languages(self, path: Path) -> StatedLanguages:
        """The languages in the file; that of the target is optional."""
        return next(iter(self.stated_languages(path)), (None, None))


def _agreed(path: Path, known: StatedLanguages, stated: StatedLanguages) -> StatedLanguages:
    """The languages on which the parts of a file agree.

    Raises:
        DataError: the parts have different languages.
    """
    for one, other in zip(known, stated, strict=True):
        if one and other and one != other:
            raise DataError(f"{path}: has parts in {one!r} and in {other!r}; split it")
    return known[0] or stated[0], known[1] or stated[1]
