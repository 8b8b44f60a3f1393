"""Gettext catalogues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.text.formats.interface import Format, Sides
from dragoman.text.lines import open_bytes
from dragoman.text.pairs import Pair
from dragoman.text.po_catalogue import Catalogue, CatalogueError, read_catalogue

_LARGEST = 2**28
"""Maximum bytes. A larger file is not a catalogue, and is refused without being held in memory."""


class Po(Format):
    """A gettext catalogue: the messages of a program, usually English, and translations."""

    name = "po"
    suffixes = (".po",)

    has_states = True

    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        """Pairs of messages and translations.

        Fuzzy (unless asked for), obsolete and untranslated entries are skipped.  On plural forms,
        see :func:`paired_forms`.  The whole catalogue is held in memory.

        Raises:
            DataError: not a catalogue, or without any translation.
        """
        (path,) = files
        found, fuzzy = False, 0
        for entry in open_catalogue(path).entries:
            if entry.is_header:
                continue
            if "fuzzy" in entry.flags and not self.reads_unreviewed:
                fuzzy += 1
                continue
            for source, target in paired_forms(entry.messages, entry.forms):
                found = True
                yield Pair(source, target, entry.msgid.line)
        if fuzzy and not found:
            raise DataError(
                f"{path}: no translated entries that are reviewed; those marked fuzzy ({fuzzy:,}) "
                "are read once a reviewer has cleared the mark"
            )
        if not found:
            raise DataError(f"{path}: no translated entries; give a catalogue with translations")

    def languages(self, path: Path) -> tuple[str | None, str | None]:
        """English, and the language that the header names."""
        return "en", open_catalogue(path).fields.get("language") or None


def open_catalogue(path: Path) -> Catalogue:
    """The catalogue in a file, compressed or not.

    Raises:
        DataError: not a catalogue, with its line, or too large for one.
    """
    with open_bytes(path) as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise DataError(f"{path}: over {_LARGEST:,} bytes; divide the catalogue")
    try:
        return read_catalogue(content)
    except CatalogueError as error:
        raise DataError(f"{path}:{error.line}: {error.problem}") from error


def paired_forms(sources: Sequence[str], targets: Sequence[str]) -> list[tuple[str, str]]:
    """The plural forms of two languages that translate each other; none if one is empty.

    Forms of equal number are paired in order.  Otherwise the first are for the singular and the
    last for the plural, and a language with one form has only the plural.
    """
    if not sources or not all(sources) or not all(targets):
        return []
    if len(sources) == len(targets):
        return list(zip(sources, targets, strict=True))
    plural = sources[-1], targets[-1]
    return [plural] if 1 in (len(sources), len(targets)) else [(sources[0], targets[0]), plural]
