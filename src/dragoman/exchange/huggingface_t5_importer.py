"""Importing T5, mT5 and MADLAD-400, Hugging Face's T5ForConditionalGeneration.

Raffel et al. 2020, arXiv:1910.10683; Shazeer 2020, arXiv:2002.05202, for the gates of version 1.1;
Xue et al. 2021, arXiv:2010.11934; Kudugunta et al. 2023, arXiv:2309.04662.  The model normalises by
the root mean square before each sublayer, has no biases, does not divide dot products, and knows
positions by a bias for each range of distances, which all layers of a side share.

The wanted translation stands in front of a source as text.  In MADLAD-400 it is a piece such as
``<2ko>``, in T5 words such as ``translate English to German:``.  Here both are tags of a direction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import sentencepiece
from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.foreign_files import read_bytes, read_object
from dragoman.exchange.foreign_transformer import (
    SIDES,
    ForeignSides,
    ForeignTransformer,
    LayerNames,
    PieceMatrices,
    Positions,
)
from dragoman.exchange.huggingface_files import (
    ACTIVATIONS,
    ADDED_FILE,
    TOKENIZER_FILE,
    WHOLE_FILE,
    HuggingfaceOptions,
    added_pieces,
    licence_in,
    model_type,
    piece_matrices,
    weights_in,
)
from dragoman.exchange.interface import ForeignModel, Importer, Languages
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.directions import check_language
from dragoman.text.examples import Direction
from dragoman.text.tags import LANGUAGE_TAG, SPACE_SIGN, is_tag
from dragoman.text.vocabularies import BOS, PAD, UNK
from dragoman.text.vocabularies.foreign_vocabulary import (
    Special,
    dictionary_over_sentencepiece,
    pieces_of,
)

SPM_FILE = "spiece.model"
_KINDS = {"t5": "T5ForConditionalGeneration", "mt5": "MT5ForConditionalGeneration"}
_OUTPUT = "lm_head.weight"
_MATRICES = ("shared.weight", *(f"{side}.embed_tokens.weight" for side in SIDES), _OUTPUT)
_ATTENTIONS = {"query": "q", "key": "k", "value": "v", "output": "o"}
_FORWARD = "layer.{last}.DenseReluDense"
_BUCKETS = "{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
_NEVER_READ = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
"""A weight in T5's own files, which T5ForConditionalGeneration does not read either."""
_NAMES = LayerNames(
    encoder_layer="encoder.block.{number}",
    decoder_layer="decoder.block.{number}",
    attention="layer.0.SelfAttention",
    self_attention="layer.0.SelfAttention",
    cross_attention="layer.1.EncDecAttention",
    projections=_ATTENTIONS,
    feed_forward={"inner": f"{_FORWARD}.wi", "outer": f"{_FORWARD}.wo"},
    gated={
        "gate": f"{_FORWARD}.wi_0",
        "inner": f"{_FORWARD}.wi_1",
        "outer": f"{_FORWARD}.wo",
    },
    encoder_norms=("layer.0.layer_norm", "layer.1.layer_norm"),
    decoder_norms=("layer.0.layer_norm", "layer.1.layer_norm", "layer.2.layer_norm"),
    final_norm="{side}.final_layer_norm",
)
_GATED = {"gelu": "geglu_tanh", "gelu_new": "geglu_tanh", "silu": "swiglu", "swish": "swiglu"}
"""Our names of gates by the function; ``gated-gelu`` has the approximated GELU there."""
_TASK = re.compile(
    r"translation_([a-z]{2,3}(?:_[A-Z][a-z]{3})?)_to_([a-z]{2,3}(?:_[A-Z][a-z]{3})?)"
)
_SENTINEL = re.compile(f"{SPACE_SIGN}?<extra_id_[0-9]+>")


class HuggingfaceT5Importer(Importer):
    """Reads a directory of T5ForConditionalGeneration with its sentencepiece model."""

    name = "huggingface-t5"

    @override
    def recognises(self, path: Path) -> bool:
        return (path / SPM_FILE).is_file() and model_type(path) in _KINDS

    @override
    def read(self, path: Path, languages: Languages) -> ForeignModel:
        kind = "mt5" if model_type(path) == "mt5" else "t5"
        options = HuggingfaceOptions.of(path, kind)
        pieces = _Pieces.of(path, options)
        asked = pieces.asked(options, languages[0])
        sides = pieces.sides(asked)
        theirs = _T5Transformer(weights_in(path), sides, options)
        rows = sides.numbered[1].rows
        search, notes = options.search([rows[piece] for piece in (PAD, UNK, BOS)])
        if asked and languages[1] is not None:
            check_language(languages[1], [one.target_language for one in asked])
        if asked:
            languages = languages[0] or asked[0].source_language, languages[1] or "target"
            search["allow_tags"] = False  # those that copy pieces are only read
        origin = options.origin(_KINDS[kind], path)
        found = theirs.imported(languages, origin, search, [*pieces.notes(asked), *notes])
        directions = tuple(one.direction for one in asked)
        config = found.config.model_copy(update={"directions": directions})
        return replace(found, config=config, licence=licence_in(path))


