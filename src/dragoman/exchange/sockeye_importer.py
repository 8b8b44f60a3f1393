"""Importing Transformers of Sockeye 3.

Hieber et al. 2022, "Sockeye 3: Fast Neural Machine Translation with PyTorch" (arXiv:2207.05851).  A
model is a directory with ``config``, ``params.best`` and one dictionary a side.  Its attention has
no biases, keys and values of a head are side by side, and all sines come before all cosines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.strict_yaml import StrictLoader
from dragoman.exchange.foreign_files import (
    ForeignWeights,
    numbered_from_zero,
    read_state,
    read_text,
)
from dragoman.exchange.foreign_transformer import (
    SIDES,
    ForeignTransformer,
    LayerNames,
    PieceMatrices,
    Positions,
)
from dragoman.exchange.interface import ForeignModel, Importer, Languages
from dragoman.exchange.splitting_files import numbered_sides
from dragoman.models.families.transformer import TransformerConfig
from dragoman.text.vocabularies.foreign_vocabulary import Special

_CONFIG_FILE, _WEIGHTS_FILE, _VERSION_FILE = "config", "params.best", "version"
_DICTIONARIES = ("vocab.src.0.json", "vocab.trg.0.json")
_SPECIAL = Special("<pad>", "<unk>", "<s>", "</s>")
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish1": "swish"}
_POSITIONS = {"fixed": "sinusoidal", "learned": "learned"}
_DECODERS = {"transformer": "self_attention", "ssru_transformer": "ssru"}
# Where a layer is normalised: what is done before a sublayer, and after it (n: normalisation, d:
# dropout, r: residual sum).
_ORDERS = {("n", "dr"): "pre", ("", "drn"): "post"}
_NAMES = {
    norm: LayerNames(
        attention="self_attention",
        self_attention="autoregr_layer",
        cross_attention="enc_attention",
        projections={},  # joined, see attention()
        feed_forward={"inner": "ff.ff1", "outer": "ff.ff2"},
        encoder_norms=(f"{norm}_self_attention.layer_norm", f"{norm}_ff.layer_norm"),
        decoder_norms=(
            f"{norm}_autoregr_layer.layer_norm",
            f"{norm}_enc_attention.layer_norm",
            f"{norm}_ff.layer_norm",
        ),
        final_norm="{side}.final_process.layer_norm",
    )
    for norm in ("pre", "post")
}
_BEAM, _PENALTY = 5, 1.0  # of sockeye-translate
_LARGEST_CONFIG = 2**20  # characters; a hundred times what one has


class SockeyeImporter(Importer):
    """Reads the directory of a model."""

    name = "sockeye"

    @override
    def recognises(self, path: Path) -> bool:
        return all((path / name).is_file() for name in (_CONFIG_FILE, _DICTIONARIES[0]))

    @override
    def read(self, path: Path, languages: Languages) -> ForeignModel:
        settings = _Settings.read(path / _CONFIG_FILE)
        settings.check()
        dictionaries = _dictionary(path / _DICTIONARIES[0]), _dictionary(path / _DICTIONARIES[1])
        where = path / _DICTIONARIES[0]
        sides = numbered_sides(path, dictionaries, (_SPECIAL, _SPECIAL), languages, where)
        file, version = path / _WEIGHTS_FILE, path / _VERSION_FILE
        theirs = _SockeyeTransformer(ForeignWeights(read_state(file), file), sides, settings)
        number = read_text(version).strip() if version.is_file() else "3"
        return theirs.imported(
            languages,
            origin=f"Sockeye {number:.20}, {path.resolve().name}",
            search={"beam": _BEAM, "length_penalty": _PENALTY},
            notes=(
                f"Search: beam {_BEAM}. sockeye-translate divides a hypothesis' log-probability by "
                f"|Y| by default, here by ((5 + |Y|) / 6)^{_PENALTY:g} (Wu et al. 2016), so that "
                "beam search may rank hypotheses otherwise; with beam 1 texts are the same.",
                "Unknown pieces are put out there, and here if search.allow_unknown is set.",
            ),
        )


class _Loader(StrictLoader):
    """YAML whose tags only name the classes of Sockeye, of which nothing is made."""


def _mapping(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[Any, Any]:
    if not isinstance(node, yaml.MappingNode):
        raise yaml.constructor.ConstructorError(None, None, f"!{suffix} is no mapping")
    return loader.construct_mapping(node, deep=True)


def _tuple(loader: yaml.SafeLoader, node: yaml.SequenceNode) -> tuple[Any, ...]:
    return tuple(loader.construct_sequence(node))


_Loader.add_multi_constructor("!", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:python/tuple", _tuple)


@dataclass(frozen=True)
class _Settings:
    """The file ``config``."""

    values: dict[str, Any]
    where: Path

    @classmethod
    def read(cls, file: Path) -> _Settings:
        """The settings of a model."""
        text = read_text(file)
        if len(text) > _LARGEST_CONFIG:
            raise DataError(f"{file}: too large for a configuration; is it another file?")
        try:
            values = yaml.load(text, _Loader)
        except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
            raise DataError(f"{file}: {' '.join(str(error).split()):.200}") from error
        if not isinstance(values, dict) or "config_encoder" not in values:
            raise DataError(f"{file}: no configuration of Sockeye 3, which has 'config_encoder'")
        return cls(values, file)

    def get(self, *path: str) -> Any:
        """A value by the names of its section and its own."""
        value: Any = self.values
        for name in path:
            if not isinstance(value, dict) or name not in value:
                raise DataError(f"{self.where}: {'.'.join(path)} is missing")
            value = value[name]
        return value

    def both(self, name: str) -> Any:
        """A setting that encoder and decoder must have in common here."""
        encoder, decoder = (self.get(f"config_{side}", name) for side in SIDES)
        if encoder != decoder:
            raise ConfigError(
                f"{self.where}: {name} of the encoder, {encoder!r:.40}, and of the decoder, "
                f"{decoder!r:.40}, differ; here both sides have the same"
            )
        return encoder

    def check(self) -> None:
        """Refuse what a Transformer here lacks.

        Early versions did not have all of these settings, which are off where they are missing.
        """
        known: tuple[tuple[tuple[str, ...], object], ...] = (
            (("config_data", "num_source_factors"), 1),
            (("config_data", "num_target_factors"), 1),
            (("lhuc",), False),
            (("config_encoder", "use_glu"), False),
            (("config_decoder", "use_glu"), False),
            (("config_encoder", "use_lhuc"), False),
            (("config_decoder", "use_lhuc"), False),
            (("config_decoder", "block_prepended_cross_attention"), False),
        )
        for path, value in known:
            *sections, name = path
            section = self.get(*sections)
            given = section.get(name, value) if isinstance(section, dict) else section
            if given != value:
                raise ConfigError(
                    f"{self.where}: {'.'.join(path)}: {given!r:.80} is not known here, only {value}"
                )

    def one_of(self, name: str, choices: Mapping[Any, str], value: Any) -> str:
        """Our name of a choice."""
        try:
            return choices[value]
        except (KeyError, TypeError) as error:
            raise ConfigError(
                f"{self.where}: {name}: {value!r:.80} is not known here, only "
                + " or ".join(map(str, choices))
            ) from error


def _dictionary(file: Path) -> dict[str, int]:
    """Pieces and their numbers."""
    ids = numbered_from_zero(file)
    if ids is None:
        raise DataError(f"{file}: its numbers are not 0, 1, 2 ..., each once")
    return ids


@dataclass
class _SockeyeTransformer(ForeignTransformer):
    options: _Settings

    @property
    @override
    def names(self) -> LayerNames:
        return _NAMES[self._norm]

    @property
    def _norm(self) -> str:
        order = self.options.both("preprocess_sequence"), self.options.both("postprocess_sequence")
        return self.options.one_of("preprocess_sequence and postprocess_sequence", _ORDERS, order)

    @override
    def matrices(self) -> PieceMatrices:
        source = self.weights.take("embedding_source.embedding.weight")
        names = ("embedding_target.embedding.weight", "output_layer.weight", "output_layer.bias")
        return PieceMatrices(source, *map(self.weights.take, names))

    @override
    def settings(self, d_model: int) -> dict[str, Any]:
        get, both, one_of = self.options.get, self.options.both, self.options.one_of
        return {
            "encoder_layers": get("config_encoder", "num_layers"),
            "decoder_layers": get("config_decoder", "num_layers"),
            "d_model": both("model_size"),
            "heads": both("attention_heads"),
            "d_ff": both("feed_forward_num_hidden"),
            "activation": one_of("act_type", _ACTIVATIONS, both("act_type")),
            "norm": self._norm,
            "norm_epsilon": 1e-6,
            "decoder_mixing": one_of(
                "decoder_type", _DECODERS, get("config_decoder", "decoder_type")
            ),
            "dropout": get("config_encoder", "dropout_prepost"),
            "attention_dropout": get("config_encoder", "dropout_attention"),
            "feed_forward_dropout": get("config_encoder", "dropout_act"),
        }

    @override
    def positions(self, d_model: int) -> Positions:
        kind = self.options.both("positional_embedding_type")
        kind = self.options.one_of("positional_embedding_type", _POSITIONS, kind)
        names = [f"{side}.pos_embedding.weight" for side in SIDES]
        if kind != "learned":
            self.weights.ignore(names)  # computed here
            return Positions({}, sines_first=True)
        tables = [self.weights.table(name, d_model) for name in names]
        most = max(map(len, tables))
        # The last position serves all targets that are longer, there too.
        longest = [torch.cat([rows, rows[-1:].expand(most - len(rows), -1)]) for rows in tables]
        return Positions({"positions": "learned", "max_positions": most}, longest)

    @override
    def attention(self, model: TransformerConfig, theirs: str, ours: str) -> dict[str, Tensor]:
        if model.mixing.decoder_mixing == "ssru" and ours.endswith("self_attention"):
            forget = self.weights.layer(f"{theirs}.forget_gate", f"{ours}.forget", bias=True)
            return forget | self.weights.layer(f"{theirs}.linear", f"{ours}.candidate")
        weights = self.weights.layer(f"{theirs}.ff_out", f"{ours}.output")
        heads = model.multi_head.heads
        if ours.endswith("cross_attention"):
            weights |= self.weights.layer(f"{theirs}.ff_q", f"{ours}.query")
            name = f"{theirs}.ff_kv.weight"
            return weights | self._keys_values(self.weights.take(name), heads, ours, name)
        name = f"{theirs}.ff_in.weight"
        joined = self.weights.take(name)  # (3 * d_model, d_model): queries come first
        width = len(joined) // 3
        weights[f"{ours}.query.weight"] = joined[:width]
        return weights | self._keys_values(joined[width:], heads, ours, name)

    def _keys_values(self, joined: Tensor, heads: int, ours: str, name: str) -> dict[str, Tensor]:
        """Both weights from a matrix in which those of a head are side by side.

        Args:
            joined: ``(2 * d_model, d_model)``.
            heads: their number.
            ours: the attention's name here.
            name: that of the matrix, for messages.
        """
        if joined.dim() != 2 or len(joined) % (2 * heads):
            raise DataError(
                f"{self.weights.where}: {name} has the shape {list(joined.shape)}, which does not "
                f"fit {heads} heads"
            )
        split = joined.view(heads, 2, -1, joined.shape[1])
        parts = {"key": split[:, 0], "value": split[:, 1]}
        return {f"{ours}.{part}.weight": rows.flatten(0, 1) for part, rows in parts.items()}

    @override
    def leave_out(self) -> Sequence[str]:
        notes = []
        for prefix, what in (
            ("length_ratio.", "the predictor of lengths, which scores of pieces do not depend on"),
            ("nvs.", "the selection of target pieces, which only makes translation faster there"),
        ):
            if names := [name for name in self.weights.names if name.startswith(prefix)]:
                self.weights.ignore(names)
                notes.append(f"Left out: {what} ({prefix}*).")
        # Copies, in early versions.
        self.weights.ignore(name for name in self.weights.names if "traced" in name)
        return notes
