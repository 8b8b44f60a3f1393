"""Low-rank adapters of linear layers: the formula, what learns, and what is left alone."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from families import VARIATIONS, VOCABULARY
from torch import Tensor, nn

from dragoman.core.errors import ConfigError
from dragoman.models import FAMILIES
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.low_rank import AdapterConfig, add_adapters, is_factor, merged
from dragoman.models.registry import ModelConfig
from dragoman.saved.weights import weights_of

SOURCE = torch.tensor([[5, 9, 12, 2], [7, 2, 0, 0]])
TARGET = torch.tensor([[1, 6, 11], [1, 8, 4]])


def fresh(config: ModelConfig) -> TranslationModel:
    torch.manual_seed(3)
    return FAMILIES[config.family](config, VOCABULARY, VOCABULARY).double().eval()


def scores(model: TranslationModel) -> Tensor:
    memory = model.encode(SOURCE, SOURCE != 0)
    return model.logits(model.decode(TARGET, memory, model.start(memory))[0])


def stir(model: TranslationModel) -> None:
    """Factors as after some training."""
    torch.manual_seed(8)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if is_factor(name):
                parameter.copy_(torch.randn_like(parameter) * 0.3)


NAMES = ["transformer", "transformer, pre-norm", "transformer, swiglu", "transformer, additive"]
NAMES += ["recurrent, bidirectional, additive", "recurrent, factorised", "bytenet"]
NAMES += ["transformer_lm, source", "deep_fusion, the translation model learns"]


@pytest.mark.parametrize("name", NAMES)
def test_an_adapted_model_begins_as_itself_and_merges_exactly(name: str) -> None:
    """The merged matrices, computed apart, give the scores of the adapted layers."""
    config = VARIATIONS[name]
    plain = fresh(config)
    before = scores(plain)
    adapted = fresh(config)
    add_adapters(adapted, AdapterConfig(rank=3, scale=5.0), seed=1)
    adapted.double()
    torch.testing.assert_close(scores(adapted), before, rtol=0, atol=1e-12)
    stir(adapted)
    changed = scores(adapted)
    assert (changed - before).abs().max() > 1e-3
    with torch.no_grad():
        for one, tensor in merged(weights_of(adapted)).items():
            weights_of(plain)[one].copy_(tensor)
    torch.testing.assert_close(scores(plain), changed, rtol=1e-5, atol=1e-6)


def test_the_formula_of_one_layer() -> None:
    """W + (scale / rank) B A, with each product written out."""
    weights = {
        "x.weight": torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        "x.low_rank.down": torch.tensor([[1.0, -1.0]]),
        "x.low_rank.up": torch.tensor([[1.0], [0.0], [2.0]]),
        "x.low_rank.factor": torch.tensor(0.5),
        "y.bias": torch.tensor([7.0]),
    }
    found = merged(weights)
    assert found.keys() == {"x.weight", "y.bias"}
    assert found["x.weight"].tolist() == [[1.5, 1.5], [3.0, 4.0], [6.0, 5.0]]


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ("attention", {"query", "key", "value", "output"}),
        ("feed_forward", {"inner", "outer"}),
        ("all", {"query", "key", "value", "output", "inner", "outer"}),
    ],
)
def test_only_factors_of_the_chosen_layers_learn(
    layers: Literal["attention", "feed_forward", "all"], expected: set[str]
) -> None:
    model = fresh(VARIATIONS["transformer"])
    add_adapters(model, AdapterConfig(rank=2, layers=layers), seed=1)
    model.double()
    learned = {name for name, p in model.named_parameters() if p.requires_grad}
    assert all(map(is_factor, learned))
    assert {name.split(".low_rank")[0].rpartition(".")[2] for name in learned} == expected
    assert not any(name.startswith("output.") for name in learned)
    stir(model)
    scores(model).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert (parameter.grad is not None) == (name in learned)
    assert all(p.grad.abs().max() > 0 for p in model.parameters() if p.grad is not None)


def test_the_start_depends_on_the_seed_alone() -> None:
    def downs(seed: int) -> list[Tensor]:
        model = fresh(VARIATIONS["transformer"])
        torch.rand(seed)  # whatever was drawn before
        add_adapters(model, AdapterConfig(rank=2), seed)
        return [p for name, p in model.named_parameters() if name.endswith("down")]

    assert all(map(torch.equal, downs(4), downs(4)))
    assert not all(map(torch.equal, downs(4), downs(5)))


def test_frozen_components_and_normalised_weights_get_none() -> None:
    model = fresh(VARIATIONS["deep_fusion"])
    assert model.frozen
    add_adapters(model, AdapterConfig(), seed=1)
    named = [name for name, _ in model.named_parameters() if is_factor(name)]
    assert named
    assert not any(name.startswith(model.frozen) for name in named)
    convs2s = fresh(VARIATIONS["convs2s"])
    for layers in ("all", "attention"):  # neither helps
        with pytest.raises(ConfigError, match=r"ConvS2S has no .*; train without an adapter$"):
            add_adapters(convs2s, AdapterConfig(layers=layers), seed=1)
    assert all(parameter.requires_grad for parameter in convs2s.parameters())


def test_other_layers_are_proposed_where_there_are_some() -> None:
    bytenet = fresh(VARIATIONS["bytenet"])
    with pytest.raises(ConfigError, match=r"layers: attention: ByteNet has no .*; set layers: all"):
        add_adapters(bytenet, AdapterConfig(layers="attention"), seed=1)


def test_factors_that_lack_their_matrix_or_fit_no_matrix_are_noticed() -> None:
    factors = {
        "x.low_rank.down": torch.ones(1, 2),
        "x.low_rank.up": torch.ones(3, 1),
        "x.low_rank.factor": torch.tensor(1.0),
    }
    with pytest.raises(KeyError):
        merged(factors)
    with pytest.raises(RuntimeError, match=r"\[3, 2\] added to \[3, 3\]"):
        merged({**factors, "x.weight": torch.ones(3, 3)})
    layer = nn.Linear(2, 3)
    assert merged(dict(layer.named_parameters())).keys() == {"weight", "bias"}
