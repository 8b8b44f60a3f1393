"""The files of a model of Marian, and its names of weights."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from dragoman.core.errors import DataError
from dragoman.core.strict_yaml import load_yaml
from dragoman.exchange.foreign_transformer import LayerNames
from dragoman.exchange.packages import check_ratio
from dragoman.saved.archive_members import reading

MODEL_FILE, DECODER_FILE, OPTIONS_NAME = "model.npz", "decoder.yml", "special:model.yml"
LAYER_NAMES = LayerNames(
    encoder_layer="encoder_l{number}",
    decoder_layer="decoder_l{number}",
    first_layer=1,
    attention="self",
    self_attention="self",
    cross_attention="context",
    projections={"query": "{kind}q", "key": "{kind}k", "value": "{kind}v", "output": "{kind}o"},
    feed_forward={"inner": "ffn.{kind}1", "outer": "ffn.{kind}2"},
    encoder_norms=("self_Wo_ln_{kind}", "ffn_ffn_ln_{kind}"),
    decoder_norms=("self_Wo_ln_{kind}", "context_Wo_ln_{kind}", "ffn_ffn_ln_{kind}"),
    final_norm="{side}_top_ln_{{kind}}",
)
"""Dots become underscores.  The kind is W or b in a linear layer, and scale or bias in a
normalisation, with ``_pre`` if that is in front of a sublayer."""


def parts_of(theirs: str, ours: str, norm: str) -> tuple[str, str]:
    """Names of the weight and the bias of a part of a layer.

    Args:
        theirs: its name in :data:`LAYER_NAMES`.
        ours: its name here.
        norm: ``pre`` or ``post``.
    """
    kinds = "W", "b"
    if ours.endswith("norm"):
        place = "_pre" if norm == "pre" and ours.endswith(".norm") else ""
        kinds = f"scale{place}", f"bias{place}"
    name = theirs.replace(".", "_")
    return name.format(kind=kinds[0]), name.format(kind=kinds[1])


def read_npz(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of a model by name, and its options; no pickle is read."""
    try:
        with reading(path), zipfile.ZipFile(path) as archive:
            check_ratio(path, sum(member.file_size for member in archive.infolist()))
        with reading(path), np.load(path, allow_pickle=False) as arrays:
            weights = {name: arrays[name] for name in arrays.files}
    except (ValueError, SyntaxError, MemoryError, KeyError) as error:
        problem = " ".join(str(error).split())
        raise DataError(f"{path}: damaged ({problem:.200}); download it again") from error
    for name, weight in weights.items():
        if not isinstance(weight, np.ndarray):
            raise DataError(f"{path}: {name!r:.80} is no array of numbers; download it again")
    return weights, options_in(weights, path)


def options_in(weights: dict[str, Any], path: Path) -> dict[str, Any]:
    """The options of a model, which are taken out of its arrays."""
    options = weights.pop(OPTIONS_NAME, None)
    if options is None:
        raise DataError(f"{path}: has no {OPTIONS_NAME}, so it is no model of Marian")
    try:
        values = load_yaml(options.tobytes().rstrip(b"\0").decode())
    except (yaml.YAMLError, ValueError) as error:
        problem = " ".join(str(error).split())
        raise DataError(f"{path}: {OPTIONS_NAME}: not YAML ({problem:.200})") from error
    if not isinstance(values, dict):
        raise DataError(f"{path}: {OPTIONS_NAME}: expected options by name")
    return values
