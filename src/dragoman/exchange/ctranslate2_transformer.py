"""Transformers of CTranslate2 as ours, of all toolkits that it converts.

Klein et al. 2020, "Efficient and High-Quality Neural Machine Translation with OpenNMT".  Joined
matrices are taken apart, keys and values that several heads read alike are repeated, and positions
are recognised by their numbers.  Other features of CTranslate2 are refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.wording import named
from dragoman.exchange.ctranslate2_files import Binary
from dragoman.exchange.foreign_transformer import (
    SIDES,
    ForeignTransformer,
    LayerNames,
    PieceMatrices,
    Positions,
)
from dragoman.exchange.weight_layout import repeat_heads, sines_first
from dragoman.models.families.transformer import TransformerConfig
from dragoman.models.layers.positions import Timescales, sinusoids

_ACTIVATIONS = {0: "relu", 1: "gelu_tanh", 2: "swish", 3: "gelu"}
_NAMES = {"TransformerSpec": 8, "TransformerBase": 8, "TransformerBig": 16}
"""Kinds of models, and how many heads they have if the file does not say."""
_FIRST_REVISION, _LAST_REVISION = 2, 7
_EPSILON, _RMS_EPSILON = 1e-5, 1e-6  # where the configuration has none
# Attributes that say nothing of the function: which heads tell alignments, and what the names of
# weights say, too.
_MEANINGLESS = (
    "decoder.alignment_layer",
    "decoder.alignment_heads",
    "alignment_layer",
    "alignment_heads",
    "with_relative_position",
    "encoder.multi_query_attention",
    "decoder.multi_query_attention",
)
# Attributes that are known if they are 0.
_OFF = (
    "decoder.alibi",
    "decoder.alibi_use_positive_positions",
    "decoder.scale_alibi",
    "decoder.scale_outputs",
    "encoder.embeddings_merge",
    "embeddings_merge",
)
_CLOSE = 2e-3
"""Largest difference of a table of positions from computed sinusoids: it may be in float16, or be
computed in float32, whose error grows with the position."""
_SINUSOIDS: tuple[tuple[Timescales, int], ...] = (
    ("paper", 0),
    ("tensor2tensor", 1),
    ("tensor2tensor", 2),
)
"""Kinds of computed positions, and the number of the first."""
_LAYER_NAMES = LayerNames(
    encoder_layer="encoder.layer_{number}",
    decoder_layer="decoder.layer_{number}",
    attention="self_attention",
    self_attention="self_attention",
    cross_attention="attention",
    projections={},  # joined, see attention()
    feed_forward={"inner": "ffn.linear_0", "outer": "ffn.linear_1"},
    gated={"gate": "ffn.linear_0", "inner": "ffn.linear_0_noact", "outer": "ffn.linear_1"},
    encoder_norms=("self_attention.layer_norm", "ffn.layer_norm"),
    decoder_norms=("self_attention.layer_norm", "attention.layer_norm", "ffn.layer_norm"),
)


@dataclass
class Attributes:
    """The numbers of a model, which are taken one by one."""

    values: dict[str, float]
    switches: frozenset[str]
    """Those that are true or false rather than quantities."""
    heads: int
    """Number of heads, if no attribute says it."""
    where: Path
    taken: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, binary: Binary, where: Path) -> Attributes:
        """Those of a model in the file ``where``; refuses other kinds of models."""
        if binary.specification not in _NAMES or not (
            _FIRST_REVISION <= binary.revision <= _LAST_REVISION
        ):
            raise ConfigError(
                f"{where}: {binary.specification:.80}, revision {binary.revision}, is not known "
                "here, only TransformerSpec, a Transformer that translates"
            )
        return cls(binary.numbers, binary.flags, _NAMES[binary.specification], where)

    @cached_property
    def zero_start(self) -> bool:
        """Whether outputs begin with a vector of zeros in place of a piece's."""
        return bool(self.take("decoder.start_from_zero_embedding", default=0))

    @cached_property
    def flags(self) -> tuple[bool, bool, bool]:
        """Whether sources begin and end with a symbol, and targets with their own begin symbol.

        Models of early versions say it here.
        """
        defaults = {"with_source_bos": 0, "with_source_eos": 0, "with_target_bos": 1}
        source_bos, source_eos, target_bos = (
            bool(self.take(name, default=default)) for name, default in defaults.items()
        )
        return source_bos, source_eos, target_bos

    def take(self, *names: str, default: float) -> float:
        """The first of several attributes that exists.

        Args:
            names: of newer versions first.
            default: if none exists.
        """
        self.taken.update(names)
        return next((self.values[name] for name in names if name in self.values), default)

    def both(self, name: str, default: float) -> float:
        """An attribute that encoder and decoder must have in common here."""
        sides = [self.take(f"{side}.{name}", name, default=default) for side in SIDES]
        if sides[0] != sides[1]:
            raise ConfigError(
                f"{self.where}: {name} of the encoder, {sides[0]:g}, and of the decoder, "
                f"{sides[1]:g}, differ; here both sides have the same"
            )
        return sides[0]

    def check_all_taken(self) -> None:
        """Refuse a model that has more than was taken."""
        for name in _OFF:
            if self.values.get(name, 0):
                _refuse(self.where, name, self.values[name])
        known = {*self.taken, *_MEANINGLESS, *_OFF}
        for name in sorted(self.values.keys() - known):
            _refuse(self.where, name, self.values[name])


