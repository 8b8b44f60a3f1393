"""Which target pieces translate each source piece, counted in a stream of pairs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.text.vocabularies import piece_links
from dragoman.text.vocabularies.piece_links import PieceLinks
from dragoman.text.word_alignment import ROUNDS, expected_links

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


def test_counts_are_those_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain expectation maximisation of the same model, in dictionaries."""
    pairs = [([4, 5], [24, 25]), ([5], [25, 25]), ([4, 6, 5], [26, 24])] * 2
    monkeypatch.setattr(piece_links, "_LEAST_COUNT", 0.0)
    expected: dict[tuple[int, int], float] = {}
    for rounds in range(ROUNDS + 1):
        chances = dict(expected)
        expected = defaultdict(float)
        for source, target in pairs:
            for j, made in enumerate(target):
                shares = {}
                for place, maker in enumerate([0, *source]):
                    near = _nearness(place, j, len(source), len(target))
                    shares[place] = near * (chance(chances, maker, made) if rounds else 1.0)
                for place, maker in enumerate([0, *source]):
                    expected[maker, made] += shares[place] / sum(shares.values())
    links = PieceLinks(12, 32)
    links.add(pairs)
    found = {
        divmod(key, 32): count
        for key, count in zip(links._keys.tolist(), links._counts.tolist(), strict=True)
    }
    assert found == pytest.approx({key: one for key, one in expected.items() if key[0]}, rel=1e-6)
    assert links.likeliest(1).of(5).tolist() == [25]


def _nearness(place: int, j: int, sources: int, targets: int) -> float:
    """The prior of fast_align: of a source place, 0 for none."""
    if place == 0:
        return 0.08
    near = [math.exp(-4 * abs((i + 0.5) / sources - (j + 0.5) / targets)) for i in range(sources)]
    return 0.92 * near[place - 1] / sum(near)


def chance(counts: dict[tuple[int, int], float], maker: int, made: int) -> float:
    """Of a target piece, given its maker: the variational estimate with a prior of 0.01."""
    total = sum(count + 0.01 for (one, _), count in counts.items() if one == maker)
    return float(torch.exp(digamma(counts[maker, made] + 0.01) - digamma(total)))


def digamma(value: float) -> torch.Tensor:
    return torch.digamma(torch.tensor(value, dtype=torch.float64))


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

    def watched(pairs: list[tuple[list[int], list[int]]]) -> Any:
        aligned.append(len(pairs))
        assert sum(aligned) == given, "only what is aligned has been read"
        return expected_links(pairs)

    monkeypatch.setattr(piece_links, "expected_links", watched)
    links = PieceLinks(12, 32)
    links.add(counted())
    assert sum(aligned) == len(PAIRS)
    assert max(aligned) < len(PAIRS) / 3
    assert links.pairs == len(PAIRS)
