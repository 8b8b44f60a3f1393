"""Which pieces of a joint vocabulary belong to a language, by the training text in it.

A model that learns from its own translations alone finds that a rare word survives a round trip
best if it is copied.  Where each language has a vocabulary of its own, as in Artetxe et al. 2018
(arXiv:1710.11041) and Lample et al. 2018 (arXiv:1711.00043), it cannot be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dragoman.data.store import Store
from dragoman.text.corpus import CorpusPart


def foreign_pieces(store: Store, parts: Sequence[CorpusPart], part: CorpusPart) -> tuple[int, ...]:
    """Pieces that a translation of ``part`` may not contain in training, in ascending order.

    Args:
        store: all pairs of a run, part by part.
        parts: of the store, with their languages.
        part: one of them, with the transform ``back_translation``; none are foreign without its
            ``own_pieces``.
    """
    settings = part.back_translation
    if settings is None or not settings.own_pieces:
        return ()
    own, other = part.direction.source_language, part.direction.target_language
    frequencies = [_frequencies(store, parts, language) for language in (own, other)]
    size = max(map(len, frequencies))
    here, there = (np.pad(one, (0, size - len(one))) for one in frequencies)
    foreign = np.flatnonzero(here < settings.own_pieces * there)
    return tuple(foreign.tolist())


def _frequencies(
    store: Store, parts: Sequence[CorpusPart], language: str
) -> npt.NDArray[np.float64]:
    """The share of each piece in all targets in a language, ``(pieces,)``."""
    rows = [
        np.arange(stored.start, stored.stop)
        for stored, part in zip(store.parts, parts, strict=True)
        if part.direction.target_language == language
    ]
    ids, _ = store.gather("target", np.concatenate(rows))
    return np.bincount(ids) / max(1, len(ids))
