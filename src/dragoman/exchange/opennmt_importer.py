"""Importing Transformers of OpenNMT-py, versions 2 and 3.

Klein et al. 2017, "OpenNMT: Open-Source Toolkit for Neural Machine Translation".  A checkpoint has
options, dictionaries and weights.  Its Transformers normalise before each sublayer and at the end,
interleave sine and cosine as the paper does, and read sources that nothing closes.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from torch import Tensor

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.foreign_files import ForeignWeights, read_state
from dragoman.exchange.foreign_options import ForeignOptions
from dragoman.exchange.importer import ForeignModel, Importer, unsaid
from dragoman.exchange.pickled import read_pickled, tensors_in
from dragoman.exchange.piece_rows import PieceMatrices, vocabularies
from dragoman.exchange.splitting_files import numbered_sides
from dragoman.exchange.weight_layout import repeat_heads, rotation_in_pairs
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.vocabularies.foreign_vocabulary import Special

_STEP = re.compile(r"_step_(\d+)\.pt$")
_UNKNOWN, _PAD, _BEGIN, _END = "<unk>", "<blank>", "<s>", "</s>"
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "fast_gelu": "gelu_tanh", "silu": "swish"}
_ATTENTION = {
    "query": "linear_query",
    "key": "linear_keys",
    "value": "linear_values",
    "output": "final_linear",
}
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

    def recognises(self, path: Path) -> bool:
        """By a checkpoint that is named after its step."""
        return bool(_STEP.search(path.name)) if path.is_file() else bool(_checkpoints(path))

    def read(self, path: Path, languages: tuple[str | None, str | None]) -> ForeignModel:
        """See :meth:`Importer.read`."""
        file = _newest(path)
        checkpoint = _Checkpoint.read(file)
        options = checkpoint.options
        dictionaries = checkpoint.dictionaries()
        start = options.of_type("decoder_start_token", str, _BEGIN)
        if start not in dictionaries[1]:
            raise DataError(f"{file}: option decoder_start_token: {start!r:.40} is no target piece")
        subwords = [options.get(f"{side}_subword_model") for side in ("src", "tgt")]
        named = [one if isinstance(one, str) and one else None for one in subwords]
        sides, notes = numbered_sides(
            file.parent,
            dictionaries,
            (_special(dictionaries[0], start), _special(dictionaries[1], start)),
            languages,
            file,
            named=(named[0], named[1]),
        )
        theirs = ForeignWeights(checkpoint.tensors, file)
        matrices = _matrices(theirs)
        matrices.check_rows((len(dictionaries[0]), len(dictionaries[1])), file)
        weights, found = matrices.ours(sides)
        model = _config(options, theirs, matrices.source.shape[1], found)
        weights |= _stack(theirs, model, _Attention.of(options, model))
        theirs.check_all_taken()
        config = SavedConfig(
            source_language=languages[0] or "source",
            target_language=languages[1] or "target",
            model=model,
            search={"beam": _BEAM, "length_penalty": 0.0},
        )
        return ForeignModel(
            config=config,
            vocabularies=vocabularies(sides),
            weights=weights,
            origin=f"OpenNMT-py, {file.name}",
            notes=(
                *unsaid(languages),
                *notes,
                f"Search: beam {_BEAM} without a length penalty, as onmt_translate has it by "
                "default; padding, <s> and <unk> are not put out, which it does not forbid.",
            ),
        )


class _Options(ForeignOptions):
    """What the model was trained with."""

    def number(self, *names: str, default: float | None = None) -> float:
        """The first of several options that is there.

        Raises:
            DataError: none is there, or it is no number.
        """
        for name in names:
            found = self.get(name)
            if isinstance(found, list) and found:
                found = found[0]  # one for each phase of training
            if isinstance(found, (int, float)) and not isinstance(found, bool) and isfinite(found):
                return found
            if found is not None:
                raise DataError(f"{self.where}: option {name}: expected a number: {found!r:.80}")
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
        """A checkpoint, whose weights may be in a file of safetensors beside it.

        Raises:
            DataError: the file is missing or damaged, or no checkpoint of OpenNMT-py.
        """
        found = read_pickled(file)
        if not isinstance(found, dict) or not {"opt", "vocab"} <= found.keys():
            raise DataError(f"{file}: no checkpoint of OpenNMT-py, which has 'opt' and 'vocab'")
        if not isinstance(found["opt"], Namespace):
            raise DataError(f"{file}: 'opt' holds a {type(found['opt']).__name__}, no options")
        options = _Options(vars(found["opt"]), file)
        options.check(_REQUIRED)
        if "model" in found:
            tensors = dict(tensors_in(found["model"], file))
            generator = tensors_in(found.get("generator"), file, "weights of the generator")
            tensors |= {f"generator.{name}": tensor for name, tensor in generator.items()}
        else:
            tensors = read_state(file.with_suffix(".safetensors"))
        return cls(options, found["vocab"], tensors, file)

    def dictionaries(self) -> tuple[dict[str, int], dict[str, int]]:
        """Pieces and their numbers, of source and target.

        Raises:
            ConfigError: the source has features besides its pieces.
            DataError: there are none.
        """
        found = []
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
            if not isinstance(pieces, list) or not all(isinstance(one, str) for one in pieces):
                raise DataError(f"{self.where}: 'vocab' holds no list of the pieces of {side}")
            found.append({piece: number for number, piece in enumerate(pieces)})
            if len(found[-1]) < len(pieces):
                raise DataError(f"{self.where}: 'vocab' has a piece of {side} twice")
        return found[0], found[1]


def _checkpoints(directory: Path) -> list[Path]:
    """Those of a directory, by step."""
    found = [(_STEP.search(file.name), file) for file in directory.glob("*_step_*.pt")]
    return [file for _, file in sorted((int(match[1]), file) for match, file in found if match)]


def _newest(path: Path) -> Path:
    if path.is_file():
        return path
    if not (found := _checkpoints(path)):
        raise DataError(f"{path}: no checkpoint of OpenNMT-py here, such as model_step_1000.pt")
    return found[-1]


def _special(ids: Mapping[str, int], start: str) -> Special:
    """The names of special pieces; sources of version 2 have neither begin nor end."""
    pad = _PAD if _PAD in ids else None
    begin = start if start in ids else None
    return Special(pad, _UNKNOWN, begin, _END if _END in ids else None)


def _matrices(theirs: ForeignWeights) -> PieceMatrices:
    name = "embeddings.make_embedding.emb_luts.0.weight"
    # The generator of version 2 is the first of several modules.
    output = "generator" if "generator.weight" in theirs else "generator.0"
    bias = theirs.take(f"{output}.bias") if f"{output}.bias" in theirs else None
    source, target = theirs.take(f"encoder.{name}"), theirs.take(f"decoder.{name}")
    return PieceMatrices(source, target, theirs.take(f"{output}.weight"), bias)


def _config(
    options: _Options, theirs: ForeignWeights, d_model: int, found: Mapping[str, Any]
) -> TransformerConfig:
    """Our configuration of the same model.

    Raises:
        ConfigError: it has something that the Transformer here lacks.
        DataError: an option is missing or does not make sense.
    """
    first = "encoder.transformer.0"
    dropout = options.number("dropout", default=0.1)
    try:
        return TransformerConfig(
            encoder_layers=options.number("enc_layers", "layers"),
            decoder_layers=options.number("dec_layers", "layers"),
            d_model=d_model,
            heads=options.number("heads", default=8),
            d_ff=options.number("transformer_ff", default=2048),
            activation=_activation(options, theirs, f"{first}.feed_forward"),
            attention_bias=f"{first}.self_attn.linear_query.bias" in theirs,
            norm="pre",
            normalization="rms" if options.get("layer_norm") == "rms" else "layer",
            norm_epsilon=options.number("norm_eps", default=1e-6),
            source_end=False,
            dropout=dropout,
            attention_dropout=options.number("attention_dropout", default=dropout),
            feed_forward_dropout=dropout,
            **_positions(options),
            **found,
        )
    except ValueError as error:
        raise DataError(f"{options.where}: {' '.join(str(error).split()):.300}") from error


def _activation(options: _Options, theirs: ForeignWeights, feed_forward: str) -> str:
    """The function of the feed-forward sublayers, which may be gated."""
    name = options.of_type("pos_ffn_activation_fn", str, "relu")
    if f"{feed_forward}.w_3.weight" in theirs:
        if name != "silu" or f"{feed_forward}.w_3.bias" in theirs:
            biased = " with biases" if name == "silu" else ""
            raise ConfigError(
                f"{options.where}: gated feed-forward by {name}{biased} is not known here, only by "
                "silu without biases"
            )
        return "swiglu"
    if name not in _ACTIVATIONS:
        raise ConfigError(
            f"{options.where}: option pos_ffn_activation_fn: {name!r:.80} is not known here, only "
            + " or ".join(_ACTIVATIONS)
        )
    return _ACTIVATIONS[name]


def _positions(options: _Options) -> dict[str, Any]:
    """Embeddings are scaled where sinusoids are added, and only there."""
    distance = options.number("max_relative_positions", default=0)
    if options.get("position_encoding", False):
        if distance:
            raise ConfigError(
                f"{options.where}: position_encoding and max_relative_positions together are not "
                "known here"
            )
        return {"positions": "sinusoidal"}
    if distance > 0:
        found: dict[str, Any] = {"positions": "relative", "relative_distance": int(distance)}
    elif distance in (0, -1, -2):
        found = {"positions": {0: "none", -1: "rotary", -2: "alibi"}[int(distance)]}
    else:
        raise ConfigError(
            f"{options.where}: option max_relative_positions: {distance} is not known here"
        )
    if found["positions"] == "alibi":
        heads = int(options.number("heads", default=8))
        if heads & (heads - 1):  # other slopes than the paper's
            raise ConfigError(f"{options.where}: alibi with {heads} heads is not known here")
    return {**found, "scale_embeddings": False}


@dataclass(frozen=True)
class _Attention:
    """How its weights are laid out."""

    heads: int
    repeated: int
    """How many heads read the same keys and values."""
    halves: bool
    """Whether rotated pairs are halves of a head rather than neighbours."""
    relative: int
    """Distance of relative positions; 0 if there are none."""

    @classmethod
    def of(cls, options: _Options, model: TransformerConfig) -> _Attention:
        heads = model.multi_head.heads
        kinds = int(options.number("num_kv", default=0)) or (
            1 if options.get("multiquery", False) else heads
        )
        if not 0 < kinds <= heads or heads % kinds:
            raise DataError(f"{options.where}: option num_kv: {kinds} does not divide {heads}")
        encoding = model.positional_encoding
        rotary, relative = encoding.positions == "rotary", encoding.positions == "relative"
        halves = rotary and not options.get("rotary_interleave", True)
        distance = encoding.relative_distance if relative else 0
        return cls(heads, heads // kinds, halves, distance)

    def layer(
        self, theirs: ForeignWeights, name: str, ours: str, *, within: bool, causal: bool = False
    ) -> dict[str, Tensor]:
        """The weights of one attention, under our names.

        Args:
            theirs: all weights.
            name: of the attention there.
            ours: its name here.
            within: whether it is within a sentence, so that it knows positions.
            causal: whether it sees earlier positions alone.
        """
        found: dict[str, Tensor] = {}
        for part, linear in _ATTENTION.items():
            found |= theirs.layer(f"{name}.{linear}", f"{ours}.{part}")
        for key in found:
            part = key.removeprefix(f"{ours}.").split(".")[0]
            if part in {"key", "value"}:
                groups = self.heads // self.repeated
                found[key] = repeat_heads(found[key], groups, self.repeated, theirs.where)
            if part in {"query", "key"} and within and self.halves:
                found[key] = rotation_in_pairs(found[key], self.heads, theirs.where)
        if within and self.relative:
            table = theirs.take(f"{name}.relative_positions_embeddings.weight")
            table = table[: self.relative + 1] if causal else table
            found |= {f"{ours}.scoring.keys": table, f"{ours}.scoring.values": table.clone()}
        return found


def _stack(
    theirs: ForeignWeights, model: TransformerConfig, attention: _Attention
) -> dict[str, Tensor]:
    """The weights of all layers, under our names."""
    found: dict[str, Tensor] = {}
    for side in ("encoder", "decoder"):
        theirs.ignore([f"{side}.embeddings.make_embedding.pe.pe"])  # computed here
        found |= theirs.layer(f"{side}.layer_norm", f"{side}_norm")
    for number in range(model.encoder_layers):
        name, ours = f"encoder.transformer.{number}", f"encoder.{number}"
        found |= attention.layer(theirs, f"{name}.self_attn", f"{ours}.attention", within=True)
        found |= theirs.layer(f"{name}.layer_norm", f"{ours}.residuals.0.norm")
        found |= _feed_forward(theirs, model, f"{name}.feed_forward", ours, 1)
    for number in range(model.decoder_layers):
        name, ours = f"decoder.transformer_layers.{number}", f"decoder.{number}"
        own, cross = f"{ours}.self_attention", f"{ours}.cross_attention"
        found |= attention.layer(theirs, f"{name}.self_attn", own, within=True, causal=True)
        found |= attention.layer(theirs, f"{name}.context_attn", cross, within=False)
        for place in (0, 1):
            found |= theirs.layer(
                f"{name}.layer_norm_{place + 1}", f"{ours}.residuals.{place}.norm"
            )
        found |= _feed_forward(theirs, model, f"{name}.feed_forward", ours, 2)
    return found


def _feed_forward(
    theirs: ForeignWeights, model: TransformerConfig, name: str, ours: str, place: int
) -> dict[str, Tensor]:
    """The last sublayer of a layer, with its normalisation."""
    found = theirs.layer(f"{name}.layer_norm", f"{ours}.residuals.{place}.norm")
    if model.feed_forward.activation == "swiglu":
        parts, bias = {"gate": "w_1", "inner": "w_3", "outer": "w_2"}, False
    else:
        parts, bias = {"inner": "w_1", "outer": "w_2"}, True
    for part, linear in parts.items():
        found |= theirs.layer(f"{name}.{linear}", f"{ours}.feed_forward.{part}", bias=bias)
    return found
