"""Which sentences are split again, and which stay as they are stored."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dragoman.data.resampling import resample
from dragoman.text.vocabulary import UNK, Vocabularies


def test_what_is_unknown_too_long_or_empty_stays(vocabularies: Vocabularies) -> None:
    vocabulary = vocabularies.source
    texts = ["hund läuft gern heute", "katze", "das haus schläft nie", ""]
    stored = vocabulary.encode_batch(texts)
    stored[1].append(UNK)
    flat = np.array([one for sentence in stored for one in sentence], dtype=np.int32)
    lengths = np.array([len(sentence) for sentence in stored])
    for most in (100, len(stored[0])):
        # With probability 1 nothing is merged: a letter is a piece, and so is each space.
        ids, found = resample(flat, lengths, vocabulary, sampling=1.0, max_pieces=most, seed=1)
        ends = [0, *np.cumsum(found).tolist()]
        new = [ids[start:end].tolist() for start, end in pairwise(ends)]
        letters = [vocabulary.ids(f"▁{text.replace(' ', '▁')}") for text in texts]
        fit = most == 100
        assert new == [
            letters[0] if fit else stored[0],
            stored[1],
            letters[2] if fit else stored[2],
            [],
        ]
