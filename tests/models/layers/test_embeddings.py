"""Which matrices are one, of every family that lets one choose."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from dragoman.core.errors import ConfigError
from dragoman.models import (
    FAMILIES,
    ByteNetConfig,
    ConvS2SConfig,
    RecurrentConfig,
    RecurrentLMConfig,
    TransformerLMConfig,
)
from dragoman.models import TransformerConfig as Transformer

WIDTH = 6
TWO_STACKS = {"d_model": WIDTH, "encoder_layers": 1, "decoder_layers": 1}
ONE_STACK = {"d_model": WIDTH, "layers": 1}
HEADS = {"heads": 2, "d_ff": 7}
TRANSLATORS: dict[str, Any] = {
    "transformer": (Transformer, {**TWO_STACKS, **HEADS}),
    "recurrent": (RecurrentConfig, TWO_STACKS),
    "convs2s": (ConvS2SConfig, {**TWO_STACKS, "d_hidden": 5, "max_positions": 9}),
    "transformer_lm": (TransformerLMConfig, {**ONE_STACK, **HEADS, "source": "full"}),
    "recurrent_lm": (RecurrentLMConfig, {**ONE_STACK, "source": "forward"}),
}
every_translator = pytest.mark.parametrize("family", TRANSLATORS)
every_language_model = pytest.mark.parametrize("family", ["transformer_lm", "recurrent_lm"])
MATRICES = {"shared": 1, "target": 2, "inputs": 2, "separate": 3}


def made(family: str, pieces: int, target_pieces: int, **choices: object) -> Any:
    kind, sizes = TRANSLATORS[family]
    torch.manual_seed(1)
    return FAMILIES[family](kind(**{**sizes, **choices}), pieces, target_pieces)


@every_translator
@pytest.mark.parametrize("sharing", MATRICES)
def test_matrices_are_as_many_as_asked_for(family: str, sharing: str) -> None:
    model = made(family, 11, 11, embeddings=sharing)
    source, target, output = (
        module.weight for module in (model.source_embedding, model.target_embedding, model.output)
    )
    assert (target is source) == (sharing in {"shared", "inputs"})
    assert (output is target) == (sharing in {"shared", "target"})
    assert output is not source or sharing == "shared"
    assert sum(p.shape == (11, WIDTH) for p in model.parameters()) == MATRICES[sharing]
    # Gradients of all uses meet in what is one.
    (output.sum() + 2 * target.sum()).backward()
    expected = 3.0 if output is target else 2.0
    assert torch.equal(target.grad, torch.full_like(target, expected))


@every_translator
def test_one_matrix_for_both_sides_needs_one_vocabulary(family: str) -> None:
    kind, sizes = TRANSLATORS[family]
    needs = {
        sharing: kind(**sizes, embeddings=sharing).joint_setting is not None for sharing in MATRICES
    }
    assert needs == {"shared": True, "target": False, "inputs": True, "separate": False}
    for sharing in ("shared", "inputs"):
        message = f"{sharing} needs one vocabulary, found 11 source and 13"
        with pytest.raises(ConfigError, match=message):
            made(family, 11, 13, embeddings=sharing)


@every_translator
@pytest.mark.parametrize("sharing", ["target", "separate"])
def test_two_vocabularies_may_differ_in_size(family: str, sharing: str) -> None:
    model = made(family, 11, 13, embeddings=sharing)
    assert model.source_embedding.weight.shape == (11, WIDTH)
    assert model.target_embedding.weight.shape == (13, WIDTH)
    assert model.logits(torch.zeros(1, WIDTH)).shape == (1, 13)


@every_language_model
@pytest.mark.parametrize(("sharing", "matrices"), [("target", 1), ("separate", 2)])
def test_a_language_model_has_none_for_a_source(family: str, sharing: str, matrices: int) -> None:
    model = made(family, 11, 11, source="none", embeddings=sharing)
    assert model.source_embedding is None
    assert sum(p.shape == (11, WIDTH) for p in model.parameters()) == matrices


@every_language_model
@pytest.mark.parametrize("sharing", ["shared", "inputs"])
def test_a_language_model_has_no_source_to_share_with(family: str, sharing: str) -> None:
    kind, sizes = TRANSLATORS[family]
    message = f"embeddings: {sharing} is for a model that reads a source"
    with pytest.raises(ValueError, match=message):
        kind(**{**sizes, "source": "none"}, embeddings=sharing)


def test_a_family_without_the_choice_has_three() -> None:
    assert ByteNetConfig().joint_setting is None
    model: Any = FAMILIES["bytenet"](ByteNetConfig(d_model=WIDTH), 11, 11)
    assert sum(p.shape == (11, WIDTH) for p in model.parameters()) == 3


@pytest.mark.parametrize(
    ("normalization", "norm"), [("layer", torch.nn.LayerNorm), ("rms", torch.nn.RMSNorm)]
)
def test_a_normalised_sum_of_embedding_and_position(normalization: str, norm: Any) -> None:
    choices = {"normalization": normalization, "norm_epsilon": 1e-3, "dropout": 0.0}
    model = made("transformer", 11, 11, positions="learned", normalize_embeddings=True, **choices)
    plain = made("transformer", 11, 11, positions="learned", **choices)
    added = model.state_dict().keys() - plain.state_dict().keys()
    assert {name.rpartition(".")[0] for name in added} == {
        "source_embedding.norm",
        "target_embedding.norm",
    }
    ids = torch.tensor([[3, 1, 4]])
    for ours, without in zip(
        (model.source_embedding, model.target_embedding),
        (plain.source_embedding, plain.target_embedding),
        strict=True,
    ):
        torch.testing.assert_close(ours(ids, 2), norm(WIDTH, eps=1e-3)(without(ids, 2)))
