from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import random_pairs, write_store

from dragoman.core.errors import ConfigError
from dragoman.data import batches as batches_module
from dragoman.data.batches import Batch, Batches, make_batch, pad_sources
from dragoman.data.prefetch import Prefetch
from dragoman.data.store import Store
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.public_corpora import corpora_folder
from dragoman.text.vocabularies import BOS, EOS, PAD, Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies as train

Pairs = list[tuple[list[int], list[int]]]

sentence = st.lists(st.integers(4, 99), max_size=9)
some_pairs = st.lists(st.tuples(sentence, sentence), max_size=12)

MULTI30K = corpora_folder() / "multi30k/tok"


def equal(one: Batch, other: Batch) -> bool:
    names = ("source", "source_mask", "target_input", "target_output", "rows")
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in names)


def rows_of(steps: Iterable[list[Batch]]) -> list[list[int]]:
    """Of each step, whatever it is divided into."""
    return [[row for batch in step for row in batch.rows.tolist()] for step in steps]


def flat(steps: Iterable[list[Batch]]) -> list[Batch]:
    return list(chain.from_iterable(steps))


@given(some_pairs)
def test_a_batch_is_what_its_fields_say(pairs: Pairs) -> None:
    batch = make_batch([source for source, _ in pairs], [target for _, target in pairs])
    source_width = max((len(source) for source, _ in pairs), default=0) + 1
    target_width = max((len(target) for _, target in pairs), default=0) + 1
    for i, (source, target) in enumerate(pairs):
        pads = [PAD] * target_width
        assert batch.source[i].tolist() == [*source, EOS, *[PAD] * source_width][:source_width]
        assert batch.target_input[i].tolist() == [BOS, *target, *pads][:target_width]
        assert batch.target_output[i].tolist() == [*target, EOS, *pads][:target_width]
    assert torch.equal(batch.source_mask, batch.source != PAD)
    assert batch.target_tokens == int((batch.target_output != PAD).sum())
    assert batch.sentences == len(pairs)
    assert batch.rows.tolist() == list(range(len(pairs)))
    assert batch.source_mask.dtype == torch.bool
    for ids in (batch.source, batch.target_input, batch.target_output, batch.rows):
        assert ids.dtype == torch.int64


@given(some_pairs)
def test_sources_alone_are_padded_alike(pairs: Pairs) -> None:
    sources = [source for source, _ in pairs]
    source, mask = pad_sources(sources)
    batch = make_batch(sources, sources)
    assert torch.equal(source, batch.source)
    assert torch.equal(mask, batch.source_mask)


def test_moving_a_batch_keeps_its_content() -> None:
    batch = make_batch([[5, 6], [7]], [[8], [9]])
    assert equal(batch, batch.to("cpu"))
    assert batch.to("meta").source.device.type == "meta"
    assert batch.to("meta").target_tokens == batch.target_tokens


class TestAnEpoch:
    @settings(deadline=None)
    @given(
        size=st.integers(0, 60),
        step_tokens=st.integers(1, 200),
        device_tokens=st.none() | st.integers(1, 200),
        seed=st.integers(0, 2**40),
        epoch=st.integers(0, 5),
        world_size=st.integers(1, 4),
    )
    def test_shows_every_row_once_over_all_ranks(
        self,
        store_of: Callable[..., Store],
        pairs_of: Callable[..., Pairs],
        size: int,
        step_tokens: int,
        device_tokens: int | None,
        seed: int,
        epoch: int,
        world_size: int,
    ) -> None:
        """And the sentences of a step are those of one process, whatever divides them."""
        pairs = pairs_of(size)
        store = store_of(pairs)
        alone = rows_of(Batches(store, step_tokens, seed=seed).epoch(epoch))
        ranks = [
            list(
                Batches(
                    store, step_tokens, device_tokens, seed=seed, rank=rank, world_size=world_size
                ).epoch(epoch)
            )
            for rank in range(world_size)
        ]
        together = [flat(step) for step in zip(*ranks, strict=True)]
        assert [sorted(rows) for rows in rows_of(together)] == [sorted(rows) for rows in alone]
        assert sorted(chain.from_iterable(alone)) == list(range(size))
        at_once = min(step_tokens, device_tokens or step_tokens)
        for batch in flat(together):
            width = max(batch.source.shape[1], batch.target_output.shape[1])
            assert batch.sentences == 1 or batch.sentences * width <= at_once
            for i, row in enumerate(batch.rows.tolist()):
                assert batch.source[i][batch.source_mask[i]].tolist() == [*pairs[row][0], EOS]
                target = batch.target_output[i]
                assert target[target != PAD].tolist() == [*pairs[row][1], EOS]

    def test_weights_say_how_often_rows_are_seen(
        self, store_of: Callable[..., Store], pairs_of: Callable[..., Pairs]
    ) -> None:
        store = store_of(pairs_of(90), [(30, 2.0), (30, 0.5), (30, 1.0)])
        batches = Batches(store, 100, seed=1)
        shown = [
            np.bincount(
                np.concatenate([batch.rows.numpy() for batch in flat(batches.epoch(epoch))]),
                minlength=90,
            )
            for epoch in (0, 1)
        ]
        for seen in shown:
            assert set(seen[:30]) == {2}
            assert set(seen[30:60]) == {0, 1}
            assert set(seen[60:]) == {1}
        assert set((shown[0] + shown[1])[30:60]) == {1}


