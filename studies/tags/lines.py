"""Lines of a test set with their tags: what is sent, and what the references have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from dragoman.documents.marks.marked_text import Mark, MarkedText
from dragoman.text.corpora.corpus import evaluation_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.inline_tags import (
    SYMBOL,
    InlineTags,
    numbered,
    pair_symbols,
    read_tags,
    symbols_in,
)
from dragoman.text.markup_spans import MarkupStyle, read_markup
from dragoman.text.segments import SegmentTable
from dragoman.text.transforms.inline_tagging import tagged_markup, tagged_phrases


@dataclass
class TaggedLine:
    """A line whose source and reference have the same tags."""

    source: str
    """With symbols."""
    reference: str
    copies: dict[int, str]
    """What the symbols of single tags are instead of; nothing of points."""

    @property
    def plain_reference(self) -> str:
        """The reference without tags, and with what is copied."""
        return read_tags(self.reference, self.copies)[0]

    def marked(self) -> MarkedText:
        """The source as a document gives it, whose marks are written as symbols."""
        text, ranges = read_tags(self.source, self.copies)
        roots: list[Mark] = []
        levels = [roots]
        for symbol in SYMBOL.finditer(self.source):
            is_pair, number = symbol["sign"] != "x", int(symbol["number"])
            if symbol["sign"] == "/t":
                levels.pop()
                continue
            place = ranges[is_pair, number]
            if is_pair:
                levels[-1].append(mark := Mark(*pair_symbols(number), *place))
                levels.append(mark.children)
            else:
                is_copy = number in self.copies
                mark = Mark(symbol[0], "", *place, is_atom=is_copy, is_point=not is_copy)
                levels[-1].append(mark)
        return MarkedText(text, roots)


def read_lines(
    part: CorpusPart,
    styles: Sequence[MarkupStyle],
    segments: SegmentTable | None,
    inline_tags: InlineTags,
) -> Iterator[TaggedLine]:
    """The lines of a set with markup on both sides, or with tags put around their phrases.

    Args:
        part: the set.
        styles: what markup is; only lines whose sides have the same.
        segments: phrases that tags are put around in place of markup.
        inline_tags: how many there may be.
    """
    for pair in evaluation_pairs(part):
        copies: dict[int, str] | None
        if segments is None:
            source, target = tagged_markup(pair.source, pair.target, styles, inline_tags)
            copies = _copied_markup(pair.source, styles)
        else:
            rng = Random(pair.line)
            source, target = tagged_phrases(pair.source, pair.target, segments, inline_tags, rng)
            copies = _replaced(source, pair.source)
        if symbols_in(source) and copies is not None:
            yield TaggedLine(source, target, copies)


def _copied_markup(source: str, styles: Sequence[MarkupStyle]) -> dict[int, str]:
    """What the symbols of a line with markup are instead of."""
    found = read_markup(source, styles)[1]
    tags = numbered([one.span for one in found])
    return {tag.number: one.key for tag, one in zip(tags, found, strict=True) if tag.kind == "copy"}


def _replaced(tagged: str, raw: str) -> dict[int, str] | None:
    """What single tags are instead of, by the text as it was; None if that is unclear."""
    numbers, parts, end = [], [], 0
    for symbol in SYMBOL.finditer(tagged):
        parts.append(_pattern(tagged[end : symbol.start()]))
        if symbol["sign"] == "x":
            numbers.append(int(symbol["number"]))
            parts.append("(.*?)")
        end = symbol.end()
    parts.append(_pattern(tagged[end:]))
    found = re.fullmatch("".join(parts).removeprefix(r"\ ?"), raw)
    if found is None:
        return None
    return {
        number: text.strip()
        for number, text in zip(numbers, found.groups(), strict=True)
        if text.strip()
    }


def _pattern(text: str) -> str:
    """An expression for a part between symbols, with the space where it may have been."""
    return r"\ ?" + r"\ ?".join(map(re.escape, text.split(" "))) + r"\ ?" if text else ""
