"""Models for Hugging Face transformers, as MarianMTModel and MarianTokenizer.

A Transformer of the paper is a MarianMTModel without biases (see
:mod:`~dragoman.exchange.huggingface_marian_importer`): those that are missing here are zeros there.
Pieces keep their ids.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from typing_extensions import override

from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.exchange.huggingface_files import (
    SOURCE_SPM,
    TARGET_SPM,
    TARGET_VOCABULARY_FILE,
    VOCABULARY_FILE,
)
from dragoman.exchange.huggingface_writing import (
    ACTIVATIONS_THERE,
    BATCH,
    POSITIONS,
    REMEDY,
    TOLERANCE,
    check_widths,
    gap,
    layers,
    other_ranks,
    padded,
    quiet,
    refusals,
    search_settings,
    sizes,
)
from dragoman.exchange.interface import TRANSFORMER_KNOWN, Exporter, ExportReport
from dragoman.exchange.probes import Probe, batches, check_gap, largest, probes
from dragoman.exchange.vocabulary_files import NOT_NORMALISED, never_written
from dragoman.exchange.weight_layout import permute_width, sines_first
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.models.layers.embeddings import OUTPUT_TIED
from dragoman.saved.directions import language_pairs
from dragoman.saved.expressible import Known, check_expressible
from dragoman.saved.saved_config import SavedModel
from dragoman.text.tags import LANGUAGE_TAG
from dragoman.text.vocabularies import BOS, EOS, PAD, Vocabulary

try:
    import transformers
    from transformers.models.marian.configuration_marian import MarianConfig
    from transformers.models.marian.modeling_marian import MarianMTModel
    from transformers.models.marian.tokenization_marian import MarianTokenizer
except ImportError as error:
    raise MissingExtraError.of(
        "Hugging Face transformers", "transformers>=5", "sacremoses"
    ) from error

_KNOWN: Known = {
    **TRANSFORMER_KNOWN,
    "model.d_k": None,
    "model.d_v": None,
    "model.activation": list(ACTIVATIONS_THERE),
    "model.norm": ["post"],
    "model.positions": ["sinusoidal"],
    "model.scale_embeddings": None,
}


class HuggingfaceMarianExporter(Exporter):
    """Writes what ``MarianMTModel`` and ``MarianTokenizer`` read."""

    name = "huggingface"

    @override
    def check(self, saved: SavedModel) -> None:
        check_expressible(saved.config, _KNOWN, "MarianMTModel", REMEDY)
        config = saved.config.model
        assert isinstance(config, TransformerConfig), "by its family"
        check_widths(config, "MarianMTModel")
        for vocabulary in saved.vocabularies:
            _sentencepiece(vocabulary)

    @override
    def written_tags(self, saved: SavedModel) -> dict[str, str]:
        return super().written_tags(saved) | _language_codes(saved.vocabularies.source)

    @override
    def write(self, saved: SavedModel, directory: Path) -> ExportReport:
        with quiet():
            _tokenizer_files(saved, directory)
            tokenizer = _tokenizer(saved, directory)
            model = _model(saved)
            model.generation_config = transformers.GenerationConfig(**_generation(saved))
            with refusals():
                model.save_pretrained(directory)
            tokenizer.save_pretrained(directory)
            for path in directory.iterdir():  # its weights would be for this user alone
                path.chmod((directory / SOURCE_SPM).stat().st_mode)
            model = MarianMTModel.from_pretrained(directory).eval()
            tokenizer = MarianTokenizer.from_pretrained(directory)
        drawn = probes(saved)
        apart = largest(_difference(model, batch) for batch in batches(drawn, BATCH))
        check_gap("MarianMTModel gives", apart, TOLERANCE)
        alike = _split_alike(saved, tokenizer, drawn)
        return ExportReport(
            compared=f"log-probabilities of {len(drawn)} sentences of random pieces, through "
            f"MarianMTModel of transformers {transformers.__version__}, whose tokenizer splits "
            f"{alike} of their {len(drawn)} texts alike",
            difference=apart,
            differences=_differences(saved),
        )

    @override
    def guide(self, saved: SavedModel) -> str:
        return """With transformers, sentencepiece and sacremoses:

```python
from transformers import MarianMTModel, MarianTokenizer

tokenizer = MarianTokenizer.from_pretrained("DIR")
model = MarianMTModel.from_pretrained("DIR").eval()
found = model.generate(**tokenizer(["..."], return_tensors="pt", padding=True))
print(tokenizer.batch_decode(found, skip_special_tokens=True))
```"""


def _sentencepiece(vocabulary: Vocabulary) -> bytes:
    """The sentencepiece model that splits text for a vocabulary."""
    model = vocabulary.sentencepiece
    if model is None:
        raise ConfigError(
            "MarianTokenizer splits text with sentencepiece, which this vocabulary, of another "
            f"toolkit, does not; {REMEDY}"
        )
    return model


def _language_codes(vocabulary: Vocabulary) -> dict[str, str]:
    """Tags that ask for a language, as OPUS-MT writes them, ``>>de<<``.

    Not where the sentencepiece model itself reads them as ``<2de>``.
    """
    if not vocabulary.tags_alone:
        return {}
    tags = vocabulary.pieces(vocabulary.language_tags)
    return {tag[0]: f">>{tag[1]}<<" for tag in map(LANGUAGE_TAG.fullmatch, tags) if tag}


def _table(vocabulary: Vocabulary) -> dict[str, int]:
    """Ids of pieces."""
    codes = _language_codes(vocabulary)
    pieces = vocabulary.pieces(range(len(vocabulary)))
    return {codes.get(piece, piece): number for number, piece in enumerate(pieces)}


def _shares_sides(saved: SavedModel) -> bool:
    """Whether source and target have one matrix there, which both sides read."""
    config = saved.config.model
    return isinstance(config, TransformerConfig) and config.embeddings == "shared"


def _tokenizer_files(saved: SavedModel, directory: Path) -> None:
    sides = saved.vocabularies
    for name, vocabulary in zip((SOURCE_SPM, TARGET_SPM), sides, strict=True):
        (directory / name).write_bytes(_sentencepiece(vocabulary))
    tables = {VOCABULARY_FILE: sides.source}
    if not _shares_sides(saved):
        tables[TARGET_VOCABULARY_FILE] = sides.target
    for name, vocabulary in tables.items():
        text = json.dumps(_table(vocabulary), ensure_ascii=False, indent=0) + "\n"
        (directory / name).write_text(text, encoding="utf-8")


def _tokenizer(saved: SavedModel, directory: Path) -> MarianTokenizer:
    options: dict[str, Any] = {}
    if not _shares_sides(saved):
        target = str(directory / TARGET_VOCABULARY_FILE)
        options = {"separate_vocabs": True, "target_vocab_file": target}
    pairs = language_pairs(saved.config)
    if len(pairs) == 1:
        options |= {"source_lang": pairs[0][0], "target_lang": pairs[0][1]}
    return MarianTokenizer(
        *(str(directory / name) for name in (SOURCE_SPM, TARGET_SPM, VOCABULARY_FILE)),
        model_max_length=POSITIONS,
        **options,
    )


def _model(saved: SavedModel) -> MarianMTModel:
    """With our weights, under their names and in their order."""
    ours, config = saved.model, saved.config.model
    assert isinstance(ours, Transformer), "see check"
    assert isinstance(config, TransformerConfig)
    theirs = MarianMTModel(_config(saved, config)).eval()
    # Tied parameters have each of their names.
    named = ours.named_parameters(remove_duplicate=False)
    tensors = {name: parameter.detach().float().cpu() for name, parameter in named}
    weights = permute_width(tensors, sines_first(config.d_model))
    bias = weights.get("output.bias", torch.zeros(len(saved.vocabularies.target)))
    state = {
        "final_logits_bias": bias.unsqueeze(0),
        "lm_head.weight": weights["output.weight"],
        "model.encoder.embed_tokens.weight": weights["source_embedding.weight"],
        "model.decoder.embed_tokens.weight": weights["target_embedding.weight"],
    }
    if config.embeddings == "shared":
        state["model.shared.weight"] = weights["source_embedding.weight"]
    state |= layers(weights, config)
    missing, unexpected = theirs.load_state_dict(state, strict=False)
    rest = [name for name in missing if "embed_positions" not in name]
    assert not rest and not unexpected, (rest, unexpected)
    return theirs


def _config(saved: SavedModel, config: TransformerConfig) -> MarianConfig:
    return MarianConfig(
        **sizes(config),
        vocab_size=len(saved.vocabularies.source),
        decoder_vocab_size=len(saved.vocabularies.target),
        max_position_embeddings=POSITIONS,
        share_encoder_decoder_embeddings=config.embeddings == "shared",
        tie_word_embeddings=config.embeddings in OUTPUT_TIED,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        forced_eos_token_id=EOS,
        decoder_start_token_id=BOS,
    )


def _generation(saved: SavedModel) -> dict[str, Any]:
    """Settings of search: ours, and what our search never puts out."""
    return {
        **search_settings(saved),
        "bad_words_ids": [[piece] for piece in never_written(saved)],
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "forced_eos_token_id": EOS,
        "decoder_start_token_id": BOS,
    }


def _difference(model: MarianMTModel, batch: Sequence[Probe]) -> float:
    """The largest difference of a log-probability, in a batch with padding."""
    source, source_mask = padded([pair.source for pair in batch], PAD)
    target, _ = padded([[BOS, *pair.target[:-1]] for pair in batch], PAD)
    with torch.inference_mode():
        outputs = model(input_ids=source, attention_mask=source_mask, decoder_input_ids=target)
    found = zip(outputs.logits, batch, strict=True)
    return largest(gap(logits, pair.log_probabilities) for logits, pair in found)


def _split_alike(saved: SavedModel, tokenizer: MarianTokenizer, drawn: list[Probe]) -> int:
    """How many texts get the same ids from the tokenizer as here."""
    vocabulary = saved.vocabularies.source
    texts = [vocabulary.decode(pair.source) for pair in drawn]
    return sum(tokenizer(text).input_ids == [*vocabulary.encode(text), EOS] for text in texts)


def _differences(saved: SavedModel) -> tuple[str, ...]:
    return (
        other_ranks(saved),
        NOT_NORMALISED,
        f"Sources have fewer than {POSITIONS} pieces, outputs fewer than {POSITIONS // 2}.",
    )
