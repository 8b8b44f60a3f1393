"""Parts that exports to Hugging Face transformers have in common."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import safetensors
import torch
from torch import Tensor

from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.exchange.huggingface_files import ACTIVATIONS, LAYER_NAMES
from dragoman.exchange.probes import Floats
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.saved_config import SavedModel
from dragoman.search import SearchConfig

try:
    import transformers
except ImportError as error:
    raise MissingExtraError.of(
        "Hugging Face transformers", "transformers>=5", "sacremoses"
    ) from error

POSITIONS = 1024
"""Pieces in a source and its output, more or less: the positions of most models there."""
ACTIVATIONS_THERE = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
TOLERANCE = 1e-4
"""Largest difference of a log-probability, due to another order of summation."""
BATCH = 5
"""Sentences that are compared at once, with padding."""
REMEDY = "export to onnx, or leave the model with Dragoman"
_IMPOSSIBLE = -100.0


def check_widths(config: TransformerConfig, program: str) -> None:
    """Refuse widths that models of the kind of BART lack.

    Args:
        config: of the model.
        program: the class of models, for the message.
    """
    width = config.d_model // config.multi_head.heads
    if (widths := config.multi_head.head_widths(config.d_model)) != (width, width):
        raise ConfigError(
            f"{program} needs d_k and d_v of d_model / heads = {width}, not {widths}; {REMEDY}"
        )
    if config.d_model % 2:
        raise ConfigError(
            f"{program} has another order of positions with an odd d_model {config.d_model}; "
            f"{REMEDY}"
        )


def sizes(config: TransformerConfig) -> dict[str, Any]:
    """Sizes and choices by the names in configurations of models of the kind of BART."""
    heads, d_ff = config.multi_head.heads, config.feed_forward.d_ff
    return {
        "d_model": config.d_model,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": heads,
        "decoder_attention_heads": heads,
        "encoder_ffn_dim": d_ff,
        "decoder_ffn_dim": d_ff,
        "activation_function": ACTIVATIONS_THERE[config.feed_forward.activation],
        "dropout": config.residual.dropout,
        "attention_dropout": config.multi_head.attention_dropout,
        "activation_dropout": config.feed_forward.feed_forward_dropout,
        "scale_embedding": config.embedding.scale_embeddings,
    }


def layers(
    weights: Mapping[str, Tensor], config: TransformerConfig
) -> Iterator[tuple[str, Tensor]]:
    """The weights of all layers under their names there; missing biases are zeros."""
    for name, there in LAYER_NAMES.layers(config.encoder_layers, config.decoder_layers).items():
        weight = weights[f"{name}.weight"]
        yield f"{there}.weight", weight
        bias = weights.get(f"{name}.bias")
        yield f"{there}.bias", torch.zeros(len(weight)) if bias is None else bias


def search_settings(saved: SavedModel) -> dict[str, Any]:
    """Settings of ``generation_config.json``."""
    search = SearchConfig.model_validate(saved.search)
    return {
        "num_beams": search.beam,
        "length_penalty": search.length_penalty,
        "max_length": POSITIONS // 2,
        "no_repeat_ngram_size": search.no_repeat_ngram,
    }


def other_ranks(saved: SavedModel) -> str:
    """How beam search there differs, a sentence."""
    penalty = SearchConfig.model_validate(saved.search).length_penalty
    return (
        f"A hypothesis' log-probability is divided by |Y|^{penalty:g} there, here by "
        f"((5 + |Y|) / 6)^{penalty:g}, so that beam search may rank hypotheses otherwise."
    )


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    """Ids and mask, ``(batch, longest)``."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])
    return ids, ids != pad


def gap(scores: Tensor, ours: Floats) -> float:
    """The largest difference of a log-probability, ``(target, pieces)``.

    Symbols that an imported model lacks are never put out; no digits of theirs are left.
    """
    apart = np.abs(scores[: len(ours)].log_softmax(-1).numpy() - ours)
    return float(apart[ours > _IMPOSSIBLE].max())


@contextmanager
def refusals() -> Iterator[None]:
    """Raises an error of the operating system that safetensors reports as ``OSError``."""
    try:
        yield
    except safetensors.SafetensorError as error:
        if (number := re.search(r"\(os error (\d+)\)", str(error))) is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Without the progress bars and advice of transformers."""
    log = transformers.utils.logging
    was_shown, verbosity = log.is_progress_bar_enabled(), log.get_verbosity()
    log.disable_progress_bar()
    log.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.set_verbosity(verbosity)
        if was_shown:
            log.enable_progress_bar()
