"""Layers of Table 1: bytes and operations against counts by hand, and that they are the models'."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil, log
from typing import Any

import pytest
import torch
from torch.nn import functional

from dragoman.models.cost import flop_counter
from dragoman.models.families.transformer import EncoderLayer, TransformerConfig
from studies.layers.layer_types import LAYER_TYPES, Convolutional, Layer, LayerType, Sizes

TYPES = {kind.name: kind for kind in LAYER_TYPES}

every_type = pytest.mark.parametrize("kind", LAYER_TYPES, ids=TYPES.keys())


def built(kind: LayerType, sizes: Sizes, place: int = 1) -> Layer:
    torch.manual_seed(1)
    return kind.build(sizes, place).double()


def random_input(batch: int, n: int, d: int) -> torch.Tensor:
    return torch.randn(batch, n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


@every_type
def test_call_by_call_equals_all_at_once(kind: LayerType) -> None:
    layer, x = built(kind, Sizes(6, 2, 5, 3)), random_input(2, 11, 6)
    shared, state, parts = layer.shared(x), layer.start(x), []
    for part in x.split(layer.positions_per_call or 11, dim=1):
        y, state = layer.call(part, state, shared)
        parts.append(y)
    assert torch.cat(parts, dim=1).shape == x.shape
    torch.testing.assert_close(torch.cat(parts, dim=1), layer(x, shared))


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("self-attention", {}),
        ("restricted", {"window": 5}),
        ("separable convolution", {"encoder_mixing": "separable_convolution", "kernel_width": 3}),
    ],
)
def test_layers_are_those_of_the_transformer(name: str, choices: dict[str, Any]) -> None:
    layer, x = built(TYPES[name], Sizes(6, 2, 5, 3)), random_input(2, 11, 6)
    config = TransformerConfig(d_model=6, heads=2, d_ff=7, **choices)
    other = EncoderLayer(config).double().eval().attention
    other.load_state_dict(layer.get_submodule("mixing").state_dict())
    shared = other.shared(torch.ones(2, 11, dtype=torch.bool), x)
    torch.testing.assert_close(layer(x, layer.shared(x)), other.mix(x, shared))


def test_bare_attention_is_pytorchs() -> None:
    layer, x = built(TYPES["self-attention, bare"], Sizes(6, 2, 5, 3)), random_input(2, 11, 6)
    heads = x.view(2, 11, 2, 3).transpose(1, 2)
    expected = functional.scaled_dot_product_attention(heads, heads, heads)
    torch.testing.assert_close(
        layer(x, layer.shared(x)), expected.transpose(1, 2).reshape(2, 11, 6)
    )


def test_separable_convolution_is_a_convolution_of_that_form() -> None:
    layer, x = built(TYPES["separable convolution"], Sizes(6, 2, 5, 3)), random_input(2, 11, 6)
    y = layer(x, layer.shared(x))
    changed = x.clone()
    changed[:, 5] += 1
    moved = (layer(changed, layer.shared(x)) != y).any(dim=2).any(dim=0)
    assert moved.tolist() == [abs(position - 5) <= 1 for position in range(11)]


def test_dilation_grows_from_layer_to_layer() -> None:
    sizes = Sizes(6, 2, 5, 5)
    for place, expected in enumerate((1, 3, 9)):
        layer = TYPES["convolution, dilated"].build(sizes, place)
        assert isinstance(layer, Convolutional)
        assert layer.convolution.dilation == expected


def in_blocks(n: int, d: int, sizes: Sizes) -> int:
    """Multiplications of restricted attention: a block's queries meet two blocks of keys."""
    block = sizes.window - 1
    return ceil(n / block) * block * 2 * block * 2 * d


BY_HAND: dict[str, Callable[[int, int, Sizes], int]] = {
    "self-attention": lambda n, d, sizes: 4 * n * d * d + 2 * n * n * d,
    "self-attention, bare": lambda n, d, sizes: 2 * n * n * d,
    "restricted": lambda n, d, sizes: 4 * n * d * d + in_blocks(n, d, sizes),
    "restricted, bare": in_blocks,
    "recurrent": lambda n, d, sizes: 4 * n * d * (d + d),
    "convolution": lambda n, d, sizes: sizes.kernel_width * n * d * d,
    "convolution, dilated": lambda n, d, sizes: sizes.kernel_width * n * d * d,
    "separable convolution": lambda n, d, sizes: n * d * d,  # k n d are no products of matrices
}


@every_type
@pytest.mark.parametrize(("window", "kernel"), [(5, 3), (9, 7)])
def test_operations_are_those_of_the_formula(kind: LayerType, window: int, kernel: int) -> None:
    batch, n, sizes = 3, 13, Sizes(6, 2, window, kernel)
    layer, x = built(kind, sizes), random_input(batch, n, 6)
    shared = layer.shared(x)
    with flop_counter() as counter:
        layer(x, shared)
    assert counter.get_total_flops() == 2 * batch * BY_HAND[kind.name](n, 6, sizes)


@every_type
@pytest.mark.parametrize("cell", ["complexity", "sequential", "path"])
def test_formulas_are_what_the_table_says(kind: LayerType, cell: str) -> None:
    claim = getattr(kind, cell)
    sizes, n = Sizes(d_model=11, heads=1, window=5, kernel_width=3), 7
    text = claim.text.removeprefix("O(").removesuffix(")").replace("log_k n", "log(n, k)")
    products = re.sub(r"(?<=[a-z²]) (?=[a-z])", " * ", text).replace("²", "**2")
    names = {"n": n, "d": sizes.d_model, "r": sizes.window, "k": sizes.kernel_width, "log": log}
    assert claim.formula(n, sizes) == pytest.approx(eval(products, names))
