"""Random splits against the definitions, by adding up the probabilities of all of them."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from splitting_processes import MERGES, UNIGRAMS, probabilities

from dragoman.text.vocabularies.subword_sampling import (
    BpeDropout,
    State,
    UnigramSampling,
    merge_all,
)


def algorithm_1(symbols: State, scores: Mapping[str, float], p: float) -> dict[State, float]:
    """Provilkov et al. 2020, with every choice of dropped merges in turn."""
    merges = [i for i, (a, b) in enumerate(pairwise(symbols)) if a + b in scores]
    found: dict[State, float] = defaultdict(float)
    for dropped in itertools.product([False, True], repeat=len(merges)):
        chance = math.prod(p if drop else 1 - p for drop in dropped)
        kept = [at for at, drop in zip(merges, dropped, strict=True) if not drop]
        if not kept:
            found[symbols] += chance
            continue
        best = max(kept, key=lambda at: (scores[symbols[at] + symbols[at + 1]], -at))
        merged = (*symbols[:best], symbols[best] + symbols[best + 1], *symbols[best + 2 :])
        for split, further in algorithm_1(merged, scores, p).items():
            found[split] += chance * further
    return found


def test_bpe_without_dropout_merges_in_order_and_with_all_not_at_all() -> None:
    assert merge_all("abcdx", MERGES) == ("abcd", "x")
    assert merge_all("bcd", MERGES) == ("bc", "d")
    assert probabilities(BpeDropout(MERGES, 0.0), "abcdx") == {("abcd", "x"): 1.0}
    assert probabilities(BpeDropout(MERGES, 1.0), "abcdx")[tuple("abcdx")] == 1.0


@given(word=st.text("abcdx", min_size=1, max_size=6), p=st.sampled_from([0.1, 0.3, 0.9]))
def test_bpe_dropout_is_algorithm_1(word: str, p: float) -> None:
    expected = algorithm_1(tuple(word), MERGES, p)
    assert probabilities(BpeDropout(MERGES, p), word) == pytest.approx(expected)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 2.0])
def test_unigram_splits_have_their_probability(alpha: float) -> None:
    word = "abcab"
    weights = {}
    for cuts in itertools.product([False, True], repeat=len(word) - 1):
        pieces = "".join(
            c + ("|" if cut else "") for c, cut in zip(word, (*cuts, False), strict=True)
        )
        split = tuple(pieces.split("|"))
        if all(piece in UNIGRAMS for piece in split):
            weights[split] = math.exp(alpha * sum(UNIGRAMS[piece] for piece in split))
    total = sum(weights.values())
    expected = {split: weight / total for split, weight in weights.items()}
    assert probabilities(UnigramSampling(UNIGRAMS, alpha), word) == pytest.approx(expected)


def test_what_cannot_be_split_has_no_way() -> None:
    assert list(UnigramSampling(UNIGRAMS, 0.5).bounds(("xa",))) == []
    assert list(UnigramSampling({}, 0.5).bounds(("a",))) == []


def test_a_word_of_any_length_is_summed_once() -> None:
    process = UnigramSampling(UNIGRAMS, 0.5)
    state = process.start("abc" * 50)
    while process.bounds(state):
        state = process.follow(state, 0)
    assert "".join(process.pieces(state)) == "abc" * 50
    assert process._log_weights.cache_info().misses == 1
