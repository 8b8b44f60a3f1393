"""Importing Transformers of Sockeye 3.

Hieber et al. 2022, "Sockeye 3: Fast Neural Machine Translation with PyTorch" (arXiv:2207.05851).  A
model is a directory with ``config``, ``params.best`` and one dictionary a side.  Its attention has
no biases, keys and values of a head are side by side, and all sines come before all cosines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.strict_yaml import StrictLoader
from dragoman.exchange.foreign_files import ForeignWeights, read_object, read_state, read_text
from dragoman.exchange.importer import ForeignModel, Importer, unsaid
from dragoman.exchange.piece_rows import PieceMatrices, vocabularies
from dragoman.exchange.splitting_files import numbered_sides
from dragoman.exchange.weight_layout import permute_width, sines_then_cosines
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.saved_config import SavedConfig
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
_BEAM, _PENALTY = 5, 1.0  # of sockeye-translate
_LARGEST_CONFIG = 2**20  # characters; a hundred times what one has


class SockeyeImporter(Importer):
    """Reads the directory of a model."""

    name = "sockeye"

    def recognises(self, path: Path) -> bool:
        """By the configuration and the dictionary of the source."""
        return all((path / name).is_file() for name in (_CONFIG_FILE, _DICTIONARIES[0]))

    def read(self, path: Path, languages: tuple[str | None, str | None]) -> ForeignModel:
        """See :meth:`Importer.read`."""
        settings = _Settings.read(path / _CONFIG_FILE)
        settings.check()
        dictionaries = _dictionary(path / _DICTIONARIES[0]), _dictionary(path / _DICTIONARIES[1])
        sides, notes = numbered_sides(
            path, dictionaries, (_SPECIAL, _SPECIAL), languages, path / _DICTIONARIES[0]
        )
        file = path / _WEIGHTS_FILE
        theirs = ForeignWeights(read_state(file), file)
        matrices = _matrices(theirs)
        matrices.check_rows((len(dictionaries[0]), len(dictionaries[1])), file)
        weights, found = matrices.ours(sides)
        tables = _position_tables(theirs, settings, matrices.source.shape[1])
        model = settings.model(found, len(tables[0]) if tables else None)
        for side, table in zip(("source", "target"), tables, strict=False):
            weights[f"{side}_embedding.positions.table"] = table / model.d_model**0.5
        weights |= _stack(theirs, model)
        left_out = _leave_out(theirs)
        theirs.check_all_taken()
        if not tables:
            weights = permute_width(weights, sines_then_cosines(model.d_model))
        version = (
            read_text(path / _VERSION_FILE).strip() if (path / _VERSION_FILE).is_file() else "3"
        )
        config = SavedConfig(
            source_language=languages[0] or "source",
            target_language=languages[1] or "target",
            model=model,
            search={"beam": _BEAM, "length_penalty": _PENALTY},
        )
        return ForeignModel(
            config=config,
            vocabularies=vocabularies(sides),
            weights=weights,
            origin=f"Sockeye {version:.20}, {path.resolve().name}",
            notes=(
                *unsaid(languages),
                *notes,
                *left_out,
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
        """The settings of a model.

        Raises:
            DataError: the file is missing, damaged or hostile, or of another program.
        """
        text = read_text(file)
        if len(text) > _LARGEST_CONFIG:
            raise DataError(f"{file}: too large for a configuration; is it another file?")
        try:
            found = yaml.load(text, _Loader)
        except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
            raise DataError(f"{file}: {' '.join(str(error).split()):.200}") from error
        if not isinstance(found, dict) or "config_encoder" not in found:
            raise DataError(f"{file}: no configuration of Sockeye 3, which has 'config_encoder'")
        return cls(found, file)

    def get(self, *path: str) -> Any:
        """A value by the names of its section and its own.

        Raises:
            DataError: it is missing.
        """
        value: Any = self.values
        for name in path:
            if not isinstance(value, dict) or name not in value:
                raise DataError(f"{self.where}: {'.'.join(path)} is missing")
            value = value[name]
        return value

    def both(self, name: str) -> Any:
        """A setting that encoder and decoder must have in common here.

        Raises:
            ConfigError: they differ.
        """
        found, other = self.get("config_encoder", name), self.get("config_decoder", name)
        if found != other:
            raise ConfigError(
                f"{self.where}: {name} of the encoder, {found!r:.40}, and of the decoder, "
                f"{other!r:.40}, differ; here both sides have the same"
            )
        return found

    def check(self) -> None:
        """Refuse what a Transformer here lacks.

        Early versions did not have all of these settings, which are off where they are missing.

        Raises:
            ConfigError: names it.
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
            found = section.get(name, value) if isinstance(section, dict) else section
            if found != value:
                raise ConfigError(
                    f"{self.where}: {'.'.join(path)}: {found!r:.80} is not known here, only {value}"
                )

    def one_of(self, name: str, choices: Mapping[Any, str], value: Any) -> str:
        """Our name of a choice.

        Raises:
            ConfigError: it is another.
        """
        try:
            return choices[value]
        except (KeyError, TypeError) as error:
            raise ConfigError(
                f"{self.where}: {name}: {value!r:.80} is not known here, only "
                + " or ".join(map(str, choices))
            ) from error

    def model(self, found: Mapping[str, Any], positions: int | None) -> TransformerConfig:
        """Our configuration of the same model.

        Args:
            found: settings that the weights tell.
            positions: number of learned positions; None if they are fixed.

        Raises:
            ConfigError: it has something that the Transformer here lacks.
            DataError: a value does not make sense.
        """
        order = (self.both("preprocess_sequence"), self.both("postprocess_sequence"))
        norm = self.one_of("preprocess_sequence and postprocess_sequence", _ORDERS, order)
        try:
            return TransformerConfig(
                encoder_layers=self.get("config_encoder", "num_layers"),
                decoder_layers=self.get("config_decoder", "num_layers"),
                d_model=self.both("model_size"),
                heads=self.both("attention_heads"),
                d_ff=self.both("feed_forward_num_hidden"),
                activation=self.one_of("act_type", _ACTIVATIONS, self.both("act_type")),
                norm=norm,
                norm_epsilon=1e-6,
                decoder_mixing=self.one_of(
                    "decoder_type", _DECODERS, self.get("config_decoder", "decoder_type")
                ),
                dropout=self.get("config_encoder", "dropout_prepost"),
                attention_dropout=self.get("config_encoder", "dropout_attention"),
                feed_forward_dropout=self.get("config_encoder", "dropout_act"),
                **({} if positions is None else _learned(positions)),
                **found,
            )
        except ValueError as error:
            raise DataError(f"{self.where}: {' '.join(str(error).split()):.300}") from error


