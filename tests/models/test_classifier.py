"""Classifiers against their formula, and what is left of the model whose encoder they use."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from families import VARIATIONS, VOCABULARY, build, full, random_ids, teacher_force

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.models import (
    FAMILIES,
    ByteNetConfig,
    ClassifierConfig,
    RecurrentConfig,
    TransformerConfig,
    TransformerLMConfig,
)
from dragoman.models.classifier import ClassifierModel
from dragoman.models.interface import FamilyConfig

CLASSIFIERS = [name for name in VARIATIONS if name.startswith("classifier")]
TRANSLATORS = ["transformer", "recurrent, bidirectional GRU", "recurrent, averaging encoder"]
TRANSLATORS += ["convs2s", "convs2s, averaging encoder", "bytenet"]
SOURCE, TARGET = random_ids(3, 5), random_ids(3, 4, seed=2)
LENGTHS = [5, 2, 3]


def padded() -> torch.Tensor:
    return torch.arange(5) < torch.tensor(LENGTHS)[:, None]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_scores_are_those_of_the_formula(name: str) -> None:
    """From the encoder's states alone, sentence by sentence, in NumPy."""
    model = build(VARIATIONS[name])
    assert isinstance(model, ClassifierModel)
    weights = {n: p.detach().numpy() for n, p in model.named_parameters()}
    states = model.encoder_states(SOURCE, padded()).detach().numpy()
    expected = np.empty((3, 4, VOCABULARY))
    for row, length in enumerate(LENGTHS):
        h = states[row, :length]
        if model.config.pooling == "mean":
            pooled = h.mean(0)
        elif model.config.pooling == "first":
            pooled = h[0]
        else:
            u = np.tanh(h @ weights["pooling.hidden.weight"].T + weights["pooling.hidden.bias"])
            scores = np.exp(u @ weights["pooling.query.weight"][0])
            pooled = (scores / scores.sum()) @ h
        expected[row] = weights["end"] @ weights["output.weight"].T + weights["output.bias"]
        expected[row, 0] = pooled @ weights["output.weight"].T + weights["output.bias"]
    found = teacher_force(model, SOURCE, padded(), TARGET)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", TRANSLATORS)
def test_the_encoder_is_that_of_its_model(name: str) -> None:
    """With the model's weights it gives what the model's own memory has of each piece."""
    whole = build(VARIATIONS[name])
    config = ClassifierConfig(backbone=whole.config, dropout=0.0)
    model = build(config)
    assert isinstance(model, ClassifierModel)
    given = dict(whole.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for own, parameter in model.backbone.named_parameters():
            parameter.copy_(given[own])
    mask = padded()
    found = model.encoder_states(SOURCE, mask)[mask]
    memory = whole.encode(SOURCE, mask)
    expected = getattr(memory, "values", memory.hidden)[:, :5][mask]  # ConvS2S attends to others
    torch.testing.assert_close(found, expected)
    idle = {n.partition(".")[0] for n, _ in model.backbone.named_parameters()}
    assert not idle & {"decoder", "output", "target_embedding"}


def test_infinite_padding_changes_nothing() -> None:
    model = build(VARIATIONS["classifier"])
    assert isinstance(model, ClassifierModel)
    states, mask = model.encoder_states(SOURCE, padded()), padded()
    broken = states.masked_fill(~mask.unsqueeze(2), torch.inf)
    torch.testing.assert_close(model.pooling(broken, mask), model.pooling(states, mask))


def test_attention_is_shown_where_pooling_attends() -> None:
    model = build(VARIATIONS["classifier, convs2s"])
    memory = model.encode(SOURCE, padded())
    weights = model.attention_weights(TARGET, memory)
    assert weights.shape == (3, 1, 1, 4, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 1, 1, 4, dtype=torch.float64))
    assert not weights[1, ..., 2:].any()
    without = build(VARIATIONS["classifier"])
    assert not without.has_attention()
    with pytest.raises(TypeError, match="pooling: mean"):
        without.attention_weights(TARGET, without.encode(SOURCE, padded()))


def test_only_the_head_learns() -> None:
    model = build(VARIATIONS["classifier, the head learns"])
    learning = {n.partition(".")[0] for n, p in model.named_parameters() if p.requires_grad}
    assert learning == {"pooling", "end", "output"}
    assert not model.train().get_submodule("backbone").training


@pytest.mark.parametrize(
    ("encoder", "width"),
    [
        (TransformerConfig(d_model=6, heads=2), 6),
        (RecurrentConfig(d_model=5, bidirectional="all"), 10),
        (ByteNetConfig(d_model=4), 4),
    ],
)
def test_its_width_is_that_of_the_states(encoder: FamilyConfig, width: int) -> None:
    assert ClassifierConfig(backbone=encoder).d_model == width


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"backbone": {"family": "transformer_lm"}}, "transformer_lm has no encoder; name a model"),
        ({"backbone": {"family": "bytenet", "d_model": 6}, "d_model": 7}, "7 is not the 6 of"),
        (
            {"backbone": {"family": "classifier", "backbone": {"family": "bytenet"}}},
            "family classifier has no encoder",
        ),
        ({}, "backbone"),
    ],
)
def test_models_without_an_encoder_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(ClassifierConfig, values, "recipe")


def test_a_family_without_an_encoder_says_so() -> None:
    config = TransformerLMConfig(layers=1, d_model=4, d_ff=4, heads=2)
    model = FAMILIES["transformer_lm"](config, VOCABULARY, VOCABULARY)
    with pytest.raises(TypeError, match="no encoder"):
        model.encoder_states(SOURCE, full(SOURCE))
