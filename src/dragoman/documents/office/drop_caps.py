"""Initials that Word has in a frame of their own, in front of the paragraph that they begin.

The word is read as a whole, and the first letter of the translation is put into the frame
(ECMA-376, part 1, section 17.3.1.11).
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.office.paragraph import Initial, Parts
from dragoman.documents.office.paragraph_item import Item
from dragoman.documents.office.part_tokens import attribute

_FRAME = "w:framePr"
_LONGEST = 12
"""Letters of an initial: usually one, at most a short word."""
_LETTER = regex.compile(r"\p{L}")
_WORD_END = regex.compile(r"\s")


def is_initial(tokens: Sequence[MarkupToken]) -> bool:
    """Whether a paragraph is the frame of an initial."""
    kinds = (attribute(token, "dropCap") for token in tokens if token.name == _FRAME)
    return next(kinds, "none") not in ("none", "")


def joined(frame: Sequence[Item], items: Sequence[Item]) -> tuple[list[Item], Initial] | None:
    """The items of a paragraph with the initial in front of its first word.

    Args:
        frame: items of the paragraph that is the frame of the initial.
        items: of the paragraph behind it.

    Returns:
        None if these are no initial and its text: they are read as two paragraphs.
    """
    letters = "".join(str(item.parts[0]) for item in frame if item.format is not None)
    form = next((item.format for item in frame if item.format is not None), None)
    if form is None or len(letters) > _LONGEST or not _LETTER.search(letters):
        return None
    at = next((at for at, item in enumerate(items) if item.format is not None), None)
    if at is None or sum(item.kind in ("edge", "atom") for item in items[:at]) > _properties(items):
        return None
    first = items[at]
    text = str(first.parts[0])
    whole = len(letters) > 1 and _WORD_END.match(text) is not None
    begin, end = _around(frame)
    word = Item("text", [letters + text], first.owner, format=first.format)
    return [*items[:at], word, *items[at + 1 :]], Initial(begin, end, form, whole)


def _properties(items: Sequence[Item]) -> int:
    """How many items at the start are the properties of the paragraph."""
    return int(bool(items) and items[0].kind == "edge" and "pPr" in str(items[0].parts[:2]))


def _around(frame: Sequence[Item]) -> tuple[Parts, Parts]:
    """Items of a frame in front of its letters, and all others."""
    first = next(at for at, item in enumerate(frame) if item.format is not None)
    begin = [part for item in frame[:first] for part in item.parts]
    end = [part for item in frame[first:] if item.format is None for part in item.parts]
    return begin, end
