"""Makes ``huggingface_marian/*``: tiny models of MarianMTModel, their logits and greedy texts.

Run in an environment with transformers 5, sentencepiece and PyTorch:
``python make_huggingface_marian.py``.  Every parameter and ``final_logits_bias`` is drawn at
random, and then trained for some steps on a few pairs of invented text, so that translations are
not all alike.  Positions are kept out of the files, as transformers keeps them out.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import invented
import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

HERE = Path(__file__).resolve().parent
MODELS: dict[str, dict[str, Any]] = {
    "shared": {"activation_function": "swish", "scale_embedding": True},
    "separate": {
        "activation_function": "relu",
        "share_encoder_decoder_embeddings": False,
        "tie_word_embeddings": False,
    },
}


def vocabularies(folder: Path, *, shared: bool) -> list[list[str]]:
    """Write both sentencepiece models and the tables of ids, with padding last as OPUS-MT has."""
    pieces = []
    for side, lines in (("source", invented.SOURCE), ("target", invented.TARGET)):
        raw = folder / "raw.txt"
        raw.write_text("\n".join(lines) + "\n", encoding="utf-8")
        sentencepiece.SentencePieceTrainer.train(
            input=str(raw),
            model_prefix=str(folder / side),
            vocab_size=40,
            model_type="unigram" if shared else "bpe",
            normalization_rule_name="identity",
            minloglevel=2,
        )
        raw.unlink()
        (folder / f"{side}.vocab").unlink()
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
        processor = sentencepiece.SentencePieceProcessor(str(folder / f"{side}.spm"))
        pieces.append([processor.id_to_piece(i) for i in range(3, len(processor))])
    sides = [list(dict.fromkeys([*pieces[0], *pieces[1]]))] if shared else pieces
    tables = [["</s>", "<unk>", *side, "<pad>"] for side in sides]
    for name, table in zip(("vocab.json", "target_vocab.json"), tables, strict=False):
        content = {piece: number for number, piece in enumerate(table)}
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return tables


def make(folder: Path, **settings: Any) -> None:
    shared = settings.get("share_encoder_decoder_embeddings", True)
    tables = vocabularies(folder, shared=shared)
    pad = len(tables[-1]) - 1
    config = MarianConfig(
        vocab_size=len(tables[0]),
        decoder_vocab_size=len(tables[-1]),
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=20,
        decoder_ffn_dim=20,
        max_position_embeddings=64,
        pad_token_id=pad,
        eos_token_id=0,
        forced_eos_token_id=0,
        decoder_start_token_id=pad,
        dropout=0.0,
        **settings,
    )
    torch.manual_seed(5)
    model = MarianMTModel(config)
    for name, parameter in model.named_parameters():
        if "embed_positions" not in name:
            torch.nn.init.normal_(parameter, mean=float("norm.weight" in name), std=0.3)
    model.final_logits_bias.normal_(std=0.5)
    options: dict[str, Any] = {"target_vocab_file": str(folder / "target_vocab.json")}
    tokenizer = MarianTokenizer(
        str(folder / "source.spm"),
        str(folder / "target.spm"),
        str(folder / "vocab.json"),
        source_lang="en",
        target_lang="de",
        separate_vocabs=not shared,
        model_max_length=64,
        **({} if shared else options),
    )
    batch = tokenizer(
        list(invented.SOURCE), text_target=list(invented.TARGET), return_tensors="pt", padding=True
    )
    batch["labels"][batch["labels"] == pad] = -100
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(150):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    model.eval()
    model.generation_config.update(
        num_beams=4, max_length=64, bad_words_ids=[[pad]], length_penalty=0.8
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "README.md").write_text("---\nlanguage: de\nlicense: cc-by-4.0\n---\n\nInvented.\n")
    (folder / "expected.json").write_text(json.dumps(expected(model, tokenizer)) + "\n")


def expected(model: MarianMTModel, tokenizer: MarianTokenizer) -> dict[str, Any]:
    """Logits of pairs, ids of sources, and what greedy search writes."""
    with torch.inference_mode():
        batch = tokenizer(
            list(invented.SOURCE[:2]),
            text_target=list(invented.TARGET[:2]),
            return_tensors="pt",
            padding=True,
        )
        logits = model(**batch).logits
        texts = []
        for line in (*invented.SOURCE, *invented.QUESTIONS):
            ids = tokenizer([line], return_tensors="pt")
            found = model.generate(**ids, num_beams=1, do_sample=False, max_length=40)
            texts.append(tokenizer.decode(found[0], skip_special_tokens=True).strip())
    return {
        "source": batch["input_ids"].tolist(),
        "labels": batch["labels"].tolist(),
        "logits": [[[round(one, 4) for one in row] for row in rows] for rows in logits.tolist()],
        "lines": [*invented.SOURCE, *invented.QUESTIONS],
        "texts": texts,
    }


def main() -> None:
    for name, settings in MODELS.items():
        with tempfile.TemporaryDirectory() as work:
            make(Path(work), **settings)
            there = HERE / "huggingface_marian" / name
            shutil.rmtree(there, ignore_errors=True)
            there.mkdir(parents=True)
            for file in sorted(Path(work).iterdir()):
                shutil.copy(file, there / file.name)


if __name__ == "__main__":
    main()
