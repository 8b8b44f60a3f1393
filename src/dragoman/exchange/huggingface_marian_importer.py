"""Importing MarianMTModel, as OPUS-MT publishes its models (see ``huggingface_marian.py``)."""

from __future__ import annotations

import re
from pathlib import Path

import torch
from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.architectures import architecture
from dragoman.exchange.ctranslate2_files import BINARY_FILE
from dragoman.exchange.foreign_files import (
    ForeignWeights,
    read_bytes,
    read_object,
    read_shards,
    read_state,
    read_text,
)
from dragoman.exchange.foreign_options import ForeignOptions
from dragoman.exchange.foreign_transformer import transformer_config, unsaid
from dragoman.exchange.huggingface_marian import (
    ACTIVATIONS,
    CONFIG_FILE,
    GENERATION_FILE,
    LAYER_NAMES,
    SOURCE_SPM,
    TARGET_SPM,
    TARGET_VOCABULARY_FILE,
    TOKENIZER_FILE,
    VOCABULARY_FILE,
    WEIGHT_FILES,
    position_table,
)
from dragoman.exchange.huggingface_marian_search import search_of
from dragoman.exchange.interface import ForeignModel, Importer, Languages
from dragoman.exchange.weight_layout import permute_width, sines_then_cosines, with_rows
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.examples import Direction
from dragoman.text.tags import LANGUAGE_TAG, language_tag
from dragoman.text.vocabularies.foreign_vocabulary import (
    Numbered,
    Special,
    dictionary_over_sentencepiece,
)
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.text.vocabularies.vocabulary import BOS, PAD, UNK, Vocabulary

_CARD = "README.md"
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_LICENCE = re.compile(r"^license:\s*['\"]?([\w.\-]+)", re.MULTILINE)
_LANGUAGE = re.compile(r">>([^<>\s]+)<<")
"""A piece in front of a source that asks for a target language, of models of several."""
_POSITIONS_TOLERANCE = {torch.float16: 1e-3, torch.bfloat16: 8e-3}
"""Largest difference of a position from the formula, whose values are from -1 to 1, by type; 1e-4
for other types."""


class HuggingfaceMarianImporter(Importer):
    """Reads a directory of MarianMTModel and MarianTokenizer."""

    name = "huggingface-marian"

    @override
    def recognises(self, path: Path) -> bool:
        # A model of CTranslate2 may have the same files.
        files = (CONFIG_FILE, SOURCE_SPM, VOCABULARY_FILE)
        return not (path / BINARY_FILE).is_file() and all((path / one).is_file() for one in files)

    @override
    def read(self, path: Path, languages: Languages) -> ForeignModel:
        settings = Settings.read(path)
        model = settings.model()
        sides = _sides(path, settings)
        weights = _weights(path, settings, sides)
        said = _languages(path, languages)
        found = [said[0] or "source", said[1] or "target"]
        target = sides[1]
        never = [target.rows[one] for one in (PAD, UNK, BOS, *target.vocabulary.tags)]
        search, search_notes = search_of(settings, never)
        config = SavedConfig(
            source_language=found[0],
            target_language=found[1],
            directions=_directions(found, sides[0].vocabulary),
            model=model,
            search=search,
        )
        return ForeignModel(
            config=config,
            vocabularies=Vocabularies(*(side.vocabulary for side in sides)),
            weights=weights,
            origin=settings.origin(path),
            licence=_licence(path),
            notes=(*unsaid(said), *search_notes),
        )


