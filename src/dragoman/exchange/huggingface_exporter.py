"""Models for Hugging Face transformers, as MarianMTModel and MarianTokenizer.

A Transformer of the paper is a MarianMTModel without biases (see
:mod:`~dragoman.exchange.huggingface_marian_importer`): those that are missing here are zeros there.
Pieces keep their ids.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import torch
from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.exchange.huggingface_files import (
    ACTIVATIONS,
    LAYER_NAMES,
    SOURCE_SPM,
    TARGET_SPM,
    TARGET_VOCABULARY_FILE,
    VOCABULARY_FILE,
)
from dragoman.exchange.interface import TRANSFORMER_KNOWN, Exporter, ExportReport
from dragoman.exchange.probes import Probe, batches, check_gap, largest, probes
from dragoman.exchange.vocabulary_files import NOT_NORMALISED, never_written
from dragoman.exchange.weight_layout import permute_width, sines_first
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.saved.directions import language_pairs
from dragoman.saved.expressible import Known, check_expressible
from dragoman.saved.saved_config import SavedModel
from dragoman.search import SearchConfig
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

POSITIONS = 1024
"""Rows of the table of positions: sources and outputs are shorter."""
_THEIRS = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
_KNOWN: Known = {
    **TRANSFORMER_KNOWN,
    "model.d_k": None,
    "model.d_v": None,
    "model.activation": list(_THEIRS),
    "model.norm": ["post"],
    "model.positions": ["sinusoidal"],
    "model.scale_embeddings": None,
}
_TOLERANCE = 1e-4
"""Largest difference of a log-probability, due to another order of summation."""
_IMPOSSIBLE = -100.0
_BATCH = 5
_REMEDY = "export to onnx, or leave the model with Dragoman"


class HuggingfaceExporter(Exporter):
    """Writes what ``MarianMTModel`` and ``MarianTokenizer`` read."""

    name = "huggingface"

    @override
    def check(self, saved: SavedModel) -> None:
        check_expressible(saved.config, _KNOWN, "MarianMTModel", _REMEDY)
        config = saved.config.model
        assert isinstance(config, TransformerConfig), "by its family"
        width = config.d_model // config.multi_head.heads
        if (widths := config.multi_head.head_widths(config.d_model)) != (width, width):
            raise ConfigError(
                f"MarianMTModel needs d_k and d_v of d_model / heads = {width}, not {widths}; "
                f"{_REMEDY}"
            )
        if config.d_model % 2:
            raise ConfigError(
                f"MarianMTModel has another order of positions with an odd d_model "
                f"{config.d_model}; {_REMEDY}"
            )
        for vocabulary in saved.vocabularies:
            _sentencepiece(vocabulary)

    @override
    def written_tags(self, saved: SavedModel) -> dict[str, str]:
        return super().written_tags(saved) | _language_codes(saved.vocabularies.source)

    @override
    def write(self, saved: SavedModel, directory: Path) -> ExportReport:
        with _quiet():
            _tokenizer_files(saved, directory)
            tokenizer = _tokenizer(saved, directory)
            model = _model(saved)
            model.generation_config = transformers.GenerationConfig(**_generation(saved))
            with _refusals():
                model.save_pretrained(directory)
            tokenizer.save_pretrained(directory)
            for path in directory.iterdir():  # its weights would be for this user alone
                path.chmod((directory / SOURCE_SPM).stat().st_mode)
            model = MarianMTModel.from_pretrained(directory).eval()
            tokenizer = MarianTokenizer.from_pretrained(directory)
        drawn = probes(saved)
        gap = largest(_difference(model, batch) for batch in batches(drawn, _BATCH))
        check_gap("MarianMTModel gives", gap, _TOLERANCE)
        alike = _split_alike(saved, tokenizer, drawn)
        return ExportReport(
            compared=f"log-probabilities of {len(drawn)} sentences of random pieces, through "
            f"MarianMTModel of transformers {transformers.__version__}, whose tokenizer splits "
            f"{alike} of their {len(drawn)} texts alike",
            difference=gap,
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
            f"toolkit, does not; {_REMEDY}"
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
    for name, there in LAYER_NAMES.layers(config.encoder_layers, config.decoder_layers).items():
        weight = weights[f"{name}.weight"]
        state[f"{there}.weight"] = weight
        state[f"{there}.bias"] = weights.get(f"{name}.bias", torch.zeros(len(weight)))
    missing, unexpected = theirs.load_state_dict(state, strict=False)
    rest = [name for name in missing if "embed_positions" not in name]
    assert not rest and not unexpected, (rest, unexpected)
    return theirs


def _config(saved: SavedModel, config: TransformerConfig) -> MarianConfig:
    heads, d_ff = config.multi_head.heads, config.feed_forward.d_ff
    return MarianConfig(
        vocab_size=len(saved.vocabularies.source),
        decoder_vocab_size=len(saved.vocabularies.target),
        d_model=config.d_model,
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=d_ff,
        decoder_ffn_dim=d_ff,
        activation_function=_THEIRS[config.feed_forward.activation],
        dropout=config.residual.dropout,
        attention_dropout=config.multi_head.attention_dropout,
        activation_dropout=config.feed_forward.feed_forward_dropout,
        max_position_embeddings=POSITIONS,
        scale_embedding=config.embedding.scale_embeddings,
        share_encoder_decoder_embeddings=config.embeddings == "shared",
        tie_word_embeddings=config.embeddings != "separate",
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        forced_eos_token_id=EOS,
        decoder_start_token_id=BOS,
    )


def _generation(saved: SavedModel) -> dict[str, Any]:
    """Settings of search: ours, and what our search never puts out."""
    search = SearchConfig.model_validate(saved.search)
    return {
        "num_beams": search.beam,
        "length_penalty": search.length_penalty,
        "max_length": POSITIONS // 2,
        "no_repeat_ngram_size": search.no_repeat_ngram,
        "bad_words_ids": [[piece] for piece in never_written(saved)],
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "forced_eos_token_id": EOS,
        "decoder_start_token_id": BOS,
    }


def _difference(model: MarianMTModel, batch: Sequence[Probe]) -> float:
    """The largest difference of a log-probability, in a batch with padding."""
    source, source_mask = _padded([pair.source for pair in batch])
    target, _ = _padded([[BOS, *pair.target[:-1]] for pair in batch])
    with torch.inference_mode():
        outputs = model(input_ids=source, attention_mask=source_mask, decoder_input_ids=target)
    gaps = []
    for scores, pair in zip(outputs.logits.log_softmax(-1), batch, strict=True):
        apart = np.abs(scores[: len(pair.target)].numpy() - pair.log_probabilities)
        # Symbols that an imported model lacks are never put out; no digits of theirs are left.
        gaps.append(apart[pair.log_probabilities > _IMPOSSIBLE].max())
    return largest(gaps)


def _padded(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Ids and mask, ``(batch, longest)``."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
    return ids, ids != PAD


def _split_alike(saved: SavedModel, tokenizer: MarianTokenizer, drawn: list[Probe]) -> int:
    """How many texts get the same ids from the tokenizer as here."""
    vocabulary = saved.vocabularies.source
    texts = [vocabulary.decode(pair.source) for pair in drawn]
    return sum(tokenizer(text).input_ids == [*vocabulary.encode(text), EOS] for text in texts)


def _differences(saved: SavedModel) -> tuple[str, ...]:
    penalty = SearchConfig.model_validate(saved.search).length_penalty
    return (
        f"A hypothesis' log-probability is divided by |Y|^{penalty:g} there, here by "
        f"((5 + |Y|) / 6)^{penalty:g}, so that beam search may rank hypotheses otherwise.",
        NOT_NORMALISED,
        f"Sources have fewer than {POSITIONS} pieces, outputs fewer than {POSITIONS // 2}.",
    )


@contextmanager
def _refusals() -> Iterator[None]:
    """Raises an error of the operating system that safetensors reports as ``OSError``."""
    try:
        yield
    except safetensors.SafetensorError as error:
        if (number := re.search(r"\(os error (\d+)\)", str(error))) is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the progress bars and advice of transformers."""
    log = transformers.utils.logging
    was_shown, verbosity = log.is_progress_bar_enabled(), log.get_verbosity()
    log.disable_progress_bar()
    log.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.set_verbosity(verbosity)
        if was_shown:
            log.enable_progress_bar()
