"""Which sentences are split again, and which stay as they are stored."""

from __future__ import annotations

import operator
import os
import signal
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.core.errors import WorkerError
from dragoman.data.batches import Batch, Batches
from dragoman.data.prepare import prepare
from dragoman.data.resampling import Pool, Sampler, SamplerApart, resample
from dragoman.data.store import Store
from dragoman.text.corpora.cleaning import CleaningConfig
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import UNK, Vocabularies


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


Options = dict[str, Any]


@pytest.fixture
def options(store_of: Callable[..., Store], vocabularies: Vocabularies) -> Options:
    words = ("hund", "katze", "läuft", "schläft")
    texts = [" ".join(words[: 1 + i % 4] * (1 + i % 5)) for i in range(600)]
    ids = vocabularies.source.encode_batch(texts)
    store = store_of(list(zip(ids, ids, strict=True)))
    return {
        "store": store, "step_tokens": 300, "seed": 1, "vocabularies": vocabularies,
        "sampling": 0.3,
    }  # fmt: skip


def shown(steps: Iterator[list[Batch]]) -> list[object]:
    return [
        [
            (batch.rows.tolist(), batch.source.tolist(), batch.target_output.tolist())
            for batch in step
        ]
        for step in steps
    ]


def test_epochs_are_the_same_from_any_step(options: Options) -> None:
    here, apart = Batches(**options), Batches(**options, apart=True)
    expected = [shown(here.window(epoch, 0)) for epoch in range(3)]
    assert len(expected[0]) > 64  # several pools
    assert [shown(apart.window(epoch, 0)) for epoch in range(3)] == expected
    for start in (0, 50, 64, 65, len(expected[1]) - 1):  # as when a run is resumed
        assert shown(apart.window(1, 0, start)) == expected[1][start:]


def test_the_next_pool_is_drawn_ahead(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    apart = Batches(**options, apart=True)
    list(apart.window(0, 0))
    sampler = apart._sampler
    assert isinstance(sampler, SamplerApart)
    submit, submitted = sampler._pool.submit, []

    def counted(*task: Any) -> Any:
        submitted.append(task)
        return submit(*task)

    monkeypatch.setattr(sampler._pool, "submit", counted)
    next(apart.window(1, 0))
    assert len(submitted) == 1  # the second of the epoch; the first was drawn before it began


def test_a_killed_process_is_told(options: Options) -> None:
    apart = Batches(**options, apart=True)
    steps = apart.window(0, 0)
    next(steps)
    sampler = apart._sampler
    assert isinstance(sampler, SamplerApart)
    (worker,) = sampler._pool._workers()
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match=r"draws pieces of words was killed.*dragoman resume"):
        for epoch in range(3):
            list(apart.epoch(epoch))
