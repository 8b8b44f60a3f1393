"""A standard Transformer as CTranslate2 reads it: settings, vocabularies and weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.core.files import atomic_directory, content_digest, read_json
from dragoman.models.families.transformer import (
    DecoderLayer,
    EncoderLayer,
    Transformer,
    TransformerConfig,
)
from dragoman.models.interface import FamilyConfig, TranslationModel
from dragoman.models.layers.positions import SinusoidalPositions
from dragoman.saved.adapter import read_adapter
from dragoman.saved.expressible import Known, check_expressible
from dragoman.saved.weights import weights_digest
from dragoman.text.vocabularies import BOS, EOS, UNK, Vocabularies, Vocabulary
from dragoman.translation.engines.verdicts import TRIALS_FILE, converted_directory

try:
    import ctranslate2
    from ctranslate2.specs import common_spec, transformer_spec
except ImportError as error:
    raise MissingExtraError.of("CTranslate2", "ctranslate2") from error

_NOTE = "converted_from.json"
_SIDES = ("shared", "source", "target")
# All names that CTranslate2 has given its files, the note and the trials.
_FILES = frozenset(
    [_NOTE, TRIALS_FILE, "config.json", "model.bin"]
    + [f"{side}_vocabulary.{suffix}" for side in _SIDES for suffix in ("json", "txt")]
)
_ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "gelu_tanh": common_spec.Activation.GELUTanh,
    "swish": common_spec.Activation.SWISH,
}
KNOWN: Known = {
    "model.family": ["transformer"],
    "model.d_model": None,
    "model.encoder_layers": None,
    "model.decoder_layers": None,
    "model.heads": None,
    "model.d_k": None,
    "model.d_v": None,
    "model.d_ff": None,
    "model.attention_bias": None,
    "model.activation": list(_ACTIVATIONS),
    "model.norm": None,
    "model.norm_epsilon": None,
    "model.positions": ["sinusoidal", "learned", "rotary"],
    "model.max_positions": None,
    "model.timescales": None,
    "model.first_position": None,
    "model.scale_embeddings": None,
    "model.normalize_embeddings": None,
    "model.output_bias": None,
    "model.embeddings": None,
    "model.source_end": None,
    "model.begin": None,
}
"""The settings of a model that CTranslate2 can express; all others must have their defaults."""
POSITIONS = 1280
"""Rows of the table of sinusoidal positions, enough for sources of the default
``max_source_pieces`` and their outputs."""
_REVISION = 1  # of the format written below; raise it when the same weights are written differently


def convert(
    directory: Path,
    model: TranslationModel,
    vocabularies: Vocabularies,
    adapter: Path | None = None,
) -> Path:
    """The directory of the converted model; written if it is missing, old or of other weights.

    ``adapter``, the file of an adapter or its run, is in the ``model`` already.

    Raises:
        ConfigError: CTranslate2 cannot express the model.
        StorageError: the converted model cannot be written.
    """
    if not isinstance(model, Transformer):
        raise ConfigError(
            f"the engine ctranslate2 does not support {type(model).__name__}; leave out --engine"
        )
    program, remedy = "the engine ctranslate2", "leave out --engine"
    check_expressible(model.config, KNOWN, program, remedy, "model.")
    check_widths(model.config, program, remedy)
    path = converted_directory(directory, adapter)
    origin = {
        "weights": weights_digest(directory),
        "converter": ctranslate2.__version__,
        "revision": _REVISION,
    }
    if adapter is not None:
        origin["adapter"] = content_digest(read_adapter(adapter).path)
    if _read_note(path) == origin:
        return path
    spec = specification(model, vocabularies)
    spec.validate()
    spec.optimize()
    with atomic_directory(path, _FILES) as temporary:
        spec.save(str(temporary))
        (temporary / _NOTE).write_text(json.dumps(origin) + "\n", encoding="utf-8")
    return path


def positions_of(model: TranslationModel) -> int | None:
    """Maximum positions of a converted model, end symbol included; None: unlimited."""
    if isinstance(model, Transformer) and model.config.positional_encoding.positions == "rotary":
        return None  # computed, not looked up
    return model.position_limit or POSITIONS


def _read_note(path: Path) -> Any:
    try:
        return read_json(path / _NOTE)
    except (OSError, ValueError):
        return None


def check_widths(config: FamilyConfig, program: str, remedy: str) -> None:
    """Refuse unusual head widths, as CTranslate2 computes the width from the number of heads.

    The message begins with ``program`` and ends with ``remedy``.

    Raises:
        ConfigError: a width is unusual.
    """
    assert isinstance(config, TransformerConfig), "the only family of KNOWN"
    width = config.d_model // config.multi_head.heads
    if (widths := config.multi_head.head_widths(config.d_model)) != (width, width):
        raise ConfigError(
            f"{program} needs d_k and d_v of d_model / heads = {width}, not {widths}; {remedy}"
        )


def piece_names(vocabulary: Vocabulary) -> list[str]:
    """The pieces of a side in the order of their ids, by which CTranslate2 identifies them."""
    return vocabulary.pieces(range(len(vocabulary)))


def specification(model: Transformer, vocabularies: Vocabularies) -> Any:
    """CTranslate2's specification: the weights under its names, and the pieces of both sides."""
    spec = _weights(model)
    spec.register_source_vocabulary(piece_names(vocabularies.source))
    names = piece_names(vocabularies.target)
    spec.register_target_vocabulary(names)
    spec.config.bos_token = spec.config.decoder_start_token = names[BOS]
    spec.config.eos_token, spec.config.unk_token = names[EOS], names[UNK]
    return spec