class _Asked(NamedTuple):
    """A translation that tags in front of a source ask for."""

    source_language: str
    target_language: str
    copies: Mapping[str, str]
    """Those of the tags that are read as a piece of text, with the piece."""
    tags: tuple[str, ...]

    @property
    def direction(self) -> Direction:
        """As a model's configuration has it."""
        languages = {
            "source_language": self.source_language,
            "target_language": self.target_language,
        }
        return Direction(**languages, tags=self.tags)


@dataclass(frozen=True)
class _Pieces:
    """The pieces of a model, and the tags that are made of them."""

    file: Path
    model: bytes
    """The content of the file, a sentencepiece model."""
    ids: Mapping[str, int]
    special: Special
    size: int
    """Number of rows of the embeddings, some of which no piece has."""

    @classmethod
    def of(cls, path: Path, options: HuggingfaceOptions) -> _Pieces:
        """The pieces of a directory; those of the pre-training alone are left out."""
        file, size = path / SPM_FILE, options.of_type("vocab_size", int)
        model = read_bytes(file)
        ids = {piece: row for row, piece in enumerate(pieces_of(model, str(file)))}
        ids |= {piece: row for piece, row in _added(path) if row >= len(ids)}
        ids = {piece: row for piece, row in ids.items() if not _SENTINEL.fullmatch(piece)}
        if max(ids.values()) >= size:
            raise DataError(
                f"{path}: its files number {max(ids.values()) + 1} pieces, the model has {size}; "
                "they do not belong together"
            )
        named = {row: piece for piece, row in ids.items()}
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        padding = options.of_type("pad_token_id", int, 0)
        rows = {
            "pad_token_id": padding,
            "decoder_start_token_id": options.of_type("decoder_start_token_id", int, padding),
            "eos_token_id": options.of_type("eos_token_id", int, 1),
        }
        for name, row in rows.items():
            if row not in named:
                raise DataError(f"{options.where}: {name}: {row} is no piece of {SPM_FILE}")
        pad, begin, end = (named[row] for row in rows.values())
        return cls(file, model, ids, Special(pad, named[processor.unk_id()], begin, end), size)

    @property
    def tags(self) -> dict[str, str]:
        """The pieces that ask for a language, which are tags under their own names."""
        return {piece: piece for piece in self.ids if LANGUAGE_TAG.fullmatch(piece)}

    def asked(self, options: HuggingfaceOptions, source: str | None) -> list[_Asked]:
        """The translations that a piece, or else words, in front of a text ask for."""
        processor = sentencepiece.SentencePieceProcessor(model_proto=self.model)
        if not self.tags:
            split = [
                (one, into, self._copies(processor.encode(words, out_type=str)))
                for one, into, words in _prefixes(options)
            ]
            return [_Asked(one, into, tags, tuple(tags)) for one, into, tags in split if tags]
        first = next(iter(self.tags))
        pieces = processor.encode(f"{first} a", out_type=str)
        # sentencepiece has a sign of a space in front of a tag, as in front of any word.
        before = self._copies(pieces[: pieces.index(first)]) if first in pieces else {}
        return [_Asked(source or "source", tag[2:-1], before, (*before, tag)) for tag in self.tags]

    def _copies(self, pieces: Sequence[str]) -> dict[str, str]:
        """Tags that are read as these pieces, in order; none if a piece is unknown or no name."""
        names: dict[str, str] = {}
        for piece in pieces:
            name = f"text:{piece.replace(SPACE_SIGN, '_')}"
            again = sum(piece == other for other in names.values())
            names[f"<{name}:{again + 1}>" if again else f"<{name}>"] = piece
        usable = len(names) == len(pieces) and all(piece in self.ids for piece in pieces)
        return names if usable and all(map(is_tag, names)) else {}

    def notes(self, asked: Sequence[_Asked]) -> Iterator[str]:
        """Differences of the vocabulary, and how to ask for a task that the files do not list."""
        if unused := self.size - len(self.ids):
            yield (
                f"{unused:,} rows of the embeddings are left out, which text never needs, such as "
                "that of <extra_id_0>."
            )
        if not asked:
            yield (
                "If the model was trained with words in front of each source, such as "
                "'translate English to German: ', write them there."
            )

    def sides(self, asked: Sequence[_Asked]) -> ForeignSides:
        """The vocabulary of both sides."""
        copies = {tag: piece for one in asked for tag, piece in one.copies.items()}
        numbered = dictionary_over_sentencepiece(
            self.model, self.ids, self.special, str(self.file), tags=self.tags, copies=copies
        )
        return ForeignSides((numbered, numbered), (self.size, self.size))


