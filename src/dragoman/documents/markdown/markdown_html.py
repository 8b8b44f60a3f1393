"""Blocks of HTML in Markdown: where they end, and which of their lines are of a dialect.

To CommonMark, a block of HTML lasts until an empty line.  Generators of sites read their own lines
first, so these end it, or stay whole lines within it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.html_block import HTML_SEQUENCES, html_block

from dragoman.documents.html import NO_PROSE, read_html
from dragoman.documents.markdown.markdown_dialects import (
    is_line_of_dialect,
    is_template_line,
    lines_without_text,
)
from dragoman.documents.marks.marked_document import MarkedDocument
from dragoman.documents.marks.markup_tokens import html_tokens


def html_lines(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block of HTML, which a line of a dialect ends."""
    if not html_block(state, start, end, silent):
        return False
    if silent:
        return True
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    begun = next(closes for opens, closes, _ in HTML_SEQUENCES if opens.search(first))
    if not begun.search(""):
        return True  # a comment, a script or the like, which is not over at an empty line
    token = state.tokens[-1]
    stop = _end_of_html(state, start, state.line, token.content)
    if stop < state.line:
        token.map, state.line = [start, stop], stop
        token.content = state.getLines(start, stop, state.blkIndent, True)
    return True


def _end_of_html(state: StateBlock, start: int, stop: int, content: str) -> int:
    """The first line of a dialect that is within no tag, and of template tags in no element."""
    places = None
    starts = [0, *accumulate(map(len, content.splitlines(keepends=True)))]
    for number in range(start + 1, stop):
        if not is_line_of_dialect(state, number, stop):
            continue
        places = _Places(content) if places is None else places
        place = starts[min(number - start, len(starts) - 1)]
        if not places.is_text(place):
            continue
        if not (is_template_line(state, number) and places.is_in_element(place)):
            return number
    return stop


class _Places:
    """The elements around each place of a text of HTML."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._found: list[tuple[bool, int, int]] = []
        place = depth = hidden = 0
        for token in html_tokens(text):
            is_hidden = token.name in NO_PROSE
            if token.kind == "close":
                depth, hidden = max(0, depth - 1), max(0, hidden - is_hidden)
            self._starts.append(place)
            self._found.append((token.kind == "text", depth, hidden))
            if token.kind == "open":
                depth, hidden = depth + 1, hidden + is_hidden
            place += len(token.raw)

    def is_text(self, place: int) -> bool:
        """Whether a place is within text that people read, or where a tag begins."""
        at = bisect_right(self._starts, place) - 1
        is_text, _, hidden = self._found[at]
        return (is_text or self._starts[at] == place) and not hidden

    def is_in_element(self, place: int) -> bool:
        """Whether an element has begun in front of a place and has not ended there."""
        return self._found[bisect_right(self._starts, place) - 1][1] > 0


def read_html_block(lines: Sequence[str]) -> Iterator[MarkedDocument | str]:
    """The texts of a block of HTML, given its lines with their ends, and lines of template tags."""
    places = None
    begin = number = place = 0
    while number < len(lines):
        stop = lines_without_text(lambda at: lines[at].strip(), number, len(lines))
        raw = "".join(lines[number:stop]) if stop > number else lines[number]
        if stop > number:
            places = _Places("".join(lines)) if places is None else places
        if places is not None and stop > number and places.is_text(place):
            yield read_html("".join(lines[begin:number]))
            yield raw
            begin = stop
        place += len(raw)
        number = max(stop, number + 1)
    yield read_html("".join(lines[begin:]))
