"""Masked pieces of batches against BERT's definition (Devlin et al. 2019, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import Pairs

from dragoman.core.errors import ConfigError
from dragoman.data.batches import Batch, Batches, make_batch
from dragoman.data.masked_pieces import MaskedBatches, Masking
from dragoman.data.store import Store
from dragoman.text.vocabularies.vocabulary import EOS, PAD, UNK, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

MASK, TAG, PIECES = 4, 5, 50
ORDINARY = np.arange(6, PIECES)
BERT = Masking(MASK, ORDINARY)

sentences = st.lists(st.lists(st.integers(6, PIECES - 1), max_size=30), min_size=1, max_size=5)


def batch_of(sentences: list[list[int]]) -> Batch:
    return make_batch(sentences, [[] for _ in sentences])


@settings(max_examples=40, deadline=None)
@given(sentences=sentences, seed=st.integers(0, 99))
def test_what_is_hidden_is_to_be_predicted(sentences: list[list[int]], seed: int) -> None:
    plain = batch_of([[TAG, *ids] for ids in sentences])
    masked = BERT(plain, seed)
    gold, chosen = masked.target_output, masked.target_output != PAD
    assert torch.equal(gold[chosen], plain.source[chosen])
    assert torch.equal(masked.source[~chosen], plain.source[~chosen])
    assert torch.equal(masked.source_mask, plain.source_mask)
    assert not torch.isin(gold, torch.tensor([TAG, EOS])).any()
    counts = [max(1, round(0.15 * len(ids))) if ids else 0 for ids in sentences]
    assert chosen.sum(1).tolist() == counts
    assert masked.target_tokens == sum(counts)
    assert gold.shape == masked.target_input.shape == plain.source.shape


def test_shares_are_80_10_and_10() -> None:
    lines = np.random.default_rng(1).choice(ORDINARY, (200, 200))
    plain = batch_of(lines.tolist())
    masked = BERT(plain, 1)
    chosen = masked.target_output != PAD
    assert chosen.sum() == 200 * 30
    read, gold = masked.source[chosen], masked.target_output[chosen]
    shares = [(read == MASK), (read != MASK) & (read != gold), read == gold]
    found = [one.double().mean().item() for one in shares]
    random = 0.1 * (1 - 1 / len(ORDINARY))  # one may be drawn that is there
    assert found == pytest.approx([0.8, random, 0.2 - random], abs=0.015)
    others = read[shares[1]].tolist()
    assert set(others) <= set(ORDINARY.tolist())
    assert len(set(others)) == len(ORDINARY)
    each = chosen[:, :-1].double().mean(0)  # every place alike
    assert each.std() < 0.04


def test_other_shares() -> None:
    plain = batch_of([list(range(6, 46))])
    all_hidden = Masking(MASK, ORDINARY, 0.5, 1.0, 0.0)(plain, 1)
    assert (all_hidden.source == MASK).sum() == 20
    replaced = Masking(MASK, ORDINARY, 1.0, 0.0, 1.0)(plain, 1)
    assert not (replaced.source == MASK).any()
    assert replaced.target_tokens == 40


def test_neighbours_change_no_masks() -> None:
    """So the masks of a step do not depend on how processes divide it."""
    ids = [[6, 7, 8, 9, 10, 11, 12], [20, 21, 22], list(range(6, 30))]
    together = BERT(batch_of(ids), 3, 1)
    alone = BERT(replace(batch_of(ids[2:]), rows=torch.tensor([2])), 3, 1)
    assert torch.equal(together.source[2:], alone.source)
    assert torch.equal(together.target_output[2:], alone.target_output)
    assert not torch.equal(BERT(batch_of(ids), 3, 2).source, together.source)


@pytest.fixture(scope="module")
def store(store_of: Callable[..., Store], pairs_of: Callable[..., Pairs]) -> Store:
    return store_of(pairs_of(90, 3))


def steps(store: Store, **options: Any) -> Callable[..., list[list[Batch]]]:
    masking = Masking(MASK, np.arange(6, 1000))
    stream = MaskedBatches(Batches(store, 200, seed=1, **options), masking, seed=7)
    return lambda epoch, start=0: list(stream.window(epoch, 0, start))


def lines(step: list[Batch]) -> list[tuple[int, list[int], list[int]]]:
    """Row, masked source and gold pieces of each sentence."""
    found = [
        (int(row), source[mask].tolist(), gold[mask].tolist())
        for batch in step
        for row, source, mask, gold in zip(
            batch.rows, batch.source, batch.source_mask, batch.target_output, strict=True
        )
    ]
    return sorted(found)


def test_masks_differ_in_each_epoch_and_are_repeated_exactly(store: Store) -> None:
    first = list(map(lines, steps(store)(0)))
    assert list(map(lines, steps(store)(0))) == first
    second = {row: source for row, source, _ in chain(*map(lines, steps(store)(1)))}
    changed = [row for row, source, _ in chain(*first) if second[row] != source]
    assert len(changed) > 0.8 * len(store)


def test_an_epoch_continues_from_any_step_on_any_number_of_processes(store: Store) -> None:
    whole = list(map(lines, steps(store)(0)))
    assert list(map(lines, steps(store)(0, start=3))) == whole[3:]
    shares = [steps(store, rank=rank, world_size=2)(0) for rank in (0, 1)]
    together = [lines([*one, *other]) for one, other in zip(*shares, strict=True)]
    assert together == whole


def test_special_pieces_and_tags_are_left_alone() -> None:
    config = VocabularyConfig(size=40, tags=("<mask>", "<2de>"), byte_fallback=False)
    pairs = [(f"{one} am see", one) for one in ("haus", "baum", "boot", "weg", "fuchs", "jagd")]
    vocabulary = train_vocabularies(pairs, config, seed=1).source
    masking = Masking.of(vocabulary, "<mask>", 0.5, 0.8, 0.1)
    assert masking.mask == vocabulary.tag("<mask>")
    left = set(range(len(vocabulary))) - set(masking.ordinary.tolist())
    assert left == {PAD, UNK, 2, EOS, *vocabulary.tags}
    assert (masking.chosen, masking.masked, masking.replaced) == (0.5, 0.8, 0.1)
    with pytest.raises(ConfigError, match="no tag '<gap>'"):
        Masking.of(vocabulary, "<gap>")