def test_weights_that_leave_an_epoch_empty_are_refused(
    store_of: Callable[..., Store], pairs_of: Callable[..., Pairs]
) -> None:
    Batches(store_of(pairs_of(50), [(25, 0.02), (25, 0.021)]), 100, seed=1)
    with pytest.raises(ConfigError, match=r"an epoch shows 0.95 of 50 pairs; raise them"):
        Batches(store_of(pairs_of(50), [(25, 0.02), (25, 0.018)]), 100, seed=1)


class TestOrder:
    @pytest.fixture
    def store(self, store_of: Callable[..., Store], pairs_of: Callable[..., Pairs]) -> Store:
        return store_of(pairs_of(500))

    @pytest.fixture(params=["one window", "several windows"])
    def windows(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        if request.param == "several windows":
            monkeypatch.setattr(batches_module, "_WINDOW_ROWS", 100)
            monkeypatch.setattr(batches_module, "_BLOCK_ROWS", 17)

    def batches(self, store: Store, **changes: Any) -> Batches:
        return Batches(store, 200, **{"seed": 1, **changes})

    def test_is_a_pure_function_of_its_arguments(self, store: Store, windows: None) -> None:
        one = self.batches(store)
        list(one.epoch(7))
        again = self.batches(Store.open(store.directory))
        for a, b in zip(flat(one.epoch(3)), flat(again.epoch(3)), strict=True):
            assert equal(a, b)

    def test_start_skips(self, store: Store, windows: None) -> None:
        whole: list[list[int]] = []
        for window in range(self.batches(store).windows(2)):
            shown = rows_of(list(self.batches(store).window(2, window)))
            for start in (1, len(shown) // 2, len(shown) - 1, len(shown), len(shown) + 5):
                rest = list(self.batches(store).window(2, window, start))
                assert rows_of(rest) == shown[start:]
            whole += shown
        assert whole == rows_of(list(self.batches(store).epoch(2)))

    def test_windows_lose_nothing(self, store: Store, windows: None) -> None:
        seen = [row for rows in rows_of(list(self.batches(store).epoch(0))) for row in rows]
        assert sorted(seen) == list(range(500))

    def test_changes_with_epoch_and_seed(self, store: Store, windows: None) -> None:
        first = rows_of(list(self.batches(store).epoch(0)))
        for other in (self.batches(store).epoch(1), self.batches(store, seed=2).epoch(0)):
            others = rows_of(list(other))
            together = {frozenset(rows) for rows in first} & {frozenset(rows) for rows in others}
            assert len(together) < len(first) / 2  # most batches have other members

    def test_is_not_by_length(self, store: Store, windows: None) -> None:
        widths = [batch.source.shape[1] for batch in flat(self.batches(store).epoch(0))]
        assert abs(np.corrcoef(np.arange(len(widths)), widths)[0, 1]) < 0.5


def pieces(step: list[Batch]) -> list[tuple[int, list[int], list[int]]]:
    """Row, source and target of each sentence, by row, without padding."""
    return sorted(
        (row, [i for i in source if i != PAD], [i for i in target if i != PAD])
        for batch in step
        for row, source, target in zip(
            batch.rows.tolist(), batch.source.tolist(), batch.target_output.tolist(), strict=True
        )
    )


class TestSampling:
    texts = ("ein hund läuft schnell", "die katze schläft heute gern")

    @pytest.fixture
    def batches(self, store_of: Callable[..., Store], vocabularies: Vocabularies) -> Batches:
        source, target = (
            vocabulary.encode(text)
            for vocabulary, text in zip(vocabularies, self.texts, strict=True)
        )
        store = store_of([(source, target)] * 20)
        return Batches(store, 100, seed=1, vocabularies=vocabularies, sampling=0.5)

    def test_changes_pieces_and_keeps_text(
        self, batches: Batches, vocabularies: Vocabularies
    ) -> None:
        splits = set()
        for batch in flat(batches.epoch(0)):
            for source, target in zip(batch.source, batch.target_output, strict=True):
                assert vocabularies.source.decode(source.tolist()) == self.texts[0]
                assert vocabularies.target.decode(target.tolist()) == self.texts[1]
                splits.add(tuple(source.tolist()))
        assert len(splits) > 5

    def test_is_deterministic_and_differs_by_epoch(self, batches: Batches) -> None:
        first = flat(batches.epoch(0))
        assert all(map(equal, flat(batches.epoch(0)), first))
        assert all(map(equal, flat(batches.window(0, 0, 3)), first[3:]))
        assert not all(
            torch.equal(a.source, b.source)
            for a, b in zip(first, flat(batches.epoch(1)), strict=False)
        )

    def test_ranks_share_the_pieces_of_one_process(
        self, store_of: Callable[..., Store], vocabularies: Vocabularies
    ) -> None:
        words = ("hund", "katze", "läuft", "schläft")
        ids = vocabularies.source.encode_batch(
            [" ".join(words[: 1 + i % 4] * (1 + i % 5)) for i in range(200)]
        )
        store = store_of(list(zip(ids, ids, strict=True)))
        sampled: dict[str, Any] = {"seed": 1, "vocabularies": vocabularies, "sampling": 0.3}
        (alone,) = ([pieces(step) for step in Batches(store, 300, **sampled).epoch(0)],)
        ranks = [
            Batches(store, 300, 70, rank=rank, world_size=3, **sampled).epoch(0)
            for rank in range(3)
        ]
        assert [pieces(flat(step)) for step in zip(*ranks, strict=True)] == alone

    def test_keeps_rows_count_and_budget(
        self, store_of: Callable[..., Store], vocabularies: Vocabularies
    ) -> None:
        words = ("hund", "katze", "läuft", "schläft")
        texts = [" ".join(words[: 1 + i % 4] * (1 + i % 5)) for i in range(600)]
        ids = vocabularies.source.encode_batch(texts)
        store = store_of(list(zip(ids, ids, strict=True)))
        batches = Batches(store, 300, seed=1, vocabularies=vocabularies, sampling=0.3)
        shown = list(batches.epoch(0))
        assert len(shown) > 64  # several pools
        assert sorted(row for rows in rows_of(shown) for row in rows) == list(range(600))
        for batch in flat(shown):
            assert max(batch.source.numel(), batch.target_output.numel()) <= 300
        tokens = sum(batch.target_tokens for batch in flat(shown))
        assert tokens > 1.2 * (sum(map(len, ids)) + len(ids))  # most pools were split anew
        for start in (1, 50, 64, 65, len(shown) - 1):
            assert rows_of(list(batches.window(0, 0, start))) == rows_of(shown[start:])

    def test_keeps_unknown_pieces(
        self, store_of: Callable[..., Store], vocabularies: Vocabularies
    ) -> None:
        ids = vocabularies.source.encode("ein ☃ hund")
        batches = Batches(
            store_of([(ids, ids)]),
            1000,
            seed=1,
            vocabularies=vocabularies,
            sampling=0.5,
        )
        (batch,) = flat(batches.epoch(0))
        assert batch.source[0].tolist() == [*ids, EOS]


@pytest.mark.parametrize("sampling", [0.0, 0.5])
def test_an_epoch_may_show_nothing(
    store_of: Callable[..., Store], vocabularies: Vocabularies, sampling: float
) -> None:
    ids = vocabularies.source.encode("ein hund")
    store = store_of([(ids, ids)] * 2, [(2, 0.5)])
    batches = Batches(store, 100, seed=1, vocabularies=vocabularies, sampling=sampling)
    counts = [sum(map(len, rows_of(batches.epoch(epoch)))) for epoch in range(4)]
    assert counts == [0, 2, 0, 2]


def test_batches_can_be_prefetched(
    store_of: Callable[..., Store], pairs_of: Callable[..., Pairs]
) -> None:
    batches = Batches(store_of(pairs_of(200)), 100, seed=1)
    with Prefetch(batches.epoch(0), depth=2) as ahead:
        assert all(map(equal, flat(ahead), flat(batches.epoch(0))))


def test_padding_on_multi30k_is_under_five_percent(store_of: Callable[..., Store]) -> None:
    source, target = (MULTI30K / f"train.lc.norm.tok.{side}.gz" for side in ("en", "de"))
    if not source.exists():
        pytest.skip("Multi30k is not there")
    pairs = list(read_pairs(CorpusPart(source=str(source), target=str(target))))
    vocabulary = train(pairs[:10_000], VocabularyConfig(size=5000), seed=1).source
    sources = vocabulary.encode_batch([pair.source for pair in pairs])
    targets = vocabulary.encode_batch([pair.target for pair in pairs])
    store = store_of(list(zip(sources, targets, strict=True)))
    for batch_tokens in (4096, 8000):
        batches = Batches(store, batch_tokens, seed=1)
        positions = tokens = 0
        for batch in flat(batches.epoch(0)):
            positions += batch.source.numel() + batch.target_output.numel()
            tokens += int(batch.source_mask.sum()) + batch.target_tokens
        assert 1 - tokens / positions < 0.05, batch_tokens


@given(st.lists(st.tuples(sentence, sentence), min_size=1, max_size=9), st.data())
def test_selected_pairs_are_a_batch_of_their_own(pairs: Pairs, data: st.DataObject) -> None:
    """Without the padding that only others need, with their own rows, parts and links."""
    batch = make_batch([source for source, _ in pairs], [target for _, target in pairs])
    links = (batch.target_output % 3 == 0)[:, :, None] & (batch.source % 3 == 0)[:, None, :]
    batch = replace(batch, parts=batch.rows * 10, alignments=links)
    numbers = data.draw(st.lists(st.sampled_from(range(len(pairs))), min_size=1, unique=True))
    selected = batch.select(torch.tensor(numbers))
    alone = make_batch([pairs[n][0] for n in numbers], [pairs[n][1] for n in numbers])
    assert equal(replace(selected, rows=alone.rows), alone)
    assert selected.target_tokens == alone.target_tokens
    assert selected.rows.tolist() == numbers
    assert selected.parts is not None
    assert selected.parts.tolist() == [10 * number for number in numbers]
    narrow = links[numbers, : alone.target_output.shape[1], : alone.source.shape[1]]
    if narrow.any():
        assert selected.alignments is not None
        assert torch.equal(selected.alignments, narrow)
    else:
        assert selected.alignments is None


def test_a_stream_shows_the_chosen_parts_alone(tmp_path: Path) -> None:
    pairs = random_pairs(60)
    store = write_store(tmp_path, pairs, [(20, 1.0), (15, 2.0), (25, 1.0)])
    shown = {
        chosen: sorted(chain.from_iterable(rows_of(found.epoch(0))))
        for chosen in (frozenset({0, 2}), frozenset({1}), None)
        for found in [Batches(store, 300, seed=1, chosen=chosen)]
    }
    twice = sorted([*range(20, 35)] * 2)
    assert shown[frozenset({0, 2})] == [*range(20), *range(35, 60)]
    assert shown[frozenset({1})] == twice
    assert shown[None] == sorted([*range(20), *twice, *range(35, 60)])
    whole, every = (Batches(store, 300, seed=1, chosen=one) for one in (None, {0, 1, 2}))
    assert rows_of(whole.epoch(3)) == rows_of(every.epoch(3)), "one task changes nothing"
    with pytest.raises(ConfigError, match="an epoch shows 0 of 60 pairs"):
        Batches(store, 300, seed=1, chosen=set())
