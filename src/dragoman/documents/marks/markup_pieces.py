"""Parts of a run of text and tags, and the texts that they make up."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from dragoman.text.break_codes import ends_sentence, would_glue


@dataclass(frozen=True)
class MarkupPiece:
    """A part of a run of text and tags."""

    kind: Literal["text", "open", "close", "point", "atom", "break"]
    """Text; start and end tags around words; a ``point`` between words; an ``atom``, which is
    copied; a ``break`` between two texts, for :func:`parted`."""
    raw: str
    """As it is written."""
    name: str = ""
    """Of the element."""
    content: str = ""
    """The text of an atom."""
    is_shown: bool = True
    """Whether a point takes a place in the line, so that white space belongs around it."""


def parted(pieces: Sequence[MarkupPiece]) -> Iterator[str | list[MarkupPiece]]:
    """The texts that pieces make up, and what is between them, as it is written.

    A text ends at a break.  It also ends at a point, or a pair of tags around nothing, that alone
    keeps two words or sentences apart, as in ``again.<1></1>If``.
    """
    run: list[MarkupPiece] = []
    for piece in joined_texts([one for one in pieces if one.raw]):
        if piece.kind == "break":
            if run:
                yield run
            yield piece.raw
            run = []
            continue
        if piece.kind in ("text", "atom"):
            start, end = _nothing_within(run)
            if start < end and _is_apart(run[start - 1 :: -1], piece):
                yield run[:start]
                yield "".join(one.raw for one in run[start:end])
                run = run[end:]
        run.append(piece)
    if run:
        yield run


def _nothing_within(run: Sequence[MarkupPiece]) -> tuple[int, int]:
    """Span of points and pairs of tags around nothing behind the last word of a run."""
    edges: list[int] = []
    after = len(run)
    while after and run[after - 1].kind not in ("text", "atom"):
        after -= 1
        one, following = run[after], run[after + 1 : after + 2]
        if one.kind == "point" and one.is_shown:
            edges += [after, after + 1]
        elif one.kind == "open" and following and following[0].kind == "close":
            edges += [after, after + 2]
    return (min(edges), max(edges)) if edges and after else (0, 0)


def _is_apart(before: Sequence[MarkupPiece], after: MarkupPiece) -> bool:
    """Whether only a code separates a word from the words in front, the last piece first."""
    last = next(one for one in before if one.kind in ("text", "atom"))
    one, other = (_words(piece) for piece in (last, after))
    if after.kind == "atom":
        return ends_sentence(one, "A")
    return ends_sentence(one, other) or would_glue(one, other)


def _words(piece: MarkupPiece) -> str:
    return piece.content if piece.kind == "atom" else html.unescape(piece.raw)


def joined_texts(pieces: Sequence[MarkupPiece]) -> list[MarkupPiece]:
    """The same with neighbouring pieces of text as one, so that none ends within a placeholder."""
    joined: list[MarkupPiece] = []
    for is_text, run in groupby(pieces, key=lambda piece: piece.kind == "text"):
        neighbours = list(run)
        if is_text:
            raw = "".join(piece.raw for piece in neighbours)
            name = "".join(piece.name for piece in neighbours)
            neighbours = [MarkupPiece("text", raw, name)]
        joined += neighbours
    return joined
