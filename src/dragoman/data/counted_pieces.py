"""Frequencies of each piece in each language of a run, counted in its training text."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from dragoman.data.store import Side, Store
from dragoman.text.vocabularies.piece_frequencies import PieceFrequencies
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies


def counted_pieces(store: Store, vocabularies: Vocabularies) -> PieceFrequencies:
    """The share of each target piece in all text of each language.

    For a language that is translated into, the text is its targets.  For other languages it is
    their sources, counted only if both vocabularies have the same ids.
    """
    size = len(vocabularies.target)
    counts: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(size, np.int64))
    into = {part.target_language for part in store.parts}
    for number, part in enumerate(store.parts):
        sides: list[tuple[Side, str]] = [("target", part.target_language)]
        if vocabularies.same_ids and part.source_language not in into:
            sides.append(("source", part.source_language))
        for side, language in sides:
            counts[language] += store.piece_counts(side, number, size)
    return PieceFrequencies(
        {
            language: (count / max(1, count.sum())).astype(np.float32)
            for language, count in counts.items()
        }
    )
