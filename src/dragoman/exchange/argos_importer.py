"""Importing packages of Argos Translate, and directories of CTranslate2.

A package (``.argosmodel``) is a zip archive with ``metadata.json``, a model of CTranslate2 in
``model/``, and ``sentencepiece.model`` or the merges of subword-nmt in ``bpe.model``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.ctranslate2_files import (
    BINARY_FILE,
    CONFIG_FILE,
    read_binary,
    read_config,
    read_pieces,
)
from dragoman.exchange.ctranslate2_transformer import Attributes, CTranslate2Transformer
from dragoman.exchange.foreign_files import ForeignWeights, read_object
from dragoman.exchange.interface import ForeignModel, Importer, Languages
from dragoman.exchange.packages import Package
from dragoman.exchange.splitting_files import numbered_sides
from dragoman.text.vocabularies.foreign_vocabulary import Numbered, Special

_METADATA_FILE, _MODEL_FOLDER = "metadata.json", "model"
_SPLITTING_FILES = ("sentencepiece.model", "bpe.model")
_ARCHIVE = ".argosmodel"
_MODEL_FILES = (
    BINARY_FILE,
    CONFIG_FILE,
    "vmap.txt",
    *(
        f"{side}_vocabulary.{end}"
        for side in ("shared", "source", "target")
        for end in ("json", "txt")
    ),
)
_PADS = ("<blank>", "<pad>", "[PAD]")
_BEAM, _PENALTY = 4, 0.2  # of Argos Translate
_SHORTEST = 1  # piece of an output, by default of CTranslate2
_KNOWN_CONFIG = frozenset(
    [
        "unk_token",
        "bos_token",
        "eos_token",
        "decoder_start_token",
        "add_source_bos",
        "add_source_eos",
        "layer_norm_epsilon",
        "multi_query_attention",
    ]
)
_PACKAGE_FILES = frozenset(
    PurePosixPath(name)
    for name in (
        _METADATA_FILE,
        *_SPLITTING_FILES,
        *(f"{_MODEL_FOLDER}/{name}" for name in _MODEL_FILES),
    )
)
_PACKAGE = Package(
    what=f"package of Argos Translate, which has one {_METADATA_FILE} beside {_MODEL_FOLDER}/",
    mark=_METADATA_FILE,
    wanted=_PACKAGE_FILES.__contains__,
)


class ArgosImporter(Importer):
    """Reads a package of Argos Translate, packed or not, or a directory of CTranslate2."""

    name = "argos"

    @override
    def recognises(self, path: Path) -> bool:
        if path.is_file():
            return path.name.lower().endswith(_ARCHIVE)
        return (path / BINARY_FILE).is_file() or (path / _MODEL_FOLDER / BINARY_FILE).is_file()

    @override
    def read(self, path: Path, languages: Languages) -> ForeignModel:
        with _PACKAGE.unpacked(path) as (directory, left_out):
            return _read(directory, path, languages, left_out)


def _read(directory: Path, path: Path, languages: Languages, left_out: list[str]) -> ForeignModel:
    metadata = _Metadata.read(directory)
    model_directory = directory
    if not (directory / BINARY_FILE).is_file():
        model_directory = directory / _MODEL_FOLDER
    file = model_directory / BINARY_FILE
    configuration = read_config(model_directory)
    binary = read_binary(file)
    tokens = _Tokens.read(configuration, model_directory)
    epsilon = tokens.number("layer_norm_epsilon")
    numbers = Attributes.of(binary, file)
    tokens = tokens.with_flags(numbers.flags) if not configuration else tokens
    pieces = read_pieces(model_directory, "source"), read_pieces(model_directory, "target")
    source_language, target_language = metadata.languages
    known = languages[0] or source_language, languages[1] or target_language
    dictionaries = _dictionary(pieces[0], directory), _dictionary(pieces[1], directory)
    tokens.check_pieces(dictionaries, numbers.zero_start)
    source, target = (tokens.special(ids, numbers.zero_start) for ids in dictionaries)
    sides = numbered_sides(directory, dictionaries, (source, target), known, file)
    weights = ForeignWeights(binary.tensors, file)
    theirs = CTranslate2Transformer(weights, sides, numbers, epsilon, tokens.source_end)
    search = {"beam": _BEAM, "length_penalty": _PENALTY, "minimum_length": _SHORTEST}
    return theirs.imported(
        known,
        origin=metadata.origin(path),
        search={**search, **_unknown(metadata, sides.numbered)},
        notes=_notes(directory, model_directory, left_out, binary.types),
    )


@dataclass(frozen=True)
class _Metadata:
    """``metadata.json``, which a directory of CTranslate2 does not have."""

    values: Mapping[str, Any]
    where: Path

    @classmethod
    def read(cls, directory: Path) -> _Metadata:
        """The metadata of a package."""
        file = directory / _METADATA_FILE
        values = read_object(file) if file.is_file() else {}
        kind = values.get("type", "translate")
        if kind != "translate":
            raise ConfigError(f"{file}: a package of type {kind!r:.40}, expected 'translate'")
        if prefix := values.get("target_prefix"):
            raise ConfigError(
                f"{file}: target_prefix: {prefix!r:.40} begins every output, which is not known "
                "here"
            )
        return cls(values, file)

    def _text(self, name: str) -> str | None:
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            raise DataError(f"{self.where}: {name}: expected text, found {value!r:.80}")
        return value or None

    @property
    def languages(self) -> Languages:
        """Of source and target, if it says them."""
        return self._text("from_code"), self._text("to_code")

    def origin(self, path: Path) -> str:
        """Toolkit, version and name."""
        if not self.values:
            return f"CTranslate2, {path.resolve().name}"
        version = self._text("package_version") or "unknown"
        return f"Argos Translate (package version {version:.20}), {path.resolve().name}"


@dataclass(frozen=True)
class _Tokens:
    """Symbols at the beginnings and ends of sources and targets, from ``config.json``."""

    values: Mapping[str, Any]
    where: Path

    @classmethod
    def read(cls, configuration: Mapping[str, Any], directory: Path) -> _Tokens:
        """The symbols of a model.  Early versions have no such file."""
        file = directory / CONFIG_FILE
        for name, value in configuration.items():
            if name not in _KNOWN_CONFIG and value not in (None, False, 0):
                raise ConfigError(f"{file}: {name}: {value!r:.80} is not known here")
        if configuration.get("add_source_bos"):
            raise ConfigError(f"{file}: add_source_bos: sources with a begin are not known here")
        if configuration and configuration.get("decoder_start_token", "") is None:
            raise ConfigError(
                f"{file}: decoder_start_token: null leaves it to each call what outputs begin "
                "with, as models of many languages do; that is not known here"
            )
        tokens = cls(configuration, file)
        # Outputs of Marian begin with the end symbol.  Its converter from Transformers leaves the
        # end of a source to the tokenizer of Transformers, which adds it.
        if configuration and tokens.start == tokens.end:
            return cls({**configuration, "add_source_eos": True}, file)
        return tokens

    def with_flags(self, flags: tuple[bool, bool, bool]) -> _Tokens:
        """As early versions tell them, in the weights."""
        source_bos, source_eos, target_bos = flags
        if source_bos:
            raise ConfigError(f"{self.where}: sources with a begin are not known here")
        start = "<s>" if target_bos else "</s>"
        return _Tokens({"add_source_eos": source_eos, "decoder_start_token": start}, self.where)

    @property
    def source_end(self) -> bool:
        """Whether an end symbol closes sources."""
        return bool(self.values.get("add_source_eos", False))

    def number(self, name: str) -> float | None:
        """A number, if it is there."""
        value = self.values.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise DataError(f"{self.where}: {name}: expected a number, found {value!r:.80}")
        return value

    @property
    def start(self) -> str:
        """The symbol at the beginning of outputs."""
        return self._text("decoder_start_token", self._text("bos_token", "<s>"))

    @property
    def end(self) -> str:
        """The symbol at the end of outputs and, depending on :attr:`source_end`, of sources."""
        return self._text("eos_token", "</s>")

    def check_pieces(self, sides: tuple[Mapping[str, int], Mapping[str, int]], zero: bool) -> None:
        """Refuse a symbol that the model reads and its vocabulary lacks.

        Args:
            sides: the numbers of the source and the target pieces.
            zero: whether outputs begin with a vector of zeros in place of a piece's.
        """
        read = [("eos_token", self.end, sides[0])] if self.source_end else []
        read += [] if zero else [("decoder_start_token", self.start, sides[1])]
        for name, piece, ids in read:
            if piece not in ids:
                raise DataError(
                    f"{self.where}: {name}: {piece!r:.40} is no piece of its vocabulary; its files "
                    "do not belong together"
                )

    def special(self, ids: Mapping[str, int], zero_start: bool) -> Special:
        """The special pieces of a side, without those that it lacks."""
        unknown, start, end = self._text("unk_token", "<unk>"), self.start, self.end
        pad = next((name for name in _PADS if name in ids), None)
        there = start if start in ids and not zero_start else None
        return Special(pad, unknown, there, end if end in ids else None)

    def _text(self, name: str, default: str) -> str:
        value = self.values.get(name, default)
        if not isinstance(value, str):
            raise DataError(f"{self.where}: {name}: expected text, found {value!r:.80}")
        return value


def _unknown(metadata: _Metadata, sides: tuple[Numbered, Numbered]) -> dict[str, str]:
    """Settings of search for unknown pieces: Argos Translate writes the source word instead."""
    try:
        for side in sides:
            side.vocabulary.require_space_signs("search.unknown: copy")
    except ConfigError:  # pieces do not tell where a word ends
        return {}
    copies = metadata.values and not any(side.vocabulary.has_bytes for side in sides)
    return {"unknown": "copy"} if copies else {}


def _dictionary(pieces: list[str], where: Path) -> dict[str, int]:
    ids = {piece: number for number, piece in enumerate(pieces)}
    if len(ids) < len(pieces):
        twice = next(piece for number, piece in enumerate(pieces) if ids[piece] != number)
        raise DataError(f"{where}: the vocabulary has {twice[:80]!r} twice")
    return ids


def _notes(
    directory: Path, model_directory: Path, left_out: list[str], types: frozenset[str]
) -> list[str]:
    """Differences and omissions, a sentence each."""
    notes = []
    if kinds := sorted(types - {"float32"}):
        notes.append(
            f"Its weights were in {' and '.join(kinds)}; here the same numbers are in float32, and "
            "sums are not rounded to fewer bits, so that a few translations may differ."
        )
    if (directory / "stanza").exists() or any(name.startswith("stanza") for name in left_out):
        notes.append(
            "Its model for finding sentences (Stanza) is left out: Dragoman finds them itself."
        )
    if (model_directory / "vmap.txt").is_file():
        notes.append("Its map of the target pieces of each word (vmap.txt) is left out.")
    if (directory / "bpe.model").is_file():
        notes.append(
            "Argos Translate normalises punctuation before it splits words (Moses), which is not "
            "done here."
        )
    notes.append(
        f"Search: beam {_BEAM}. Argos Translate divides a hypothesis' log-probability by "
        f"|Y|^{_PENALTY:g}, here by ((5 + |Y|) / 6)^{_PENALTY:g} (Wu et al. 2016), so that beam "
        "search may rank hypotheses otherwise; and it writes underscores as spaces."
    )
    return notes
