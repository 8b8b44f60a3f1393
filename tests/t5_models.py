"""Random models of T5, mT5 and MADLAD-400, made and saved by Hugging Face's own program."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from m2m_models import LINES
from safetensors.torch import load_file, save_file

transformers = pytest.importorskip("transformers", minversion="5")

PREFIXES: dict[str, dict[str, Any]] = {
    "translation_en_to_de": {"prefix": "translate English to German: ", "num_beams": 4},
    "translation_en_to_fr": {"prefix": "translate English to French: "},
    "summarization": {"prefix": "summarize: "},
}
LANGUAGES = ["de", "en", "ko", "zh_Latn"]
_TEXT = [*LINES, *(task["prefix"] for task in PREFIXES.values())]


@dataclass(frozen=True)
class Made:
    """A random model, saved as its toolkit saves it."""

    folder: Path
    model: Any

    def source(self, text: str) -> list[int]:
        """The rows of a text by sentencepiece itself, with the end symbol."""
        spm = sentencepiece.SentencePieceProcessor(str(self.folder / "spiece.model"))
        return [*spm.encode(text), self.model.config.eos_token_id]

    @property
    def pieces(self) -> list[str]:
        """By row."""
        spm = sentencepiece.SentencePieceProcessor(str(self.folder / "spiece.model"))
        return [spm.id_to_piece(row) for row in range(len(spm))]


def trained_spm(**options: Any) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(_TEXT * 5), model_writer=model, vocab_size=70,
        model_type="unigram", hard_vocab_limit=False, minloglevel=2, **options,
    )  # fmt: skip
    return model.getvalue()


def saved(folder: Path, spm: bytes, kind: str, *, output: bool, **settings: Any) -> Made:
    """A random model with all of its weights unlike, and its sentencepiece model.

    With ``output``, its output has weights of its own, as in published files.
    """
    size = len(sentencepiece.SentencePieceProcessor(model_proto=spm)) + 9  # rows without a piece
    torch.manual_seed(1)
    options: dict[str, Any] = {
        "vocab_size": size, "d_model": 12, "d_kv": 5, "d_ff": 16, "num_layers": 2, "num_heads": 3,
        "relative_attention_num_buckets": 8, "relative_attention_max_distance": 10,
        "decoder_start_token_id": 0, "tie_word_embeddings": not output, **settings,
    }  # fmt: skip
    model = getattr(transformers, f"{kind}ForConditionalGeneration")(
        getattr(transformers, f"{kind}Config")(**options)
    )
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("norm.weight"):
                weight.uniform_(0.5, 2)
            else:
                weight.normal_(std=0.4)
    model.save_pretrained(folder)
    file, config = folder / "model.safetensors", folder / "config.json"
    if output:  # transformers 5 ties what it makes, and not what it reads
        save_file(
            load_file(file) | {"lm_head.weight": torch.randn(size, 12)}, file, {"format": "pt"}
        )
    values = json.loads(config.read_text())
    values.pop("scale_decoder_outputs", None)  # as published
    config.write_text(json.dumps(values | {"tie_word_embeddings": not output}))
    (folder / "spiece.model").write_bytes(spm)
    return Made(folder, opened(folder, kind))


def opened(folder: Path, kind: str = "T5") -> Any:
    """The model as Hugging Face's program reads it."""
    return getattr(transformers, f"{kind}ForConditionalGeneration").from_pretrained(folder).eval()


def t5(folder: Path, **settings: Any) -> Made:
    """Version 1.0: one matrix of pieces, ReLU, words in front of a source."""
    spm = trained_spm(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    settings = {"task_specific_params": PREFIXES, **settings}
    return saved(folder, spm, "T5", **{"output": False, **settings})


def mt5(folder: Path, **settings: Any) -> Made:
    """Version 1.1 for many languages: a gate, and an output of its own."""
    spm = trained_spm(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    return saved(folder, spm, "MT5", **{"output": True, **settings})


def madlad(folder: Path, **settings: Any) -> Made:
    """Other ids of special pieces, and a piece for each language."""
    tags = [f"<2{language}>" for language in LANGUAGES]
    spm = trained_spm(pad_id=-1, unk_id=0, bos_id=1, eos_id=2, user_defined_symbols=tags)
    settings = {
        "feed_forward_proj": "gated-gelu", "pad_token_id": 1, "eos_token_id": 2, **settings,
    }  # fmt: skip
    return saved(folder, spm, "T5", **{"output": True, **settings})
