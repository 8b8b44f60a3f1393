"""Symbols for inline markup and placeholders, which a model moves to their place.

Hanneman and Dinu 2020, "How Should Markup Tags Be Translated?" (WMT, section 3): tags are replaced
by numbered symbols that a model reads and writes like words, so that it learns their place itself.
A pair is ``<t1>`` ... ``</t1>``. A single tag is ``<x1>``: an empty element, or copied text such as
a placeholder or a piece of code::

    Press <b>OK</b> to run {name}.   ->   Press<t1> OK</t1> to run <x1>.

A symbol joins the word in front of it, and the space comes behind. The words beside it are
therefore split into the same pieces as without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pydantic import Field

from dragoman.core.config import Config

TagKind = Literal["pair", "point", "copy"]
"""Kinds of tags: around words, between words, or instead of copied words."""
Range = tuple[int, int]
"""Start and end of a part of a text, half-open, in characters."""

SYMBOL = re.compile(r"<(?P<sign>/?t|x)(?P<number>[1-9][0-9]{0,3})>")


class InlineTags(Config):
    """How many tags a model knows in a sentence."""

    pairs: int = Field(8, ge=1, le=1000)
    """Pairs around words: `<t1>` and `</t1>`, `<t2>` ..."""
    points: int = Field(16, ge=1, le=1000)
    """Single tags, and placeholders for text that is copied: `<x1>`, `<x2>` ..."""

    def symbols(self) -> list[str]:
        """All symbols, which a vocabulary needs."""
        pairs = [pair_symbols(number) for number in range(1, self.pairs + 1)]
        return [
            *(symbol for pair in pairs for symbol in pair),
            *(point_symbol(number) for number in range(1, self.points + 1)),
        ]

    def fits(self, pairs: int, points: int) -> bool:
        """Whether it has enough symbols for these numbers of tags."""
        return pairs <= self.pairs and points <= self.points


class TagSpan(NamedTuple):
    """The position of a tag in a text."""

    start: int
    stop: int
    """End of the tag; for a point, the same as its start."""
    kind: TagKind


@dataclass(frozen=True)
class PlacedTag:
    """A tag with its number, which identifies it in a sentence."""

    start: int
    stop: int
    kind: TagKind
    number: int


def pair_symbols(number: int) -> tuple[str, str]:
    """The two symbols of a pair of tags."""
    return f"<t{number}>", f"</t{number}>"


def point_symbol(number: int) -> str:
    """The symbol of a single tag."""
    return f"<x{number}>"


def without_tags(text: str) -> str:
    """A text without symbols."""
    return read_tags(text)[0] if "<" in text else text


def numbered(spans: Sequence[TagSpan]) -> list[PlacedTag]:
    """Numbered tags: pairs and others separately, each from 1 in the order of the text."""
    order = sorted(range(len(spans)), key=lambda at: (spans[at].start, -spans[at].stop, at))
    pairs = points = 0
    numbers: dict[int, int] = {}
    for at in order:
        if spans[at].kind == "pair":
            numbers[at] = pairs = pairs + 1
        else:
            numbers[at] = points = points + 1
    return [PlacedTag(*span, numbers[at]) for at, span in enumerate(spans)]


def write_tags(text: str, tags: Sequence[PlacedTag]) -> str:
    """A text with the symbols of its tags.

    Args:
        tags: none crosses another; of several at one place the first is outside, or in front.
    """
    written = _Written()
    _write(written, text, _nested(tags), 0, len(text))
    return written.text


@dataclass
class _Node:
    tag: PlacedTag
    children: list[_Node]


def _nested(tags: Sequence[PlacedTag]) -> list[_Node]:
    order = sorted(range(len(tags)), key=lambda at: (tags[at].start, -tags[at].stop, at))
    roots: list[_Node] = []
    opened: list[_Node] = []
    for tag in (tags[at] for at in order):
        # A tag that begins where another ends is behind it, even an empty tag.
        while opened and opened[-1].tag.stop <= tag.start and not _within(tag, opened[-1].tag):
            opened.pop()
        node = _Node(tag, [])
        if opened and tag.stop > opened[-1].tag.stop:
            raise ValueError(f"the tags at {opened[-1].tag.start} and {tag.start} cross")
        (opened[-1].children if opened else roots).append(node)
        if tag.kind == "pair":
            opened.append(node)
    return roots


def _within(inner: PlacedTag, outer: PlacedTag) -> bool:
    """Whether an empty tag is in an empty pair at the same place."""
    return inner.start == inner.stop == outer.start == outer.stop


class _Written:
    """A growing text."""

    def __init__(self) -> None:
        self.text = ""

    def attach(self, symbol: str) -> None:
        """Writes a symbol behind the last word, and the space after it."""
        if self.text and not self.text.endswith(" "):
            self.text += symbol
        else:
            self.text = f"{self.text[:-1]}{symbol} "

    def add(self, text: str) -> None:
        """Writes words."""
        self.text += text[1:] if text[:1] == " " and self.text[-1:] in ("", " ") else text


def _write(written: _Written, text: str, nodes: Sequence[_Node], start: int, stop: int) -> None:
    for node in nodes:
        tag = node.tag
        written.add(text[start : tag.start])
        if tag.kind == "pair":
            begin, end = pair_symbols(tag.number)
            written.attach(begin)
            _write(written, text, node.children, tag.start, tag.stop)
            written.attach(end)
        elif tag.kind == "copy":
            written.text += point_symbol(tag.number)
        else:
            written.attach(point_symbol(tag.number))
        start = tag.stop
    written.add(text[start:stop])


def read_tags(
    text: str, copies: Mapping[int, str] | None = None
) -> tuple[str, dict[tuple[bool, int], Range]]:
    """A text without its symbols, and the positions of its tags.

    Args:
        copies: replacements of ``<x1>`` and so on, by number; missing ones are replaced by nothing.

    Returns:
        The text, and the range of each tag in it, by whether it is a pair, and its number.  Of a
        repeated symbol, the last place counts. A pair without its end is empty.
    """
    copies = copies or {}
    plain, end = "", 0
    opened: dict[int, int] = {}
    found: dict[tuple[bool, int], Range] = {}
    raw: list[tuple[tuple[bool, int], int, int]] = []

    def add(words: str) -> None:
        nonlocal plain
        plain += words[1:] if words[:1] == " " and plain[-1:] in ("", " ") else words

    for symbol in SYMBOL.finditer(text):
        add(text[end : symbol.start()])
        end, number = symbol.end(), int(symbol["number"])
        if symbol["sign"] == "x":
            begin = len(plain)
            plain += copies.get(number, "")
            raw.append(((False, number), begin, len(plain)))
        elif symbol["sign"] == "t":
            opened[number] = len(raw)
            raw.append(((True, number), len(plain), -1))
        elif number in opened:
            key, begin, _ = raw[opened[number]]
            raw[opened[number]] = (key, begin, len(plain))
    add(text[end:])
    plain = plain.rstrip(" ")
    for key, begin, stop in raw:
        found[key] = _settled(plain, key, begin, begin if stop < 0 else stop, copies)
    return plain, found


def _settled(
    plain: str, key: tuple[bool, int], start: int, stop: int, copies: Mapping[int, str]
) -> Range:
    """A range without the space at its ends, which belongs outside."""
    start, stop = min(start, len(plain)), min(stop, len(plain))
    is_pair, number = key
    if not is_pair and number in copies:
        return start, stop
    if start == stop:
        return start, stop
    while start < stop and plain[start] == " ":
        start += 1
    while stop > start and plain[stop - 1] == " ":
        stop -= 1
    return start, stop


def symbols_in(text: str) -> list[str]:
    """The symbols in a text, in order."""
    return [found[0] for found in SYMBOL.finditer(text)] if "<" in text else []


def renumbered(source: str, target: str) -> tuple[str, str]:
    """Both sides with the tags numbered from 1 in the order of the source."""
    numbers: dict[tuple[bool, str], int] = {}
    counts = {True: 0, False: 0}
    for symbol in SYMBOL.finditer(source):
        key = (symbol["sign"] == "x", symbol["number"])
        if key not in numbers:
            numbers[key] = counts[key[0]] = counts[key[0]] + 1

    def renamed(symbol: re.Match[str]) -> str:
        number = numbers.get((symbol["sign"] == "x", symbol["number"]))
        return symbol[0] if number is None else f"<{symbol['sign']}{number}>"

    return SYMBOL.sub(renamed, source), SYMBOL.sub(renamed, target)


def structure(symbols: Iterable[str]) -> frozenset[tuple[str, str | None]] | None:
    """The nesting of tags: each tag with the pair that contains it, None at the top.

    Returns:
        None if the text is not well-formed: a pair is not closed, or closed before it is opened,
        pairs cross, or a symbol occurs twice.
    """
    opened: list[str] = []
    found: dict[str, str | None] = {}
    for symbol in symbols:
        if symbol.startswith("</"):
            if not opened or opened.pop() != f"<{symbol[2:]}":
                return None
            continue
        if symbol in found:
            return None
        found[symbol] = opened[-1] if opened else None
        if symbol.startswith("<t"):
            opened.append(symbol)
    return None if opened else frozenset(found.items())
