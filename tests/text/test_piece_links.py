"""Which target pieces translate each source piece, counted in a stream of pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dragoman.text import piece_links
from dragoman.text.piece_links import PieceLinks
from dragoman.text.word_alignment import align

RNG = np.random.default_rng(3)
SOURCES = [RNG.permutation(np.arange(4, 12))[: 2 + n % 5].tolist() for n in range(60)]
PAIRS = [(source, [piece + 20 for piece in source]) for source in SOURCES]
"""Each source piece has one translation, whose number is higher by 20."""


def test_the_likeliest_piece_is_the_translation() -> None:
    links = PieceLinks(12, 32)
    links.add(PAIRS)
    table = links.likeliest(1)
    assert [table.of(piece).tolist() for piece in range(12)] == [
        *([] for _ in range(4)),
        *([piece + 20] for piece in range(4, 12)),
    ]


def test_counts_are_those_of_the_aligner(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.zeros((12, 32), np.int64)
    for (source, target), aligned in zip(PAIRS, align(PAIRS), strict=True):
        for i, j in aligned.all:
            counts[source[i], target[j]] += 1
    links = PieceLinks(12, 32)
    links.add(PAIRS)
    table = links.likeliest(3)
    for piece in range(12):
        expected = sorted(np.flatnonzero(counts[piece]), key=lambda t: (-counts[piece, t], t))
        assert table.of(piece).tolist() == expected[:3]
    assert links.pairs == len(PAIRS)


def test_frequent_pieces_are_those_of_targets() -> None:
    links = PieceLinks(12, 32)
    links.add([([4], [25, 25, 9]), ([5, 6], [9, 25]), ([4], [31]), ([], [30, 30, 30])])
    assert links.frequent(2).tolist() == [25, 9]
    assert links.frequent(5).tolist() == [25, 9, 31, 0, 1]
    assert sorted(links.frequent(99).tolist()) == list(range(32))
    assert links.pairs == 3


def test_a_stream_is_read_a_piece_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piece_links, "_CELLS_AT_ONCE", 100)
    aligned: list[int] = []
    given = 0

    def counted() -> Iterator[tuple[list[int], list[int]]]:
        nonlocal given
        for pair in PAIRS:
            given += 1
            yield pair

    def watched(pairs: list[tuple[list[int], list[int]]]) -> object:
        aligned.append(len(pairs))
        assert sum(aligned) == given, "only what is aligned has been read"
        return align(pairs)

    monkeypatch.setattr(piece_links, "align", watched)
    links = PieceLinks(12, 32)
    links.add(counted())
    assert sum(aligned) == len(PAIRS)
    assert max(aligned) < len(PAIRS) / 3
    assert links.pairs == len(PAIRS)
