"""Every model family and variation, small and of prime sizes, for the truths that all must pass."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TypeVar

import pytest
import torch
from _pytest.mark import ParameterSet
from torch import Tensor

from dragoman.models import (
    FAMILIES,
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
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.mixture import MixtureConfig
from dragoman.models.layers.source_tags import SourceTags, tell_tags
from dragoman.text.vocabularies import BOS

VOCABULARY = 23

_SMALL = {
    "encoder_layers": 2,
    "decoder_layers": 3,
    "d_model": 10,
    "d_ff": 13,
    "heads": 2,
    "dropout": 0.0,
}

_RECURRENT = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 7, "dropout": 0.0}

_GNMT = {
    "encoder_layers": 3,
    "decoder_layers": 3,
    "d_model": 5,
    "bidirectional": "first",
    "attention": "additive",
    "attention_from": "bottom",
    "residual": True,
    "dropout": 0.0,
}

_SMALL_CONVS2S = {
    "encoder_layers": 2,
    "decoder_layers": 3,
    "d_model": 7,
    "d_hidden": 5,
    "max_positions": 64,
    "dropout": 0.0,
}

_SMALL_BYTENET = {
    "encoder_layers": 3,
    "decoder_layers": 3,
    "layers_per_set": 2,
    "d_model": 14,
    "encoder_kernel_width": 3,
    "dropout": 0.0,
}

_SMALL_LM = {"layers": 3, "d_model": 10, "d_ff": 13, "heads": 2, "dropout": 0.0}

_RECURRENT_LM = {"layers": 3, "d_model": 7, "dropout": 0.0}

VARIATIONS: dict[str, ModelConfig] = {
    "transformer": TransformerConfig(**_SMALL),
    "transformer, pre-norm": TransformerConfig(**_SMALL, norm="pre"),
    "transformer, learned positions": TransformerConfig(**_SMALL, positions="learned"),
    "transformer, separate embeddings": TransformerConfig(**_SMALL, embeddings="separate"),
    "transformer, tied target": TransformerConfig(**_SMALL, embeddings="target"),
    "transformer, narrow keys": TransformerConfig(**_SMALL, d_k=3, d_v=7),
    "transformer, dot": TransformerConfig(**_SMALL, attention="dot"),
    "transformer, additive": TransformerConfig(**_SMALL, attention="additive"),
    "transformer, relative": TransformerConfig(
        **_SMALL, positions="relative", relative_distance=2, attention="dot"
    ),
    "transformer, rotary": TransformerConfig(**_SMALL, positions="rotary", d_k=6),
    "transformer, buckets": TransformerConfig(
        **_SMALL, positions="buckets", distance_buckets=6, bucket_distance=4
    ),
    "transformer, alibi": TransformerConfig(**_SMALL, positions="alibi"),
    "transformer, no positions": TransformerConfig(**_SMALL, positions="none"),
    "transformer, window": TransformerConfig(**_SMALL, window=5),
    "transformer, additive in a window": TransformerConfig(
        **_SMALL, window=3, attention="additive"
    ),
    "transformer, relative in a window": TransformerConfig(
        **_SMALL, window=3, positions="relative", relative_distance=1
    ),
    "transformer, rotary in a window": TransformerConfig(
        **_SMALL, window=3, positions="rotary", d_k=6
    ),
    "transformer, alibi in a window": TransformerConfig(**_SMALL, window=3, positions="alibi"),
    "transformer, buckets in a window, another decoder": TransformerConfig(
        **_SMALL, window=3, positions="buckets", distance_buckets=4, decoder_mixing="ssru"
    ),
    "transformer, as T5 1.1": TransformerConfig(
        **_SMALL,
        norm="pre",
        normalization="rms",
        norm_epsilon=1e-6,
        positions="buckets",
        distance_buckets=4,
        bucket_distance=3,
        attention="dot",
        d_k=3,
        d_v=3,
        activation="geglu_tanh",
        scale_embeddings=False,
        embeddings="inputs",
    ),
    "transformer, global tokens in a window": TransformerConfig(
        **_SMALL, window=3, global_positions=1, positions="rotary", d_k=6
    ),
    "transformer, strided": TransformerConfig(**_SMALL, sparsity="strided", stride=3),
    "transformer, fixed, rotary": TransformerConfig(
        **_SMALL, sparsity="fixed", stride=3, positions="rotary", d_k=6
    ),
    "transformer, biases and other sinusoids": TransformerConfig(
        **_SMALL,
        attention_bias=True,
        output_bias=True,
        activation="swish",
        norm_epsilon=1e-6,
        timescales="tensor2tensor",
        first_position=2,
        embeddings="target",
        begin="zeros",
    ),
    "transformer, as in other toolkits": TransformerConfig(
        **_SMALL,
        attention_bias=True,
        positions="rotary",
        d_k=6,
        activation="gelu_tanh",
        scale_embeddings=False,
        final_norm=True,
    ),
    "transformer, experts": TransformerConfig(
        **_SMALL, mixture=MixtureConfig(experts=3, experts_per_token=2)
    ),
    "transformer, linear attention": TransformerConfig(
        **_SMALL,
        encoder_mixing="linear_attention",
        decoder_mixing="linear_attention",
        random_features=11,
    ),
    "transformer, linear attention, dot, narrow keys": TransformerConfig(
        **_SMALL,
        d_k=3,
        d_v=7,
        attention="dot",
        decoder_mixing="linear_attention",
        random_features=5,
    ),
    "transformer, separable convolution": TransformerConfig(
        **_SMALL,
        encoder_mixing="separable_convolution",
        decoder_mixing="separable_convolution",
        kernel_width=5,
    ),
    "transformer, average attention": TransformerConfig(
        **_SMALL, decoder_mixing="average_attention"
    ),
    "transformer, SSRU": TransformerConfig(**_SMALL, decoder_mixing="ssru", norm="pre"),
    "transformer, gelu": TransformerConfig(**_SMALL, activation="gelu"),
    "transformer, swiglu": TransformerConfig(**_SMALL, activation="swiglu"),
    "transformer, rms": TransformerConfig(**_SMALL, normalization="rms"),
    "transformer, pre-rms": TransformerConfig(**_SMALL, normalization="rms", norm="pre"),
    "transformer, the decoder is told the language": TransformerConfig(
        **_SMALL, language_tags="decoder"
    ),
    "transformer, the decoder is told the language behind its begin": TransformerConfig(
        **_SMALL, language_tags="decoder_second", first_position=2
    ),
    "transformer, normalised embeddings, learned positions behind a begin": TransformerConfig(
        **_SMALL,
        norm="pre",
        normalize_embeddings=True,
        positions="learned",
        language_tags="decoder_second",
    ),
    "recurrent": RecurrentConfig(**_RECURRENT),
    "recurrent, the decoder is told the language": RecurrentConfig(
        **_RECURRENT, language_tags="decoder"
    ),
    "recurrent, without input feeding": RecurrentConfig(
        **_RECURRENT, input_feeding=False, attention="dot", embeddings="target"
    ),
    "recurrent, source reversed": RecurrentConfig(**_RECURRENT, source="reversed"),
    "recurrent, bidirectional, additive": RecurrentConfig(
        encoder_layers=1,
        decoder_layers=1,
        d_model=7,
        cell="gru",
        bidirectional="all",
        attention="additive",
        dropout=0.0,
    ),
    "recurrent, bidirectional GRU": RecurrentConfig(
        **_RECURRENT, cell="gru", bidirectional="all", input_feeding=False, embeddings="shared"
    ),
    "recurrent, GNMT": RecurrentConfig(**_GNMT, input_feeding=False),
    "recurrent, GNMT with input feeding": RecurrentConfig(**_GNMT),
    "recurrent, deeper encoder with residuals": RecurrentConfig(
        encoder_layers=4, decoder_layers=3, d_model=5, residual=True, dropout=0.0
    ),
    "recurrent, averaging encoder": RecurrentConfig(
        encoder="averaging",
        averaging_window=3,
        max_positions=64,
        decoder_layers=2,
        d_model=7,
        dropout=0.0,
    ),
    "recurrent, averaging encoder, GNMT decoder": RecurrentConfig(
        encoder="averaging",
        max_positions=64,
        decoder_layers=3,
        d_model=5,
        cell="gru",
        attention="additive",
        attention_from="bottom",
        residual=True,
        embeddings="shared",
        dropout=0.0,
    ),
    "recurrent, tanh": RecurrentConfig(**_RECURRENT, cell="tanh", bidirectional="first"),
    "recurrent, factorised": RecurrentConfig(
        **_RECURRENT, cell="factorised_lstm", cell_rank=3, bidirectional="all"
    ),
    "recurrent, in groups": RecurrentConfig(
        **{**_RECURRENT, "d_model": 15}, cell="grouped_lstm", cell_groups=3, bidirectional="all"
    ),
    "recurrent, Deep-Att": RecurrentConfig(
        **{**_RECURRENT, "encoder_layers": 3},
        bidirectional="interleaved",
        fast_forward=True,
        attention="additive",
        attention_from="bottom",
    ),
    "recurrent, alternating, source reversed": RecurrentConfig(
        encoder_layers=4,
        decoder_layers=3,
        d_model=5,
        cell="gru",
        bidirectional="alternating",
        residual=True,
        source="reversed",
        dropout=0.0,
    ),
    "convs2s": ConvS2SConfig(**_SMALL_CONVS2S),
    "convs2s, other kernels": ConvS2SConfig(
        **_SMALL_CONVS2S, encoder_kernel_width=5, decoder_kernel_width=2
    ),
    "convs2s, shared embeddings": ConvS2SConfig(**_SMALL_CONVS2S, embeddings="shared"),
    "convs2s, averaging encoder": ConvS2SConfig(
        **{**_SMALL_CONVS2S, "encoder_layers": 20}, encoder="averaging", averaging_window=3
    ),
    "convs2s, no positions": ConvS2SConfig(
        **{**_SMALL_CONVS2S, "max_positions": 1024}, positions="none"
    ),
    "bytenet": ByteNetConfig(**_SMALL_BYTENET),
    "bytenet, as many columns as pieces": ByteNetConfig(**_SMALL_BYTENET, unfold_ratio=1),
    "transformer_lm": TransformerLMConfig(**_SMALL_LM),
    "transformer_lm, pre-norm, rotary": TransformerLMConfig(
        **_SMALL_LM, norm="pre", positions="rotary", d_k=6, embeddings="separate"
    ),
    "transformer_lm, biases": TransformerLMConfig(
        **_SMALL_LM,
        attention_bias=True,
        output_bias=True,
        scale_embeddings=False,
        normalize_embeddings=True,
    ),
    "transformer_lm, buckets": TransformerLMConfig(
        **_SMALL_LM, positions="buckets", distance_buckets=4, bucket_distance=3
    ),
    "transformer_lm, alibi in a window": TransformerLMConfig(
        **_SMALL_LM, window=3, positions="alibi"
    ),
    "transformer_lm, experts": TransformerLMConfig(
        **_SMALL_LM, mixture=MixtureConfig(experts=3, experts_per_token=2)
    ),
    "transformer_lm, source": TransformerLMConfig(**_SMALL_LM, source="causal"),
    "transformer_lm, whole source": TransformerLMConfig(
        **_SMALL_LM, source="full", positions="learned", attention="dot", embeddings="shared"
    ),
    "transformer_lm, source, rotary": TransformerLMConfig(
        **_SMALL_LM, source="causal", norm="pre", positions="rotary", d_k=6, embeddings="separate"
    ),
    "recurrent_lm": RecurrentLMConfig(**_RECURRENT_LM),
    "recurrent_lm, tied GRU": RecurrentLMConfig(**_RECURRENT_LM, cell="gru", embeddings="target"),
    "recurrent_lm, factorised": RecurrentLMConfig(
        **_RECURRENT_LM, cell="factorised_lstm", cell_rank=2
    ),
    "recurrent_lm, source": RecurrentLMConfig(
        **_RECURRENT_LM, source="forward", embeddings="shared"
    ),
    "recurrent_lm, source reversed": RecurrentLMConfig(
        **_RECURRENT_LM, source="reversed", source_layers="own"
    ),
    "deep_fusion, the translation model learns": DeepFusionConfig(
        translation=RecurrentConfig(**_RECURRENT),
        language_model=TransformerLMConfig(**_SMALL_LM, positions="learned"),
        train="translation",
        dropout=0.0,
    ),
    "deep_fusion, without attention": DeepFusionConfig(
        translation=ByteNetConfig(**_SMALL_BYTENET),
        language_model=TransformerLMConfig(**_SMALL_LM),
        train="translation",
        dropout=0.0,
    ),
    "deep_fusion": DeepFusionConfig(
        translation=TransformerConfig(**_SMALL),
        language_model=RecurrentLMConfig(**_RECURRENT_LM),
        dropout=0.0,
    ),
    "classifier": ClassifierConfig(backbone=TransformerConfig(**_SMALL), dropout=0.0),
    "classifier, attention over experts": ClassifierConfig(
        backbone=TransformerConfig(
            **_SMALL, mixture=MixtureConfig(experts=3, experts_per_token=2), embeddings="target"
        ),
        pooling="attention",
        dropout=0.0,
    ),
    "classifier, first piece": ClassifierConfig(
        backbone=TransformerConfig(**_SMALL, norm="pre"), pooling="first", dropout=0.0
    ),
    "classifier, recurrent": ClassifierConfig(
        backbone=RecurrentConfig(**{**_RECURRENT, "bidirectional": "all"}), dropout=0.0
    ),
    "classifier, convs2s": ClassifierConfig(
        backbone=ConvS2SConfig(**_SMALL_CONVS2S), pooling="attention", dropout=0.0
    ),
    "classifier, bytenet": ClassifierConfig(backbone=ByteNetConfig(**_SMALL_BYTENET), dropout=0.0),
    "classifier, the head learns": ClassifierConfig(
        backbone=TransformerConfig(**_SMALL), pooling="attention", train="head", dropout=0.0
    ),
}


COMBINED = frozenset(
    {
        "transformer, pre-norm",
        "transformer, learned positions",
        "transformer, separate embeddings",
        "transformer, tied target",
        "transformer, dot",
        "transformer, alibi",
        "transformer, no positions",
        "transformer, window",
        "transformer, additive in a window",
        "transformer, rotary in a window",
        "transformer, alibi in a window",
        "transformer, as in other toolkits",
        "transformer, linear attention, dot, narrow keys",
        "transformer, gelu",
        "transformer, pre-rms",
        "recurrent, without input feeding",
        "recurrent, bidirectional, additive",
        "recurrent, GNMT",
        "recurrent, deeper encoder with residuals",
        "recurrent, averaging encoder",
        "recurrent, alternating, source reversed",
        "convs2s, other kernels",
        "convs2s, shared embeddings",
        "convs2s, no positions",
        "bytenet, as many columns as pieces",
        "transformer_lm, pre-norm, rotary",
        "transformer_lm, biases",
        "transformer_lm, experts",
        "transformer_lm, source",
        "recurrent_lm, tied GRU",
        "recurrent_lm, factorised",
        "recurrent_lm, source",
        "deep_fusion, the translation model learns",
        "classifier, first piece",
        "classifier, bytenet",
    }
)
"""Variations of mechanisms that others in the table have, too, or of a number or an activation."""


def variations(named: Mapping[str, ModelConfig] = VARIATIONS) -> list[ParameterSet]:
    """The configurations by their names, of which those combined are exhaustive."""
    return [
        pytest.param(config, id=name, marks=[pytest.mark.exhaustive] * (name in COMBINED))
        for name, config in named.items()
    ]


GLOBAL_TAGS = {"<sep>": 7, "<doc>": 9}
"""Pieces that may be global tokens."""


def build(config: ModelConfig, seed: int = 0) -> TranslationModel:
    """A model in float64 and evaluation mode, so that truths hold to many digits."""
    torch.manual_seed(seed)
    model = FAMILIES[config.family](config, VOCABULARY, VOCABULARY).double().eval()
    tell_tags(model, SourceTags(range(4, 8), BOS, GLOBAL_TAGS.__getitem__))
    for parameter in model.parameters():  # a matrix that starts at zero would hide what it does
        if parameter.dim() == 2 and not parameter.any():
            torch.nn.init.normal_(parameter)
    return model


@cache
def built(config: ModelConfig) -> TranslationModel:
    """A model that tests only read: building one takes longer than most of what is asked of it."""
    return build(config).requires_grad_(False)


Family = TypeVar("Family", bound=TranslationModel)


def shaken(family: type[Family], config: ModelConfig, *, by: float) -> Family:
    """A model whose biases and gains are not those it starts with, which hide mistakes."""
    model = build(config)
    assert isinstance(model, family)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(by * torch.randn_like(parameter))
    return model


def full(source: Tensor) -> Tensor:
    """The mask of a source without padding."""
    return torch.ones_like(source, dtype=torch.bool)


def random_ids(rows: int, length: int, seed: int = 1) -> Tensor:
    """Ordinary pieces, none of the four special ones."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(4, VOCABULARY, (rows, length), generator=generator)


def teacher_force(model: TranslationModel, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
    """Logits of all target positions at once, ``(batch, target, vocabulary)``."""
    memory = model.encode(source, mask)
    hidden, _ = model.decode(target, memory, model.start(memory))
    return model.logits(hidden)
