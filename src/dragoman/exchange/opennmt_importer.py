"""Importing Transformers of OpenNMT-py, versions 2 and 3.

Klein et al. 2017, "OpenNMT: Open-Source Toolkit for Neural Machine Translation".  A checkpoint has
options, dictionaries and weights.  Its Transformers normalise before each sublayer and at the end,
interleave sine and cosine as the paper does, and read sources that nothing closes.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.foreign_files import ForeignOptions, ForeignWeights, read_state
from dragoman.exchange.foreign_transformer import (
    SIDES,
    ForeignTransformer,
    LayerNames,
    PieceMatrices,
    Positions,
)
from dragoman.exchange.interface import ForeignModel, Importer, Languages
from dragoman.exchange.pickled import read_pickled, tensors_in
from dragoman.exchange.splitting_files import numbered_sides
from dragoman.exchange.weight_layout import repeat_heads, rotation_in_pairs
from dragoman.models.families.transformer import TransformerConfig
from dragoman.text.vocabularies.foreign_vocabulary import Special

_STEP = re.compile(r"_step_(\d+)\.pt$")
_UNKNOWN, _PAD, _BEGIN, _END = "<unk>", "<blank>", "<s>", "</s>"
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "fast_gelu": "gelu_tanh", "silu": "swish"}
_LAYER_NAMES = LayerNames(
    encoder_layer="encoder.transformer.{number}",
    decoder_layer="decoder.transformer_layers.{number}",
    attention="self_attn",
    self_attention="self_attn",
    cross_attention="context_attn",
    projections={
        "query": "linear_query",
        "key": "linear_keys",
        "value": "linear_values",
        "output": "final_linear",
    },
    feed_forward={"inner": "feed_forward.w_1", "outer": "feed_forward.w_2"},
    gated={"gate": "feed_forward.w_1", "inner": "feed_forward.w_3", "outer": "feed_forward.w_2"},
    encoder_norms=("layer_norm", "feed_forward.layer_norm"),
    decoder_norms=("layer_norm_1", "layer_norm_2", "feed_forward.layer_norm"),
)
_FIRST = "encoder.transformer.0"
# What changes the function, with the only value that is known here; others have that by default.
_REQUIRED: dict[str, tuple[object, ...]] = {
    "model_task": ("seq2seq",),
    "model_type": ("text",),
    "data_type": ("text",),
    "encoder_type": ("transformer",),
    "decoder_type": ("transformer",),
    "self_attn_type": ("scaled-dot", "scaled-dot-flash"),
    "position_encoding_type": ("SinusoidalInterleaved",),
    "generator_function": ("softmax",),
    "parallel_residual": (False,),
    "relative_positions_buckets": (0,),
    "sliding_window": (0,),
    "num_experts": (0,),
    "copy_attn": (False,),
    "n_src_feats": (0,),
    "rotary_dim": (0,),
    "rotary_theta": (10000,),
    "lora_layers": ([],),
    "lora_embedding": (False,),
    "quant_layers": ([],),
}
_BEAM = 5  # of onmt_translate, which has no length penalty by default


class OpennmtImporter(Importer):
    """Reads ``NAME_step_N.pt``, or the newest one of a directory."""

    name = "opennmt"

    @override
    def recognises(self, path: Path) -> bool:
        return bool(_STEP.search(path.name)) if path.is_file() else bool(_checkpoints(path))

    @override
    def read(self, path: Path, languages: Languages) -> ForeignModel:
        file = _newest(path)
        checkpoint = _Checkpoint.read(file)
        options = checkpoint.options
        dictionaries = checkpoint.dictionaries()
        start = options.of_type("decoder_start_token", str, _BEGIN)
        if start not in dictionaries[1]:
            raise DataError(f"{file}: option decoder_start_token: {start!r:.40} is no target piece")
        subwords = [options.get(f"{side}_subword_model") for side in ("src", "tgt")]
        named = [name if isinstance(name, str) and name else None for name in subwords]
        special = _special(dictionaries[0], start), _special(dictionaries[1], start)
        sides = numbered_sides(
            file.parent, dictionaries, special, languages, file, named=(named[0], named[1])
        )
        theirs = _OpennmtTransformer(ForeignWeights(checkpoint.tensors, file), sides, options)
        return theirs.imported(
            languages,
            origin=f"OpenNMT-py, {file.name}",
            search={"beam": _BEAM, "length_penalty": 0.0},
            notes=(
                f"Search: beam {_BEAM} without a length penalty, as onmt_translate has it by "
                "default; padding, <s> and <unk> are not put out, which it does not forbid.",
            ),
        )


class _Options(ForeignOptions):
    """The options that the model was trained with."""

    def number(self, *names: str, default: float | None = None) -> float:
        """The first of several options that exists."""
        for name in names:
            value = self.get(name)
            if isinstance(value, list) and value:
                value = value[0]  # one for each phase of training
            if isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value):
                return value
            if value is not None:
                raise DataError(f"{self.where}: option {name}: expected a number: {value!r:.80}")
        if default is None:
            raise DataError(f"{self.where}: the option {names[0]} is missing")
        return default


@dataclass(frozen=True)
class _Checkpoint:
    """The parts of a file."""

    options: _Options
    vocabulary: Any
    tensors: dict[str, Tensor]
    where: Path

    @classmethod
    def read(cls, file: Path) -> _Checkpoint:
        """A checkpoint, whose weights may be in a file of safetensors beside it."""
        content = read_pickled(file)
        if not isinstance(content, dict) or not {"opt", "vocab"} <= content.keys():
            raise DataError(f"{file}: no checkpoint of OpenNMT-py, which has 'opt' and 'vocab'")
        if not isinstance(content["opt"], Namespace):
            raise DataError(f"{file}: 'opt' holds a {type(content['opt']).__name__}, no options")
        options = _Options(vars(content["opt"]), file)
        options.check(_REQUIRED)
        if "model" in content:
            tensors = dict(tensors_in(content["model"], file))
            generator = tensors_in(content.get("generator"), file, "weights of the generator")
            tensors |= {f"generator.{name}": tensor for name, tensor in generator.items()}
        else:
            tensors = read_state(file.with_suffix(".safetensors"))
        return cls(options, content["vocab"], tensors, file)

    def dictionaries(self) -> tuple[dict[str, int], dict[str, int]]:
        """Pieces and their numbers, of source and target."""
        dictionaries = []
        vocabulary = self.vocabulary if isinstance(self.vocabulary, dict) else {}
        if vocabulary.get("src_feats"):
            raise ConfigError(f"{self.where}: source features are not known here")
        for side in ("src", "tgt"):
            pieces = vocabulary.get(side)
            fields = getattr(pieces, "fields", None)
            if isinstance(fields, list) and fields:  # version 2: an object of torchtext
                if len(fields) > 1:
                    raise ConfigError(f"{self.where}: source features are not known here")
                field = fields[0][1] if isinstance(fields[0], (list, tuple)) else None
                pieces = getattr(getattr(field, "vocab", None), "itos", None)
            if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
                raise DataError(f"{self.where}: 'vocab' holds no list of the pieces of {side}")
            dictionaries.append({piece: number for number, piece in enumerate(pieces)})
            if len(dictionaries[-1]) < len(pieces):
                raise DataError(f"{self.where}: 'vocab' has a piece of {side} twice")
        return dictionaries[0], dictionaries[1]


def _checkpoints(directory: Path) -> list[Path]:
    """Those of a directory, by step."""
    matched = [(_STEP.search(file.name), file) for file in directory.glob("*_step_*.pt")]
    return [file for _, file in sorted((int(step[1]), file) for step, file in matched if step)]


def _newest(path: Path) -> Path:
    if path.is_file():
        return path
    if not (files := _checkpoints(path)):
        raise DataError(f"{path}: no checkpoint of OpenNMT-py here, such as model_step_1000.pt")
    return files[-1]


def _special(ids: Mapping[str, int], start: str) -> Special:
    """The names of special pieces.  Sources of version 2 have neither begin nor end."""
    pad = _PAD if _PAD in ids else None
    begin = start if start in ids else None
    return Special(pad, _UNKNOWN, begin, _END if _END in ids else None)


@dataclass
class _OpennmtTransformer(ForeignTransformer):
    options: _Options

    names = _LAYER_NAMES

    @override
    def matrices(self) -> PieceMatrices:
        name = "embeddings.make_embedding.emb_luts.0.weight"
        # The generator of version 2 is the first of several modules.
        output = "generator" if "generator.weight" in self.weights else "generator.0"
        return PieceMatrices(
            self.weights.take(f"encoder.{name}"),
            self.weights.take(f"decoder.{name}"),
            self.weights.take(f"{output}.weight"),
            self.weights.optional(f"{output}.bias"),
        )

    @override
    def settings(self, d_model: int) -> dict[str, Any]:
        options = self.options
        dropout = options.number("dropout", default=0.1)
        return {
            "encoder_layers": options.number("enc_layers", "layers"),
            "decoder_layers": options.number("dec_layers", "layers"),
            "d_model": d_model,
            "heads": options.number("heads", default=8),
            "d_ff": options.number("transformer_ff", default=2048),
            "activation": self._activation(),
            "attention_bias": f"{_FIRST}.self_attn.linear_query.bias" in self.weights,
            "norm": "pre",
            "normalization": "rms" if options.get("layer_norm") == "rms" else "layer",
            "norm_epsilon": options.number("norm_eps", default=1e-6),
            "source_end": False,
            "dropout": dropout,
            "attention_dropout": options.number("attention_dropout", default=dropout),
            "feed_forward_dropout": dropout,
        }

    def _activation(self) -> str:
        """The function of the feed-forward sublayers, which may be gated."""
        name = self.options.of_type("pos_ffn_activation_fn", str, "relu")
        if f"{_FIRST}.feed_forward.w_3.weight" not in self.weights:
            return self.options.ours("pos_ffn_activation_fn", _ACTIVATIONS, "relu")
        if name != "silu" or f"{_FIRST}.feed_forward.w_3.bias" in self.weights:
            biased = " with biases" if name == "silu" else ""
            raise ConfigError(
                f"{self.options.where}: gated feed-forward by {name}{biased} is not known here, "
                "only by silu without biases"
            )
        return "swiglu"

    @override
    def positions(self, d_model: int) -> Positions:
        # Embeddings are scaled where sinusoids are added, and only there.
        options = self.options
        distance = options.number("max_relative_positions", default=0)
        if options.get("position_encoding", False):
            if distance:
                raise ConfigError(
                    f"{options.where}: position_encoding and max_relative_positions together are "
                    "not known here"
                )
            return Positions({"positions": "sinusoidal"})
        if distance > 0:
            settings: dict[str, Any] = {"positions": "relative", "relative_distance": int(distance)}
        elif distance in (0, -1, -2):
            settings = {"positions": {0: "none", -1: "rotary", -2: "alibi"}[int(distance)]}
        else:
            raise ConfigError(
                f"{options.where}: option max_relative_positions: {distance} is not known here"
            )
        if settings["positions"] == "alibi":
            heads = int(options.number("heads", default=8))
            if heads & (heads - 1):  # other slopes than the paper's
                raise ConfigError(f"{options.where}: alibi with {heads} heads is not known here")
        return Positions({**settings, "scale_embeddings": False})

    @override
    def attention(self, model: TransformerConfig, theirs: str, ours: str) -> dict[str, Tensor]:
        weights = super().attention(model, theirs, ours)
        heads, groups = model.multi_head.heads, self._groups(model.multi_head.heads)
        encoding = model.positional_encoding
        within = not ours.endswith("cross_attention")  # a sentence, so that positions count
        rotary = within and encoding.positions == "rotary"
        halves = rotary and not self.options.get("rotary_interleave", True)
        for name, weight in weights.items():
            part = name.removeprefix(f"{ours}.").split(".")[0]
            if part in {"key", "value"}:
                weights[name] = repeat_heads(weight, groups, heads // groups, self.weights.where)
            if part in {"query", "key"} and halves:
                weights[name] = rotation_in_pairs(weights[name], heads, self.weights.where)
        if within and encoding.positions == "relative":
            table = self.weights.take(f"{theirs}.relative_positions_embeddings.weight")
            if ours.endswith("self_attention"):  # of the decoder, which sees earlier positions
                table = table[: encoding.relative_distance + 1]
            weights |= {f"{ours}.scoring.keys": table, f"{ours}.scoring.values": table.clone()}
        return weights

    def _groups(self, heads: int) -> int:
        """Number of different keys and values, each of which several heads may read."""
        groups = int(self.options.number("num_kv", default=0))
        groups = groups or (1 if self.options.get("multiquery", False) else heads)
        if not 0 < groups <= heads or heads % groups:
            raise DataError(
                f"{self.options.where}: option num_kv: {groups} does not divide {heads}"
            )
        return groups

    @override
    def leave_out(self) -> Sequence[str]:
        # Computed here.
        self.weights.ignore(f"{side}.embeddings.make_embedding.pe.pe" for side in SIDES)
        return ()
