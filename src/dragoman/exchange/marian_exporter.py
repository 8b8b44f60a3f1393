"""Models for Marian (Junczys-Dowmunt et al. 2018, arXiv:1804.00344): ``.npz`` under its names.

Marian's Transformer has the timescales of tensor2tensor, all sines before all cosines, and zeros in
place of the first target embedding: only models with these settings are exported.  Of those, it
translates only models that normalise after each sublayer: while it translates, Marian 1.12 and
earlier versions do not normalise the keys and values of a decoder's self-attention (``if(input ==
keys)`` in its ``transformer.h`` holds only in training and scoring).  Marian is not installed with
this package, so what is written is compared through :mod:`dragoman.exchange.marian_formulas`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.exchange.foreign_transformer import SIDES
from dragoman.exchange.interface import TRANSFORMER_KNOWN, Exporter, ExportReport
from dragoman.exchange.marian_files import (
    DECODER_FILE,
    LAYER_NAMES,
    MODEL_FILE,
    OPTIONS_NAME,
    parts_of,
    read_npz,
)
from dragoman.exchange.marian_formulas import MarianTransformer
from dragoman.exchange.probes import check_gap, largest, probes
from dragoman.exchange.vocabulary_files import NOT_NORMALISED
from dragoman.exchange.weight_layout import permute_width, sines_first
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.models.layers.embeddings import OUTPUT_TIED
from dragoman.saved.expressible import Known, check_expressible
from dragoman.saved.saved_config import SavedModel
from dragoman.text.vocabularies import BOS
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary

_KNOWN: Known = {
    **TRANSFORMER_KNOWN,
    "model.activation": ["relu", "swish"],
    "model.norm": ["post"],
    "model.norm_epsilon": [1e-5, 1e-6],
    "model.final_norm": None,
    "model.positions": ["sinusoidal"],
    "model.timescales": ["tensor2tensor"],
    "model.begin": None,  # see check
}
_TOLERANCE = 1e-3
"""Largest difference of a log-probability.  Marian adds 1e-6 to variances, our models 1e-5."""
_REMEDY = (
    "Marian's Transformer is trained with model.norm: post, model.timescales: tensor2tensor and "
    "model.begin: zeros"
)


class MarianExporter(Exporter):
    """Writes ``model.npz``, the vocabularies as ``.spm``, and ``decoder.yml``."""

    name = "marian"

    @override
    def check(self, saved: SavedModel) -> None:
        check_expressible(saved.config, _KNOWN, "Marian", _REMEDY)
        model = saved.model
        assert isinstance(model, Transformer), "see _KNOWN"
        if model.config.begin == "symbol" and bool(model.target_embedding.weight[BOS].any()):
            raise ConfigError(
                "Marian does not support model.begin: symbol, only zeros: the first vector of a "
                f"target; {_REMEDY}"
            )
        if not all(isinstance(side, SentencePieceVocabulary) for side in saved.vocabularies):
            raise ConfigError(
                "Marian reads sentencepiece vocabularies here, and this model has a list of pieces "
                "of another toolkit; export to ctranslate2 or onnx"
            )

    @override
    def write(self, saved: SavedModel, directory: Path) -> ExportReport:
        drawn = probes(saved)
        model = saved.model
        assert isinstance(model, Transformer), "see check"
        names = _spm_names(saved)
        options = _options(model.config, [len(side) for side in saved.vocabularies])
        text = yaml.safe_dump(options, sort_keys=True).encode() + b"\0"  # as a C string
        weights = {name: _array(tensor) for name, tensor in _named(model)}
        special = {OPTIONS_NAME: np.frombuffer(text, np.int8)}
        np.savez(directory / MODEL_FILE, **weights, **special)  # type: ignore[arg-type]
        for name, side in zip(names, saved.vocabularies, strict=True):
            assert isinstance(side, SentencePieceVocabulary), "see check"
            (directory / name).write_bytes(side.with_tags_in_text(_tags(saved)))
        decoder = yaml.safe_dump(_decoder(saved, names), sort_keys=False)
        (directory / DECODER_FILE).write_text(decoder, encoding="utf-8")
        read = MarianTransformer(*read_npz(directory / MODEL_FILE))
        gap = largest(
            np.abs(read.log_probabilities(pair.source, pair.target) - pair.log_probabilities).max()
            for pair in drawn
        )
        check_gap("Marian's formulas give", gap, _TOLERANCE)
        return ExportReport(
            compared=f"log-probabilities of {len(drawn)} sentences of random pieces, through "
            "Marian's formulas in NumPy (Marian itself was not run)",
            difference=gap,
            differences=(
                "Marian adds 1e-6 to the variance in layer normalisation, whatever norm_epsilon.",
                "Its length penalty is a power of the length: `normalize` in decoder.yml.",
                NOT_NORMALISED,
            ),
        )

    @override
    def written_tags(self, saved: SavedModel) -> dict[str, str]:
        return super().written_tags(saved) | {tag: tag for tag in _tags(saved)}

    @override
    def guide(self, saved: SavedModel) -> str:
        return f"```\nmarian-decoder --config DIR/{DECODER_FILE} < input.txt\n```"


def _tags(saved: SavedModel) -> set[str]:
    """The tags in front of the texts that the model was trained with."""
    return {tag for direction in saved.config.directions for tag in direction.tags}


def _named(model: Transformer) -> Iterator[tuple[str, Tensor]]:
    """Parameters by Marian's names; matrices are ``(input, output)``, vectors ``(1, output)``."""
    config = model.config
    parameters = dict(model.named_parameters(remove_duplicate=False))
    weights = permute_width(parameters, sines_first(config.d_model))

    def of_layer(ours: str, theirs: str) -> Iterator[tuple[str, Tensor]]:
        names, weight = parts_of(theirs, ours, "post"), weights[f"{ours}.weight"]
        bias = weights.get(f"{ours}.bias", weight.new_zeros(len(weight)))
        yield names[0], weight.T if weight.dim() == 2 else weight[None]
        yield names[1], bias[None]

    if config.embeddings == "shared":
        yield "Wemb", weights["source_embedding.weight"]
    else:
        yield "encoder_Wemb", weights["source_embedding.weight"]
        yield "decoder_Wemb", weights["target_embedding.weight"]
    matrix, bias = of_layer("output", "decoder_ff_logit_out_{kind}")
    yield from [bias] if config.embeddings in OUTPUT_TIED else [matrix, bias]
    for ours, theirs in LAYER_NAMES.layers(config.encoder_layers, config.decoder_layers).items():
        yield from of_layer(ours, theirs)
    if config.residual.ends_normalised:
        for side in SIDES:
            yield from of_layer(f"{side}_norm", LAYER_NAMES.final_norm.format(side=side))


