"""Importing Hugging Face's MarianMTModel, the form in which OPUS-MT is published.

Tiedemann and Thottingal 2020, "OPUS-MT: Building open translation services for the World"; Marian:
Junczys-Dowmunt et al. 2018, arXiv:1804.00344.  The model normalises after each sublayer, has biases
everywhere, all sines before all cosines, and one more number per target piece
(``final_logits_bias``).  Its outputs begin with padding.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.ctranslate2_files import BINARY_FILE
from dragoman.exchange.foreign_files import ForeignWeights, numbered_from_zero, read_bytes
from dragoman.exchange.foreign_transformer import SIDES, transformer_config, unsaid
from dragoman.exchange.huggingface_files import (
    CONFIG_FILE,
    LAYER_NAMES,
    SOURCE_SPM,
    TARGET_SPM,
    TARGET_VOCABULARY_FILE,
    VOCABULARY_FILE,
    HuggingfaceOptions,
    languages_in,
    licence_in,
    weights_in,
)
from dragoman.exchange.interface import ForeignModel, Importer, Languages
from dragoman.exchange.opus_codes import code_tags, directions_into
from dragoman.exchange.weight_layout import (
    permute_width,
    sines_first,
    sines_then_cosines,
    with_rows,
)
from dragoman.models.families.transformer import TransformerConfig
from dragoman.models.layers.positions import sinusoids
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.vocabularies import BOS, PAD, UNK, Vocabularies
from dragoman.text.vocabularies.foreign_vocabulary import (
    Numbered,
    Special,
    dictionary_over_sentencepiece,
)

_POSITIONS_TOLERANCE = {torch.float16: 1e-3, torch.bfloat16: 8e-3}
"""Largest difference of a position from the formula, whose values are from -1 to 1, by type; 1e-4
for other types."""
# What changes the function without a weight; the only values that MarianMTModel has.
_REQUIRED = {
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
}


class HuggingfaceMarianImporter(Importer):
    """Reads a directory of MarianMTModel and MarianTokenizer."""

    name = "huggingface-marian"

    @override
    def recognises(self, path: Path) -> bool:
        # A model of CTranslate2 may have the same files.
        files = (CONFIG_FILE, SOURCE_SPM, VOCABULARY_FILE)
        return not (path / BINARY_FILE).is_file() and all((path / name).is_file() for name in files)

    @override
    def read(self, path: Path, languages: Languages) -> ForeignModel:
        settings = _Settings.of(path, "marian")
        model = settings.model()
        sides = _sides(path, settings)
        weights = _weights(path, settings, sides)
        said = languages_in(path, languages)
        source_language, target_language = said[0] or "source", said[1] or "target"
        target = sides[1]
        never = [target.rows[piece] for piece in (PAD, UNK, BOS, *target.vocabulary.tags)]
        search, search_notes = settings.search(never)
        config = SavedConfig(
            source_language=source_language,
            target_language=target_language,
            directions=directions_into(source_language, target_language, sides[0].vocabulary),
            model=model,
            search=search,
        )
        return ForeignModel(
            config=config,
            vocabularies=Vocabularies(*(side.vocabulary for side in sides)),
            weights=weights,
            origin=settings.origin("MarianMTModel", path),
            licence=licence_in(path),
            notes=(*unsaid(said), *search_notes),
        )


class _Settings(HuggingfaceOptions):
    def model(self) -> TransformerConfig:
        """Our configuration of the same model."""
        self.require(_REQUIRED, "MarianMTModel")
        settings = {**self.settings(), "output_bias": True, "embeddings": self.sharing}
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


def _sides(path: Path, settings: _Settings) -> tuple[Numbered, Numbered]:
    """The vocabularies of both sides, with the ids that their pieces have there."""
    source = _table(path / VOCABULARY_FILE, settings.of_type("vocab_size", int))
    target = source
    if not settings.shares_sides:
        size = settings.of_type("decoder_vocab_size", int, len(source))
        target = _table(path / TARGET_VOCABULARY_FILE, size)
    start = settings.of_type("decoder_start_token_id", int, target["<pad>"])
    begin = next((piece for piece, number in target.items() if number == start), None)
    if begin is None:
        raise DataError(f"{settings.where}: decoder_start_token_id: {start} is no piece")
    for name, ids in (
        ("pad_token_id", {source["<pad>"]}),
        ("eos_token_id", {source["</s>"], target["</s>"]}),
    ):
        if ids != {settings.of_type(name, int, min(ids))}:
            raise DataError(
                f"{settings.where}: {name}: {settings.values.get(name)}, but {VOCABULARY_FILE} has "
                f"{min(ids)}; they do not belong together"
            )
    sides = []
    for file, table in ((SOURCE_SPM, source), (TARGET_SPM, target)):
        special = Special("<pad>", "<unk>", begin if table is target else None, "</s>")
        tags = code_tags(table)
        where = path / file
        sides.append(
            dictionary_over_sentencepiece(read_bytes(where), table, special, str(where), tags=tags)
        )
    return sides[0], sides[1]


def _table(path: Path, size: int) -> dict[str, int]:
    """Pieces and their ids, which are the rows of a matrix."""
    table = numbered_from_zero(path)
    if table is None:
        raise DataError(f"{path}: its ids are not 0, 1, 2 ..., each once")
    if len(table) != size:
        raise DataError(
            f"{path}: has {len(table)} pieces, the model {size}; they do not belong together"
        )
    for special in ("<unk>", "<pad>", "</s>"):
        if special not in table:
            raise DataError(f"{path}: has no piece {special}")
    return table


def _weights(
    path: Path, settings: _Settings, sides: tuple[Numbered, Numbered]
) -> dict[str, Tensor]:
    """All weights, under our names and in our order."""
    theirs, model = weights_in(path), settings.model()
    weights = _embeddings(theirs, settings)
    source, target = map(_rows, sides)
    _check_rows(weights, len(set(source)), len(set(target)), model.d_model, theirs.where)
    for ours, name in LAYER_NAMES.layers(model.encoder_layers, model.decoder_layers).items():
        for kind in ("weight", "bias"):
            weights[f"{ours}.{kind}"] = theirs.take(f"{name}.{kind}")
    _check_positions(theirs, model.d_model)
    theirs.check_all_taken()
    if settings.shares_sides:
        source = target
    begins_otherwise = target.count(target[BOS]) > 1  # with another symbol, such as <pad>
    weights = with_rows(weights, source, target, silent=[BOS] if begins_otherwise else [])
    weights = permute_width(weights, sines_then_cosines(model.d_model), theirs.where)
    # Matrices that are another one are saved once.
    if model.embeddings != "separate":
        del weights["output.weight"]
    if model.embeddings == "shared":
        del weights["target_embedding.weight"]
    return weights


def _embeddings(theirs: ForeignWeights, settings: _Settings) -> dict[str, Tensor]:
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
    weights = {"source_embedding.weight": source, "target_embedding.weight": target}
    weights["output.weight"] = target if settings.sharing != "separate" else theirs.take(output)
    theirs.ignore(copies)
    bias = theirs.optional("final_logits_bias")
    weights["output.bias"] = torch.zeros(len(target)) if bias is None else bias.reshape(-1)
    return weights


def _check_positions(theirs: ForeignWeights, d_model: int) -> None:
    """Check the fixed positions, which older files hold, against ours."""
    for side in SIDES:
        name = f"model.{side}.embed_positions.weight"
        if name not in theirs:
            continue
        table = theirs.table(name, d_model)
        expected = sinusoids(len(table), d_model)[:, sines_first(d_model)].float()
        tolerance = _POSITIONS_TOLERANCE.get(theirs.dtype(name), 1e-4)
        if (table - expected).abs().max() > tolerance:
            raise ConfigError(
                f"{theirs.where}: {name} are not the sinusoids of Vaswani et al. 2017, which "
                "MarianMTModel has"
            )


def _check_rows(
    weights: dict[str, Tensor], source: int, target: int, d_model: int, file: Path
) -> None:
    sizes = {"source_embedding.weight": source, "target_embedding.weight": target}
    sizes |= {"output.weight": target, "output.bias": target}
    for name, size in sizes.items():
        rows, *width = weights[name].shape
        if rows != size:
            raise DataError(f"{file}: {name} has {rows} rows, expected {size}")
        if width not in ([], [d_model]):
            raise DataError(
                f"{file}: {name} has the width {width}, and {CONFIG_FILE} says d_model: {d_model}"
            )


def _rows(side: Numbered) -> list[int]:
    """Their row of each of our pieces; that of padding for symbols that they lack."""
    pad = side.rows[PAD]
    assert pad is not None, "the table has it"
    return [pad if row is None else row for row in side.rows]
