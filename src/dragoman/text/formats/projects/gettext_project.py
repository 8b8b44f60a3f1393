"""Folders of gettext catalogues: ``locale/de/LC_MESSAGES/django.po``, ``po/de.po``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.text.formats.interface import Sides
from dragoman.text.formats.po import open_catalogue, paired_forms
from dragoman.text.formats.projects.language_places import (
    Placing,
    fitting_language,
    usual_spelling,
)
from dragoman.text.formats.projects.project_folder import (
    FileToTranslate,
    PlacedFiles,
    ProjectString,
    Report,
    warn_once,
)
from dragoman.text.language_codes import base_language
from dragoman.text.po_catalogue import Catalogue, PoEntry
from dragoman.text.po_template import emptied

MESSAGES = "en"
"""The language of messages, unless a catalogue says another (``X-Source-Language``)."""

_Name = tuple[str | None, str]


class GettextProject(PlacedFiles):
    """Catalogues of a program.

    The source of a message is its translation in the catalogue of the source language, or else, if
    messages are in that language, the message itself.
    """

    name = "po-files"
    title = "gettext catalogues"
    examples = "locale/LANGUAGE/LC_MESSAGES/*.po, po/LANGUAGE.po"
    file_suffixes = (".po",)
    has_states = True

    @override
    def offered_sides(self, path: Path) -> list[str]:
        offered = super().offered_sides(path)
        return offered if not offered or MESSAGES in offered else sorted([*offered, MESSAGES])

    @override
    def both_files(self, placing: Placing, sides: Sides) -> list[tuple[Path | None, Path]]:
        return [
            (_catalogue(sides[0], files), files[target])
            for _, files in sorted(placing.items())
            if (target := fitting_language(sides[1], files)) is not None
        ]

    @override
    def units(self, folder: Path, sides: Sides, report: Report) -> Iterator[ProjectString]:
        both_files = self.both_files(self.placing(folder), sides)
        if not both_files:
            raise self.no_language(folder, sides[1], self.offered_sides(folder))
        has_source = is_damaged = False
        for source, target in both_files:
            try:
                catalogue = open_catalogue(target)
                sources = _messages(source)
            except DataError as error:
                report(error)
                is_damaged = True
                continue
            are_messages = _of_messages(catalogue, sides[0])
            has_source = has_source or are_messages or source is not None
            yield from _units(catalogue, sources, target, are_messages)
        if not (has_source or is_damaged):
            raise self.no_language(folder, sides[0], self.offered_sides(folder))

    @override
    def files_to_translate(self, folder: Path, sides: Sides) -> list[FileToTranslate]:
        found = []
        for files, source, output in self.placed_outputs(folder, sides):
            any_file = next(iter(files.values()))
            template = output if output in files.values() else files.get(source or "", any_file)
            if any(_of_messages(one, sides[0]) for one in _readable(template)):
                found.append(FileToTranslate(template, output))
        return found

    @override
    def content(self, file: FileToTranslate) -> bytes:
        content = super().content(file)
        return content if file.source == file.output else emptied(content)


def _readable(path: Path) -> list[Catalogue]:
    """The catalogue of a file; none if it is damaged."""
    try:
        return [open_catalogue(path)]
    except DataError as error:
        warn_once(error)
        return []


def _catalogue(language: str, files: Mapping[str, Path]) -> Path | None:
    """The catalogue of the source language, if there is one.

    English of some region is not that of the messages.
    """
    found = fitting_language(language, files)
    if found is None:
        return None
    is_region = usual_spelling(found) != usual_spelling(language)
    return None if is_region and base_language(language) == MESSAGES else files[found]


def _of_messages(catalogue: Catalogue, language: str) -> bool:
    """Whether the messages of a catalogue are in a language."""
    said = catalogue.fields.get("x-source-language") or MESSAGES
    return base_language(said) == base_language(language)


def _messages(source: Path | None) -> dict[_Name, PoEntry]:
    """The entries of the catalogue in the source language, if there is one."""
    if source is None:
        return {}
    return {_name(entry): entry for entry in open_catalogue(source).entries}


def _name(entry: PoEntry) -> _Name:
    return None if entry.msgctxt is None else entry.msgctxt.value, entry.msgid.value


def _units(
    catalogue: Catalogue, sources: dict[_Name, PoEntry], file: Path, are_messages: bool
) -> Iterator[ProjectString]:
    for entry in catalogue.entries:
        if entry.is_header:
            continue
        is_unreviewed = "fuzzy" in entry.flags
        texts = _source_forms(entry, sources.get(_name(entry)), are_messages)
        for text, translation in paired_forms(texts, entry.forms):
            yield ProjectString(text, translation, file, is_unreviewed, entry.msgid.line)


def _source_forms(entry: PoEntry, source: PoEntry | None, are_messages: bool) -> list[str]:
    """The source of each plural form, or the only one; none if it is not translated."""
    if source is not None and "fuzzy" not in source.flags and all(source.forms):
        return source.forms
    return entry.messages if are_messages else []
