"""Size and operations of every family and variation, multiplication by multiplication.

The formulas know shapes and nothing of PyTorch: a matrix product of (a, b) and (b, c) is ``a b c``
multiplications with as many additions.  A backward pass takes two products for each product of
the forward pass, one for either factor.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any, NamedTuple

import pytest
from families import VOCABULARY, build, variations

from dragoman.models import (
    ByteNetConfig,
    ClassifierConfig,
    ConvS2SConfig,
    DeepFusionConfig,
    ModelConfig,
    RecurrentConfig,
    RecurrentLMConfig,
    TransformerConfig,
    TransformerLMConfig,
)
from dragoman.models.cost import cost

LayersConfig = TransformerConfig | TransformerLMConfig
SOURCE, TARGET = 6, 9  # no width among the variations, so that a mix-up of the two shows


class Products(NamedTuple):
    """Multiplications of a forward pass, and products that the backward pass does not ask for."""

    forward: int
    spared: int = 0

    def of_backward(self) -> int:
        return 2 * self.forward - self.spared


def pairs_seen(config: LayersConfig, length: int) -> tuple[int, int]:
    """Queries, and pairs of a query and a key, of self-attention with the padding of blocks."""
    if config.multi_head.window is None:
        return length, length * length
    beside = config.multi_head.window - 1  # also the size of a block
    block = min(length, beside)
    queries = ceil(length / block) * block
    return queries, queries * (beside + block)


def pairs_of_sparse(config: LayersConfig, length: int) -> list[int]:
    """Pairs of either half of the heads: near, far."""
    stride = config.multi_head.stride
    if config.multi_head.sparsity == "strided":
        block = min(length, stride)
        queries = ceil(length / block) * block
        rows = ceil(length / stride)  # of a column
        return [queries * (stride + block), block * ceil(length / block) * rows]
    blocks = ceil(length / stride)
    own = length * length if blocks == 1 else blocks * stride * stride
    return [own, length * (1 + blocks * config.multi_head.summaries)]


def pairs_of_globals(config: LayersConfig, length: int) -> int:
    """Of every query with the global keys, and of the global queries with every key."""
    count = min(length, config.multi_head.global_positions)
    queries, _ = pairs_seen(config, length)
    return queries * count + count * length


def projections(config: LayersConfig, queries: int, keys: int) -> int:
    d_k, d_v = config.multi_head.head_widths(config.d_model)
    return (queries + keys) * config.multi_head.heads * (d_k + d_v) * config.d_model


def self_attention(config: LayersConfig, length: int, causal: bool) -> Products:
    if config.multi_head.sparsity != "none":
        near, far = pairs_of_sparse(config, length)
        heads = config.multi_head.heads
        both = (heads + 1) // 2 * near + heads // 2 * far
        widths = sum(config.multi_head.head_widths(config.d_model))
        return Products(projections(config, length, length) + both * widths)
    queries, pairs = pairs_seen(config, length)
    pairs += 0 if causal else pairs_of_globals(config, length)
    distances = config.positional_encoding.relative_distance * (1 if causal else 2) + 1
    relative = queries * distances if config.positional_encoding.positions == "relative" else 0
    meeting = (
        config.multi_head.heads
        * sum(config.multi_head.head_widths(config.d_model))
        * (pairs + relative)
    )
    return Products(projections(config, length, length) + meeting)


def linear_attention(config: TransformerConfig, length: int, causal: bool) -> Products:
    """Of a target that is one chunk: pair by pair, and beside it the sums of the (empty) past."""
    d_k, d_v = config.multi_head.head_widths(config.d_model)
    features = 2 * length * config.multi_head.heads * config.mixing.random_features * d_k
    sums = length * config.multi_head.heads * config.mixing.random_features * d_v
    looks = length * config.multi_head.heads * config.mixing.random_features * (d_v + 1)
    pairs = (
        length * length * config.multi_head.heads * (config.mixing.random_features + d_v)
        if causal
        else 0
    )
    # Directions have no gradient; nor have empty sums, and those for later chunks go nowhere.
    spared = features + (looks + 2 * sums if causal else 0)
    return Products(projections(config, length, length) + features + sums + looks + pairs, spared)


def separable_convolution(config: TransformerConfig, length: int, causal: bool) -> Products:
    return Products(length * config.d_model**2)  # channel by channel there is no matrix


def average_attention(config: TransformerConfig, length: int, causal: bool) -> Products:
    return Products(length * (one_feed_forward(config) + 4 * config.d_model**2))


def ssru(config: TransformerConfig, length: int, causal: bool) -> Products:
    return Products(2 * length * config.d_model**2)


MIXING: dict[str, Callable[[TransformerConfig, int, bool], Products]] = {
    "self_attention": self_attention,
    "linear_attention": linear_attention,
    "separable_convolution": separable_convolution,
    "average_attention": average_attention,
    "ssru": ssru,
}


def one_feed_forward(config: LayersConfig) -> int:
    return (
        (3 if config.feed_forward.activation.endswith(("glu", "glu_tanh")) else 2)
        * config.d_model
        * config.feed_forward.d_ff
    )


def feed_forward(config: LayersConfig) -> int:
    if config.feed_forward.mixture is None:
        return one_feed_forward(config)
    gate = config.d_model * config.feed_forward.mixture.experts  # and of the experts those in use
    return config.feed_forward.mixture.experts_per_token * one_feed_forward(config) + gate


def begin_alone(config: TransformerConfig) -> Products:
    """Of a layer that reads the begin symbol before the target, which then sees it.

    What the last layer makes of the begin symbol is asked for by nobody, and so has no gradient.
    """
    if config.tags.language_tags != "decoder_second":
        return Products(0)
    width = config.multi_head.heads * sum(config.multi_head.head_widths(config.d_model))
    seen = projections(config, 0, 1) + TARGET * width  # its key and value
    own = projections(config, 1, 0) + width + projections(config, 1, 0) + SOURCE * width
    own += feed_forward(config)
    return Products(config.decoder_layers * (seen + own), 2 * own)


def transformer(config: TransformerConfig) -> Products:
    reading = MIXING[config.mixing.encoder_mixing](config, SOURCE, False)
    writing = MIXING[config.mixing.decoder_mixing](config, TARGET, True)
    meeting = (
        TARGET
        * SOURCE
        * config.multi_head.heads
        * sum(config.multi_head.head_widths(config.d_model))
    )
    cross = projections(config, TARGET, SOURCE) + meeting
    encoder = reading.forward + SOURCE * feed_forward(config)
    decoder = writing.forward + cross + TARGET * feed_forward(config)
    begin = begin_alone(config)
    layers = config.encoder_layers * encoder + config.decoder_layers * decoder + begin.forward
    spared = config.encoder_layers * reading.spared + config.decoder_layers * writing.spared
    spared += begin.spared
    return Products(layers + TARGET * config.d_model * VOCABULARY, spared)


def transformer_lm(config: TransformerLMConfig) -> Products:
    layer = self_attention(config, TARGET, True).forward + TARGET * feed_forward(config)
    last = TARGET * config.d_model * VOCABULARY
    if not config.reads_source:
        return Products(config.layers * layer + last)
    reading = self_attention(config, SOURCE, False).forward + SOURCE * feed_forward(config)
    looking = (
        TARGET
        * SOURCE
        * config.multi_head.heads
        * sum(config.multi_head.head_widths(config.d_model))
    )
    # Of the source's last layer nothing but keys and values is looked at.
    keys_values = projections(config, 0, SOURCE)
    spared = 2 * (reading - keys_values)
    return Products(config.layers * (layer + reading + looking) + last, spared)


def cell(config: RecurrentConfig | RecurrentLMConfig, width: int) -> int:
    """Of one position of a layer and direction, from an input of this width."""
    d, chosen = config.d_model, config.recurrence
    if chosen.cell == "factorised_lstm":
        return chosen.cell_rank * (width + d) + chosen.cell_rank * 4 * d
    if chosen.cell == "grouped_lstm":
        k = chosen.cell_groups
        return k * 4 * (d // k) * (width + d) // k
    return {"lstm": 4, "gru": 3, "tanh": 1}[chosen.cell] * d * (width + d)


def of_zeros(config: RecurrentConfig | RecurrentLMConfig) -> int:
    """Of the gradient of the first state of a layer and direction, which nobody asks for."""
    d, chosen = config.d_model, config.recurrence
    if chosen.cell == "factorised_lstm":  # only the product with it, not with what it is added to
        return chosen.cell_rank * d
    return cell(config, d) // 2


def recurrent_encoder(config: RecurrentConfig) -> tuple[int, int]:
    """Multiplications, and layers and directions that start from zeros."""
    d, encoder, starting = config.d_model, 0, 0
    averaging = config.encoder == "averaging"  # which has no products, and gives no first state
    for column in [] if averaging else config.encoder_columns:
        width = d
        for depth, order in enumerate(column):
            directions = 2 if order == "both" else 1
            halves = 2 * d * width if config.fast_forward and depth < len(column) - 1 else 0
            encoder += SOURCE * (directions * cell(config, width) + halves)
            width = directions * d + (2 * d if config.fast_forward else 0)
            starting += directions
    return encoder, starting


def recurrent(config: RecurrentConfig) -> Products:
    d, width = config.d_model, config.encoder_width
    encoder, starting = recurrent_encoder(config)
    first = 0 if config.copies_state or not starting else config.decoder_layers * d * d
    keys = 0 if config.attention == "dot" else SOURCE * width * d
    queries = TARGET * d * d if config.attention == "additive" else 0
    attention = keys + queries + TARGET * SOURCE * (d + width)
    if config.attention_from == "top":
        fed, above, combined = d, d, TARGET * (width + d) * d
    else:
        fed, above, combined = width, d + width, 0
    bottom = d + (fed if config.input_feeding else 0)
    decoder = TARGET * cell(config, bottom) + combined
    for depth in range(1, config.decoder_layers):
        read = bottom if depth == 1 else above + (2 * d if config.fast_forward else 0)
        decoder += TARGET * 2 * d * read if config.fast_forward else 0
        decoder += TARGET * cell(config, above + (2 * d if config.fast_forward else 0))
    # What starts from zeros, whose gradient nobody asks for: the encoder, or else the decoder.
    spared = (starting or config.decoder_layers) * of_zeros(config)
    return Products(encoder + first + attention + decoder + TARGET * d * VOCABULARY, spared)


def recurrent_lm(config: RecurrentLMConfig) -> Products:
    d = config.d_model
    positions = TARGET + (SOURCE if config.reads_source else 0)
    layers = positions * config.layers * cell(config, d)
    return Products(layers + TARGET * d * VOCABULARY, config.layers * of_zeros(config))


def convs2s(config: ConvS2SConfig) -> Products:
    d, h = config.d_model, config.d_hidden
    encoder = 0
    if config.encoder == "convolution":
        layer = config.encoder_kernel_width * h * 2 * h
        encoder = SOURCE * (2 * d * h + config.encoder_layers * layer)
    layer = config.decoder_kernel_width * h * 2 * h + 2 * d * h + 2 * SOURCE * d
    decoder = 2 * d * h + config.decoder_layers * layer + d * VOCABULARY
    return Products(encoder + TARGET * decoder)


def bytenet(config: ByteNetConfig) -> Products:
    d, half = config.d_model, config.d_model // 2
    encoder = config.encoder_layers * (2 * d * half + config.encoder_kernel_width * half * half)
    decoder = config.decoder_layers * (2 * d * half + config.decoder_kernel_width * half * half)
    last = d * d + d * VOCABULARY
    return Products(config.columns(SOURCE) * encoder + TARGET * (decoder + last))


def deep_fusion(config: DeepFusionConfig) -> Products:
    """A model that does not learn has no backward pass, except through its output projection."""
    d, other = config.d_model, config.language_model.d_model
    own = FORMULAS[config.translation.family](config.translation)
    beside = FORMULAS[config.language_model.family](config.language_model)
    unread = TARGET * other * VOCABULARY  # the projection of the language model
    gate, joining = TARGET * other, TARGET * ((d + other) * d + d * d)
    forward = own.forward + beside.forward - unread + gate + joining
    spared = own.spared
    if config.train == "fusion":
        spared = 2 * (own.forward - TARGET * d * VOCABULARY)
    return Products(forward, spared + 2 * (beside.forward - unread) + gate)


def encoder_alone(config: Any) -> Products:
    """What is left of a model whose decoder is gone."""
    d = config.d_model
    if isinstance(config, TransformerConfig):
        reading = MIXING[config.mixing.encoder_mixing](config, SOURCE, False)
        return Products(config.encoder_layers * (reading.forward + SOURCE * feed_forward(config)))
    if isinstance(config, RecurrentConfig):
        forward, starting = recurrent_encoder(config)
        return Products(forward, starting * of_zeros(config))
    if isinstance(config, ConvS2SConfig):
        h = config.d_hidden
        layer = config.encoder_kernel_width * h * 2 * h
        return Products(SOURCE * (2 * d * h + config.encoder_layers * layer))
    half = d // 2
    block = 2 * d * half + config.encoder_kernel_width * half * half
    return Products(config.columns(SOURCE) * config.encoder_layers * block)


def classifier(config: ClassifierConfig) -> Products:
    """The encoder, and a head that pools once however long the target."""
    d, attends = config.d_model, config.pooling == "attention"
    encoder = encoder_alone(config.backbone)
    pooling = SOURCE * d
    scoring = SOURCE * (d * d + d) if attends else 0
    forward = encoder.forward + scoring + pooling + TARGET * d * VOCABULARY
    spared = 0 if attends else pooling  # fixed weights have no gradient
    if config.train == "head":
        return Products(forward, spared + 2 * encoder.forward + pooling + SOURCE * d * d)
    return Products(forward, spared + encoder.spared)


FORMULAS: dict[str, Callable[[Any], Products]] = {
    "transformer": transformer,
    "recurrent": recurrent,
    "convs2s": convs2s,
    "bytenet": bytenet,
    "transformer_lm": transformer_lm,
    "recurrent_lm": recurrent_lm,
    "deep_fusion": deep_fusion,
    "classifier": classifier,
}


@pytest.mark.parametrize("config", variations())
def test_operations_are_those_of_the_formula(config: ModelConfig) -> None:
    """And parameters those of the model: here alone each family is counted, which takes long."""
    counted = cost(config, VOCABULARY, VOCABULARY, SOURCE, TARGET)
    assert counted.total_parameters == sum(p.numel() for p in build(config).parameters())
    products = FORMULAS[config.family](config)
    training = products.forward + products.of_backward()
    forward_flops = counted.forward_flops_per_target_token * TARGET
    assert forward_flops == pytest.approx(2 * products.forward, rel=1e-12)
    assert counted.flops_per_target_token * TARGET == pytest.approx(2 * training, rel=1e-12)
