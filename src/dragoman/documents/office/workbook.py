"""Workbooks: cells, and headers of tables, which have to say what their cells say."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from typing_extensions import override

from dragoman.documents.office.named_words import folded, without_named, words_of_paragraph
from dragoman.documents.office.office_document import OfficeDocument, ReadPart
from dragoman.documents.office.paragraph import paragraphs, written_parts
from dragoman.documents.office.part_tokens import attribute, part_tokens
from dragoman.documents.office.zip_package import ZipPackage

_LONGEST_HEADER = 255
"""Characters, in Excel."""
_CONTROL = re.compile("_x[0-9A-Fa-f]{4}_")
REPEATED = "its table would have two columns of one name, or too long a name"
"""Why a header stays as it is."""


class Workbook(OfficeDocument):
    """A workbook.

    Args:
        package: the file.
        parts: those that are translated.
        tables: names of those of them that describe a table, whose headers are also in cells.
        consequences: as for :class:`OfficeDocument`.
    """

    def __init__(
        self,
        package: ZipPackage,
        parts: Sequence[ReadPart],
        tables: Collection[str],
        consequences: Mapping[str, bytes] | None = None,
    ) -> None:
        different = _unequal_headers(parts, tables)
        parts = [replace(one, parts=without_named(one.parts, different)) for one in parts]
        super().__init__(package, parts, consequences)
        self._tables = [part for part in parts if part.name in tables]

    @override
    def _changed(self, translations: Sequence[str]) -> dict[str, str | None]:
        changed = super()._changed(translations)
        refused: list[tuple[str, str]] = []
        waiting = list(self._tables)
        while waiting:
            table = waiting.pop()
            keys = [key for one in paragraphs(table.parts) for key in one.keys if changed[key]]
            if keys and not _are_headers(written_parts(table.parts, changed.get)):
                refused += [(self._texts[key].text, REPEATED) for key in keys]
                changed.update(dict.fromkeys(keys))
                waiting = list(self._tables)  # others may have some of these headers
        self.refused = refused
        return changed


def _unequal_headers(parts: Sequence[ReadPart], tables: Collection[str]) -> set[str]:
    """Headers that their cells have in another form, such as on two lines."""
    forms: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    headers: set[str] = set()
    unequal: set[str] = set()
    for part in parts:
        for one in paragraphs(part.parts):
            words = words_of_paragraph(one)
            forms[words].add(tuple(one.keys))
            if part.name in tables:
                headers.add(words)
                if _CONTROL.search("".join(map(str, one.raw))):
                    unequal.add(words)
    return unequal | {words for words in headers if len(forms[words]) > 1}


def _are_headers(table: str) -> bool:
    """Whether Excel would take the names of the columns of a table."""
    names = [
        attribute(token, "name")
        for token in part_tokens(table)
        if token.name == "x:tableColumn" and token.kind != "close"
    ]
    counts = Counter(map(folded, names))
    return all(counts[folded(name)] == 1 and len(name) <= _LONGEST_HEADER for name in names)
