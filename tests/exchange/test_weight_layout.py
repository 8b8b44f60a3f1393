from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from families import build, full, random_ids, shaken, teacher_force
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.exchange.weight_layout import (
    SILENT,
    permute_width,
    repeat_heads,
    rotation_in_pairs,
    sines_first,
    sines_then_cosines,
    with_rows,
)
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.models.layers.positions import SinusoidalPositions, sinusoids
from dragoman.saved.weights import load_weights, weights_of

SIZES: dict[str, Any] = {
    "encoder_layers": 2,
    "decoder_layers": 1,
    "d_model": 10,
    "d_ff": 7,
    "heads": 2,
    "dropout": 0.0,
}


@pytest.mark.parametrize("d_model", [1, 6, 7])
def test_the_order_of_positions(d_model: int) -> None:
    table = sinusoids(9, d_model)
    theirs = torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)
    order = sines_then_cosines(d_model)
    assert torch.equal(theirs[:, order], table)
    assert torch.equal(table[:, sines_first(d_model)], theirs)


@pytest.mark.parametrize(
    "choices",
    [
        {"attention_bias": True, "output_bias": True, "embeddings": "separate"},
        {"norm": "pre", "activation": "swiglu", "positions": "learned"},
        {"decoder_mixing": "ssru", "embeddings": "target"},
        {"positions": "buckets", "embeddings": "inputs"},
    ],
)
@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 99))
def test_a_model_with_its_width_in_any_order_is_the_same(
    choices: dict[str, Any], seed: int
) -> None:
    """Positions, too, which are permuted with it."""
    model = shaken(Transformer, TransformerConfig(**SIZES, **choices), by=0.3)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(seed))
    other = build(model.config)
    load_weights(other, permute_width(weights_of(model), order), Path())
    for module in other.modules():
        if isinstance(module, SinusoidalPositions):
            module.table = module.table[:, order]
    source, target = random_ids(2, 5), random_ids(2, 4, seed=2)
    expected = teacher_force(model, source, full(source), target)
    torch.testing.assert_close(teacher_force(other, source, full(source), target), expected)


def test_a_weight_of_another_width_is_named() -> None:
    weights = {"encoder.0.feed_forward.inner.weight": torch.ones(7, 3)}
    with pytest.raises(DataError, match=r"file: .*inner.weight here has the shape \[7, 3\] there"):
        permute_width(weights, torch.arange(4), Path("file"))


def test_pieces_in_another_order_and_a_silent_one() -> None:
    weights = {
        "source_embedding.weight": torch.arange(6.0).view(3, 2),
        "output.weight": torch.arange(6.0).view(3, 2),
        "decoder_norm.weight": torch.ones(2),
    }
    found = with_rows(weights, [2, 0], [1, 1, 0, 2], silent=[1, 3])
    assert found["source_embedding.weight"].tolist() == [[4, 5], [0, 1]]
    assert found["output.weight"].tolist() == [[2, 3], [2, 3], [0, 1], [4, 5]]
    assert found["output.bias"].tolist() == [0, SILENT, 0, SILENT]
    assert "output.bias" not in with_rows(weights, [0], [0])
    assert "target_embedding.weight" not in found


def test_keys_of_several_heads_are_repeated_for_each() -> None:
    keys = torch.arange(4.0).view(4, 1)  # two groups of width 2
    assert repeat_heads(keys, 2, 2).flatten().tolist() == [0, 1, 0, 1, 2, 3, 2, 3]
    assert repeat_heads(keys.flatten(), 2, 2).tolist() == [0, 1, 0, 1, 2, 3, 2, 3]


def test_rotated_halves_become_neighbours_in_each_head() -> None:
    rows = torch.arange(8)
    assert rotation_in_pairs(rows, 2).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