class Settings(ForeignOptions):
    """``config.json``, with what ``generation_config.json`` says of outputs."""

    @classmethod
    def read(cls, directory: Path) -> Settings:
        """Both files of a directory; the second may be missing.

        Raises:
            DataError: a file is missing or damaged, or is of another kind of model.
        """
        path = directory / CONFIG_FILE
        values = read_object(path)
        if (kind := values.get("model_type")) != "marian":
            named = architecture(directory) or "of another kind"
            raise DataError(
                f"{path}: a model of type {kind!r:.80}, expected 'marian': it is {named}"
            )
        if (directory / GENERATION_FILE).is_file():
            values |= read_object(directory / GENERATION_FILE)
        return cls(values, path, prefix="")

    def model(self) -> TransformerConfig:
        """Our configuration of the same model.

        Raises:
            ConfigError: it has something that the Transformer here lacks.
        """
        for name, expected in (
            ("normalize_before", False),
            ("normalize_embedding", False),
            ("add_final_layer_norm", False),
            ("static_position_embeddings", True),
        ):
            if self.of_type(name, bool, expected) is not expected:
                raise ConfigError(
                    f"{self.where}: {name}: {str(not expected).lower()} is not what MarianMTModel "
                    "computes, so that it cannot be imported"
                )
        activation = self.of_type("activation_function", str)
        if activation not in ACTIVATIONS:
            raise ConfigError(
                f"{self.where}: activation_function: {activation!r:.80} is none of: "
                + ", ".join(ACTIVATIONS)
            )
        settings = {
            "encoder_layers": self.of_type("encoder_layers", int),
            "decoder_layers": self.of_type("decoder_layers", int),
            "d_model": self.of_type("d_model", int),
            "heads": self._same("attention_heads"),
            "d_ff": self._same("ffn_dim"),
            "activation": ACTIVATIONS[activation],
            "attention_bias": True,
            "output_bias": True,
            "scale_embeddings": self.of_type("scale_embedding", bool, False),
            "embeddings": self.sharing,
            "dropout": self.of_type("dropout", float, 0.1),
            "attention_dropout": self.of_type("attention_dropout", float, 0.0),
            "feed_forward_dropout": self.of_type("activation_dropout", float, 0.0),
        }
        return transformer_config(settings, self.where)

    @property
    def shares_sides(self) -> bool:
        """Whether source and target have the same pieces and one matrix."""
        return self.of_type("share_encoder_decoder_embeddings", bool, True)

    @property
    def sharing(self) -> str:
        """Which matrices are one here."""
        if not self.of_type("tie_word_embeddings", bool, True):
            return "separate"
        return "shared" if self.shares_sides else "target"

    def _same(self, name: str) -> int:
        """A size that encoder and decoder must have in common here."""
        found, other = self.of_type(f"encoder_{name}", int), self.of_type(f"decoder_{name}", int)
        if found != other:
            raise ConfigError(
                f"{self.where}: encoder_{name} {found} and decoder_{name} {other} differ; here "
                "both sides have the same"
            )
        return found

    def origin(self, directory: Path) -> str:
        """Toolkit, version and name."""
        name = self.values.get("_name_or_path") or directory.resolve().name
        version = self.values.get("transformers_version", "unknown")
        return (
            f"MarianMTModel of Hugging Face transformers (version {version!s:.20}), {name!s:.100}"
        )


def _sides(path: Path, settings: Settings) -> tuple[Numbered, Numbered]:
    """The vocabularies of both sides, with the ids that their pieces have there.

    Raises:
        DataError: a file is missing or damaged, or they do not belong together.
    """
    source = _table(path / VOCABULARY_FILE, settings.of_type("vocab_size", int))
    target = source
    if not settings.shares_sides:
        size = settings.of_type("decoder_vocab_size", int, len(source))
        target = _table(path / TARGET_VOCABULARY_FILE, size)
    start = settings.of_type("decoder_start_token_id", int, target["<pad>"])
    begin = next((piece for piece, number in target.items() if number == start), None)
    if begin is None:
        raise DataError(f"{settings.where}: decoder_start_token_id: {start} is no piece")
    for name, found in (
        ("pad_token_id", {source["<pad>"]}),
        ("eos_token_id", {source["</s>"], target["</s>"]}),
    ):
        if found != {settings.of_type(name, int, min(found))}:
            raise DataError(
                f"{settings.where}: {name}: {settings.values.get(name)}, but {VOCABULARY_FILE} has "
                f"{min(found)}; they do not belong together"
            )
    sides = []
    for file, table in ((SOURCE_SPM, source), (TARGET_SPM, target)):
        special = Special("<pad>", "<unk>", begin if table is target else None, "</s>")
        tags = {one: language_tag(one[2:-2]) for one in table if _LANGUAGE.fullmatch(one)}
        where = path / file
        sides.append(
            dictionary_over_sentencepiece(read_bytes(where), table, special, str(where), tags=tags)
        )
    return sides[0], sides[1]


def _table(path: Path, size: int) -> dict[str, int]:
    """Pieces and their ids, which are the rows of a matrix."""
    table = read_object(path)
    if any(type(number) is not int for number in table.values()) or (
        sorted(table.values()) != list(range(len(table)))
    ):
        raise DataError(f"{path}: its ids are not 0, 1, 2 ..., each once")
    if len(table) != size:
        raise DataError(
            f"{path}: has {len(table)} pieces, the model {size}; they do not belong together"
        )
    for special in ("<unk>", "<pad>", "</s>"):
        if special not in table:
            raise DataError(f"{path}: has no piece {special}")
    return table


def _weights(path: Path, settings: Settings, sides: tuple[Numbered, Numbered]) -> dict[str, Tensor]:
    """All weights, under our names and in our order."""
    file = next((path / name for name in WEIGHT_FILES if (path / name).is_file()), None)
    if file is None:
        raise DataError(f"{path}: has none of {', '.join(WEIGHT_FILES)}")
    read = read_shards if file.suffix == ".json" else read_state
    theirs = ForeignWeights(read(file), file)
    model = settings.model()
    found = _embeddings(theirs, settings)
    source, target = map(_rows, sides)
    _check_rows(found, len(set(source)), len(set(target)), model.d_model, file)
    for ours, name in LAYER_NAMES.layers(model.encoder_layers, model.decoder_layers).items():
        for kind in ("weight", "bias"):
            found[f"{ours}.{kind}"] = theirs.take(f"{name}.{kind}")
    _check_positions(theirs, model.d_model, file)
    theirs.check_all_taken()
    if settings.shares_sides:
        source = target
    begins_otherwise = target.count(target[BOS]) > 1  # with a symbol that is another one, too
    found = with_rows(found, source, target, begin=BOS if begins_otherwise else None)
    return _tied(permute_width(found, sines_then_cosines(model.d_model), file), model)


