"""The interface of a folder of translated files: its languages and its pairs."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import ClassVar

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.core.wording import named
from dragoman.text.formats.interface import Format, Sides
from dragoman.text.formats.projects.language_places import (
    DEFAULT,
    LANGUAGE,
    LanguagePlace,
    Placed,
    Placing,
    files_below,
    fitting_language,
    language_places,
    most_shared,
)
from dragoman.text.icu_syntax import sentence_pairs
from dragoman.text.language_codes import base_language, meant
from dragoman.text.lines import open_bytes
from dragoman.text.pairs import Pair
from dragoman.text.string_files.keyed_string import Key

_USUAL_DEFAULT = "en"

log = logging.getLogger(__name__)

Report = Callable[[DataError], object]
"""Called with the problem of a file that cannot be read.  The others are read all the same."""


@lru_cache(maxsize=10_000)
def _warn(message: str) -> None:
    log.warning(message)


def warn_once(error: DataError) -> None:
    """Warn of the problem of a file, once in a process however often the file is read."""
    _warn(str(error))


@dataclass(frozen=True)
class ProjectString:
    """A string of a project with its translation."""

    source: str
    target: str
    file: Path
    """The file of the translation."""
    is_unreviewed: bool = False
    """Whether it is marked as not reviewed, like a fuzzy message."""
    line: int = 0
    """Its line in the file; 0 if unknown."""
    key: Key = ()
    """Its key, in files whose strings have keys."""


@dataclass(frozen=True)
class FileToTranslate:
    """A file in the language of the source, and that of its translation."""

    source: Path
    output: Path
    """May exist; its translations stay."""


class ProjectFolder(Format):
    """A folder with files in several languages, or with several languages in each file.

    Its pairs are those of all files below it.  A file that is damaged is left out with a warning.
    """

    sides = "languages"
    is_folder = True
    title: ClassVar[str]
    """Its files for people, such as "gettext catalogues"."""
    examples: ClassVar[str]
    """Where its files are, for messages."""
    file_suffixes: ClassVar[tuple[str, ...]] = ()
    """Suffixes of its files; none: any file."""

    @abstractmethod
    def units(self, folder: Path, sides: Sides, report: Report) -> Iterator[ProjectString]:
        """The pairs of two languages, file by file, with those that are not reviewed.

        Raises:
            DataError: while iterating: the folder does not have these languages.
        """

    def files_to_translate(self, folder: Path, sides: Sides) -> list[FileToTranslate]:
        """The files whose strings can be translated, and where the project keeps the translation.

        By default there are none.
        """
        return []

    def content(self, file: FileToTranslate) -> bytes:
        """The document to translate.

        Raises:
            DataError: it cannot be read.
        """
        with open_bytes(file.source) as stream:
            return stream.read()

    def pairs(self, folder: Path, sides: Sides, report: Report) -> Iterator[ProjectString]:
        """The pairs of two languages; those that are not reviewed only if they are read.

        Messages with branches, such as plural forms, are one pair for each.
        """
        for unit in self.units(folder, sides, report):
            if self.reads_unreviewed or not unit.is_unreviewed:
                for source, target in sentence_pairs(unit.source, unit.target):
                    yield replace(unit, source=source, target=target)

    @override
    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        (folder,) = files
        number = 0
        for number, unit in enumerate(self.pairs(folder, sides, warn_once), 1):
            yield Pair(unit.source, unit.target, number)
        if not number:
            raise DataError(
                f"{folder}: no translations from {sides[0]!r} into {sides[1]!r} in its "
                f"{self.title}; languages there: {named(self.offered_sides(folder)) or 'none'}"
            )


class PlacedFiles(ProjectFolder):
    """A folder whose files have one language each, which their paths say."""

    def places(self, path: PurePosixPath) -> Iterable[LanguagePlace]:
        """The readings of a path below the folder."""
        return language_places(path)

    def placing(self, folder: Path) -> Placing:
        """All files of the folder by template and language."""
        return most_shared(
            (path, list(self.places(PurePosixPath(path.relative_to(folder).as_posix()))))
            for path in files_below(folder, self.file_suffixes)
            if path != folder
        )

    @override
    def offered_sides(self, path: Path) -> list[str]:
        return _offered(self.placing(path))

    @override
    def files(self, path: Path, sides: Sides) -> list[Path]:
        found = self.both_files(self.placing(path), sides)
        return [file for both in found for file in both if file is not None]

    def both_files(self, placing: Placing, sides: Sides) -> list[tuple[Path | None, Path]]:
        """The files of the two sides, template by template, if both are there."""
        chosen = ((_chosen(files, sides), files) for _, files in sorted(placing.items()))
        return [
            (files[source], files[target])
            for (source, target), files in chosen
            if source is not None and target is not None
        ]

    def placed_outputs(
        self, folder: Path, sides: Sides
    ) -> Iterator[tuple[Placed, str | None, Path]]:
        """The files of each template, the source language among them, and that of the translation.

        The path of a new file is spelt like those of other languages.
        """
        for template, files in sorted(self.placing(folder).items()):
            source, target = _chosen(files, sides)
            path = template.replace(LANGUAGE, self.spelt(sides[1], files))
            yield files, source, folder / path if target is None else files[target]

    def spelt(self, language: str, others: Iterable[str]) -> str:
        """A language in a path, with the sign between its parts that other languages there have."""
        spelt = [one for one in others if one]
        sign = next((sign for sign in "_-" if any(sign in one for one in spelt)), None)
        return language if sign is None else language.replace("-", sign).replace("_", sign)

    def check_languages(self, folder: Path, placing: Placing, sides: Sides) -> None:
        """Refuse languages that no file is in.

        Raises:
            DataError: one is missing, with those that are there.
        """
        offered = self.offered_sides(folder)
        chosen = [_chosen(files, sides) for files in placing.values()]
        for side, found in zip(sides, zip(*chosen, strict=True), strict=False):
            if all(one is None for one in found):
                raise self.no_language(folder, side, offered)

    def no_language(self, folder: Path, side: str, offered: Sequence[str]) -> DataError:
        """The error for a language that the folder lacks."""
        return DataError(
            f"{folder}: no {self.title} in {side!r}{meant(side, offered)}; languages there: "
            f"{named(offered) or 'none'}"
        )


def _offered(placing: Placing) -> list[str]:
    return sorted({one for files in placing.values() for one in files} - {DEFAULT})


def _chosen(files: Placed, sides: Sides) -> tuple[str | None, str | None]:
    """The languages of files that are those of the two sides.

    Files without a language in their path are in the language of the source, or in English.
    """
    source, target = (fitting_language(side, files) for side in sides)
    if DEFAULT in files and source is None:
        return DEFAULT, target
    if DEFAULT in files and target is None and base_language(sides[1]) == _USUAL_DEFAULT:
        return source, DEFAULT
    return source, target
