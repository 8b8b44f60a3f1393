"""Operations of every family and variation against formulas, multiplication by multiplication.

The formulas know shapes and nothing of PyTorch: a matrix product of (a, b) and (b, c) is ``a b c``
multiplications with as many additions.  A backward pass takes two products for each product of
the forward pass, one for either factor.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

import pytest
from families import VARIATIONS, VOCABULARY

from dragoman.models import (
    ByteNetConfig,
    ConvS2SConfig,
    ModelConfig,
    RecurrentConfig,
    TransformerConfig,
)
from dragoman.models.cost import cost

SOURCE, TARGET = 11, 13


def seen(config: TransformerConfig, length: int) -> tuple[int, int]:
    """Queries, and pairs of a query and a key, of self-attention with the padding of blocks."""
    if config.window is None:
        return length, length * length
    beside = config.window - 1  # also the size of a block
    block = min(length, beside)
    queries = ceil(length / block) * block
    return queries, queries * (beside + block)


def transformer(config: TransformerConfig) -> int:
    d, h = config.d_model, config.heads
    d_k, d_v = config.head_widths

    def attention(queries: int, keys: int, pairs: int) -> int:
        projections = queries * h * (d_k + d_v) * d + keys * h * (d_k + d_v) * d
        return projections + pairs * h * (d_k + d_v)

    def self_attention(length: int, causal: bool) -> int:
        queries, pairs = seen(config, length)
        distances = config.relative_distance * (1 if causal else 2) + 1
        relative = queries * h * distances * (d_k + d_v) if config.positions == "relative" else 0
        return attention(length, length, pairs) + relative

    feed = (3 if config.activation == "swiglu" else 2) * d * config.d_ff
    if config.mixture is not None:  # the experts in use, and the gate of all of them
        feed = config.mixture.experts_per_token * feed + d * config.mixture.experts
    encoder = self_attention(SOURCE, causal=False) + SOURCE * feed
    cross = attention(TARGET, SOURCE, TARGET * SOURCE)
    decoder = self_attention(TARGET, causal=True) + cross + TARGET * feed
    layers = config.encoder_layers * encoder + config.decoder_layers * decoder
    return layers + TARGET * d * VOCABULARY


def gates(config: RecurrentConfig) -> int:
    return {"lstm": 4, "gru": 3}[config.cell] * config.d_model


def recurrent(config: RecurrentConfig) -> int:
    d, width, encoder = config.d_model, config.d_model, 0
    for directions in config.encoder_directions:
        encoder += directions * SOURCE * gates(config) * (width + d)
        width = directions * d
    first = 0 if config.copies_state else config.decoder_layers * d * d
    keys = 0 if config.attention == "dot" else SOURCE * width * d
    queries = TARGET * d * d if config.attention == "additive" else 0
    attention = keys + queries + TARGET * SOURCE * (d + width)
    if config.attention_from == "top":
        fed, above, combined = d, d, TARGET * (width + d) * d
    else:
        fed, above, combined = width, d + width, 0
    bottom = d + (fed if config.input_feeding else 0)
    inputs = bottom + (config.decoder_layers - 1) * above + config.decoder_layers * d
    decoder = TARGET * gates(config) * inputs + combined
    return encoder + first + attention + decoder + TARGET * d * VOCABULARY


def convs2s(config: ConvS2SConfig) -> int:
    d, h = config.d_model, config.d_hidden
    encoder = 0
    if config.encoder == "convolution":
        layer = config.encoder_kernel_width * h * 2 * h
        encoder = SOURCE * (2 * d * h + config.encoder_layers * layer)
    layer = config.decoder_kernel_width * h * 2 * h + 2 * d * h + 2 * SOURCE * d
    return encoder + TARGET * (2 * d * h + config.decoder_layers * layer + d * VOCABULARY)


def bytenet(config: ByteNetConfig) -> int:
    d, half = config.d_model, config.d_model // 2
    encoder = config.encoder_layers * (2 * d * half + config.encoder_kernel_width * half * half)
    decoder = config.decoder_layers * (2 * d * half + config.decoder_kernel_width * half * half)
    return config.columns(SOURCE) * encoder + TARGET * (decoder + d * d + d * VOCABULARY)


FORMULAS: dict[str, Callable[[Any], int]] = {
    "transformer": transformer,
    "recurrent": recurrent,
    "convs2s": convs2s,
    "bytenet": bytenet,
}


def without_gradient(config: ModelConfig) -> int:
    """An encoder's recurrence starts from zeros, whose gradient nobody asks for."""
    if not isinstance(config, RecurrentConfig):
        return 0
    return sum(config.encoder_directions) * gates(config) * config.d_model


@pytest.mark.parametrize("config", VARIATIONS.values(), ids=VARIATIONS.keys())
def test_operations_are_those_of_the_formula(config: ModelConfig) -> None:
    counted = cost(config, VOCABULARY, VOCABULARY, SOURCE, TARGET)
    forward = FORMULAS[config.family](config)
    training = 3 * forward - without_gradient(config)
    assert counted.forward_flops_per_target_token * TARGET == pytest.approx(2 * forward, rel=1e-12)
    assert counted.flops_per_target_token * TARGET == pytest.approx(2 * training, rel=1e-12)
