"""Speeds that are measured on a text."""

from __future__ import annotations

import pytest

from dragoman.apps.init.measure import EncodedSample, measure_speed
from dragoman.apps.init.sizes import SIZES
from dragoman.core.errors import DataError
from dragoman.text.formats import Pair
from dragoman.text.vocabulary import VocabularyConfig
from dragoman.text.vocabulary_training import train_vocabularies


def test_lines_that_are_all_too_long_are_told() -> None:
    """Rather than looked through for ever."""
    pairs = [Pair(f"{'a b c ' * 9}{n}", f"{'d e f ' * 9}{n}", n) for n in range(9)]
    config = VocabularyConfig(size=30)
    vocabularies = train_vocabularies(pairs, config, seed=1)
    long = [[7] * 300] * len(pairs)
    encoded = EncodedSample(config, vocabularies, long, long)
    with pytest.raises(DataError, match=r"no pair .* 256 pieces .* split its lines into sentences"):
        measure_speed(SIZES[0], encoded, 1000, 256)
