"""Which sentences are split again, and which stay as they are stored."""

from __future__ import annotations

import operator
from itertools import pairwise
from pathlib import Path

import numpy as np

from dragoman.data.prepare import prepare
from dragoman.data.resampling import Pool, Sampler, resample
from dragoman.text.corpora.cleaning import CleaningConfig
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.text.vocabularies.vocabulary import UNK


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


def test_sides_of_equal_text_are_split_apart_from_each_other_and_from_the_next_seed(
    tmp_path: Path, vocabularies: Vocabularies
) -> None:
    text = "hund läuft gern heute"
    (tmp_path / "a.tsv").write_text(f"en\tde\n{text}\t{text}\n", encoding="utf-8")
    part = CorpusPart(path=str(tmp_path / "a.tsv"), source="en", target="de")
    keep = CleaningConfig(min_identical_words=None)
    store, _ = prepare(tmp_path / "data", [part], vocabularies, keep, max_pieces=50)
    sampler = Sampler(store, vocabularies, sampling=0.3, batch_tokens=100, seed=1)
    planned = [np.array([0])]

    def pieces(seed: int) -> tuple[list[int], list[int]]:
        (batch,) = sampler.sample(Pool(planned, [np.array([0])], epoch=0, seed=seed))
        return batch.source[0].tolist(), batch.target[0].tolist()

    found = [pieces(seed) for seed in range(20)]
    texts = {vocabularies.source.decode(ids) for both in found for ids in both}
    assert texts == {text}
    sources, targets = zip(*found, strict=True)
    # Few are equal by chance; all would be if two sides shared the seed of a generator.
    for one, other in (sources, targets), (sources[1:], targets[:-1]), (sources[:-1], targets[1:]):
        assert sum(map(operator.eq, one, other)) < 5