def _refuse(where: Path, name: str, value: float) -> NoReturn:
    raise ConfigError(f"{where}: {named([name])} ({value:g}) is not known here")


@dataclass
class CTranslate2Transformer(ForeignTransformer):
    """The weights and settings of a model."""

    options: Attributes
    epsilon: float | None
    """Of normalisations; None if the configuration has none."""
    source_end: bool
    """Whether an end symbol closes sources."""

    names = _LAYER_NAMES

    @property
    @override
    def zero_start(self) -> bool:
        return self.options.zero_start

    @override
    def matrices(self) -> PieceMatrices:
        names = [name for name in self.weights.names if name.startswith("encoder.embeddings_")]
        if any(not name.startswith("encoder.embeddings_0.") for name in names):
            raise ConfigError(f"{self.weights.where}: source features are not known here")
        source = "encoder.embeddings_0.weight" if names else "encoder.embeddings.weight"
        return PieceMatrices(
            self.weights.take(source),
            self.weights.take("decoder.embeddings.weight"),
            self.weights.take("decoder.projection.weight"),
            self.weights.optional("decoder.projection.bias"),
        )

    @override
    def check_all_taken(self) -> None:
        super().check_all_taken()
        self.options.check_all_taken()

    @override
    def settings(self, d_model: int) -> dict[str, Any]:
        counts = [self._count(f"{side}.layer_") for side in SIDES]
        heads = int(self.options.both("num_heads", self.options.heads))
        pre = bool(self.options.both("pre_norm", 1))
        ends = [f"{side}.layer_norm.weight" in self.weights for side in SIDES]
        if ends[0] != ends[1]:
            raise ConfigError(f"{self.options.where}: only one side ends with a normalisation")
        rms = not self._has("ffn.layer_norm.bias")
        usual = _RMS_EPSILON if rms else _EPSILON
        return {
            "encoder_layers": counts[0],
            "decoder_layers": counts[1],
            "d_model": d_model,
            "heads": heads,
            "d_k": self._head_width(heads, d_model),
            "d_v": self._head_width(heads, d_model),
            "d_ff": len(self.weights.take("encoder.layer_0.ffn.linear_0.weight")),
            "activation": self._activation(),
            "attention_bias": self._has("self_attention.linear_0.bias"),
            "norm": "pre" if pre else "post",
            "normalization": "rms" if rms else "layer",
            "norm_epsilon": usual if self.epsilon is None else self.epsilon,
            "final_norm": None if ends[0] == pre else ends[0],
            "scale_embeddings": self._scaled(d_model),
            "normalize_embeddings": self.normalizes_embeddings(),
            "source_end": self.source_end,
        }

    def _activation(self) -> str:
        """The function of the feed-forward sublayers, which may be gated."""
        number = int(self.options.both("activation", 0))
        if number not in _ACTIVATIONS:
            _refuse(self.options.where, "activation", number)
        name = _ACTIVATIONS[number]
        if not self._has("ffn.linear_0_noact.weight"):
            return name
        if name != "swish" or self._has("ffn.linear_0.bias"):
            raise ConfigError(
                f"{self.options.where}: gated feed-forward by {name}, or with biases, is not known "
                "here, only by swish without biases"
            )
        return "swiglu"

    def _count(self, prefix: str) -> int:
        """How many layers there are."""
        names = (name for name in self.weights.names if name.startswith(prefix))
        numbers = {name.removeprefix(prefix).split(".")[0] for name in names}
        return sum(number.isdecimal() for number in numbers)  # there is encoder.layer_norm, too

    def _has(self, name: str) -> bool:
        """Whether the first layer has a weight."""
        return f"encoder.layer_0.{name}" in self.weights

    def _head_width(self, heads: int, d_model: int) -> int | None:
        """Width of a head, if it is not the usual one."""
        names = [name for name in self.options.values if name.endswith(".head_dim")]
        widths = {int(self.options.take(name, default=0)) for name in names}
        if len(widths) > 1:
            raise ConfigError(f"{self.options.where}: heads of different widths are not known here")
        return next((width for width in widths if width * heads != d_model), None)

    def _scaled(self, d_model: int) -> bool:
        """Whether embeddings are multiplied by the root of their width: a flag, or the factor."""
        sides = []
        for side, old in (("encoder", "encoder.embeddings"), ("decoder", "decoder.embeddings")):
            names = [f"{side}.scale_embeddings", f"{old}.multiply_by_sqrt_depth"]
            names.append(f"{side}.embeddings_0.multiply_by_sqrt_depth")
            there = next((name for name in names if name in self.options.values), None)
            value = self.options.take(*names, default=1)
            factor = d_model**0.5 if value else 1.0
            if there is not None and there not in self.options.switches:
                factor = value
            if abs(factor - 1) > 1e-3 and abs(factor - d_model**0.5) > 1e-3 * d_model**0.5:
                _refuse(self.options.where, names[0], value)
            sides.append(abs(factor - 1) > 1e-3)
        if sides[0] != sides[1]:
            raise ConfigError(f"{self.options.where}: embeddings of only one side are scaled")
        return sides[0]

    @override
    def positions(self, d_model: int) -> Positions:
        if self._has("self_attention.relative_position_keys"):
            name = "encoder.layer_0.self_attention.relative_position_keys"
            distance = len(self.weights.take(name)) // 2
            return Positions({"positions": "relative", "relative_distance": distance})
        names = [f"{side}.position_encodings.encodings" for side in SIDES]
        if not any(name in self.weights for name in names):  # those of tensor2tensor
            settings: dict[str, Any] = {"timescales": "tensor2tensor", "first_position": 1}
            return Positions(settings, sines_first=True)
        tables = [self.weights.table(name, d_model) for name in names]
        for timescales, first in _SINUSOIDS:
            for halves in (False, True):
                if all(_is_sinusoids(table, timescales, first, halves) for table in tables):
                    settings = {"timescales": timescales, "first_position": first}
                    return Positions(settings if timescales != "paper" else {}, (), halves)
        count = min(map(len, tables))
        settings = {"positions": "learned", "max_positions": count}
        return Positions(settings, [table[:count] for table in tables])

    @override
    def attention(self, model: TransformerConfig, theirs: str, ours: str) -> dict[str, Tensor]:
        if ours.endswith("cross_attention"):
            weights = self.weights.layer(f"{theirs}.linear_0", f"{ours}.query")
            weights |= self._apart(model, f"{theirs}.linear_1", ours, ("key", "value"))
            return weights | self.weights.layer(f"{theirs}.linear_2", f"{ours}.output")
        weights = self._apart(model, f"{theirs}.linear_0", ours, ("query", "key", "value"))
        weights |= self.weights.layer(f"{theirs}.linear_1", f"{ours}.output")
        if model.positional_encoding.positions == "relative":
            distance = model.positional_encoding.relative_distance
            for part in ("keys", "values"):
                table = self.weights.take(f"{theirs}.relative_position_{part}")
                causal = ours.endswith("self_attention")  # of the decoder
                weights[f"{ours}.scoring.{part}"] = table[: distance + 1] if causal else table
        return weights

    def _apart(
        self, model: TransformerConfig, name: str, ours: str, parts: tuple[str, ...]
    ) -> dict[str, Tensor]:
        """Projections from the matrix in which they are joined."""
        heads, (width, _) = model.multi_head.heads, model.multi_head.head_widths(model.d_model)
        scope = name.rpartition(".")[0]
        groups = int(self.options.take(f"{scope}.num_heads_kv", default=0))
        projections: dict[str, Tensor] = {}
        for kind, tensor in self.weights.layer(name, "joined").items():
            rows = len(tensor) // width - ("query" in parts) * heads  # of keys and values
            read = groups or rows // 2
            sizes = [heads * width if part == "query" else read * width for part in parts]
            if sum(sizes) != len(tensor) or read < 1 or heads % read:
                raise DataError(
                    f"{self.options.where}: {name} has the shape {list(tensor.shape)}, which "
                    f"does not fit {heads} heads of width {width}"
                )
            for part, rows_of in zip(parts, tensor.split(sizes), strict=True):
                whole = rows_of
                if part != "query":
                    whole = repeat_heads(rows_of, read, heads // read, self.options.where)
                projections[f"{ours}.{part}.{kind.removeprefix('joined.')}"] = whole
        return projections


def _is_sinusoids(table: Tensor, timescales: Timescales, first: int, halves: bool) -> bool:
    """Whether a whole table holds sinusoids of this kind; in halves, all sines come first."""
    if timescales != "paper" and (table.shape[1] % 2 or table.shape[1] < 4):
        return False
    expected = sinusoids(len(table), table.shape[1], timescales, first).float()
    if halves:
        expected = expected[:, sines_first(table.shape[1])]
    return bool((table - expected).abs().max() <= _CLOSE)