def _learned(positions: int) -> dict[str, Any]:
    return {"positions": "learned", "max_positions": positions}


def _dictionary(file: Path) -> dict[str, int]:
    """Pieces and their numbers.

    Raises:
        DataError: the file is missing, damaged or no dictionary.
    """
    found = read_object(file)
    if any(type(number) is not int for number in found.values()) or sorted(found.values()) != list(
        range(len(found))
    ):
        raise DataError(f"{file}: its numbers are not 0, 1, 2 ..., each once")
    return found


def _matrices(theirs: ForeignWeights) -> PieceMatrices:
    source = theirs.take("embedding_source.embedding.weight")
    names = ("embedding_target.embedding.weight", "output_layer.weight")
    target, output = (theirs.take(name) for name in names)
    return PieceMatrices(source, target, output, theirs.take("output_layer.bias"))


def _position_tables(theirs: ForeignWeights, settings: _Settings, width: int) -> list[Tensor]:
    """Learned positions of both sides, equally many; none if they are fixed.

    The last one serves all targets that are longer, there too.
    """
    kind = settings.both("positional_embedding_type")
    kind = settings.one_of("positional_embedding_type", _POSITIONS, kind)
    names = [f"{side}.pos_embedding.weight" for side in ("encoder", "decoder")]
    if kind != "learned":
        theirs.ignore(names)  # computed here
        return []
    tables = [theirs.table(name, width) for name in names]
    most = max(map(len, tables))
    return [torch.cat([table, table[-1:].expand(most - len(table), -1)]) for table in tables]


