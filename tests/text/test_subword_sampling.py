"""Random splits against the definitions, by counting."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections import Counter
from random import Random

import pytest

from dragoman.text.subword_sampling import bpe_dropout, unigram_sampling

MERGES = {piece: -float(rank) for rank, piece in enumerate(["ab", "abc", "bc", "cd", "abcd"])}
UNIGRAMS = {"a": -2.0, "b": -1.0, "c": -3.0, "ab": -2.5, "bc": -1.5, "abc": -4.0}


def test_bpe_without_dropout_merges_in_order_and_with_all_not_at_all() -> None:
    assert bpe_dropout(MERGES, 0.0)("abcdx", Random(1)) == ("abcd", "x")
    assert bpe_dropout(MERGES, 1.0)("abcdx", Random(1)) == tuple("abcdx")
    assert bpe_dropout(MERGES, 0.0)("bcd", Random(1)) == ("bc", "d")


def test_bpe_dropout_overlooks_as_often_as_told() -> None:
    split, chance = bpe_dropout({"ab": 0.0}, 0.3), Random(5)
    found = Counter(split("ab", chance) for _ in range(4000))
    assert found["a", "b"] / 4000 == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 2.0])
def test_unigram_splits_have_their_probability(alpha: float) -> None:
    word = "abc"
    weights = {}
    for cuts in itertools.product([False, True], repeat=2):
        pieces = "".join(
            c + ("|" if cut else "") for c, cut in zip(word, (*cuts, False), strict=True)
        )
        split = tuple(pieces.split("|"))
        if all(piece in UNIGRAMS for piece in split):
            weights[split] = math.exp(alpha * sum(UNIGRAMS[piece] for piece in split))
    draw, chance = unigram_sampling(UNIGRAMS, alpha), Random(2)
    found = Counter(draw(word, chance) for _ in range(5000))
    for split, weight in weights.items():
        assert found[split] / 5000 == pytest.approx(weight / sum(weights.values()), abs=0.03)
    assert found.keys() <= weights.keys()


def test_another_process_draws_the_same() -> None:
    code = (
        "from random import Random\n"
        "from dragoman.text.subword_sampling import bpe_dropout\n"
        f"split = bpe_dropout({MERGES!r}, 0.5)\n"
        "print([split('abcdabcd', Random(seed)) for seed in range(9)])\n"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout != ""
