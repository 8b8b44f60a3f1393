"""Texts with marks as XLIFF 1.2 has them, whose markup is inline elements, and back."""

from __future__ import annotations

import copy
import html
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from dragoman.core.errors import DataError
from dragoman.core.wording import shown
from dragoman.documents.marks.mark_placement import place_marks, unchanged
from dragoman.documents.marks.marked_text import Mark, MarkedText, escaped, walk
from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.translation.service.translated_text import TranslatedText

_TAG = re.compile(r"<(?:w:)?([A-Za-z][\w-]*)")
_KINDS = {
    **{"b": "bold", "strong": "bold", "i": "italic", "em": "italic"},
    **{"a": "link", "u": "underlined"},
}
"""Types of elements of HTML."""
_CODE = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")


class InlineElement(NamedTuple):
    """An inline element of a unit."""

    kind: str
    """``open``, ``close``, or ``alone``."""
    number: str


class CodedText:
    """A text whose marks are inline elements."""

    def __init__(self, text: MarkedText) -> None:
        self._text = text
        self._marks = {str(number): mark for number, mark in enumerate(walk(text.marks), 1)}
        marks = copy.deepcopy(text.marks)
        for number, mark in enumerate(walk(marks), 1):
            _encode(mark, str(number), text.text)
        self._plain = MarkedText(text.text, marks)
        self.source = unchanged(self._plain, written_text)
        """As it is written in a unit."""

    def target(self, answer: TranslatedText) -> str:
        """A translation, as it is written there."""
        return place_marks(self._plain, answer, written_text)

    def decoded(
        self, parts: Sequence[str | InlineElement], escape: Callable[[str], str] | None
    ) -> str:
        """What a unit has, as a translation of the text with its marks."""
        escape = escape or self._text.escape
        written = [self._text.lead]
        for part in parts:
            if isinstance(part, str):
                written.append(escape(part))
                continue
            mark = self._marks[part.number]
            if part.kind == "close":
                written.append(mark.end)
            elif mark.is_text:
                written.append(escape(mark.begin))
            else:
                written.append(mark.begin + (mark.end if part.kind == "alone" else ""))
        return "".join([*written, self._text.tail])

    def name(self, code: InlineElement) -> str:
        """A code in a message."""
        mark = self._marks.get(code.number)
        if mark is None:
            return code.number
        word = self._text.text[mark.start : mark.stop] if mark.is_atom else ""
        return f"{code.number} ({shown(word)})" if word else code.number


def _encode(mark: Mark, number: str, text: str) -> None:
    """Write an inline element instead of a mark."""
    found = _TAG.match(mark.begin)
    kind = None if found is None or mark.is_atom else _KINDS.get(found[1].lower())
    shows = text[mark.start : mark.stop] if mark.is_atom else mark.begin or mark.end
    attributes = f' id="{number}"'
    attributes += f' ctype="{kind}"' if kind else ""
    attributes += f' equiv-text="{html.escape(shows)}"' if _CODE.fullmatch(shows) else ""
    alone = f"<x{attributes}/>"
    mark.before, mark.after = (" " if space else "" for space in (mark.before, mark.after))
    mark.is_text = False
    if mark.is_atom or mark.is_point or mark.closes_after:
        mark.begin, mark.end = alone, ""
    elif mark.opens_before:
        mark.begin, mark.end = "", alone
    else:
        mark.begin, mark.end = f"<g{attributes}>", "</g>"


def written_text(text: str) -> str:
    """Text between inline elements."""
    return escaped(text).replace("\r", "&#13;")


def parts_of(tokens: Sequence[MarkupToken]) -> Iterator[str | InlineElement]:
    """Text and codes of a source or target, whatever tool has written it.

    Elements that only tools put there, such as ``mrk``, are not read.
    """
    opened: list[InlineElement | None] = []
    text = ""
    for token in tokens:
        text += _text(token)
        if codes := list(_codes(token, opened)):
            if text:
                yield text
            text = ""
            yield from codes
    if text:
        yield text


def _text(token: MarkupToken) -> str:
    if token.kind == "text":
        return html.unescape(token.raw.replace("\r\n", "\n"))
    is_section = token.kind == "opaque" and token.raw.startswith("<![CDATA[")
    return token.raw[len("<![CDATA[") : -len("]]>")] if is_section else ""


def _codes(token: MarkupToken, opened: list[InlineElement | None]) -> Iterator[InlineElement]:
    """The codes of a tag.  ``opened`` has those of tags that have not ended, or None for them."""
    if token.kind == "close":
        begun = opened.pop() if opened else None
        if begun is not None and begun.kind == "open":
            yield InlineElement("close", begun.number)
        return
    code = None
    if token.local_name in ("g", "x"):
        kind = "open" if token.local_name == "g" else "alone"
        code = InlineElement(kind, token.attributes.get("id", ""))
        yield code
    if token.kind == "open":
        opened.append(code)
    elif code is not None and code.kind == "open":
        yield InlineElement("close", code.number)


def check_codes(
    number: int,
    coded: CodedText,
    parts: Sequence[str | InlineElement],
    allowed: Sequence[Sequence[str | InlineElement]],
) -> None:
    """Check that a target has the codes of its source, or of another one, each as often.

    Raises:
        DataError: it lacks one, or has another.
    """
    here = Counter(one for one in parts if isinstance(one, InlineElement))
    others = [Counter(one for one in some if isinstance(one, InlineElement)) for some in allowed]
    if here in others:
        return
    lost, added = others[0] - here, here - others[0]
    problems = [
        f"{what} {', '.join(coded.name(one) for one in codes if one.kind != 'close')}"
        for what, codes in (("lacks the code", lost), ("has too many of the code", added))
        if any(one.kind != "close" for one in codes)
    ]
    raise DataError(
        f"unit {number}: its target {' and '.join(problems) or 'has a code without its end'}; take "
        "the codes of the source, each once"
    )
