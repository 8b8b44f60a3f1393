"""Texts of any size that nobody wrote: only what ``dragoman init`` knows of them."""

from __future__ import annotations

from functools import cache

import numpy as np

from dragoman.workflows.init.choose import Pieces
from dragoman.workflows.init.look import Facts, Side

TOKENS = 15  # of a sentence on average, the end symbol counted


def facts(
    pairs: int, length: int = 60, characters: int = 80, target_script: str = "Latin"
) -> Facts:
    """Of a text with so many pairs, characters a sentence and different characters."""
    source = Side("en", {"Latin": 1.0}, 80, pairs * length)
    target = Side("xx", {target_script: 1.0}, characters, pairs * length)
    dev, test = (min(most, max(1, pairs // 20)) for most in (500, 1000))
    return Facts(pairs, pairs, {}, source, target, dev, test)


@cache
def _lengths() -> np.ndarray:
    return np.tile(np.arange(2, 2 * TOKENS - 1), 20).astype(np.int64)


@cache
def pieces(pairs: int) -> Pieces:
    """Of the same text, whose sentences have 2 to 28 tokens."""
    lengths = _lengths()
    known = facts(pairs)
    dev, test = known.dev_pairs * TOKENS, known.test_pairs * TOKENS
    return Pieces(lengths, lengths[::-1].copy(), pairs / len(lengths), dev, test)
