"""Folders of files that have both sides of their pairs: TMX, XLIFF, TSV, JSONL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import ClassVar

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.text.formats.interface import Format, Sides
from dragoman.text.formats.jsonl import Jsonl
from dragoman.text.formats.projects.language_places import (
    files_below,
    fitting_language,
    language_places,
)
from dragoman.text.formats.projects.project_folder import ProjectFolder, ProjectString, Report
from dragoman.text.formats.tmx import Tmx
from dragoman.text.formats.tsv import Tsv
from dragoman.text.formats.xliff import Xliff


class NamedSides(ProjectFolder):
    """Files whose sides have names: the files that have both languages are read."""

    form: ClassVar[Format]
    """The format of a file."""

    def __init_subclass__(cls) -> None:
        cls.file_suffixes = cls.form.suffixes

    @override
    def offered_sides(self, path: Path) -> list[str]:
        return sorted({name for _, names in self._known(path, _ignored) for name in names})

    @override
    def files(self, path: Path, sides: Sides) -> list[Path]:
        return [file for file, _ in self._fitting(path, sides, _ignored)]

    @override
    def units(self, folder: Path, sides: Sides, report: Report) -> Iterator[ProjectString]:
        for file, names in self._fitting(folder, sides, report):
            try:
                for pair in self.form.read([file], names):
                    if pair.source.strip() and pair.target.strip():
                        yield ProjectString(pair.source, pair.target, file)
            except DataError as error:
                report(error)

    def _fitting(self, folder: Path, sides: Sides, report: Report) -> Iterator[tuple[Path, Sides]]:
        """The files that have both languages, with the names by which they have them."""
        for file, offered in self._known(folder, report):
            source, target = (fitting_language(side, offered) for side in sides)
            if source is not None and target is not None:
                yield file, (offered[source], offered[target])

    def _known(self, folder: Path, report: Report) -> Iterator[tuple[Path, dict[str, str]]]:
        """The files, each with its languages and the names of its sides."""
        for file in files_below(folder, self.file_suffixes):
            try:
                offered = self.form.offered_sides(file)
            except DataError as error:
                report(error)
                continue
            yield file, {name.rpartition(".")[2]: name for name in offered}


def _ignored(error: DataError) -> None:
    """The problem of a file, which is reported when its pairs are read."""


class TmxProject(NamedSides):
    """Translation memories."""

    name = "tmx-files"
    title = "translation memories"
    examples = "*.tmx"
    form = Tmx()


class TsvProject(NamedSides):
    """Tables with a column for each language."""

    name = "tsv-files"
    title = "tables"
    examples = "*.tsv with a column for each language"
    form = Tsv()


class JsonlProject(NamedSides):
    """JSON objects with a key for each language."""

    name = "jsonl-files"
    title = "files of JSON objects"
    examples = "*.jsonl with a key for each language"
    form = Jsonl()


class XliffProject(ProjectFolder):
    """Bilingual files of translation tools, of which each part states its languages.

    A part that states no target language is in that of the file's path.
    """

    name = "xliff-files"
    title = "XLIFF files"
    examples = "*.xlf"
    file_suffixes = Xliff.suffixes
    has_states = True
    _form = Xliff()

    @override
    def offered_sides(self, path: Path) -> list[str]:
        found: set[str] = set()
        for file in files_below(path, self.file_suffixes):
            try:
                stated = self._form.stated_languages(file)
            except DataError:
                continue
            for source, target in stated:
                found.update(filter(None, (source, target or _language_of(file, path))))
        return sorted(found)

    @override
    def files(self, path: Path, sides: Sides) -> list[Path]:
        return [
            file for file in files_below(path, self.file_suffixes) if self._has(file, path, sides)
        ]

    @override
    def units(self, folder: Path, sides: Sides, report: Report) -> Iterator[ProjectString]:
        for file in files_below(folder, self.file_suffixes):
            placed = _language_of(file, folder)

            def fits(source: str | None, target: str | None, placed: str | None = placed) -> bool:
                return _is(source, sides[0]) and _is(target or placed, sides[1])

            try:
                for source, target, is_unreviewed in self._form.units(file, fits):
                    yield ProjectString(source, target, file, is_unreviewed)
            except DataError as error:
                report(error)

    def _has(self, file: Path, folder: Path, sides: Sides) -> bool:
        try:
            stated = self._form.stated_languages(file)
        except DataError:
            return True  # so that it is reported
        placed = _language_of(file, folder)
        return any(
            _is(source, sides[0]) and _is(target or placed, sides[1]) for source, target in stated
        )


def _is(language: str | None, wanted: str) -> bool:
    return language is not None and fitting_language(wanted, [language]) is not None


def _language_of(file: Path, folder: Path) -> str | None:
    """The language in the path of a file, the last if there are several."""
    inner = file.relative_to(folder) if file != folder else Path(file.name)
    places = list(language_places(PurePosixPath(inner.as_posix())))
    return places[-1].language if places else None
