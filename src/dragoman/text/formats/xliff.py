"""Bilingual XLIFF (OASIS Standard 1.2 and 2.x), as written by translation tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from typing_extensions import override

from dragoman.core.unseen import is_unseen
from dragoman.text.break_codes import BREAK, POINT, is_breaking_code, without_points
from dragoman.text.formats.bilingual import (
    BilingualFormat,
    BilingualUnit,
    IsWanted,
    StatedLanguages,
)
from dragoman.text.terms.terminology import Terminology
from dragoman.text.xml_parts import each_part, local, text_within

CODES = frozenset(["ph", "x", "it", "ut", "bpt", "ept", "bx", "ex", "sc", "ec", "cp", "sm", "em"])
"""Inline elements whose content, if any, is not text."""
STANDING_ALONE = frozenset(["ph", "x"])
"""Inline elements that neither begin nor end anything."""
SHOWN_AS = ("equiv-text", "equiv", "disp")
"""Attributes of an inline element that may name the text that it represents."""
UNDONE = ("new", "needs-translation")
"""States of a target (1.2) that is not a translation."""
UNREVIEWED = "needs-review-translation"
"""The state of a target (1.2) that was made by a program."""
BY_MACHINE = "leveraged-mt"
"""The qualifier of the state of a target (1.2) that nobody has looked at yet."""
_UNDONE_2 = "initial"
_UNITS = ("trans-unit", "unit")
_HEADS = ("xliff", "file")
_LANGUAGES_1, _LANGUAGES_2 = ("source-language", "target-language"), ("srcLang", "trgLang")
_INDENTED = re.compile(r"\n[ \t]+\S")
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_PLACEHOLDERS = Terminology(protect=("placeholders",))


class Xliff(BilingualFormat):
    """Segments with their translations; version 1.2 or 2.x.

    Targets are skipped if they are missing or empty, or if their state is not translated (``new``,
    ``needs-translation``, ``initial``) or, unless asked for, not reviewed
    (``needs-review-translation``, or ``leveraged-mt`` and not approved, like fuzzy messages of PO).
    Inline codes are dropped without joining words, except for placeholders, which are text, and
    line breaks. The content of ``g``, ``pc`` and ``mrk`` is text.  A document type is refused.
    """

    name = "xliff"
    suffixes = (".xlf", ".xliff")
    remedy = (
        f"fill the targets, and give those in the state {UNREVIEWED} another one once they are "
        "reviewed"
    )

    @override
    def units(self, path: Path, is_wanted: IsWanted) -> Iterator[BilingualUnit]:
        return _units(path, is_wanted)

    @override
    def stated_languages(self, path: Path) -> list[StatedLanguages]:
        heads = each_part(path, (), starts=_HEADS, allows_doctype=False)
        found = (_stated(head) for head in heads if _states(head))
        return list(dict.fromkeys(found))


def _units(path: Path, is_wanted: IsWanted) -> Iterator[BilingualUnit]:
    number = 0
    reads = True
    for part in each_part(path, _UNITS, starts=_HEADS, allows_doctype=False):
        if local(part) not in _UNITS:
            reads = is_wanted(*_stated(part)) if _states(part) else reads
            continue
        number += 1
        if reads:
            for unit in _translated(part):
                yield BilingualUnit(number, *unit)


def _states(head: Element) -> bool:
    """Whether an element states languages: the root in version 2, and each file in 1.2."""
    return any(name in head.attrib for name in (*_LANGUAGES_1, *_LANGUAGES_2))


def _stated(head: Element) -> StatedLanguages:
    """The languages of an element, in the attributes of its version."""
    names = _LANGUAGES_2 if local(head) == "xliff" else _LANGUAGES_1
    source, target = (head.get(name) or None for name in names)
    return source, target


def _translated(unit: Element) -> Iterator[tuple[str, str, bool]]:
    """Sources and targets of a unit, if they are translations, and whether they are unreviewed."""
    segments = [unit] if local(unit) == "trans-unit" else _named(unit, "segment")
    for segment in segments:
        sources, targets = _named(segment, "source"), _named(segment, "target")
        if not sources or not targets or (state := targets[0].get("state")) in UNDONE:
            continue
        if segment is not unit and segment.get("state") == _UNDONE_2:
            continue
        is_kept = any(one.get(_SPACE) == "preserve" for one in (unit, segment, sources[0]))
        for pair in _aligned(unit, sources[0], targets[0]):
            source, target = (_text(one, is_kept=is_kept) for one in pair)
            if source.strip() and target.strip():
                is_new = targets[0].get("state-qualifier") == BY_MACHINE
                is_new = is_new and unit.get("approved") != "yes"
                yield source, target, state == UNREVIEWED or is_new


def _aligned(unit: Element, source: Element, target: Element) -> list[tuple[Element, Element]]:
    """The aligned segments of both sides of a unit (1.2), or else each whole side."""
    divided = _named(unit, "seg-source")
    ours, theirs = (_marked(one) for one in (divided[0] if divided else source, target))
    if ours and ours.keys() == theirs.keys():
        return [(ours[key], theirs[key]) for key in ours]
    return [(source, target)]


def _marked(side: Element) -> dict[str, Element]:
    marks = (one for one in side.iter() if local(one) == "mrk" and one.get("mtype") == "seg")
    return {one.get("mid", ""): one for one in marks}


def _named(element: Element, name: str) -> list[Element]:
    return [one for one in element if local(one) == name]


def _text(element: Element, *, is_kept: bool) -> str:
    """The text of a side. Indented lines are joined, unless white space is kept."""
    text = without_points(text_within(element, _shown, _around))
    return " ".join(text.split()) if not is_kept and _INDENTED.search(text) else text


def _shown(element: Element) -> str | None:
    """The replacement of an inline code, a placeholder or a line break; None for its text."""
    if local(element) not in CODES:
        return None
    content = "".join(element.itertext())
    if is_breaking_code(element.attrib, content):
        return BREAK
    shown = (*(element.get(name, "") for name in SHOWN_AS), content)
    for text in shown:
        if _PLACEHOLDERS.protected(text) == [(0, len(text))]:
            return text
    is_within = any(map(is_unseen, (*shown, element.get("ctype", ""))))
    return POINT if local(element) in STANDING_ALONE and not is_within else ""


def _around(element: Element) -> str:
    return BREAK if is_breaking_code(element.attrib) else ""