def _embeddings(theirs: ForeignWeights, settings: Settings) -> dict[str, Tensor]:
    """The three matrices and the bias of the output; tied matrices may have any of their names."""
    names = ("model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head")
    copies = [f"{name}.weight" for name in names if f"{name}.weight" in theirs]
    shared, encoder, decoder, output = (f"{name}.weight" for name in names)

    def first(*wanted: str) -> Tensor:
        return theirs.take(next((name for name in wanted if name in theirs), wanted[0]))

    if settings.shares_sides and settings.sharing == "separate":
        # Transformers 5 ties nothing then, even though the sides have the same pieces.
        source, target = first(encoder, shared), first(decoder, shared)
    elif settings.shares_sides:
        source = target = first(shared, encoder, decoder, output)
    else:
        source, target = theirs.take(encoder), first(decoder, output)
    found = {"source_embedding.weight": source, "target_embedding.weight": target}
    found["output.weight"] = target if settings.sharing != "separate" else theirs.take(output)
    theirs.ignore(copies)
    bias = "final_logits_bias"
    found["output.bias"] = (
        theirs.take(bias).reshape(-1) if bias in theirs else torch.zeros(len(target))
    )
    return found


def _check_positions(theirs: ForeignWeights, d_model: int, file: Path) -> None:
    """Check the fixed positions, which older files hold, against ours."""
    for side in ("encoder", "decoder"):
        name = f"model.{side}.embed_positions.weight"
        if name not in theirs:
            continue
        table = theirs.table(name, d_model)
        expected = position_table(len(table), d_model)
        tolerance = _POSITIONS_TOLERANCE.get(theirs.dtype(name), 1e-4)
        if (table - expected).abs().max() > tolerance:
            raise ConfigError(
                f"{file}: {name} are not the sinusoids of Vaswani et al. 2017, which "
                "MarianMTModel has"
            )


def _check_rows(
    found: dict[str, Tensor], source: int, target: int, d_model: int, file: Path
) -> None:
    sizes = {"source_embedding.weight": source, "target_embedding.weight": target}
    sizes |= {"output.weight": target, "output.bias": target}
    for name, size in sizes.items():
        if found[name].shape[0] != size:
            raise DataError(f"{file}: {name} has {len(found[name])} rows, expected {size}")
        if found[name].shape[1:] not in {(), (d_model,)}:
            raise DataError(
                f"{file}: {name} has the width {list(found[name].shape[1:])}, and {CONFIG_FILE} "
                f"says d_model: {d_model}"
            )


def _rows(side: Numbered) -> list[int]:
    """Their row of each of our pieces; that of padding for symbols that they lack."""
    pad = side.rows[PAD]
    assert pad is not None, "the table has it"
    return [pad if row is None else row for row in side.rows]


def _tied(weights: dict[str, Tensor], model: TransformerConfig) -> dict[str, Tensor]:
    """Without the matrices that are another one, which are saved once."""
    if model.embeddings != "separate":
        del weights["output.weight"]
    if model.embeddings == "shared":
        del weights["target_embedding.weight"]
    return weights


def _languages(path: Path, given: Languages) -> Languages:
    """The languages that the user or the files say."""
    file = path / TOKENIZER_FILE
    values = read_object(file) if file.is_file() else {}
    said = [values.get(f"{side}_lang") for side in ("source", "target")]
    own = [name if isinstance(name, str) and name else None for name in said]
    return given[0] or own[0], given[1] or own[1]


def _directions(languages: list[str], vocabulary: Vocabulary) -> tuple[Direction, ...]:
    """A direction into each language that has a tag; the only direction without tags."""
    tags = vocabulary.pieces(vocabulary.language_tags)
    into: dict[str, tuple[str, ...]] = {
        found[1]: (tag,) for tag in tags if (found := LANGUAGE_TAG.fullmatch(tag))
    }
    return tuple(
        Direction(source_language=languages[0], target_language=target, tags=asked)
        for target, asked in (into or {languages[1]: ()}).items()
    )


def _licence(path: Path) -> str | None:
    """As the model card's front matter states it."""
    if not (path / _CARD).is_file():
        return None
    matter = _FRONT_MATTER.match(read_text(path / _CARD).replace("\r\n", "\n"))
    found = matter and _LICENCE.search(matter[1])
    return found[1] if found else None
