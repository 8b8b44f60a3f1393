"""Texts in pieces that are drawn at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.text.vocabularies import Vocabulary


def drawn(
    vocabulary: Vocabulary, texts: Sequence[str], sampling: float, *, seed: int = 1
) -> list[list[int]]:
    """The ids of each text."""
    ids = vocabulary.encode_batch(texts)
    new, lengths = vocabulary.split_anew(
        np.array([one for sentence in ids for one in sentence]),
        np.array([len(sentence) for sentence in ids]),
        sampling=sampling,
        seed=seed,
    )
    return [part.tolist() for part in np.split(new, np.cumsum(lengths)[:-1])]
