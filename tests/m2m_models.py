"""Random models of M2M-100, NLLB-200 and mBART-50, made and saved by Hugging Face's own program."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch

transformers = pytest.importorskip("transformers")

NLLB_CODES = ["deu_Latn", "eng_Latn", "kor_Hang", "zho_Hans", "zho_Hant"]
LINES = ["the little house by the lake", "ein kleines Haus am See", "das Wetter ist gut", "a b c"]


@dataclass(frozen=True)
class Made:
    """A random model, saved as its toolkit saves it."""

    folder: Path
    model: Any
    codes: dict[str, int]
    """The row of the code of each language."""
    rows: dict[str, int]
    """The row of each piece of text."""

    def source(self, language: str, pieces: list[str]) -> list[int]:
        return [self.codes[language], *(self.rows.get(piece, 3) for piece in pieces), 2]


def trained_spm(kind: str = "bpe") -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES * 5), model_writer=model, vocab_size=60,
        model_type=kind, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    return model.getvalue()


def random_model(size: int, **settings: Any) -> Any:
    torch.manual_seed(1)
    config = transformers.M2M100Config(
        **{
            "vocab_size": size, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2,
            "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 24,
            "decoder_ffn_dim": 24, "max_position_embeddings": 64, "init_std": 0.3, **settings,
        }
    )  # fmt: skip
    return transformers.M2M100ForConditionalGeneration(config).eval()


def nllb(folder: Path, **settings: Any) -> Made:
    """NLLB: ids follow from sentencepiece's, codes from the map of special tokens."""
    spm = trained_spm()
    processor = sentencepiece.SentencePieceProcessor(model_proto=spm)
    pieces = [processor.id_to_piece(number) for number in range(3, len(processor))]
    rows = {piece: row for row, piece in enumerate(pieces, 4)}
    codes = {code: row for row, code in enumerate(NLLB_CODES, 4 + len(pieces))}
    size = 4 + len(pieces) + len(codes) + 3  # <mask> and rows that nothing uses
    model = random_model(size, **settings)
    model.save_pretrained(folder)
    (folder / "sentencepiece.bpe.model").write_bytes(spm)
    special = {"additional_special_tokens": [*NLLB_CODES, "<mask>"]}
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    return Made(folder, model, codes, rows)


def m2m100(folder: Path, **settings: Any) -> Made:
    """M2M-100, with the files of its own tokenizer."""
    spm = trained_spm()
    processor = sentencepiece.SentencePieceProcessor(model_proto=spm)
    pieces = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces += [processor.id_to_piece(number) for number in range(3, len(processor))]
    folder.mkdir()
    files = folder / "own.json", folder / "own.model"
    files[0].write_text(json.dumps({piece: row for row, piece in enumerate(pieces)}))
    files[1].write_bytes(spm)
    tokenizer = transformers.M2M100Tokenizer(str(files[0]), str(files[1]))
    tokenizer.save_pretrained(folder)
    for file in files:
        file.unlink()
    codes = {code: tokenizer.get_lang_id(code) for code in tokenizer.lang_code_to_id}
    model = random_model(len(pieces) + len(codes) + 8, **settings)
    model.save_pretrained(folder)
    return Made(folder, model, codes, {piece: row for row, piece in enumerate(pieces)})


def mbart50(folder: Path, **settings: Any) -> Made:
    """mBART-50, with the files of its own tokenizer, whose languages are always the same."""
    spm = trained_spm("unigram")
    processor = sentencepiece.SentencePieceProcessor(model_proto=spm)
    pieces = [(processor.id_to_piece(i), processor.get_score(i)) for i in range(len(processor))]
    tokenizer = transformers.MBart50Tokenizer(vocab=pieces)
    tokenizer.save_pretrained(folder)
    (folder / "sentencepiece.bpe.model").write_bytes(spm)
    torch.manual_seed(1)
    config = transformers.MBartConfig(
        **{
            "vocab_size": len(tokenizer), "d_model": 16, "encoder_layers": 2, "decoder_layers": 2,
            "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 24,
            "decoder_ffn_dim": 24, "max_position_embeddings": 64, "init_std": 0.3,
            "scale_embedding": True, "decoder_start_token_id": 2, **settings,
        }
    )  # fmt: skip
    model = transformers.MBartForConditionalGeneration(config).eval()
    with torch.no_grad():  # the norms and the bias are not random
        model.final_logits_bias.normal_()
        for module in model.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.weight.uniform_(0.5, 2)
                module.bias.normal_()
    model.save_pretrained(folder)
    rows = {piece: row for row, (piece, _) in enumerate(pieces, 1) if row > 3}
    return Made(folder, model, tokenizer.lang_code_to_id, rows)
