"""Importing Transformers of JoeyNMT 2.

Kreutzer et al. 2019, arXiv:1907.12484.  A directory holds ``config.yaml``, checkpoints such as
``best.ckpt``, lists of pieces and what splits text into them.  Positions are the paper's, attention
has biases, and the epsilon of normalisation is 1e-6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from typing_extensions import override

from dragoman.core.config import read_yaml
from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.foreign_files import ForeignOptions, ForeignWeights, read_bytes, read_text
from dragoman.exchange.foreign_transformer import (
    ForeignSides,
    ForeignTransformer,
    LayerNames,
    PieceMatrices,
)
from dragoman.exchange.interface import ForeignModel, Importer, Languages
from dragoman.exchange.pickled import read_pickled, tensors_in
from dragoman.text.vocabularies.foreign_vocabulary import (
    Numbered,
    Special,
    dictionary_over_sentencepiece,
    dictionary_over_words,
    subword_nmt,
    words_splitting,
)

_CONFIG = "config.yaml"
_NAMES = ("best.ckpt", "latest.ckpt")
_SIDES = ("src", "trg")
_EPSILON = 1e-6
_REQUIRED: dict[str, tuple[object, ...]] = {
    "alpha": (1.0,),
    "activation": ("relu", "gelu", "swish"),
}
_LAYER_NAMES = LayerNames(
    attention="src_src_att",
    self_attention="trg_trg_att",
    cross_attention="src_trg_att",
    projections={
        "query": "q_layer",
        "key": "k_layer",
        "value": "v_layer",
        "output": "output_layer",
    },
    feed_forward={
        "inner": "feed_forward.pwff_layer.0",
        "outer": "feed_forward.pwff_layer.3",
    },
    encoder_norms=("layer_norm", "feed_forward.layer_norm"),
    decoder_norms=("x_layer_norm", "dec_layer_norm", "feed_forward.layer_norm"),
)


class JoeynmtImporter(Importer):
    """Reads a directory that JoeyNMT has trained in, or one of its checkpoints."""

    name = "joeynmt"

    @override
    def recognises(self, path: Path) -> bool:
        # By config.yaml beside a checkpoint that ends in .ckpt.
        directory = path.parent if path.is_file() else path
        checkpoint = path.suffix == ".ckpt" if path.is_file() else any(path.glob("*.ckpt"))
        return checkpoint and (directory / _CONFIG).is_file()

    @override
    def read(self, path: Path, languages: Languages) -> ForeignModel:
        file = _checkpoint(path)
        options = _Section(read_yaml(file.parent / _CONFIG), file.parent / _CONFIG)
        data = options.section("data")
        sides = (_numbered_side(file.parent, data, side) for side in _SIDES)
        numbered, sizes, split_notes = zip(*sides, strict=True)
        own = [data.section(side).of_type("lang", str) for side in _SIDES]
        checkpoint = read_pickled(file)
        if not isinstance(checkpoint, dict) or "model_state" not in checkpoint:
            raise DataError(f"{file}: no checkpoint of JoeyNMT, which has 'model_state'")
        tensors = tensors_in(checkpoint["model_state"], file)
        theirs = _JoeynmtTransformer(
            ForeignWeights(tensors, file),
            ForeignSides(numbered, sizes, [*chain(*split_notes)]),
            options.section("model"),
        )
        search, notes = _search(options)
        return theirs.imported(
            (languages[0] or own[0], languages[1] or own[1]),
            origin=f"JoeyNMT {options.get('joeynmt_version', '2')!s:.20}, {file.name}",
            search=search,
            notes=notes,
        )


@dataclass(frozen=True)
class _Section(ForeignOptions):
    """A section of ``config.yaml``."""

    prefix: str = ""

    def section(self, key: str, *, optional: bool = False) -> _Section:
        """A section of it."""
        name, values = f"{self.prefix}{key}", self.values.get(key)
        if values is None and optional:
            values = {}
        if not isinstance(values, dict):
            raise DataError(
                f"{self.where}: {name}: a section is expected, as JoeyNMT 2 has it, found "
                f"{values!r:.60}"
            )
        return _Section(values, self.where, f"{name}.")


def _numbered_side(directory: Path, data: _Section, side: str) -> tuple[Numbered, int, list[str]]:
    """The vocabulary of one side, its size there, and notes on how its text is split."""
    options = data.section(side)
    special, names = _special(data)
    file = _beside(directory, [f"{side}_vocab.txt", options.get("voc_file")], "list of pieces")
    ids = {piece: number for number, piece in enumerate(names)}
    for line in read_text(file).rstrip("\n").split("\n"):
        ids.setdefault(line, len(ids))
    notes = []
    if options.get("normalize", False):
        notes.append(
            f"{options.prefix}normalize: JoeyNMT brings text into Unicode's NFKC form and "
            "simplifies its quotes and spaces; that is not done here, so do it before where it "
            "matters."
        )
    return _numbered(directory, options, ids, special, file), len(ids), notes


def _special(data: _Section) -> tuple[Special, list[str]]:
    """The special pieces, and all of them in JoeyNMT's order."""
    symbols = data.section("special_symbols", optional=True)
    for key in ("sep_token", "lang_tags"):
        if symbols.get(key):
            raise ConfigError(
                f"{symbols.where}: {symbols.prefix}{key}: models with prompts cannot be imported"
            )
    unknown, pad, begin, end = (
        symbols.of_type(f"{name}_token", str, default)
        for name, default in (
            ("unk", "<unk>"),
            ("pad", "<pad>"),
            ("bos", "<s>"),
            ("eos", "</s>"),
        )
    )
    return Special(pad, unknown, begin, end), [unknown, pad, begin, end]