def _array(tensor: Tensor) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.ascontiguousarray(tensor.detach().float().cpu().numpy())


def _spm_names(saved: SavedModel) -> tuple[str, str]:
    if saved.vocabularies.joint:
        return "vocab.spm", "vocab.spm"
    return "vocab.source.spm", "vocab.target.spm"


def _options(config: TransformerConfig, sizes: list[int]) -> dict[str, Any]:
    """Every option that Marian reads from a model of its Transformer."""
    return {
        "version": "v1.12.0 65bf82ff 2023-02-21 09:56:29 -0800",
        "type": "transformer",
        "dim-emb": config.d_model,
        "dim-vocabs": sizes,
        "enc-depth": config.encoder_layers,
        "dec-depth": config.decoder_layers,
        "transformer-heads": config.multi_head.heads,
        "transformer-dim-ffn": config.feed_forward.d_ff,
        "transformer-decoder-dim-ffn": 0,
        "transformer-ffn-depth": 2,
        "transformer-decoder-ffn-depth": 0,
        "transformer-ffn-activation": config.feed_forward.activation,
        "transformer-preprocess": "",
        "transformer-postprocess": "dan",
        "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": "n" if config.residual.ends_normalised else "",
        "transformer-no-projection": False,
        "transformer-no-bias": False,
        "transformer-no-affine": False,
        "transformer-train-position-embeddings": False,
        "transformer-depth-scaling": False,
        "transformer-pool": False,
        "transformer-tied-layers": [],
        "transformer-guided-alignment-layer": "last",
        "transformer-decoder-autoreg": "self-attention",
        "transformer-rnn-projection": False,
        "transformer-aan-activation": "swish",
        "transformer-aan-depth": 2,
        "transformer-aan-nogate": False,
        "transformer-dim-aan": 2048,
        "tied-embeddings-all": config.embeddings == "shared",
        "tied-embeddings-src": False,
        "tied-embeddings": config.embeddings in OUTPUT_TIED,
        "output-omit-bias": False,
        "input-types": [],
        "skip": False,
        "right-left": False,
        "layer-normalization": False,
        "dim-rnn": 1024,
        "enc-type": "bidirectional",
        "enc-cell": "gru",
        "enc-cell-depth": 1,
        "dec-cell": "gru",
        "dec-cell-base-depth": 2,
        "dec-cell-high-depth": 1,
        "factors-combine": "sum",
        "factors-dim-emb": 0,
        "lemma-dependency": "",
        "lemma-dim-emb": 0,
        "bert-train-type-embeddings": True,
        "bert-type-vocab-size": 2,
        "ulr": False,
        "ulr-dim-emb": 0,
        "ulr-trainable-transformation": False,
    }


def _decoder(saved: SavedModel, names: tuple[str, str]) -> dict[str, Any]:
    """Options of ``marian-decoder``, with the search that the model was validated with."""
    return {
        "relative-paths": True,
        "models": [MODEL_FILE],
        "vocabs": list(names),
        "beam-size": int(saved.search.get("beam", 4)),
        "normalize": float(saved.search.get("length_penalty", 0.6)),
        "word-penalty": 0,
        "mini-batch": 16,
        "maxi-batch": 100,
        "maxi-batch-sort": "src",
        "max-length-factor": 3,
    }
