"""Importing M2M-100, NLLB-200 and mBART-50, translation models of many languages.

Fan et al. 2020, arXiv:2010.11125, and NLLB Team 2022, arXiv:2207.04672, are Hugging Face's
M2M100ForConditionalGeneration.  The model normalises before each sublayer, has biases everywhere
but in the output, and fairseq's sinusoids.  mBART-50 (Tang et al. 2020, arXiv:2008.00401), Hugging
Face's MBartForConditionalGeneration, has learned positions in their place, normalises embeddings,
and has one more number per target piece (``final_logits_bias``).

A source begins with the code of its language, an output with the end symbol and the code of the
language to write: here both are tags of the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.foreign_files import (
    ForeignWeights,
    numbered_from_zero,
    read_bytes,
    read_object,
)
from dragoman.exchange.foreign_transformer import (
    SIDES,
    ForeignSides,
    ForeignTransformer,
    PieceMatrices,
    Positions,
)
from dragoman.exchange.huggingface_files import (
    ADDED_FILE,
    LAYER_NAMES,
    TOKENIZER_FILE,
    VOCABULARY_FILE,
    WHOLE_FILE,
    HuggingfaceOptions,
    added_pieces,
    licence_in,
    model_type,
    piece_matrices,
    weights_in,
)
from dragoman.exchange.interface import ForeignModel, Importer, Languages
from dragoman.exchange.m2m_codes import CODE, M2M_LANGUAGES, MBART_CODES, language_of
from dragoman.saved.directions import check_language
from dragoman.text.examples import Direction
from dragoman.text.tags import language_tag
from dragoman.text.vocabularies import BOS, PAD, UNK
from dragoman.text.vocabularies.foreign_vocabulary import (
    Special,
    dictionary_over_sentencepiece,
    pieces_of,
)

SPM_FILE = "sentencepiece.bpe.model"
_MAP_FILE = "special_tokens_map.json"
FAIRSEQ_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
"""The first pieces, in the order of their rows."""
_NEVER = ("<s>", "<mask>")  # in no text and no output
_SPM_FIRST = 3  # sentencepiece's own special pieces, in another order
FIRST_POSITION = 2
"""Number of the first position, behind that of padding."""
_OUTPUT = "lm_head.weight"
_MATRICES = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    _OUTPUT,
)
"""Names of the matrix of pieces, of which the output may have another."""
_MBART_REQUIRED = {
    "normalize_before": True,
    "normalize_embedding": True,
    "add_final_layer_norm": True,
    "static_position_embeddings": False,
}
"""Switches in older files, with the only values that MBartForConditionalGeneration has."""


class HuggingfaceM2MImporter(Importer):
    """Reads a directory of M2M100ForConditionalGeneration with its sentencepiece model."""

    name = "huggingface-m2m100"
    kind, model = "m2m_100", "M2M100ForConditionalGeneration"
    codes: ClassVar[str] = ""
    """Codes of the languages, if the tokenizer has them whatever its files list."""

    @override
    def recognises(self, path: Path) -> bool:
        return (path / SPM_FILE).is_file() and model_type(path) == self.kind

    def transformer(self, path: Path, options: HuggingfaceOptions) -> type[_M2MTransformer]:
        """The kind of Transformer that a directory has.

        Raises:
            ConfigError: its function is another one.
        """
        return _M2MTransformer

    @override
    def read(self, path: Path, languages: Languages) -> ForeignModel:
        options = HuggingfaceOptions.of(path, self.kind)
        transformer = self.transformer(path, options)
        weights = weights_in(path)
        codes, sides = _sides(path, options, weights, self.codes)
        options = _without_forced_code(options, set(codes.values()))
        theirs = transformer(weights, sides, options)
        rows = sides.numbered[1].rows
        never = [FAIRSEQ_FIRST.index("<s>"), *(rows[piece] for piece in (PAD, UNK, BOS))]
        search, notes = options.search([*never, *codes.values()])
        names = [language_of(code) for code in codes]
        found = theirs.imported((names[0], names[0]), "", search, notes)
        config = found.config.model_copy(
            update={
                "source_language": "source",
                "target_language": languages[1] or "target",
                "directions": _directions(languages, names),
                "names_source": True,
            }
        )
        return ForeignModel(
            config=config,
            vocabularies=found.vocabularies,
            weights=found.weights,
            origin=options.origin(self.model, path),
            licence=licence_in(path),
            notes=found.notes,
        )


class HuggingfaceMbartImporter(HuggingfaceM2MImporter):
    """Reads a directory of MBartForConditionalGeneration with the tokenizer of mBART-50."""

    name = "huggingface-mbart"
    kind, model = "mbart", "MBartForConditionalGeneration"
    codes = MBART_CODES

    @override
    def transformer(self, path: Path, options: HuggingfaceOptions) -> type[_M2MTransformer]:
        options.require(_MBART_REQUIRED, self.model)
        file = path / TOKENIZER_FILE
        values = read_object(file) if file.is_file() else {}
        tokenizer = values.get("tokenizer_class") or options.get("tokenizer_class")
        if _begin(options) is None or str(tokenizer).startswith("MBartTokenizer"):
            raise ConfigError(
                f"{options.where}: this is mBART-25, which reads the language behind the source "
                "and has it in place of the symbol that begins outputs; only mBART-50 is imported"
            )
        return _MbartTransformer


@dataclass
class _M2MTransformer(ForeignTransformer):
    options: HuggingfaceOptions

    names = LAYER_NAMES

    @override
    def matrices(self) -> PieceMatrices:
        shared, output = piece_matrices(self.weights, _MATRICES, _OUTPUT)
        return PieceMatrices(shared, shared, output)

    @override
    def settings(self, d_model: int) -> dict[str, Any]:
        options = self.options
        if options.of_type("d_model", int) != d_model:
            raise DataError(
                f"{options.where}: d_model: {options.get('d_model')}, but the embeddings have the "
                f"width {d_model}; they do not belong together"
            )
        return {
            **options.settings(),
            "norm": "pre",
            "scale_embeddings": options.of_type("scale_embedding", bool, True),
            "language_tags": "decoder_second",
        }

    @override
    def positions(self, d_model: int) -> Positions:
        settings = {"timescales": "tensor2tensor", "first_position": FIRST_POSITION}
        return Positions({"positions": "sinusoidal", **settings}, sines_first=True)

    @override
    def leave_out(self) -> Sequence[str]:
        # The fixed positions, and a bias of zeros that no release of the models has.
        ends = (".embed_positions.weights", ".embed_positions.weight")
        self.weights.ignore(name for name in self.weights.names if name.endswith(ends))
        return ()


@dataclass
class _MbartTransformer(_M2MTransformer):
    @override
    def matrices(self) -> PieceMatrices:
        bias = self.weights.optional("final_logits_bias")
        return replace(super().matrices(), bias=None if bias is None else bias.reshape(-1))

    @override
    def settings(self, d_model: int) -> dict[str, Any]:
        scaled = self.options.of_type("scale_embedding", bool, False)
        settings = {"scale_embeddings": scaled, "normalize_embeddings": True}
        return {**super().settings(d_model), **settings}

    @override
    def positions(self, d_model: int) -> Positions:
        names = [f"model.{side}.embed_positions.weight" for side in SIDES]
        tables = [self.weights.table(name, d_model) for name in names]
        end = min(map(len, tables))
        # A source here has the tag of the target language at its first place, which is not read.
        source, target = tables[0][FIRST_POSITION - 1 : end - 1], tables[1][FIRST_POSITION:end]
        # A target has the begin symbol in front of that tag, beside max_positions.
        settings = {"positions": "learned", "max_positions": end - FIRST_POSITION - 1}
        return Positions(settings, [source, target])

    @override
    def leave_out(self) -> Sequence[str]:
        return ()


def _sides(
    path: Path, options: HuggingfaceOptions, weights: ForeignWeights, always: str
) -> tuple[dict[str, int], ForeignSides]:
    """The codes of languages with their rows, and the vocabulary of both sides."""
    file, size = path / SPM_FILE, options.of_type("vocab_size", int)
    model = read_bytes(file)
    ids = numbered_from_zero(path / VOCABULARY_FILE) if (path / VOCABULARY_FILE).is_file() else None
    if ids is None:  # NLLB: the pieces in their order, behind those of fairseq
        pieces = pieces_of(model, str(file))[_SPM_FIRST:]
        ids = {piece: row for row, piece in enumerate((*FAIRSEQ_FIRST, *pieces))}
    codes = _codes(path, len(ids), always)
    ids |= codes
    if max(ids.values()) >= size:
        raise DataError(
            f"{path}: its files number {max(ids.values()) + 1} pieces, the model has {size}; they "
            "do not belong together"
        )
    begin = _begin(options)
    if begin is None:
        raise ConfigError(
            f"{options.where}: decoder_start_token_id: {options.get('decoder_start_token_id')!r} "
            "is neither <s> nor </s>, so that it cannot be imported"
        )
    codes = _with_vectors(codes, weights)
    for never in (*_NEVER, *(code for code in ids if CODE.fullmatch(code) and code not in codes)):
        if never != begin:
            ids.pop(never, None)
    tags = {code: language_tag(language_of(code)) for code in codes}
    special = Special("<pad>", "<unk>", begin, "</s>")
    numbered = dictionary_over_sentencepiece(model, ids, special, str(file), tags=tags)
    return codes, ForeignSides((numbered, numbered), (size, size))


def _begin(options: HuggingfaceOptions) -> str | None:
    """The piece that targets begin with, ``</s>`` unless a model was trained otherwise."""
    end = FAIRSEQ_FIRST.index("</s>")
    start = options.of_type("decoder_start_token_id", int, end)
    found = dict(enumerate(FAIRSEQ_FIRST)).get(start)
    return found if found in {"<s>", "</s>"} else None


def _with_vectors(codes: dict[str, int], weights: ForeignWeights) -> dict[str, int]:
    """The codes that are not only the tokenizer's: a language that the model lacks has zeros."""
    name = next((name for name in _MATRICES if name in weights), None)
    if name is None:
        return codes  # an error, later
    rows = weights.take(name)[list(codes.values())]
    return {code: row for (code, row), any_ in zip(codes.items(), rows.any(1), strict=True) if any_}


