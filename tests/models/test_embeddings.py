"""Which matrices are one, of every family that lets one choose."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from dragoman.errors import ConfigError
from dragoman.models import FAMILIES, ByteNetConfig, ConvS2SConfig, RecurrentConfig
from dragoman.models import TransformerConfig as Transformer

SMALL = {"d_model": 6, "encoder_layers": 1, "decoder_layers": 1}
CONFIGS: dict[str, Any] = {
    "transformer": (Transformer, {**SMALL, "heads": 2, "d_ff": 7}),
    "recurrent": (RecurrentConfig, SMALL),
    "convs2s": (ConvS2SConfig, {**SMALL, "d_hidden": 5, "max_positions": 9}),
}
every_family = pytest.mark.parametrize("family", CONFIGS)
MATRICES = {"shared": 1, "target": 2, "separate": 3}


@every_family
@pytest.mark.parametrize("sharing", MATRICES)
def test_matrices_are_as_many_as_asked_for(family: str, sharing: str) -> None:
    kind, sizes = CONFIGS[family]
    config = kind(**sizes, embeddings=sharing)
    torch.manual_seed(1)
    model: Any = FAMILIES[family](config, 11, 11)
    source, target, output = (
        module.weight for module in (model.source_embedding, model.target_embedding, model.output)
    )
    assert (target is source) == (sharing == "shared")
    assert (output is target) == (sharing != "separate")
    assert output is not source or sharing == "shared"
    # Gradients of all uses meet in what is one.
    (output.sum() + 2 * target.sum()).backward()
    expected = 3.0 if sharing != "separate" else 2.0
    assert torch.equal(target.grad, torch.full_like(target, expected))


@every_family
def test_one_matrix_for_both_sides_needs_one_vocabulary(family: str) -> None:
    kind, sizes = CONFIGS[family]
    needs = {sharing: kind(embeddings=sharing).needs_joint_vocabulary for sharing in MATRICES}
    assert needs == {"shared": True, "target": False, "separate": False}
    with pytest.raises(ConfigError, match="shared needs one vocabulary, found 11 source and 13"):
        FAMILIES[family](kind(**sizes, embeddings="shared"), 11, 13)
    FAMILIES[family](kind(**sizes, embeddings="target"), 11, 13)


def test_a_family_without_the_choice_has_three() -> None:
    config = ByteNetConfig()
    assert (config.sharing, config.needs_joint_vocabulary) == ("separate", False)