def _numbered(
    directory: Path,
    options: _Section,
    ids: Mapping[str, int],
    special: Special,
    file: Path,
) -> Numbered:
    """The list of pieces with what splits text into them."""
    level = options.choice("level", ("bpe", "word"), "bpe")
    details = options.section("tokenizer_cfg", optional=True)
    lowercase = options.of_type("lowercase", bool, False)
    words = {
        "tokenizer": details.choice("pretokenizer", ("none", "moses"), "none"),
        "language": options.of_type("lang", str),
        "lowercase": lowercase,
    }
    if level == "word":
        splitting = words_splitting(str(file), **words)
        return dictionary_over_words(splitting, ids, special, str(file))
    kind = options.get("tokenizer_type", options.get("bpe_type", "sentencepiece"))
    if kind == "subword-nmt":
        codes = _beside(directory, [details.get("codes")], "merges (tokenizer_cfg.codes)")
        splitting = subword_nmt(
            read_text(codes).split("\n"),
            str(codes),
            separator=details.of_type("separator", str, "@@"),
            vocabulary=tuple(piece for piece in ids if piece not in special),
            **words,
        )
        return dictionary_over_words(splitting, ids, special, str(file))
    options.choice("tokenizer_type", ("sentencepiece", "subword-nmt"), "sentencepiece")
    details.choice("pretokenizer", ("none",), "none")
    model = _beside(directory, [details.get("model_file")], "model (tokenizer_cfg.model_file)")
    return dictionary_over_sentencepiece(
        read_bytes(model), ids, special, str(file), limited=True, lowercase=lowercase
    )


def _beside(directory: Path, names: Sequence[object], what: str) -> Path:
    """The first of some files that is in a directory, by its last name."""
    wanted = [Path(name).name for name in names if isinstance(name, str) and name]
    for name in wanted:
        if (directory / name).is_file():
            return directory / name
    raise DataError(
        f"{directory}: no {what} here; put {' or '.join(wanted) or 'it'} beside {_CONFIG}"
    )


def _checkpoint(path: Path) -> Path:
    """The checkpoint of a directory: the best, or else the newest."""
    if path.is_file():
        return path
    steps = [file for file in path.glob("*.ckpt") if file.stem.isdecimal()]
    newest = sorted(steps, key=lambda file: int(file.stem), reverse=True)
    files = [*(path / name for name in _NAMES if (path / name).is_file()), *newest]
    if not files:
        raise DataError(f"{path}: no checkpoint of JoeyNMT here, such as best.ckpt")
    return files[0]