def _weights(model: Transformer) -> Any:
    config = model.config
    spec = _empty(config)
    for side, embedding in (
        (spec.encoder, model.source_embedding),
        (spec.decoder, model.target_embedding),
    ):
        part = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        part.weight = _array(embedding.weight)
        side.scale_embeddings = config.embedding.scale_embeddings
        if config.embedding.normalize_embeddings:
            _norm(side.layernorm_embedding, embedding.norm)
        positions: Any = embedding.positions
        if positions is not None:
            table = (
                positions.rows(POSITIONS).float()
                if isinstance(positions, SinusoidalPositions)
                else positions.table * positions.scale
            )
            side.position_encodings.encodings = _array(table)
    spec.decoder.start_from_zero_embedding = config.begin == "zeros"
    spec.config.layer_norm_epsilon = config.residual.norm_epsilon
    _linear(spec.decoder.projection, [model.output], with_bias=config.embedding.output_bias)
    for layer, ours in zip(spec.encoder.layer, model.encoder, strict=True):
        assert isinstance(ours, EncoderLayer)
        _self_attention(layer.self_attention, ours.attention, ours.residuals[0])
        _feed_forward(layer.ffn, ours.feed_forward, ours.residuals[1])
    for layer, theirs in zip(spec.decoder.layer, model.decoder, strict=True):
        assert isinstance(theirs, DecoderLayer)
        _self_attention(layer.self_attention, theirs.self_attention, theirs.residuals[0])
        cross = theirs.cross_attention
        _linear(layer.attention.linear[0], [cross.query])
        _linear(layer.attention.linear[1], [cross.key, cross.value])
        _linear(layer.attention.linear[2], [cross.output])
        _norm(layer.attention.layer_norm, theirs.residuals[1].norm)
        _feed_forward(layer.ffn, theirs.feed_forward, theirs.residuals[2])
    if config.residual.ends_normalised:
        _norm(spec.encoder.layer_norm, model.encoder_norm)
        _norm(spec.decoder.layer_norm, model.decoder_norm)
    return spec


def _empty(config: TransformerConfig) -> Any:
    """The specification of a model with these settings, without weights."""
    options = {
        "num_heads": config.multi_head.heads,
        "pre_norm": config.residual.norm == "pre",
        "activation": _ACTIVATIONS[config.feed_forward.activation],
        "layernorm_embedding": config.embedding.normalize_embeddings,
    }
    if config.positional_encoding.positions == "rotary":
        options["rotary_dim"] = 0  # all of a head, in pairs of neighbours as ours
    return transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(config.encoder_layers, **options),
        transformer_spec.TransformerDecoderSpec(config.decoder_layers, **options),
    )


def _self_attention(spec: Any, attention: Any, residual: Any) -> None:
    _linear(spec.linear[0], [attention.query, attention.key, attention.value])
    _linear(spec.linear[1], [attention.output])
    _norm(spec.layer_norm, residual.norm)


def _feed_forward(spec: Any, ours: Any, residual: Any) -> None:
    for part, linear in ((spec.linear_0, ours.inner), (spec.linear_1, ours.outer)):
        _linear(part, [linear])
    _norm(spec.layer_norm, residual.norm)


def _linear(spec: Any, layers: Sequence[nn.Linear], *, with_bias: bool = True) -> None:
    """Join layers of the same input into one; a missing bias is zero."""
    weights: list[Tensor] = [layer.weight for layer in layers]
    spec.weight = _array(torch.cat(weights))
    if with_bias:
        biases: list[Tensor] = [
            layer.weight.new_zeros(layer.out_features) if layer.bias is None else layer.bias
            for layer in layers
        ]
        spec.bias = _array(torch.cat(biases))


def _norm(spec: Any, ours: Any) -> None:
    spec.gamma, spec.beta = _array(ours.weight), _array(ours.bias)


def _array(tensor: Tensor) -> np.ndarray[Any, np.dtype[np.float32]]:
    return tensor.detach().float().cpu().contiguous().numpy()
