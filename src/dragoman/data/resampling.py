"""Subword sampling: a sentence is split into other pieces each time it is seen.

Kudo 2018 (arXiv:1804.10959) for unigram vocabularies, Provilkov et al. 2020 (arXiv:1910.13267)
for byte-pair encoding.  The store holds best segmentations; they are joined to text and split
anew.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
import numpy.typing as npt

from dragoman.text.vocabulary import UNK, Vocabulary

IntArray = npt.NDArray[np.int64]


def resample(
    ids: npt.NDArray[np.integer],
    lengths: IntArray,
    vocabulary: Vocabulary,
    *,
    sampling: float,
    max_pieces: int,
    seed: int,
) -> tuple[IntArray, IntArray]:
    """Split sentences anew.

    One that holds an unknown piece, whose text is lost, stays as it is; so does one that would
    have more than ``max_pieces``.

    Args:
        ids: the sentences one after another.
        lengths: the length of each.
        vocabulary: what they were encoded with.
        sampling: BPE-dropout probability or unigram alpha.
        max_pieces: bound of a sentence's new length.
        seed: the same seed and sentences give the same pieces.

    Returns:
        New ids one after another, and the new length of each sentence.
    """
    ends = np.cumsum(lengths).tolist()
    flat: list[int] = ids.tolist()
    old = [flat[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]
    sampled = vocabulary.encode_batch(
        [vocabulary.decode(sentence) for sentence in old], sampling=sampling, seed=seed
    )
    new = [
        before if UNK in before or not 0 < len(after) <= max_pieces else after
        for before, after in zip(old, sampled, strict=True)
    ]
    new_lengths = np.fromiter(map(len, new), dtype=np.int64, count=len(new))
    return np.fromiter(chain.from_iterable(new), dtype=np.int64), new_lengths
