"""Gettext catalogues."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import polib

from dragoman.core.errors import DataError
from dragoman.text.formats.interface import Format, Pair, Sides
from dragoman.text.lines import read_lines


class Po(Format):
    """A gettext catalogue: the messages of a program, in most cases English, and translations."""

    name = "po"
    suffixes = (".po",)

    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        """Pairs of messages and translations.

        Fuzzy, obsolete and untranslated entries are skipped.  Of plural forms, the first translates
        the singular and the last the plural; a language with one form has the plural alone.  The
        whole catalogue is held in memory.

        Raises:
            DataError: not a catalogue, or nothing in it is translated.
        """
        (path,) = files
        return _read(path)

    def languages(self, path: Path) -> tuple[str | None, str | None]:
        """English, and the language that the header names."""
        return "en", _catalogue(path).metadata.get("Language") or None


def _read(path: Path) -> Iterator[Pair]:
    found = False
    for entry in _catalogue(path):
        if entry.obsolete or entry.fuzzy:
            continue
        for source, target in _messages(entry):
            if target:
                found = True
                yield Pair(source, target, entry.linenum or 1)  # 0 is the first, without a header
    if not found:
        raise DataError(f"{path}: no translated entries; give a catalogue with translations")


def _catalogue(path: Path) -> polib.POFile:
    # polib splits a string at U+2028 and its like, but a file only at its line ends.
    with tempfile.NamedTemporaryFile("w", suffix=".po", encoding="utf-8", newline="") as copy:
        for number, line in enumerate(read_lines(path), 1):
            string = line.strip()
            if string.startswith(("msg", '"')) and not string.endswith('"'):
                # polib would take the last character for the quotation mark, and drop it
                raise DataError(f"{path}:{number}: a string has no end; correct the line")
            copy.write(f"{line}\n")
        copy.flush()
        try:
            return polib.pofile(copy.name, encoding="utf-8")
        except (OSError, ValueError) as error:
            found = re.search(r"line (\d+)", str(error))
            place = f"{path}:{found[1]}" if found else str(path)
            raise DataError(
                f"{place}: not the syntax of a gettext catalogue; correct it"
            ) from error


def _messages(entry: polib.POEntry) -> list[tuple[str, str]]:
    if not entry.msgid_plural:
        return [(entry.msgid, entry.msgstr)]
    forms = [entry.msgstr_plural[number] for number in sorted(entry.msgstr_plural)]
    if not forms or not all(forms):
        return []
    plural = (entry.msgid_plural, forms[-1])
    return [plural] if len(forms) == 1 else [(entry.msgid, forms[0]), plural]
