"""Masked language models against the formula in float64, with PyTorch's own encoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from families import VARIATIONS, build, variations
from hypothesis import given, settings
from hypothesis import strategies as st
from reversal import (
    VOCABULARY,
    Records,
    Reversal,
    assert_same,
    tiny_config,
    tiny_model,
    weights,
)
from stores import random_pairs, write_store
from torch import Tensor, nn
from worlds import ALONE

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.data.batches import Batch, Batches, make_batch
from dragoman.data.store import Store
from dragoman.models import ModelConfig, RecurrentConfig, TransformerConfig
from dragoman.models.families.transformer import EncoderLayer, Transformer
from dragoman.models.layers.dropout import seed_dropout
from dragoman.models.layers.self_attention import EncoderSelfAttention
from dragoman.models.layers.sublayers import FeedForward
from dragoman.text.vocabularies import EOS, PAD, UNK, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.training.objectives import MaskedLM
from dragoman.training.objectives.masked_lm import MaskedBatches, MaskedLMConfig, Masking
from dragoman.training.tasks import Task
from dragoman.training.trainer import Trainer

WIDTH, HEADS = 6, 2
CONFIG = TransformerConfig(
    encoder_layers=2, decoder_layers=1, d_model=WIDTH, d_ff=7, heads=HEADS, dropout=0.0
)
SENTENCES = [[5, 6, 7, 8, 9, 10, 11], [12, 13], [7, 8, 9, 10]]
READERS = {name: one for name, one in VARIATIONS.items() if one.encoder_width == one.d_model}


def masked() -> Batch:
    plain = make_batch(SENTENCES, SENTENCES)
    return Masking(4, np.arange(5, 23), 0.5)(plain, 1)


def pytorchs_layer(layer: EncoderLayer) -> nn.TransformerEncoderLayer:
    """The same layer of PyTorch, with the same weights."""
    theirs = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 7, dropout=0.0, batch_first=True, dtype=torch.float64
    )
    ours, feed = layer.attention, layer.feed_forward
    assert isinstance(ours, EncoderSelfAttention)
    assert isinstance(feed, FeedForward)
    weights = [one.weight for one in (ours.query, ours.key, ours.value)]
    attend, after = (cast(Any, residual).norm for residual in layer.residuals)
    state = {
        "self_attn.in_proj_weight": torch.cat(weights),
        "self_attn.in_proj_bias": torch.zeros(3 * WIDTH),
        "self_attn.out_proj.weight": ours.output.weight,
        "self_attn.out_proj.bias": torch.zeros(WIDTH),
        "linear1.weight": feed.inner.weight,
        "linear1.bias": feed.inner.bias,
        "linear2.weight": feed.outer.weight,
        "linear2.bias": feed.outer.bias,
        "norm1.weight": attend.weight,
        "norm1.bias": attend.bias,
        "norm2.weight": after.weight,
        "norm2.bias": after.bias,
    }
    theirs.load_state_dict(state)
    return theirs


def loss_of(model: Transformer, batch: Batch) -> tuple[Tensor, Tensor]:
    """Negative log-likelihood of the hidden pieces, piece by piece, and the smoothed loss."""
    x = model.source_embedding(batch.source)
    for layer in model.encoder:
        theirs = pytorchs_layer(cast(EncoderLayer, layer))
        x = theirs(x, src_key_padding_mask=~batch.source_mask)
    log_p = (x @ model.output.weight.T).log_softmax(-1)
    losses, smoothed = [], []
    for row, position in (batch.target_output != PAD).nonzero().tolist():
        here = log_p[row, position]
        losses.append(-here[batch.target_output[row, position]])
        smoothed.append(0.9 * losses[-1] - 0.1 * here.mean())
    return torch.stack(losses).sum(), torch.stack(smoothed).sum()


def test_loss_and_gradient_are_the_formulas() -> None:
    model, batch = build(CONFIG).train(), masked()
    assert isinstance(model, Transformer)
    with torch.no_grad():
        for parameter in model.parameters():  # gains and biases are not those of a fresh model
            parameter.add_(0.1 * torch.randn_like(parameter))
    expected, smoothed = loss_of(model, batch)
    expected = expected.detach()
    found = MaskedLM(0.1).backward(model, batch, scale=0.5)
    torch.testing.assert_close(found["nll"], expected)
    torch.testing.assert_close(found["loss"], smoothed.detach())
    assert found["tokens"] == batch.target_tokens == 4 + 1 + 2
    figures = MaskedLM(0.1).figures({name: float(one) for name, one in found.items()})
    assert figures["perplexity"] == pytest.approx(math.exp(expected.item() / 7))
    gradient = model.source_embedding.weight.grad
    assert gradient is not None
    # PyTorch's layers have copies of the weights, so only the matrix of pieces is differentiated.
    (theirs,) = torch.autograd.grad(0.5 * smoothed, [model.source_embedding.weight])
    torch.testing.assert_close(gradient, theirs)


@pytest.mark.parametrize("config", variations(READERS))
def test_any_encoder_learns_and_no_decoder_does(config: ModelConfig) -> None:
    model = build(config).train()
    seed_dropout(1)
    MaskedLM(0.0).backward(model, masked())
    learned = {
        model.part_of(name)
        for name, parameter in model.named_parameters()
        if parameter.grad is not None and parameter.grad.any()
    }
    encoder = {"encoder"} & {model.part_of(name) for name, _ in model.named_parameters()}
    assert learned == {"embeddings", *encoder}


def test_the_log_likelihood_of_a_sentence_ignores_its_neighbours() -> None:
    model, batch = build(CONFIG), masked()
    whole = MaskedLM(0.0).backward(model, batch)["nll"]
    ends = batch.source_mask.sum(1).tolist()
    parts = [
        replace(
            batch,
            source=batch.source[row : row + 1, :end],
            source_mask=batch.source_mask[row : row + 1, :end],
            target_output=batch.target_output[row : row + 1, :end],
        )
        for row, end in enumerate(ends)
    ]
    alone = [MaskedLM(0.0).backward(model, part)["nll"] for part in parts]
    torch.testing.assert_close(torch.stack(alone).sum(), whole)


def test_sentences_of_tags_alone_teach_nothing() -> None:
    batch = Masking(4, np.arange(8, 23))(make_batch([[5], []], [[5], []]), 1)
    found = MaskedLM(0.1).backward(build(CONFIG).train(), batch)
    assert {name: float(total) for name, total in found.items()} == dict.fromkeys(found, 0.0)


class TagsInTurn(Reversal):
    """In every other step, a tag is all that there is to read."""

    def all_batches(self, epoch: int = 0, window: int = 0, start: int = 0) -> Iterator[Batch]:
        for number, batch in enumerate(super().all_batches(epoch, window, start), start):
            yield make_batch([[4], [4]], [[4], [4]]) if number % 2 else batch


def test_a_step_of_tags_alone_leaves_the_weights_as_they_are(tmp_path: Path) -> None:
    stream = MaskedBatches(TagsInTurn(steps=4), Masking(4, np.arange(5, VOCABULARY)), 1)
    config = tiny_config(max_steps=4, checkpoint_steps=1, keep_checkpoints=9)
    task = Task("translation", stream, MaskedLM(0.1))
    run = Trainer(
        tiny_model(),
        [task],
        lambda model: {"loss": 1.0},
        config,
        tmp_path,
        seed=5,
        d_model=16,
        world=ALONE,
    )
    run.observers = [records := Records()]
    assert run.train().step == 4
    first, second, third, last = (weights(tmp_path, step) for step in range(1, 5))
    assert_same(first, second)
    assert_same(third, last)
    assert any(not torch.equal(second[name], third[name]) for name in second)
    assert [record["step"] for record in records.of("training")] == [1, 3]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("transformer_lm", "this model has none of its own"),
        ("transformer_lm, source", "this model has none of its own"),
        ("deep_fusion", "this model has none of its own"),
        ("recurrent, bidirectional GRU", "14 is not d_model 7; set model.bidirectional"),
        ("recurrent, GNMT", None),
    ],
)
def test_models_that_it_does_not_fit(name: str, problem: str | None) -> None:
    found = list(MaskedLMConfig().unfit(VARIATIONS[name]))
    assert [problem in one for one in found] == [True] if problem else not found


def test_what_is_said_of_a_wide_encoder_helps_one_of_a_single_layer() -> None:
    values = {"encoder_layers": 1, "d_model": 7}
    (problem,) = MaskedLMConfig().unfit(RecurrentConfig(**values, bidirectional="first"))
    remedies = problem.partition("set model.bidirectional to ")[2].split(" or ")
    assert remedies == ["none", "alternating"]
    for choice in remedies:
        assert not list(MaskedLMConfig().unfit(RecurrentConfig(**values, bidirectional=choice)))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"masked": 0.8, "replaced": 0.3}, "are more than 1 together"),
        ({"masked": 0, "replaced": 0}, "nothing is hidden"),
        ({"chosen": 0}, "greater than 0"),
        ({"mask_symbol": "mask"}, "a tag looks like"),
    ],
)
def test_settings_that_make_no_sense(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse(MaskedLMConfig, values, "f")


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
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return write_store(tmp_path_factory.mktemp("store"), random_pairs(90, 3))


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
