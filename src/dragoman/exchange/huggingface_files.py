"""Models of Hugging Face Transformers: their files, settings, weights and names of parts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.architectures import architecture
from dragoman.exchange.foreign_files import (
    ForeignOptions,
    ForeignWeights,
    read_object,
    read_shards,
    read_state,
    read_text,
)
from dragoman.exchange.foreign_transformer import FAIRSEQ
from dragoman.exchange.interface import Languages

CONFIG_FILE = "config.json"
GENERATION_FILE = "generation_config.json"
TOKENIZER_FILE, WHOLE_FILE = "tokenizer_config.json", "tokenizer.json"
ADDED_FILE = "added_tokens.json"
SOURCE_SPM, TARGET_SPM = "source.spm", "target.spm"
VOCABULARY_FILE, TARGET_VOCABULARY_FILE = "vocab.json", "target_vocab.json"
WEIGHT_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
"""The weights, or an index of their files; the first file that exists is read."""
_CARD = "README.md"
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_LICENCE = re.compile(r"^license:\s*['\"]?([\w.\-]+)", re.MULTILINE)

ACTIVATIONS = {
    "relu": "relu",
    "swish": "swish",
    "silu": "swish",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}
"""Our names of activations by theirs; the first of several is written."""

LAYER_NAMES = replace(
    FAIRSEQ,
    encoder_layer="model.encoder.layers.{number}",
    decoder_layer="model.decoder.layers.{number}",
    final_norm="model.{side}.layer_norm",
    embedding_norm="model.{side}.layernorm_embedding",
)

_FORCED = ("forced_bos_token_id", "forced_decoder_ids")
# What changes outputs, with the values that do not.
_NOT_DONE: dict[str, tuple[object, ...]] = {
    "repetition_penalty": (1,),
    "encoder_repetition_penalty": (1,),
    "encoder_no_repeat_ngram_size": (0,),
    "min_length": (0,),
    "min_new_tokens": (0,),
    "max_new_tokens": (),
    "force_words_ids": ([],),
    "stop_strings": ([],),
    "guidance_scale": (1,),
    "suppress_tokens": ([],),
    "begin_suppress_tokens": ([],),
    "sequence_bias": (),
    "exponential_decay_length_penalty": (),
    "do_sample": (False,),
    "num_beam_groups": (1,),
}


class HuggingfaceOptions(ForeignOptions):
    """``config.json``, with the settings of outputs in ``generation_config.json``, if it exists."""

    @classmethod
    def of(cls, directory: Path, kind: str) -> Self:
        """Both files of a model, whose ``model_type`` must be ``kind``."""
        path = directory / CONFIG_FILE
        values = read_object(path)
        if (own := values.get("model_type")) != kind:
            named = architecture(directory) or "of another kind"
            raise DataError(
                f"{path}: a model of type {own!r:.80}, expected {kind!r}: it is {named}"
            )
        if (directory / GENERATION_FILE).is_file():
            values |= read_object(directory / GENERATION_FILE)
        return cls(values, path, prefix="")

    def require(self, expected: Mapping[str, bool], model: str) -> None:
        """Refuse switches that the class ``model`` does not read, and that mean another function.

        Args:
            expected: what it computes, by the names of the switches.
            model: its name.
        """
        for name, value in expected.items():
            if self.of_type(name, bool, value) is not value:
                raise ConfigError(
                    f"{self.where}: {name}: {str(not value).lower()} is not what {model} "
                    "computes, so that it cannot be imported"
                )

    def settings(self) -> dict[str, Any]:
        """Sizes and choices of a Transformer as BART's, by the fields of our configuration."""
        activation = self.of_type("activation_function", str)
        if activation not in ACTIVATIONS:
            raise ConfigError(
                f"{self.where}: activation_function: {activation!r:.80} is none of: "
                + ", ".join(ACTIVATIONS)
            )
        return {
            "encoder_layers": self.of_type("encoder_layers", int),
            "decoder_layers": self.of_type("decoder_layers", int),
            "d_model": self.of_type("d_model", int),
            "heads": self._of_both("attention_heads"),
            "d_ff": self._of_both("ffn_dim"),
            "activation": ACTIVATIONS[activation],
            "attention_bias": True,
            "scale_embeddings": self.of_type("scale_embedding", bool, False),
            "dropout": self.of_type("dropout", float, 0.1),
            "attention_dropout": self.of_type("attention_dropout", float, 0.0),
            "feed_forward_dropout": self.of_type("activation_dropout", float, 0.0),
        }

    def _of_both(self, name: str) -> int:
        """A size that encoder and decoder must have in common here."""
        encoder, decoder = (self.of_type(f"{side}_{name}", int) for side in ("encoder", "decoder"))
        if encoder != decoder:
            raise ConfigError(
                f"{self.where}: encoder_{name} {encoder} and decoder_{name} {decoder} differ; here "
                "both sides have the same"
            )
        return encoder

    def origin(self, model: str, directory: Path) -> str:
        """Toolkit, version and name of a model, whose class is ``model``."""
        name = self.values.get("_name_or_path") or directory.resolve().name
        version = self.values.get("transformers_version", "unknown")
        return f"{model} of Hugging Face transformers (version {version!s:.20}), {name!s:.100}"

    def search(self, never: Collection[int | None]) -> tuple[dict[str, Any], list[str]]:
        """Settings of search, and how theirs differ.

        Args:
            never: ids there of symbols and tags, which are never put out here.
        """
        for name in _FORCED:
            if (forced := self.values.get(name)) is not None:
                raise ConfigError(
                    f"{self.where}: {name}: {forced!r:.40} begins every output, which is not known "
                    "here"
                )
        beam, penalty = (
            self.of_type("num_beams", int, 1),
            self.of_type("length_penalty", float, 1.0),
        )
        search: dict[str, Any] = {"beam": max(beam, 1), "length_penalty": max(penalty, 0.0)}
        if (ngram := self.of_type("no_repeat_ngram_size", int, 0)) > 0:
            search["no_repeat_ngram"] = ngram
        ends = self.values.get("forced_eos_token_id") is not None
        longest = self.of_type("max_length", int, 0) - (2 if ends else 1)  # begin and end count
        notes = [
            f"Search: beam {search['beam']}. There a hypothesis' log-probability is divided by "
            f"|Y|^{penalty:g}, here by ((5 + |Y|) / 6)^{search['length_penalty']:g} (Wu et al. "
            "2016), so that beam search may rank hypotheses otherwise; with beam 1 texts are the "
            "same.",
            "Unknown pieces are not put out unless search.allow_unknown is set; there they are.",
        ]
        if longest > 0:
            notes.append(
                f"An output has at most {longest} pieces there; here at most 50 more than its "
                "source (search.extra_length), and sources may be of any length."
            )
        if others := ", ".join(self._other_settings(never)):
            notes.append(f"Other settings of {GENERATION_FILE} are not done here: {others}.")
        return search, notes

    def _other_settings(self, never: Collection[int | None]) -> Iterator[str]:
        """Other settings that change outputs there."""
        for name, neutral in _NOT_DONE.items():
            value = self.values.get(name)
            if value is not None and value not in neutral:
                yield f"{name}: {value!r:.40}"
        banned = self.values.get("bad_words_ids")
        words = banned if isinstance(banned, list) else []
        if others := [word for word in words if word not in [[symbol] for symbol in never]]:
            yield f"bad_words_ids: {others!r:.40}"


