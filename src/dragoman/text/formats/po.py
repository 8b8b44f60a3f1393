"""Gettext catalogues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.text.formats.interface import Format, Sides
from dragoman.text.lines import open_bytes
from dragoman.text.pairs import Pair
from dragoman.text.po_catalogue import Catalogue, CatalogueError, PoEntry, read_catalogue

_LARGEST = 2**28
"""Maximum bytes. A larger file is not a catalogue, and is refused without being held in memory."""


class Po(Format):
    """A gettext catalogue: the messages of a program, usually English, and translations."""

    name = "po"
    suffixes = (".po",)

    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        """Pairs of messages and translations.

        Fuzzy, obsolete and untranslated entries are skipped.  Of plural forms, the first translates
        the singular and the last the plural. A language with one form has only the plural.  The
        whole catalogue is held in memory.

        Raises:
            DataError: not a catalogue, or without any translation.
        """
        (path,) = files
        found = False
        for entry in _catalogue(path).entries:
            if entry.is_header or "fuzzy" in entry.flags:
                continue
            for source, target in _messages(entry):
                if target:
                    found = True
                    yield Pair(source, target, entry.msgid.line)
        if not found:
            raise DataError(f"{path}: no translated entries; give a catalogue with translations")

    def languages(self, path: Path) -> tuple[str | None, str | None]:
        """English, and the language that the header names."""
        return "en", _catalogue(path).fields.get("language") or None


def _catalogue(path: Path) -> Catalogue:
    with open_bytes(path) as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise DataError(f"{path}: over {_LARGEST:,} bytes; divide the catalogue")
    try:
        return read_catalogue(content)
    except CatalogueError as error:
        raise DataError(f"{path}:{error.line}: {error.problem}") from error


def _messages(entry: PoEntry) -> list[tuple[str, str]]:
    forms = [one.value for one in sorted(entry.msgstr, key=lambda one: one.form)]
    if entry.msgid_plural is None:
        return [(entry.msgid.value, forms[0])]
    if not all(forms):
        return []
    plural = (entry.msgid_plural.value, forms[-1])
    return [plural] if len(forms) == 1 else [(entry.msgid.value, forms[0]), plural]