@dataclass
class _T5Transformer(ForeignTransformer):
    options: HuggingfaceOptions

    names: ClassVar[LayerNames] = _NAMES

    @cached_property
    def _matrices(self) -> tuple[Tensor, Tensor]:
        return piece_matrices(self.weights, _MATRICES, _OUTPUT)

    @property
    def _scales_outputs(self) -> bool:
        """Whether the decoder's output is divided by sqrt(d_model) before it scores pieces."""
        if self.options.get("model_type") == "mt5":
            return False
        # Usual files say so by whether the output is tied, whatever their weights are.
        tied = self.options.of_type("tie_word_embeddings", bool, True)
        return bool(self.options.of_type("scale_decoder_outputs", bool, tied))

    @override
    def matrices(self) -> PieceMatrices:
        inputs, output = self._matrices
        if self._scales_outputs:
            tied, output = output is inputs, output * inputs.shape[1] ** -0.5
            inputs = output if tied else inputs  # embeddings here are multiplied by sqrt(d_model)
        return PieceMatrices(inputs, inputs, output)

    @override
    def settings(self, d_model: int) -> dict[str, Any]:
        options = self.options
        if options.of_type("d_model", int) != d_model:
            raise DataError(
                f"{options.where}: d_model: {options.get('d_model')}, but the embeddings have the "
                f"width {d_model}; they do not belong together"
            )
        layers, width = options.of_type("num_layers", int), options.of_type("d_kv", int)
        dropout = options.of_type("dropout_rate", float, 0.1)
        return {
            "encoder_layers": layers,
            "decoder_layers": options.of_type("num_decoder_layers", int, layers),
            "d_model": d_model,
            "heads": options.of_type("num_heads", int),
            "d_k": width,
            "d_v": width,
            "d_ff": options.of_type("d_ff", int),
            "activation": self._activation(),
            "attention": "dot",
            "norm": "pre",
            "normalization": "rms",
            "norm_epsilon": options.of_type("layer_norm_epsilon", float, 1e-6),
            "scale_embeddings": self._scales_outputs and self._matrices[0] is self._matrices[1],
            "dropout": dropout,
            "attention_dropout": dropout,
            "feed_forward_dropout": dropout,
        }

    def _activation(self) -> str:
        """The function of the feed-forward sublayers, which may be gated."""
        usual = "gated-gelu" if self.options.get("model_type") == "mt5" else "relu"
        name = self.options.of_type("feed_forward_proj", str, usual)
        gate, _, function = name.rpartition("-")
        known = _GATED if gate == "gated" else ACTIVATIONS
        if gate not in {"", "gated"} or function not in known:
            names = [*ACTIVATIONS, *(f"gated-{one}" for one in _GATED)]
            raise ConfigError(
                f"{self.options.where}: feed_forward_proj: {name!r:.80} is none of: "
                f"{', '.join(names)}"
            )
        return known[function]

    @override
    def positions(self, d_model: int) -> Positions:
        options = self.options
        return Positions(
            {
                "positions": "buckets",
                "distance_buckets": options.of_type("relative_attention_num_buckets", int, 32),
                "bucket_distance": options.of_type("relative_attention_max_distance", int, 128),
            }
        )

    @override
    def stack(self, model: TransformerConfig) -> dict[str, Tensor]:
        tables = {
            f"{side}_buckets.table": self.weights.take(_BUCKETS.format(side=side)) for side in SIDES
        }
        return {**super().stack(model), **tables}

    @override
    def leave_out(self) -> Sequence[str]:
        self.weights.ignore([_NEVER_READ])
        return ()


def _added(path: Path) -> Iterator[tuple[str, int]]:
    """The pieces, with their rows, that the tokenizer has beside those of sentencepiece."""
    for file in (path / name for name in (TOKENIZER_FILE, WHOLE_FILE) if (path / name).is_file()):
        yield from added_pieces(read_object(file))
    if (file := path / ADDED_FILE).is_file():
        yield from ((name, row) for name, row in read_object(file).items() if type(row) is int)


def _prefixes(options: HuggingfaceOptions) -> Iterator[tuple[str, str, str]]:
    """The languages of each task of translation, and its words in front of a source."""
    tasks = options.get("task_specific_params", {})
    for name, task in tasks.items() if isinstance(tasks, dict) else ():
        match = _TASK.fullmatch(name)
        prefix = task.get("prefix") if isinstance(task, dict) else None
        if match and isinstance(prefix, str) and prefix.endswith(" "):
            yield match[1], match[2], prefix