def model_type(directory: Path) -> object:
    """The kind of a model, as its configuration names it; None without a configuration."""
    file = directory / CONFIG_FILE
    return read_object(file).get("model_type") if file.is_file() else None


def weights_in(directory: Path) -> ForeignWeights:
    """The weights of a model, from one file or several."""
    file = next((directory / name for name in WEIGHT_FILES if (directory / name).is_file()), None)
    if file is None:
        raise DataError(f"{directory}: has none of {', '.join(WEIGHT_FILES)}")
    read = read_shards if file.suffix == ".json" else read_state
    return ForeignWeights(read(file), file)


def piece_matrices(
    weights: ForeignWeights, names: Sequence[str], output: str
) -> tuple[Tensor, Tensor]:
    """The matrix of pieces that both sides read, and that of the output, often the same.

    Args:
        weights: of the model.
        names: any of which the matrix may have, and even several; in the order of preference.
        output: the name of the output, which may have another matrix; one of the names.

    Raises:
        ConfigError: source and target have different matrices.
    """
    there = [name for name in names if name in weights]
    if not there:
        raise DataError(f"{weights.where}: has none of {', '.join(names)}")
    shared = last = weights.take(there[0])
    for name in there[1:]:
        matrix = weights.take(name)
        if torch.equal(matrix, shared):
            continue
        if name != output:
            raise ConfigError(
                f"{weights.where}: {name} differs from {there[0]}; a model with other embeddings "
                "of sources than of targets is not imported"
            )
        last = matrix
    return shared, last


def added_pieces(values: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Pieces that a tokenizer has beside its model, with their rows, as its files list them."""
    decoder = values.get("added_tokens_decoder")
    for row, token in decoder.items() if isinstance(decoder, dict) else ():
        if isinstance(token, dict) and row.isdecimal():
            yield str(token.get("content")), int(row)
    tokens = values.get("added_tokens")
    for token in tokens if isinstance(tokens, list) else ():
        if isinstance(token, dict) and isinstance(token.get("id"), int):
            yield str(token.get("content")), token["id"]


def languages_in(directory: Path, given: Languages) -> Languages:
    """The languages that the user or else the tokenizer's settings say."""
    file = directory / TOKENIZER_FILE
    values = read_object(file) if file.is_file() else {}
    said = [values.get(f"{side}_lang") for side in ("source", "target")]
    own = [name if isinstance(name, str) and name else None for name in said]
    return given[0] or own[0], given[1] or own[1]


def licence_in(directory: Path) -> str | None:
    """As the model card's front matter states it."""
    if not (directory / _CARD).is_file():
        return None
    matter = _FRONT_MATTER.match(read_text(directory / _CARD).replace("\r\n", "\n"))
    licence = matter and _LICENCE.search(matter[1])
    return licence[1] if licence else None