def _codes(path: Path, known: int, always: str) -> dict[str, int]:
    """The codes of languages with their rows, from whichever file has them, or else ``always``."""
    files = (TOKENIZER_FILE, ADDED_FILE, WHOLE_FILE, _MAP_FILE)
    for file in (path / name for name in files if (path / name).is_file()):
        added = _numbered(read_object(file), known)
        if codes := {piece: row for piece, row in added if CODE.fullmatch(piece)}:
            return codes
    if always:
        return {code: row for row, code in enumerate(always.split(), known)}
    raise DataError(
        f"{path}: none of {', '.join(files)} lists the codes of its languages, such as __de__ or "
        "deu_Latn"
    )


def _numbered(values: Mapping[str, Any], known: int) -> Iterator[tuple[str, int]]:
    """Added pieces in one of the forms in which files of tokenizers list them."""
    yield from added_pieces(values)
    yield from ((name, row) for name, row in values.items() if isinstance(row, int))
    listed = M2M_LANGUAGES.get(str(values.get("language_codes")), "").split()
    yield from ((f"__{language}__", row) for row, language in enumerate(listed, known))
    special = values.get("additional_special_tokens")
    for row, token in enumerate(special if isinstance(special, list) else (), known):
        yield str(token.get("content") if isinstance(token, dict) else token), row


def _directions(languages: Languages, names: Sequence[str]) -> tuple[Direction, ...]:
    """A direction into each language, from any."""
    for language in languages:
        if language is not None:
            check_language(language, names)
    return tuple(
        Direction(source_language="source", target_language=name, tags=(language_tag(name),))
        for name in names
    )


def _without_forced_code(options: HuggingfaceOptions, codes: set[int]) -> HuggingfaceOptions:
    """The options without a language that every output begins with: it is chosen here."""
    forced = options.values.get("forced_bos_token_id")
    if forced not in codes:
        return options
    values = {
        name: value for name, value in options.values.items() if name != "forced_bos_token_id"
    }
    return HuggingfaceOptions(values, options.where, prefix="")
