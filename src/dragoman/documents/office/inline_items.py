"""Parts of the content of a paragraph of an office document, and pairs of them.

Pairs are the ends of fields, of ranges, and of spans of one format.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Literal

from dragoman.documents.office.inline_roles import is_copied
from dragoman.documents.office.paragraph import Parts, RunFormat

ItemKind = Literal[
    "text", "open", "close", "point", "atom", "edge", "begin", "end", "field", "instruction"
]
_MOST_PAIRS = 100
"""Ranges or fields of a paragraph, beyond which all of them are points."""


@dataclass
class Item:
    """A part of the content of a paragraph."""

    kind: ItemKind
    """Words; start and end tags around words; a point between words; an atom, copied as a word; an
    edge of a text; the begin and the end of a range; and the parts of a field."""
    parts: Parts
    """As it is written; of words, in XML without tags."""
    owner: int
    """The element around it: 0, or the number that its ``open`` has."""
    text: str = ""
    """Of an atom; the text of a field; the identifier that the ends of a range share; the line end
    or tab, as it is written among words, that an edge is."""
    format: RunFormat | None = None
    number: int = 0
    """The same number in ``open`` and ``close`` of a pair; 0 in all others."""
    is_span: bool = False
    """Whether it is only a format."""
    is_shown: bool = False
    """Whether a point takes a place in the line, as words do."""
    is_ordered: bool = False
    """Whether it must stay behind ordered items in front of it: an end of a range."""

    @property
    def is_white(self) -> bool:
        """Whether it is white space between words."""
        return self.kind == "text" and not str(self.parts[0]).strip(" ")


def joined_pairs(items: list[Item]) -> list[Item]:
    """The same with fields and ranges as pairs, and without pairs that have no use."""
    return _joined_spans(_without_blank_pairs(_paired_ranges(_joined_fields(items))))


@dataclass
class _Field:
    """Indices of the parts of a field among items."""

    begin: int
    separator: int | None = None
    instruction: list[str] = field(default_factory=list)


def _joined_fields(items: list[Item]) -> list[Item]:
    """The same with fields of Word as pairs around what they show, or as atoms.

    A field whose parts are not all in one element of one paragraph is points.
    """
    opened: list[_Field] = []
    fields: dict[int, tuple[_Field, int]] = {}
    for index, item in enumerate(items):
        if item.kind == "instruction" and opened and opened[-1].separator is None:
            opened[-1].instruction.append(item.text)
        elif item.kind == "field":
            if item.text == "begin":
                opened.append(_Field(index))
            elif item.text == "separate" and opened:
                opened[-1].separator = index
            elif item.text == "end" and opened:
                closed = opened.pop()
                marks = [closed.begin, closed.separator or closed.begin]
                if all(items[mark].owner == item.owner for mark in marks):
                    fields[closed.begin] = (closed, index)
    return _without_fields(items, fields if len(fields) <= _MOST_PAIRS else {})


def _without_fields(items: list[Item], fields: dict[int, tuple[_Field, int]]) -> list[Item]:
    written: list[Item] = []
    ends: dict[int, int] = {}
    number = max((item.number for item in items), default=0)
    index = 0
    while index < len(items):
        item = items[index]
        if index in fields:
            parted, end = fields[index]
            is_atom = parted.separator is None or is_copied("".join(parted.instruction))
            last = end if is_atom or parted.separator is None else parted.separator
            parts = [part for each in items[index : last + 1] for part in _run_parts(each)]
            if is_atom:
                shown = items[parted.separator : end] if parted.separator is not None else []
                text = "".join(html.unescape(str(each.parts[0])) for each in shown if each.format)
                written.append(Item("atom", parts, item.owner, " ".join(text.split())))
            else:
                number += 1
                ends[end] = number
                written.append(Item("open", parts, item.owner, number=number))
            index = last + 1
            continue
        if index in ends:
            item = Item("close", item.parts, item.owner, number=ends[index])
        elif item.kind in ("field", "instruction"):
            item.kind, item.is_ordered = "point", True
        written.append(item)
        index += 1
    return written


def _run_parts(item: Item) -> Parts:
    """An item as it is written, words with their run."""
    if item.format is None:
        return item.parts
    return [item.format.run(str(item.parts[0]))]


def _paired_ranges(items: list[Item]) -> list[Item]:
    """The same with ranges as pairs, and as points if they cross others or end elsewhere."""
    number = max((item.number for item in items), default=0)
    around: list[dict[str, Item]] = [{}]  # ranges that have begun, by the element around them
    pairs: list[tuple[Item, Item]] = []
    for item in items:
        if item.kind == "open":
            around.append({})
        elif item.kind == "close":
            around.pop()
        elif item.kind == "begin":
            around[-1][item.text] = item
        elif item.kind == "end" and item.text in around[-1]:
            is_inner = next(reversed(around[-1])) == item.text
            begin = around[-1].pop(item.text)
            if is_inner:
                pairs.append((begin, item))
    for begin, end in pairs if len(pairs) <= _MOST_PAIRS else ():
        number += 1
        begin.kind, begin.number = "open", number
        end.kind, end.number = "close", number
    for item in items:
        if item.kind in ("begin", "end"):
            item.kind, item.is_ordered = "point", True
    return items


def _without_blank_pairs(items: list[Item]) -> list[Item]:
    """The items with pairs around white space alone emptied: the white space comes behind them.

    Such a pair is dropped if it is only a format.
    """
    kept: list[Item] = []
    for item in items:
        kept.append(item)
        begin = len(kept) - 2
        while begin >= 0 and kept[begin].is_white:
            begin -= 1
        white = kept[begin + 1 : -1]
        if item.kind != "close" or not white or kept[begin].number != item.number:
            continue
        start = kept[begin]
        for space in white:
            space.owner = start.owner
        empty = Item("point", [*start.parts, *item.parts], start.owner)
        kept[begin:] = [*([] if start.is_span else [empty]), *white]
    return kept


def _joined_spans(items: list[Item]) -> list[Item]:
    """The same with neighbouring spans of the same format as one."""
    joined: list[Item] = []
    begins: dict[int, Parts] = {}
    renamed: dict[int, int] = {}
    for item in items:
        item.number = renamed.get(item.number, item.number)
        if item.kind == "open" and item.is_span:
            at = len(joined) - (2 if joined and _is_gap(joined[-1]) else 1)
            before = joined[at] if at >= 0 else None
            is_end = before is not None and before.kind == "close"
            if before and is_end and begins.get(before.number) == item.parts:
                renamed[item.number] = before.number
                del joined[at]
                continue
            begins[item.number] = item.parts
        joined.append(item)
    return joined


def _is_gap(item: Item) -> bool:
    """Whether an item is white space whose format nobody sees."""
    return item.kind == "text" and item.parts[0] in (" ", "  ")
