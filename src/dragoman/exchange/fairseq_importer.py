"""Importing Transformers of fairseq.

Ott et al. 2019, arXiv:1904.01038.  A checkpoint holds options and weights; ``dict.en.txt`` and the
like beside it are its dictionaries.  All sines come before all cosines, of tensor2tensor's
timescales and counted from 2 (the number of padding, plus 1), attention has biases, and outputs
begin with the symbol that ends them.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.foreign_files import ForeignWeights, read_text
from dragoman.exchange.foreign_options import ForeignOptions
from dragoman.exchange.importer import ForeignModel, Importer
from dragoman.exchange.pickled import read_pickled, tensors_in
from dragoman.exchange.piece_rows import PieceMatrices, vocabularies
from dragoman.exchange.splitting_files import numbered_sides
from dragoman.exchange.weight_layout import permute_width, sines_then_cosines
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.vocabularies.foreign_vocabulary import Special

_NAMES = ("model.pt", "checkpoint_best.pt", "checkpoint.pt", "checkpoint_last.pt")
_DICTIONARY = re.compile(r"dict\.(.+)\.txt")
_SPECIAL = Special("<pad>", "<unk>", "</s>", "</s>")
_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
"""What every dictionary begins with; their files leave it out."""
_FIRST_POSITION = 2
_ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "swish": "swish",
}
_ATTENTION = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
# What changes the function without a weight of its own; the values that are known here.
_REQUIRED: dict[str, tuple[object, ...]] = {
    "adaptive_softmax_cutoff": (None, ""),
    "adaptive_input": (False,),
    "no_cross_attention": (False,),
    "cross_self_attention": (False,),
    "char_inputs": (False,),
    "base_layers": (0,),
    "encoder_xformers_att_config": (None, ""),
    "decoder_xformers_att_config": (None, ""),
    "simul_type": (None, ""),
    # Pieces that name a language, which a task puts in front of sources or outputs.
    "encoder_langtok": (None, ""),
    "decoder_langtok": (False,),
    "prepend_bos": (False,),
}
_BEAM, _SHORTEST = 5, 1  # of fairseq-generate, with a length penalty of 1


class FairseqImporter(Importer):
    """Reads ``model.pt`` or ``checkpoint_best.pt`` with its dictionaries."""

    name = "fairseq"

    def recognises(self, path: Path) -> bool:
        """By dictionaries such as ``dict.en.txt`` beside a checkpoint."""
        directory = path.parent if path.is_file() else path
        checkpoint = path.suffix == ".pt" if path.is_file() else bool(_checkpoints(path))
        return checkpoint and bool(_dictionaries(directory))

    def read(self, path: Path, languages: tuple[str | None, str | None]) -> ForeignModel:
        """See :meth:`Importer.read`."""
        file = _checkpoint(path)
        checkpoint = _Checkpoint.read(file)
        options = checkpoint.options
        files = _files_of(file.parent, options, languages)
        source, target = (_DICTIONARY.fullmatch(one.name) for one in files)
        assert source is not None, "see _files_of"
        assert target is not None, "see _files_of"
        found = languages[0] or source[1], languages[1] or target[1]
        dictionaries = _read_dictionary(files[0]), _read_dictionary(files[1])
        sides, notes = numbered_sides(
            file.parent, dictionaries, (_SPECIAL, _SPECIAL), (source[1], target[1]), files[0]
        )
        theirs = ForeignWeights(checkpoint.tensors, file)
        matrices = _matrices(theirs)
        matrices.check_rows((len(dictionaries[0]), len(dictionaries[1])), file)
        weights, chosen = matrices.ours(sides)
        model = _config(options, theirs, matrices.source.shape[1], chosen)
        weights |= _stack(theirs, model)
        theirs.ignore(_meaningless(checkpoint.tensors))
        theirs.check_all_taken()
        if model.positional_encoding.positions == "sinusoidal":
            weights = permute_width(weights, sines_then_cosines(model.d_model))
        config = SavedConfig(
            source_language=found[0],
            target_language=found[1],
            model=model,
            search={"beam": _BEAM, "length_penalty": 1.0, "minimum_length": _SHORTEST},
        )
        return ForeignModel(
            config=config,
            vocabularies=vocabularies(sides),
            weights=weights,
            origin=f"fairseq, {file.name}",
            notes=(
                *notes,
                f"Search: beam {_BEAM}. There a hypothesis' log-probability is divided by |Y|, "
                "here by (5 + |Y|) / 6 (Wu et al. 2016), so that beam search may rank hypotheses "
                "otherwise; with beam 1 texts are the same.",
                "Unknown pieces are put out there, and here if search.allow_unknown is set.",
            ),
        )


class _Options(ForeignOptions):
    """What the model was trained with."""

    def alike(self, name: str, kind: type, default: Any) -> Any:
        """An option of encoder and decoder, which is one here.

        Raises:
            ConfigError: they differ.
            DataError: one is of another type.
        """
        ours, theirs = (
            self.of_type(f"{side}_{name}", kind, default) for side in ("encoder", "decoder")
        )
        if ours != theirs:
            raise ConfigError(
                f"{self.where}: options encoder_{name} ({ours}) and decoder_{name} ({theirs}) "
                "differ, which no family here can express"
            )
        return ours


@dataclass(frozen=True)
class _Checkpoint:
    """The parts of a file that are read."""

    options: _Options
    tensors: dict[str, Tensor]

    @classmethod
    def read(cls, file: Path) -> _Checkpoint:
        """A checkpoint with ``args``, or since 0.10 with ``cfg``.

        Raises:
            ConfigError: it has something that the Transformer here lacks.
            DataError: the file is missing or damaged, or no checkpoint of fairseq.
        """
        found = read_pickled(file)
        if not isinstance(found, dict) or not ({"args", "cfg"} & found.keys() and "model" in found):
            raise DataError(
                f"{file}: no checkpoint of fairseq, which has 'model', and 'args' or 'cfg'"
            )
        values: dict[str, Any] = {}
        config = found.get("cfg")
        if isinstance(config, dict):
            for part in (config.get("task"), config.get("model")):
                values |= {name: one for name, one in _named(part).items() if one is not None}
        values |= _named(found.get("args"))
        if not values:
            raise DataError(f"{file}: neither 'args' nor 'cfg' holds options")
        options = _Options(values, file)
        options.check(_REQUIRED)
        return cls(options, _split_projections(dict(tensors_in(found["model"], file)), file))


def _named(options: object) -> dict[str, Any]:
    """Options by name, whatever holds them."""
    if isinstance(options, Namespace):
        options = vars(options)
    return dict(options) if isinstance(options, dict) else {}


def _split_projections(tensors: dict[str, Tensor], file: Path) -> dict[str, Tensor]:
    """Queries, keys and values apart: until 0.8 they were one matrix.

    Raises:
        DataError: one has no three parts.
    """
    for name in [name for name in tensors if re.search(r"\.in_proj_(weight|bias)$", name)]:
        stem, _, kind = name.rpartition(".in_proj_")
        joined = tensors.pop(name)
        if not joined.dim() or len(joined) % 3:
            raise DataError(
                f"{file}: {name} has the shape {list(joined.shape)}, expected those of queries, "
                "keys and values in it; its files do not belong together"
            )
        for letter, part in zip("qkv", joined.tensor_split(3), strict=True):
            tensors[f"{stem}.{letter}_proj.{kind}"] = part.clone()
    return tensors


def _meaningless(tensors: Mapping[str, Tensor]) -> list[str]:
    """Versions, and the places where fixed positions were registered."""
    ends = (".version", ".embed_positions._float_tensor", ".embed_positions.weights")
    return [name for name in tensors if name.endswith(ends)]


def _checkpoints(directory: Path) -> list[Path]:
    named = [directory / name for name in _NAMES if (directory / name).is_file()]
    return named or sorted(directory.glob("*.pt"))


def _checkpoint(path: Path) -> Path:
    """The checkpoint of a directory.

    Raises:
        DataError: there is none, or several and none has a usual name.
    """
    if path.is_file():
        return path
    found = _checkpoints(path)
    if not found:
        raise DataError(f"{path}: no checkpoint of fairseq here, such as model.pt")
    if found[0].name not in _NAMES and len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise DataError(f"{path}: several models ({names}); name one of the files")
    return found[0]


def _dictionaries(directory: Path) -> list[Path]:
    return sorted(file for file in directory.glob("dict.*.txt") if _DICTIONARY.fullmatch(file.name))


def _files_of(
    directory: Path, options: _Options, languages: tuple[str | None, str | None]
) -> tuple[Path, Path]:
    """The dictionaries of source and target.

    Raises:
        DataError: one is missing, or nothing says which is which.
    """
    there = {
        match[1]: file
        for file in _dictionaries(directory)
        if (match := _DICTIONARY.fullmatch(file.name))
    }
    found: list[Path] = []
    for place, side in enumerate(("source", "target")):
        asked = [languages[place], options.of_type(f"{side}_lang", str, "")]
        if (name := next((one for one in asked if one in there), None)) is None and not any(asked):
            listed = ", ".join(there) or "none"
            raise DataError(
                f"{directory}: nothing says which language is the {side} (dictionaries here: "
                f"{listed}); add --from-language and --to-language"
            )
        if name is None:
            wanted = next(one for one in asked if one)
            raise DataError(f"{directory}: no dictionary dict.{wanted}.txt of the {side}")
        found.append(there[name])
    return found[0], found[1]


def _read_dictionary(path: Path) -> dict[str, int]:
    """Pieces and their numbers: a line for each, with its count.

    A line with the flag of fairseq gives its piece a new row; the one before stays, as a piece that
    no text has.  Special pieces keep theirs.

    Raises:
        DataError: a line is not of that form, or a piece is there twice.
    """
    ids = {piece: number for number, piece in enumerate(_FIRST)}
    for number, line in enumerate(read_text(path).rstrip("\n").split("\n"), start=1):
        piece, _, count = line.rstrip().removesuffix(" #fairseq:overwrite").rpartition(" ")
        if not piece or not count.isdecimal():
            raise DataError(f"{path}: line {number}: {line[:60]!r} is no piece with its count")
        if piece in ids and not line.rstrip().endswith("#fairseq:overwrite"):
            raise DataError(f"{path}: line {number}: {piece[:60]!r} is there twice")
        row, before = len(ids), ids.get(piece)
        if before is not None:
            unused = row if piece in _FIRST else before
            ids[f"overwritten{unused}"] = unused
        if before is None or piece not in _FIRST:
            ids[piece] = row
    return ids


def _matrices(theirs: ForeignWeights) -> PieceMatrices:
    source = theirs.take("encoder.embed_tokens.weight")
    target = theirs.take("decoder.embed_tokens.weight")
    names = ("decoder.output_projection.weight", "decoder.embed_out")
    name = next((one for one in names if one in theirs), None)
    return PieceMatrices(source, target, target if name is None else theirs.take(name), None)


def _config(
    options: _Options, theirs: ForeignWeights, d_model: int, chosen: Mapping[str, Any]
) -> TransformerConfig:
    """Our configuration of the same model.

    Raises:
        ConfigError: it has something that the Transformer here lacks.
        DataError: an option does not make sense.
    """
    activation = options.of_type("activation_fn", str, "relu")
    if activation not in _ACTIVATIONS:
        raise ConfigError(
            f"{options.where}: option activation_fn: {activation!r:.80} is not known here, only "
            + " or ".join(_ACTIVATIONS)
        )
    norm = "pre" if options.alike("normalize_before", bool, False) else "post"
    try:
        return TransformerConfig(
            encoder_layers=options.of_type("encoder_layers", int, 6),
            decoder_layers=options.of_type("decoder_layers", int, 6),
            d_model=d_model,
            heads=options.alike("attention_heads", int, 8),
            d_ff=options.alike("ffn_embed_dim", int, 2048),
            activation=_ACTIVATIONS[activation],
            attention_bias=True,
            norm=norm,
            final_norm=_ends_normalised(theirs, options.where, norm),
            scale_embeddings=not options.of_type("no_scale_embedding", bool, False),
            dropout=options.of_type("dropout", float, 0.1),
            attention_dropout=options.of_type("attention_dropout", float, 0.0),
            feed_forward_dropout=options.of_type(
                "activation_dropout", float, options.get("relu_dropout", 0.0)
            ),
            **_positions(options, theirs),
            **chosen,
        )
    except ValueError as error:
        raise DataError(f"{options.where}: {' '.join(str(error).split()):.300}") from error


def _ends_normalised(theirs: ForeignWeights, where: Path, norm: str) -> bool | None:
    """Whether stacks end with a normalisation, if that is not the default.

    Raises:
        ConfigError: only one of them does.
    """
    ends = [f"{side}.layer_norm.weight" in theirs for side in ("encoder", "decoder")]
    if ends[0] != ends[1]:
        raise ConfigError(
            f"{where}: only one of encoder and decoder ends with a normalisation, which no family "
            "here can express"
        )
    return None if ends[0] == (norm == "pre") else ends[0]


def _positions(options: _Options, theirs: ForeignWeights) -> dict[str, Any]:
    if options.of_type("no_token_positional_embeddings", bool, False):
        return {"positions": "none"}
    if not options.alike("learned_pos", bool, False):
        return {
            "positions": "sinusoidal",
            "timescales": "tensor2tensor",
            "first_position": _FIRST_POSITION,
        }
    sides = [f"{side}.embed_positions.weight" for side in ("encoder", "decoder")]
    shortest = min(len(theirs.take(name)) for name in sides) - _FIRST_POSITION
    return {"positions": "learned", "max_positions": shortest}


def _stack(theirs: ForeignWeights, model: TransformerConfig) -> dict[str, Tensor]:
    """Layers, learned positions and final normalisations."""
    weights: dict[str, Tensor] = {}
    for side, count in (("encoder", model.encoder_layers), ("decoder", model.decoder_layers)):
        for number in range(count):
            weights |= _layer(theirs, side, number)
        if model.residual.ends_normalised:
            weights |= theirs.layer(f"{side}.layer_norm", f"{side}_norm")
    if (limit := model.position_limit) is not None:
        scale = model.embedding.scale(model.d_model)
        for side, ours in (("encoder", "source"), ("decoder", "target")):
            table = theirs.take(f"{side}.embed_positions.weight")
            table = table[_FIRST_POSITION : _FIRST_POSITION + limit]
            weights[f"{ours}_embedding.positions.table"] = torch.div(table, scale)
    return weights


def _layer(theirs: ForeignWeights, side: str, number: int) -> dict[str, Tensor]:
    """The parts of a layer, under our names."""
    there, here = f"{side}.layers.{number}", f"{side}.{number}"
    norms = ["self_attn_layer_norm", "final_layer_norm"]
    attention = {"self_attn": "attention" if side == "encoder" else "self_attention"}
    if side == "decoder":
        norms.insert(1, "encoder_attn_layer_norm")
        attention["encoder_attn"] = "cross_attention"
    weights: dict[str, Tensor] = {}
    for name, ours in attention.items():
        for part, projection in _ATTENTION.items():
            weights |= theirs.layer(
                f"{there}.{name}.{projection}", f"{here}.{ours}.{part}", bias=True
            )
    weights |= theirs.layer(f"{there}.fc1", f"{here}.feed_forward.inner", bias=True)
    weights |= theirs.layer(f"{there}.fc2", f"{here}.feed_forward.outer", bias=True)
    for place, name in enumerate(norms):
        weights |= theirs.layer(f"{there}.{name}", f"{here}.residuals.{place}.norm", bias=True)
    return weights
