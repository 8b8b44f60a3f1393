"""Transformers of CTranslate2 as ours, whatever toolkit they were converted from.

Klein et al. 2020, "Efficient and High-Quality Neural Machine Translation with OpenNMT".  Joined
matrices are taken apart, keys and values that several heads read alike are repeated, and positions
are recognised by their numbers.  What CTranslate2 has besides is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.wording import named
from dragoman.exchange.ctranslate2_files import BINARY_FILE, Binary
from dragoman.exchange.foreign_files import ForeignWeights
from dragoman.exchange.piece_rows import PieceMatrices
from dragoman.exchange.weight_layout import permute_width, repeat_heads, sines_then_cosines
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
_ORDERS = ("alternating", "sines first")


@dataclass
class Attributes:
    """The numbers of a model, which are taken one by one."""

    values: dict[str, float]
    where: Path
    taken: set[str] = field(default_factory=set)

    def take(self, *names: str, default: float) -> float:
        """The first of several attributes that is there; the others say the same.

        Args:
            names: of newer versions first.
            default: if none is there.
        """
        self.taken.update(names)
        return next((self.values[name] for name in names if name in self.values), default)

    def both(self, name: str, default: float) -> float:
        """An attribute that encoder and decoder must have in common here.

        Raises:
            ConfigError: they differ.
        """
        sides = [self.take(f"{side}.{name}", name, default=default) for side in _SIDES]
        if sides[0] != sides[1]:
            raise ConfigError(
                f"{self.where}: {name} of the encoder, {sides[0]:g}, and of the decoder, "
                f"{sides[1]:g}, differ; here both sides have the same"
            )
        return sides[0]

    def check_all_taken(self) -> None:
        """Refuse a model that has more than was taken.

        Raises:
            ConfigError: names it.
        """
        for name in _OFF:
            if self.values.get(name, 0):
                _refuse(self.where, name, self.values[name])
        known = {*self.taken, *_MEANINGLESS, *_OFF}
        for name in sorted(self.values.keys() - known):
            _refuse(self.where, name, self.values[name])


_SIDES = ("encoder", "decoder")


def _refuse(where: Path, name: str, value: float) -> NoReturn:
    raise ConfigError(f"{where}: {named([name])} ({value:g}) is not known here")


class CTranslate2Transformer:
    """The weights and settings of a model.

    Args:
        binary: content of ``model.bin``.
        epsilon: of normalisations; None if the configuration has none.
        directory: of the model, for messages.

    Raises:
        ConfigError: it is another kind of model.
    """

    def __init__(self, binary: Binary, epsilon: float | None, directory: Path) -> None:
        self.where = directory / BINARY_FILE
        if binary.specification not in _NAMES or not (
            _FIRST_REVISION <= binary.revision <= _LAST_REVISION
        ):
            raise ConfigError(
                f"{self.where}: {binary.specification:.80}, revision {binary.revision}, is not "
                "known here, only TransformerSpec, a Transformer that translates"
            )
        self._heads = _NAMES[binary.specification]
        self._weights = ForeignWeights(binary.tensors, self.where)
        self._numbers = Attributes(binary.numbers, self.where)
        self._flags_there = binary.flags
        self._epsilon = epsilon
        self.zero_start = bool(self._numbers.take("decoder.start_from_zero_embedding", default=0))
        self._flags = [
            bool(self._numbers.take(f"with_{name}", default=default))
            for name, default in (("source_bos", 0), ("source_eos", 0), ("target_bos", 1))
        ]

    @property
    def flags(self) -> tuple[bool, bool, bool]:
        """Whether sources begin and end with a symbol, and targets with their own begin symbol.

        Models of early versions say it here.
        """
        return self._flags[0], self._flags[1], self._flags[2]

    def matrices(self) -> PieceMatrices:
        """What it knows of each piece.

        Raises:
            ConfigError: sources have features besides their pieces.
            DataError: a matrix is missing.
        """
        names = [name for name in self._weights.names if name.startswith("encoder.embeddings_")]
        if any(not name.startswith("encoder.embeddings_0.") for name in names):
            raise ConfigError(f"{self.where}: source features are not known here")
        source = "encoder.embeddings_0.weight" if names else "encoder.embeddings.weight"
        projection = "decoder.projection"
        bias = f"{projection}.bias"
        return PieceMatrices(
            self._weights.take(source),
            self._weights.take("decoder.embeddings.weight"),
            self._weights.take(f"{projection}.weight"),
            self._weights.take(bias) if bias in self._weights else None,
        )

    def read(
        self, pieces: Mapping[str, Tensor], found: Mapping[str, Any]
    ) -> tuple[TransformerConfig, dict[str, Tensor]]:
        """Our configuration, and all weights under our names.

        Args:
            pieces: the embeddings, in the order of our vocabularies.
            found: settings that they tell.

        Raises:
            ConfigError: it has something that the Transformer here lacks.
            DataError: a weight is missing, or a number does not make sense.
        """
        d_model = pieces["source_embedding.weight"].shape[1]
        positions, tables, order = self._positions(d_model)
        scaled = self._scaled(d_model)
        settings = {**self._settings(d_model), **positions, **found, "scale_embeddings": scaled}
        try:
            model = TransformerConfig(**settings)
        except ValueError as error:
            raise DataError(f"{self.where}: {' '.join(str(error).split()):.300}") from error
        weights = {**pieces, **self._stack(model)}
        for side, table in tables.items():
            name = f"{side}_embedding.positions.table"
            weights[name] = table / (d_model**0.5 if scaled else 1)
        self._weights.check_all_taken()
        self._numbers.check_all_taken()
        if order is not None:
            weights = permute_width(weights, order)
        return model, weights

    def _settings(self, d_model: int) -> dict[str, Any]:
        """Sizes, and what layers are made of."""
        counts = [self._count(f"{side}.layer_") for side in _SIDES]
        heads = int(self._numbers.both("num_heads", self._heads))
        activation = int(self._numbers.both("activation", 0))
        if activation not in _ACTIVATIONS:
            _refuse(self.where, "activation", activation)
        name, gated = _ACTIVATIONS[activation], self._has("ffn.linear_0_noact.weight")
        if gated and (name != "swish" or self._has("ffn.linear_0.bias")):
            raise ConfigError(
                f"{self.where}: gated feed-forward by {name}, or with biases, is not known here, "
                "only by swish without biases"
            )
        pre = bool(self._numbers.both("pre_norm", 1))
        ends = {side: f"{side}.layer_norm.weight" in self._weights for side in _SIDES}
        if ends["encoder"] != ends["decoder"]:
            raise ConfigError(f"{self.where}: only one side ends with a normalisation")
        rms = not self._has("ffn.layer_norm.bias")
        usual = _RMS_EPSILON if rms else _EPSILON
        return {
            "encoder_layers": counts[0],
            "decoder_layers": counts[1],
            "d_model": d_model,
            "heads": heads,
            "d_k": self._head_width(heads, d_model),
            "d_v": self._head_width(heads, d_model),
            "d_ff": len(self._weights.take("encoder.layer_0.ffn.linear_0.weight")),
            "activation": "swiglu" if gated else name,
            "attention_bias": self._has("self_attention.linear_0.bias"),
            "norm": "pre" if pre else "post",
            "normalization": "rms" if rms else "layer",
            "norm_epsilon": usual if self._epsilon is None else self._epsilon,
            "final_norm": None if ends["encoder"] == pre else ends["encoder"],
        }

    def _count(self, prefix: str) -> int:
        """How many layers there are."""
        names = (name for name in self._weights.names if name.startswith(prefix))
        numbers = {name.removeprefix(prefix).split(".")[0] for name in names}
        return sum(number.isdecimal() for number in numbers)  # there is encoder.layer_norm, too

    def _has(self, name: str) -> bool:
        """Whether the first layer has a weight."""
        return f"encoder.layer_0.{name}" in self._weights

    def _head_width(self, heads: int, d_model: int) -> int | None:
        """Width of a head, if it is not the usual one."""
        names = [name for name in self._numbers.values if name.endswith(".head_dim")]
        found = {int(self._numbers.take(name, default=0)) for name in names}
        if len(found) > 1:
            raise ConfigError(f"{self.where}: heads of different widths are not known here")
        width = found.pop() if found else None
        return None if width is None or width * heads == d_model else width

    def _scaled(self, d_model: int) -> bool:
        """Whether embeddings are multiplied by the root of their width: a flag, or the factor."""
        sides = []
        for side, old in (("encoder", "encoder.embeddings"), ("decoder", "decoder.embeddings")):
            names = [f"{side}.scale_embeddings", f"{old}.multiply_by_sqrt_depth"]
            names.append(f"{side}.embeddings_0.multiply_by_sqrt_depth")
            there = next((name for name in names if name in self._numbers.values), None)
            value = self._numbers.take(*names, default=1)
            factor = d_model**0.5 if value else 1.0
            if there is not None and there not in self._flags_there:
                factor = value
            if abs(factor - 1) > 1e-3 and abs(factor - d_model**0.5) > 1e-3 * d_model**0.5:
                _refuse(self.where, names[0], value)
            sides.append(abs(factor - 1) > 1e-3)
        if sides[0] != sides[1]:
            raise ConfigError(f"{self.where}: embeddings of only one side are scaled")
        return sides[0]

    def _positions(self, d_model: int) -> tuple[dict[str, Any], dict[str, Tensor], Tensor | None]:
        """Our settings of positions, learned tables by side, and the order of the width."""
        if self._has("self_attention.relative_position_keys"):
            name = "encoder.layer_0.self_attention.relative_position_keys"
            distance = len(self._weights.take(name)) // 2
            return {"positions": "relative", "relative_distance": distance}, {}, None
        names = [f"{side}.position_encodings.encodings" for side in _SIDES]
        if not any(name in self._weights for name in names):  # those of tensor2tensor
            settings = {"timescales": "tensor2tensor", "first_position": 1}
            return settings, {}, sines_then_cosines(d_model)
        tables = [self._weights.table(name, d_model) for name in names]
        for timescales, first in _SINUSOIDS:
            for order in _ORDERS:
                if all(_is_sinusoids(table, timescales, first, order) for table in tables):
                    settings = {}
                    if timescales != "paper":
                        settings = {"timescales": timescales, "first_position": first}
                    permuted = None if order == _ORDERS[0] else sines_then_cosines(d_model)
                    return settings, {}, permuted
        count = min(map(len, tables))
        learned = {"positions": "learned", "max_positions": count}
        return learned, {"source": tables[0][:count], "target": tables[1][:count]}, None

    def _stack(self, model: TransformerConfig) -> dict[str, Tensor]:
        """The weights of all layers, under our names."""
        found: dict[str, Tensor] = {}
        if model.residual.ends_normalised:
            for side in _SIDES:
                found |= self._weights.layer(f"{side}.layer_norm", f"{side}_norm")
        for number in range(model.encoder_layers):
            name, ours = f"encoder.layer_{number}", f"encoder.{number}"
            found |= self._self_attention(model, f"{name}.self_attention", f"{ours}.attention", 0)
            found |= self._feed_forward(model, f"{name}.ffn", ours, 1)
        for number in range(model.decoder_layers):
            name, ours = f"decoder.layer_{number}", f"decoder.{number}"
            own, cross = f"{name}.self_attention", f"{name}.attention"
            found |= self._self_attention(model, own, f"{ours}.self_attention", 0, causal=True)
            mine = f"{ours}.cross_attention"
            found |= self._weights.layer(f"{cross}.layer_norm", f"{ours}.residuals.1.norm")
            found |= self._weights.layer(f"{cross}.linear_0", f"{mine}.query")
            found |= self._apart(model, f"{cross}.linear_1", mine, ("key", "value"))
            found |= self._weights.layer(f"{cross}.linear_2", f"{mine}.output")
            found |= self._feed_forward(model, f"{name}.ffn", ours, 2)
        return found

    def _self_attention(
        self, model: TransformerConfig, name: str, ours: str, place: int, *, causal: bool = False
    ) -> dict[str, Tensor]:
        """One attention within a sentence, with its normalisation and positions."""
        layer = ours.rpartition(".")[0]
        found = self._weights.layer(f"{name}.layer_norm", f"{layer}.residuals.{place}.norm")
        found |= self._apart(model, f"{name}.linear_0", ours, ("query", "key", "value"))
        found |= self._weights.layer(f"{name}.linear_1", f"{ours}.output")
        if model.positional_encoding.positions == "relative":
            distance = model.positional_encoding.relative_distance
            for part in ("keys", "values"):
                table = self._weights.take(f"{name}.relative_position_{part}")
                found[f"{ours}.scoring.{part}"] = table[: distance + 1] if causal else table
        return found

    def _apart(
        self, model: TransformerConfig, name: str, ours: str, parts: tuple[str, ...]
    ) -> dict[str, Tensor]:
        """Projections from the matrix in which they are joined."""
        heads, (width, _) = model.multi_head.heads, model.multi_head.head_widths(model.d_model)
        scope = name.rpartition(".")[0]
        groups = int(self._numbers.take(f"{scope}.num_heads_kv", default=0))
        found: dict[str, Tensor] = {}
        for kind, tensor in self._weights.layer(name, "joined").items():
            rows = len(tensor) // width - ("query" in parts) * heads  # of keys and values
            read = groups or rows // 2
            sizes = [heads * width if part == "query" else read * width for part in parts]
            if sum(sizes) != len(tensor) or read < 1 or heads % read:
                raise DataError(
                    f"{self.where}: {name} has the shape {list(tensor.shape)}, which does not fit "
                    f"{heads} heads of width {width}"
                )
            for part, rows_of in zip(parts, tensor.split(sizes), strict=True):
                whole = rows_of
                if part != "query":
                    whole = repeat_heads(rows_of, read, heads // read, self.where)
                found[f"{ours}.{part}.{kind.removeprefix('joined.')}"] = whole
        return found

    def _feed_forward(
        self, model: TransformerConfig, name: str, ours: str, place: int
    ) -> dict[str, Tensor]:
        """The last sublayer of a layer, with its normalisation."""
        found = self._weights.layer(f"{name}.layer_norm", f"{ours}.residuals.{place}.norm")
        if model.feed_forward.activation == "swiglu":
            parts = {"gate": "linear_0", "inner": "linear_0_noact", "outer": "linear_1"}
        else:
            parts = {"inner": "linear_0", "outer": "linear_1"}
        bias = model.feed_forward.activation != "swiglu"
        for part, linear in parts.items():
            found |= self._weights.layer(
                f"{name}.{linear}", f"{ours}.feed_forward.{part}", bias=bias
            )
        return found


def _is_sinusoids(table: Tensor, timescales: Timescales, first: int, order: str) -> bool:
    """Whether a table holds sinusoids of this kind, all of it."""
    if timescales != "paper" and (table.shape[1] % 2 or table.shape[1] < 4):
        return False
    expected = sinusoids(len(table), table.shape[1], timescales, first).float()
    if order != _ORDERS[0]:
        expected = torch.cat([expected[:, 0::2], expected[:, 1::2]], dim=1)
    return bool((table - expected).abs().max() <= _CLOSE)
