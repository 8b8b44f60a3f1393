"""Folders of files that have both sides of their pairs: TMX, XLIFF, TSV and the like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import ClassVar

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.text.formats.bilingual import BilingualFormat
from dragoman.text.formats.csv_tables import Csv
from dragoman.text.formats.interface import Format, Sides
from dragoman.text.formats.jsonl import Jsonl
from dragoman.text.formats.projects.language_places import (
    LANGUAGE,
    LanguagePlace,
    files_below,
    fitting_language,
    language_places,
)
from dragoman.text.formats.projects.project_folder import (
    FileToTranslate,
    ProjectFolder,
    ProjectString,
    Report,
    warn_once,
)
from dragoman.text.formats.qt import Qt
from dragoman.text.formats.tmx import Tmx
from dragoman.text.formats.tsv import Tsv
from dragoman.text.formats.xcstrings import Xcstrings
from dragoman.text.formats.xliff import Xliff
from dragoman.text.lines import open_bytes

_ROOT = re.compile(rb"<TS[\s>]")
_SEARCHED = 4096
"""Bytes in which a file has its first element."""


class NamedSides(ProjectFolder):
    """Files whose sides have names: the files that have both languages are read."""

    form: ClassVar[Format]
    """The format of a file."""
    is_filled: ClassVar[bool] = False
    """Whether a language that a file lacks is added to it."""

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

    @override
    def files_to_translate(self, folder: Path, sides: Sides) -> list[FileToTranslate]:
        return [
            FileToTranslate(file, file)
            for file, offered in self._known(folder, warn_once)
            if self.is_filled and fitting_language(sides[0], offered) is not None
        ]

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
    is_filled = True


class XcstringsProject(NamedSides):
    """String catalogues of Xcode."""

    name = "xcstrings-files"
    title = "string catalogues"
    examples = "*.xcstrings"
    form = Xcstrings()
    is_filled = True
    has_states = True

    @override
    def units(self, folder: Path, sides: Sides, report: Report) -> Iterator[ProjectString]:
        for file, names in self._fitting(folder, sides, report):
            for source, target, is_unreviewed in self.form.units(file, names):
                yield ProjectString(source, target, file, is_unreviewed)


class TsvProject(NamedSides):
    """Tables with a column for each language."""

    name = "tsv-files"
    title = "tables"
    examples = "*.tsv with a column for each language"
    form = Tsv()


class CsvProject(NamedSides):
    """Tables of spreadsheets with a column for each language."""

    name = "csv-files"
    title = "tables in CSV"
    examples = "*.csv with a column for each language"
    form = Csv()

    @override
    def files_to_translate(self, folder: Path, sides: Sides) -> list[FileToTranslate]:
        return [FileToTranslate(file, file) for file, _ in self._fitting(folder, sides, warn_once)]


class JsonlProject(NamedSides):
    """JSON objects with a key for each language."""

    name = "jsonl-files"
    title = "files of JSON objects"
    examples = "*.jsonl with a key for each language"
    form = Jsonl()


class StatedSides(ProjectFolder):
    """Bilingual files, of which each part states its languages.

    A part that states no target language is in that of the file's path.
    """

    form: ClassVar[BilingualFormat]
    """The format of a file."""
    has_states = True

    def __init_subclass__(cls) -> None:
        cls.file_suffixes = cls.form.suffixes

    @override
    def offered_sides(self, path: Path) -> list[str]:
        found: set[str] = set()
        for file in self._all(path):
            try:
                stated = self.form.stated_languages(file)
            except DataError:
                continue
            for source, target in stated:
                found.update(filter(None, (source, target or _language_of(file, path))))
        return sorted(found)

    @override
    def files(self, path: Path, sides: Sides) -> list[Path]:
        return [file for file in self._all(path) if self._has(file, path, sides)]

    @override
    def files_to_translate(self, folder: Path, sides: Sides) -> list[FileToTranslate]:
        found = [(file, self._output(file, folder, sides)) for file in self._all(folder)]
        written = {file for file, output in found if file == output}
        return [
            FileToTranslate(file, output)
            for file, output in found
            if output is not None and (file == output or not (output in written or output.exists()))
        ]

    def _all(self, folder: Path) -> list[Path]:
        """The files of the format in a folder."""
        return files_below(folder, self.file_suffixes)

    def _output(self, file: Path, folder: Path, sides: Sides) -> Path | None:
        """The file that has the translations of a file, or None if these are of other languages.

        It is the file itself, unless it states no target language and its path has none, or that of
        the source.
        """
        if self._has(file, folder, sides):
            return file
        stated = self.form.stated_languages(file)
        if not all(_is(source, sides[0]) and target is None for source, target in stated):
            return None
        place = _place_of(file, folder)
        if place is None:
            return file.with_name(f"{file.stem}.{sides[1]}{file.suffix}")
        if not _is(place.language, sides[0]):
            return None
        return folder / place.template.replace(LANGUAGE, sides[1])

    @override
    def units(self, folder: Path, sides: Sides, report: Report) -> Iterator[ProjectString]:
        for file in self._all(folder):
            placed = _language_of(file, folder)

            def fits(source: str | None, target: str | None, placed: str | None = placed) -> bool:
                return _is(source, sides[0]) and _is(target or placed, sides[1])

            try:
                for _, source, target, is_unreviewed in self.form.units(file, fits):
                    yield ProjectString(source, target, file, is_unreviewed)
            except DataError as error:
                report(error)

    def _has(self, file: Path, folder: Path, sides: Sides) -> bool:
        try:
            stated = self.form.stated_languages(file)
        except DataError:
            return True  # so that it is reported
        placed = _language_of(file, folder)
        return any(
            _is(source, sides[0]) and _is(target or placed, sides[1]) for source, target in stated
        )


class XliffProject(StatedSides):
    """XLIFF of translation tools."""

    name = "xliff-files"
    title = "XLIFF files"
    examples = "*.xlf"
    form = Xliff()


class QtProject(StatedSides):
    """Files of Qt Linguist, whose suffix is also that of TypeScript."""

    name = "qt-files"
    title = "files of Qt Linguist"
    examples = "translations/app_LANGUAGE.ts"
    form = Qt()

    @override
    def _all(self, folder: Path) -> list[Path]:
        return [file for file in super()._all(folder) if _ROOT.search(_beginning(file))]


def _beginning(file: Path) -> bytes:
    with open_bytes(file) as stream:
        return stream.read(_SEARCHED)


def _is(language: str | None, wanted: str) -> bool:
    return language is not None and fitting_language(wanted, [language]) is not None


def _language_of(file: Path, folder: Path) -> str | None:
    """The language in the path of a file, if it has one."""
    place = _place_of(file, folder)
    return None if place is None else place.language


def _place_of(file: Path, folder: Path) -> LanguagePlace | None:
    """The place of the language in the path of a file, the last if there are several."""
    inner = file.relative_to(folder) if file != folder else Path(file.name)
    places = list(language_places(PurePosixPath(inner.as_posix())))
    return places[-1] if places else None
