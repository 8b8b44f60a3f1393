"""Outlines of office documents: what a translation of one has, too, when it is read again."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping

from dragoman.documents.marks.markup_tokens import xml_tokens
from dragoman.documents.marks.outline import OutlineBlock, placeholders_of
from dragoman.documents.office.paragraph import Paragraph, Parts

_OF_WORDS = frozenset(["r", "t", "span", "s"])
"""Elements that hold words, by their names without prefix: there may be more or fewer of them."""
_FORMAT, _PROPERTIES = "rPr", "pPr"
_LEFT_OUT = frozenset(
    [
        "lastRenderedPageBreak",
        "noBreakHyphen",
        "proofErr",
        "soft-page-break",
        "softHyphen",
    ]
)
"""Elements that a paragraph loses when it is translated."""


def part_blocks(parts: Parts, numbers: Mapping[str, int]) -> Iterator[OutlineBlock]:
    """The blocks of a part: what is around its paragraphs, and each of these.

    Args:
        parts: of it.
        numbers: indices of the texts of the document, by their keys.
    """
    yield OutlineBlock(list(_tags(parts)))
    for part in parts:
        if isinstance(part, Paragraph):
            yield from _paragraph_blocks(part, numbers)


def _paragraph_blocks(paragraph: Paragraph, numbers: Mapping[str, int]) -> Iterator[OutlineBlock]:
    raw = paragraph.raw
    texts = [numbers[key] for key in paragraph.keys]
    kept = placeholders_of(paragraph.document.texts)
    if paragraph.is_attribute:
        yield OutlineBlock((), html.unescape("".join(map(str, raw))), kept, texts)
        return
    yield OutlineBlock(list(_tags(raw)), _words(raw), kept, texts)
    within = [list(_paragraph_blocks(part, numbers)) for part in raw if isinstance(part, Paragraph)]
    # Notes and comments move with the words that they belong to.
    for blocks in sorted(within, key=lambda some: [sorted(one.codes) for one in some]):
        yield from blocks


def _without_paragraphs(parts: Parts) -> str:
    return "".join(part for part in parts if isinstance(part, str))


def _tags(parts: Parts) -> Iterator[str]:
    """Start tags as they are written, but those of runs and of their formats."""
    opened: list[str] = []
    for token in xml_tokens(_without_paragraphs(parts)):
        if token.kind == "close":
            if opened:
                opened.pop()
            continue
        if token.kind not in ("open", "empty"):
            continue
        name = token.name.rpartition(":")[2]
        in_format = _FORMAT in (name, *opened) and _PROPERTIES not in opened
        if not in_format and name not in _OF_WORDS and name not in _LEFT_OUT:
            yield token.raw
        if token.kind == "open":
            opened.append(name)


def _words(parts: Parts) -> str:
    tokens = xml_tokens(_without_paragraphs(parts))
    return html.unescape("".join(token.raw for token in tokens if token.kind == "text"))