def _norm(encoder: _Section, *, is_final: bool) -> Literal["pre", "post"]:
    """The place of normalisation in sublayers.

    Versions of JoeyNMT have different defaults, and some have layers of "pre" without the
    normalisation of the output.

    Args:
        encoder: its section, which is equal to the decoder's.
        is_final: whether the output of the encoder is normalised, which implies "pre".
    """
    where = f"{encoder.where}: model.encoder.layer_norm"
    if encoder.get("layer_norm") is None and not is_final:
        raise ConfigError(
            f"{where} is missing, and versions of JoeyNMT differ in what that means; write pre or "
            "post for encoder and decoder, as the model was trained"
        )
    norm: Literal["pre", "post"] = encoder.choice("layer_norm", ("pre", "post"), "pre")
    if (norm == "pre") != is_final:
        raise DataError(f"{where}: {norm} is not what it has")
    return norm


@dataclass
class _JoeynmtTransformer(ForeignTransformer):
    options: _Section

    names = _LAYER_NAMES
    zero_biases = True

    @override
    def matrices(self) -> PieceMatrices:
        names = ("src_embed.lut.weight", "trg_embed.lut.weight", "decoder.output_layer.weight")
        return PieceMatrices(*map(self.weights.take, names))

    @override
    def settings(self, d_model: int) -> dict[str, Any]:
        options = self.options
        encoder, decoder = options.section("encoder"), options.section("decoder")
        if options.get("initializer") == "xavier_normal":  # sets alpha, against the sections
            raise ConfigError(
                f"{options.where}: {options.prefix}initializer: 'xavier_normal' weighs residual "
                "connections as DeepNet does (Wang et al. 2022), which no family here can express"
            )
        for side in (encoder, decoder):
            side.choice("type", ("transformer",), "recurrent")
            side.check(_REQUIRED)
        for key in ("num_heads", "ff_size", "activation", "layer_norm"):
            if encoder.get(key) != decoder.get(key):
                raise ConfigError(
                    f"{options.where}: encoder.{key} ({encoder.get(key)}) and decoder.{key} "
                    f"({decoder.get(key)}) differ, which no family here can express"
                )
        dropout = encoder.of_type("dropout", float, 0.1)
        return {
            "scale_embeddings": self._scaled((encoder, decoder)),
            "norm": _norm(encoder, is_final="encoder.layer_norm.weight" in self.weights),
            "encoder_layers": encoder.of_type("num_layers", int),
            "decoder_layers": decoder.of_type("num_layers", int),
            "d_model": d_model,
            "heads": encoder.of_type("num_heads", int),
            "d_ff": encoder.of_type("ff_size", int),
            "activation": encoder.get("activation", "relu"),
            "attention_bias": True,
            "norm_epsilon": _EPSILON,
            "dropout": dropout,
            "attention_dropout": dropout,
            "feed_forward_dropout": dropout,
        }

    def _scaled(self, sides: Sequence[_Section]) -> bool:
        """Whether embeddings are multiplied by the root of their width."""
        first, second = (side.section("embeddings").of_type("scale", bool, False) for side in sides)
        if first != second and not self.options.get("tied_embeddings", False):
            raise ConfigError(
                f"{self.options.where}: only one of encoder and decoder scales its embeddings, "
                "which no family here can express"
            )
        return bool(first)

    @override
    def leave_out(self) -> Sequence[str]:
        self.weights.ignore(("encoder.pe.pe", "decoder.pe.pe"))  # computed here
        return ()


def _search(options: _Section) -> tuple[dict[str, Any], list[str]]:
    """Settings of search, and how theirs differ."""
    testing = options.section("testing", optional=True)
    beam = max(testing.of_type("beam_size", int, 1), 1)
    # An older name, which still wins.
    name = "beam_alpha" if testing.get("alpha") is None else "alpha"
    penalty = max(testing.of_type(name, float, 0.0), 0.0)
    notes = [
        f"Search: beam {beam} with a length penalty of {penalty:g}, the same as there. Unknown "
        "pieces are not put out unless search.allow_unknown is set."
    ]
    for key, without in (("repetition_penalty", (-1, 1)), ("no_repeat_ngram_size", (-1,))):
        if (value := testing.get(key, -1)) not in without:
            notes.append(f"testing.{key}: {value!r:.20} is not done here.")
    shortest = max(testing.of_type("min_output_length", int, 1), 0)
    return {"beam": beam, "length_penalty": penalty, "minimum_length": shortest}, notes