def _stack(theirs: ForeignWeights, model: TransformerConfig) -> dict[str, Tensor]:
    """The weights of all layers, under our names."""
    found: dict[str, Tensor] = {}
    when, heads = model.residual.norm, model.multi_head.heads
    if when == "pre":
        for side in ("encoder", "decoder"):
            found |= theirs.layer(f"{side}.final_process.layer_norm", f"{side}_norm")
    for number in range(model.encoder_layers):
        name, ours = f"encoder.layers.{number}", f"encoder.{number}"
        found |= _rest(theirs, name, ours, [f"{when}_self_attention", f"{when}_ff"])
        found |= _self_attention(theirs, heads, f"{name}.self_attention", f"{ours}.attention")
    for number in range(model.decoder_layers):
        name, ours = f"decoder.layers.{number}", f"decoder.{number}"
        norms = [f"{when}_autoregr_layer", f"{when}_enc_attention", f"{when}_ff"]
        found |= _rest(theirs, name, ours, norms)
        own, mine = f"{name}.autoregr_layer", f"{ours}.self_attention"
        if model.mixing.decoder_mixing == "ssru":
            found |= theirs.layer(f"{own}.forget_gate", f"{mine}.forget", bias=True)
            found |= theirs.layer(f"{own}.linear", f"{mine}.candidate")
        else:
            found |= _self_attention(theirs, heads, own, mine)
        cross, mine = f"{name}.enc_attention", f"{ours}.cross_attention"
        found |= theirs.layer(f"{cross}.ff_q", f"{mine}.query")
        joined = theirs.take(f"{cross}.ff_kv.weight")
        found |= _keys_values(joined, heads, mine, theirs, f"{cross}.ff_kv.weight")
        found |= theirs.layer(f"{cross}.ff_out", f"{mine}.output")
    return found


def _rest(theirs: ForeignWeights, name: str, ours: str, norms: list[str]) -> dict[str, Tensor]:
    """The normalisations and the feed-forward sublayer of a layer."""
    found: dict[str, Tensor] = {}
    for place, norm in enumerate(norms):
        found |= theirs.layer(f"{name}.{norm}.layer_norm", f"{ours}.residuals.{place}.norm")
    found |= theirs.layer(f"{name}.ff.ff1", f"{ours}.feed_forward.inner", bias=True)
    return found | theirs.layer(f"{name}.ff.ff2", f"{ours}.feed_forward.outer", bias=True)


def _self_attention(theirs: ForeignWeights, heads: int, name: str, ours: str) -> dict[str, Tensor]:
    """Queries come first in the matrix of all projections, then keys and values."""
    joined = theirs.take(f"{name}.ff_in.weight")  # (3 * d_model, d_model)
    width = len(joined) // 3
    found = {f"{ours}.query.weight": joined[:width]}
    found |= _keys_values(joined[width:], heads, ours, theirs, f"{name}.ff_in.weight")
    return found | theirs.layer(f"{name}.ff_out", f"{ours}.output")


def _keys_values(
    joined: Tensor, heads: int, ours: str, theirs: ForeignWeights, name: str
) -> dict[str, Tensor]:
    """Both weights from one in which those of a head are side by side.

    Args:
        joined: ``(2 * d_model, d_model)``.
        heads: their number.
        ours: the attention's name here.
        theirs: all weights, for messages.
        name: that of the matrix, for messages.

    Raises:
        DataError: it has another shape.
    """
    if joined.dim() != 2 or len(joined) % (2 * heads):
        raise DataError(
            f"{theirs.where}: {name} has the shape {list(joined.shape)}, which does not fit "
            f"{heads} heads"
        )
    split = joined.view(heads, 2, -1, joined.shape[1])
    parts = {"key": split[:, 0], "value": split[:, 1]}
    return {f"{ours}.{part}.weight": one.flatten(0, 1) for part, one in parts.items()}


def _leave_out(theirs: ForeignWeights) -> list[str]:
    """Notes on parts that do not change the scores of pieces."""
    notes = []
    for prefix, what in (
        ("length_ratio.", "the predictor of lengths, which scores of pieces do not depend on"),
        ("nvs.", "the selection of target pieces, which only makes translation faster there"),
    ):
        if names := [name for name in theirs.names if name.startswith(prefix)]:
            theirs.ignore(names)
            notes.append(f"Left out: {what} ({prefix}*).")
    theirs.ignore(name for name in theirs.names if "traced" in name)  # copies, in early versions
    return notes
