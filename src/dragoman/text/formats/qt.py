"""Translation sources of Qt Linguist (``.ts``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.text.formats.bilingual import (
    BilingualFormat,
    BilingualUnit,
    IsWanted,
    StatedLanguages,
)
from dragoman.text.xml_parts import each_part, local

UNFINISHED = "unfinished"
GONE = frozenset(["obsolete", "vanished"])
"""Types of translations whose message is no longer in the program."""
SOURCE = "en"
"""The language of messages, unless a file states another."""
_ROOT = "TS"


class Qt(BilingualFormat):
    """Messages of a Qt program with their translations.

    Of plural forms, the last one is the translation of the message.
    """

    name = "qt"
    suffixes = (".ts",)
    remedy = "finish the messages in Qt Linguist, or read the unfinished ones with unreviewed: true"

    @override
    def units(self, path: Path, is_wanted: IsWanted) -> Iterator[BilingualUnit]:
        number, is_read = 0, False
        for part in each_part(path, ("message",), starts=(_ROOT,)):
            if local(part) == _ROOT:
                is_read = is_wanted(*_stated(part))
                continue
            number += 1
            source, translation = _shown(part.find("source")), part.find("translation")
            if not is_read or translation is None or translation.get("type") in GONE:
                continue
            forms = translation.findall("numerusform")
            target = _shown(forms[-1] if forms else translation)
            if source.strip() and target.strip():
                is_unreviewed = translation.get("type") == UNFINISHED
                yield BilingualUnit(number, source, target, is_unreviewed)

    @override
    def stated_languages(self, path: Path) -> list[StatedLanguages]:
        for part in each_part(path, ("message",), starts=(_ROOT,)):
            if local(part) == _ROOT:
                return [_stated(part)]
            break
        raise DataError(f"{path}: no file of Qt Linguist: it does not begin with <TS>")


def _stated(root: Element) -> StatedLanguages:
    return root.get("sourcelanguage") or SOURCE, root.get("language") or None


def _shown(element: Element | None) -> str:
    return "" if element is None else "".join(element.itertext())
