"""Importing Transformers of fairseq.

Ott et al. 2019, arXiv:1904.01038.  A checkpoint holds options and weights.  Its dictionaries are
files beside it, such as ``dict.en.txt``.  All sines come before all cosines, with tensor2tensor's
timescales, and positions count from 2 (the number of padding, plus 1).  Attention has biases, and
outputs begin with the end symbol.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.foreign_files import ForeignOptions, ForeignWeights, read_text
from dragoman.exchange.foreign_transformer import (
    FAIRSEQ,
    SIDES,
    ForeignTransformer,
    PieceMatrices,
    Positions,
)
from dragoman.exchange.interface import ForeignModel, Importer, Languages
from dragoman.exchange.pickled import read_pickled, tensors_in
from dragoman.exchange.splitting_files import numbered_sides
from dragoman.text.vocabularies.foreign_vocabulary import Special

_NAMES = ("model.pt", "checkpoint_best.pt", "checkpoint.pt", "checkpoint_last.pt")
_DICTIONARY = re.compile(r"dict\.(.+)\.txt")
_SPECIAL = Special("<pad>", "<unk>", "</s>", "</s>")
_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
"""The first pieces of every dictionary; its file leaves them out."""
_FIRST_POSITION = 2
_ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "swish": "swish",
}
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

    @override
    def recognises(self, path: Path) -> bool:
        # By dictionaries such as dict.en.txt beside a checkpoint.
        directory = path.parent if path.is_file() else path
        checkpoint = path.suffix == ".pt" if path.is_file() else bool(_checkpoints(path))
        return checkpoint and bool(_dictionaries(directory))

    @override
    def read(self, path: Path, languages: Languages) -> ForeignModel:
        file = _checkpoint(path)
        options, tensors = _read(file)
        own = _languages(file.parent, options, languages)
        files = [_dictionaries(file.parent)[language] for language in own]
        dictionaries = _read_dictionary(files[0]), _read_dictionary(files[1])
        sides = numbered_sides(file.parent, dictionaries, (_SPECIAL, _SPECIAL), own, files[0])
        theirs = _FairseqTransformer(ForeignWeights(tensors, file), sides, options)
        return theirs.imported(
            (languages[0] or own[0], languages[1] or own[1]),
            origin=f"fairseq, {file.name}",
            search={"beam": _BEAM, "length_penalty": 1.0, "minimum_length": _SHORTEST},
            notes=(
                f"Search: beam {_BEAM}. There a hypothesis' log-probability is divided by |Y|, "
                "here by (5 + |Y|) / 6 (Wu et al. 2016), so that beam search may rank hypotheses "
                "otherwise; with beam 1 texts are the same.",
                "Unknown pieces are put out there, and here if search.allow_unknown is set.",
            ),
        )


class _Options(ForeignOptions):
    """The options that the model was trained with."""

    def alike(self, name: str, kind: type, default: Any) -> Any:
        """An option of encoder and decoder, which is one here."""
        ours, theirs = (self.of_type(f"{side}_{name}", kind, default) for side in SIDES)
        if ours != theirs:
            raise ConfigError(
                f"{self.where}: options encoder_{name} ({ours}) and decoder_{name} ({theirs}) "
                "differ, which no family here can express"
            )
        return ours


def _read(file: Path) -> tuple[_Options, dict[str, Tensor]]:
    """Options, in ``args`` or since 0.10 in ``cfg``, and weights."""
    checkpoint = read_pickled(file)
    if not isinstance(checkpoint, dict) or not (
        {"args", "cfg"} & checkpoint.keys() and "model" in checkpoint
    ):
        raise DataError(f"{file}: no checkpoint of fairseq, which has 'model', and 'args' or 'cfg'")
    values: dict[str, Any] = {}
    config = checkpoint.get("cfg")
    if isinstance(config, dict):
        for section in (config.get("task"), config.get("model")):
            values |= {name: value for name, value in _named(section).items() if value is not None}
    values |= _named(checkpoint.get("args"))
    if not values:
        raise DataError(f"{file}: neither 'args' nor 'cfg' holds options")
    options = _Options(values, file)
    options.check(_REQUIRED)
    return options, _split_projections(dict(tensors_in(checkpoint["model"], file)), file)


def _named(options: object) -> dict[str, Any]:
    """Options by name, whatever holds them."""
    if isinstance(options, Namespace):
        options = vars(options)
    return dict(options) if isinstance(options, dict) else {}


def _split_projections(tensors: dict[str, Tensor], file: Path) -> dict[str, Tensor]:
    """Queries, keys and values apart: until 0.8 they were one matrix."""
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


def _checkpoints(directory: Path) -> list[Path]:
    named = [directory / name for name in _NAMES if (directory / name).is_file()]
    return named or sorted(directory.glob("*.pt"))


def _checkpoint(path: Path) -> Path:
    """The checkpoint of a directory."""
    if path.is_file():
        return path
    files = _checkpoints(path)
    if not files:
        raise DataError(f"{path}: no checkpoint of fairseq here, such as model.pt")
    if files[0].name not in _NAMES and len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise DataError(f"{path}: several models ({names}); name one of the files")
    return files[0]


def _dictionaries(directory: Path) -> dict[str, Path]:
    """Dictionaries by language."""
    return {
        match[1]: file
        for file in sorted(directory.glob("dict.*.txt"))
        if (match := _DICTIONARY.fullmatch(file.name))
    }


def _languages(directory: Path, options: _Options, languages: Languages) -> tuple[str, str]:
    """The languages of source and target, as the dictionaries call them."""
    there = _dictionaries(directory)
    known: list[str] = []
    for given, side in zip(languages, ("source", "target"), strict=True):
        wanted = [name for name in (given, options.of_type(f"{side}_lang", str, "")) if name]
        if not wanted:
            listed = ", ".join(there) or "none"
            raise DataError(
                f"{directory}: nothing says which language is the {side} (dictionaries here: "
                f"{listed}); add --from-language and --to-language"
            )
        name = next((name for name in wanted if name in there), None)
        if name is None:
            raise DataError(f"{directory}: no dictionary dict.{wanted[0]}.txt of the {side}")
        known.append(name)
    return known[0], known[1]


def _read_dictionary(path: Path) -> dict[str, int]:
    """Pieces and their numbers: a line for each, with its count.

    A line with the flag of fairseq gives its piece a new row.  The former row stays, as a piece
    that no text has.  Special pieces keep their rows.
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


@dataclass
class _FairseqTransformer(ForeignTransformer):
    options: _Options

    names = FAIRSEQ
    zero_biases = True

    @override
    def matrices(self) -> PieceMatrices:
        source = self.weights.take("encoder.embed_tokens.weight")
        target = self.weights.take("decoder.embed_tokens.weight")
        names = ("decoder.output_projection.weight", "decoder.embed_out")
        name = next((name for name in names if name in self.weights), None)
        return PieceMatrices(source, target, target if name is None else self.weights.take(name))

    @override
    def settings(self, d_model: int) -> dict[str, Any]:
        options = self.options
        activation = options.ours("activation_fn", _ACTIVATIONS, "relu")
        norm = "pre" if options.alike("normalize_before", bool, False) else "post"
        relu_dropout = options.get("relu_dropout", 0.0)
        return {
            "encoder_layers": options.of_type("encoder_layers", int, 6),
            "decoder_layers": options.of_type("decoder_layers", int, 6),
            "d_model": d_model,
            "heads": options.alike("attention_heads", int, 8),
            "d_ff": options.alike("ffn_embed_dim", int, 2048),
            "activation": activation,
            "attention_bias": True,
            "norm": norm,
            "final_norm": self._ends_normalised(norm),
            "scale_embeddings": not options.of_type("no_scale_embedding", bool, False),
            "normalize_embeddings": self.normalizes_embeddings(),
            "dropout": options.of_type("dropout", float, 0.1),
            "attention_dropout": options.of_type("attention_dropout", float, 0.0),
            "feed_forward_dropout": options.of_type("activation_dropout", float, relu_dropout),
        }

    def _ends_normalised(self, norm: str) -> bool | None:
        """Whether stacks end with a normalisation, if that is not the default."""
        ends = [f"{side}.layer_norm.weight" in self.weights for side in SIDES]
        if ends[0] != ends[1]:
            raise ConfigError(
                f"{self.options.where}: only one of encoder and decoder ends with a normalisation, "
                "which no family here can express"
            )
        return None if ends[0] == (norm == "pre") else ends[0]

    @override
    def positions(self, d_model: int) -> Positions:
        if self.options.of_type("no_token_positional_embeddings", bool, False):
            return Positions({"positions": "none"})
        if not self.options.alike("learned_pos", bool, False):
            settings = {"timescales": "tensor2tensor", "first_position": _FIRST_POSITION}
            return Positions({"positions": "sinusoidal", **settings}, sines_first=True)
        tables = [self.weights.take(f"{side}.embed_positions.weight") for side in SIDES]
        end = min(map(len, tables))
        settings = {"positions": "learned", "max_positions": end - _FIRST_POSITION}
        return Positions(settings, [table[_FIRST_POSITION:end] for table in tables])

    @override
    def leave_out(self) -> Sequence[str]:
        # Versions, and the places where fixed positions were registered.
        ends = (".version", ".embed_positions._float_tensor", ".embed_positions.weights")
        self.weights.ignore(name for name in self.weights.names if name.endswith(ends))
        return ()
