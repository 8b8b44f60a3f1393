"""Hugging Face's MarianMTModel with fresh weights: a plain training loop, or generation.

marian.py train BATCHES STEPS float32|bfloat16 SIZE       a JSON line: tokens of each step
marian.py translate PIECES DICTIONARY float32|bfloat16 SIZE LENGTH      a JSON line: seconds
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from shared import BOS, EOS, PAD, UNK, read_batches
from torch.nn import functional
from transformers import MarianConfig, MarianMTModel


def model_of(size: dict[str, float], vocabulary: int) -> MarianMTModel:
    width, inner, heads, layers = (int(size[k]) for k in ("d_model", "d_ff", "heads", "layers"))
    return MarianMTModel(
        MarianConfig(
            vocab_size=vocabulary,
            d_model=width,
            encoder_layers=layers,
            decoder_layers=layers,
            encoder_ffn_dim=inner,
            decoder_ffn_dim=inner,
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            dropout=size["dropout"],
            attention_dropout=0.0,
            activation_dropout=0.0,
            activation_function="relu",
            scale_embedding=True,
            max_position_embeddings=512,
            pad_token_id=PAD,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            forced_eos_token_id=None,
            share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True,
        )
    )


def train(path: str, steps: str, precision: str, size: str) -> None:
    vocabulary, batches = read_batches(Path(path))
    model = model_of(json.loads(size), vocabulary).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)
    tokens = []
    for step in range(int(steps)):
        batch = batches[step % len(batches)]
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            logits = model(
                input_ids=batch.source,
                attention_mask=(batch.source != PAD).long(),
                decoder_input_ids=batch.target_input,
                use_cache=False,
            ).logits
            loss = functional.cross_entropy(
                logits.view(-1, vocabulary),
                batch.target_output.view(-1),
                ignore_index=PAD,
                label_smoothing=0.1,
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tokens.append(int((batch.target_output != PAD).sum()))
    print(json.dumps(tokens))


def translate(pieces: str, dictionary: str, precision: str, size: str, length: str) -> None:
    rows = Path(dictionary).read_text(encoding="utf-8").splitlines()
    ids = {row.rsplit(" ", 1)[0]: number for number, row in enumerate(rows, start=4)}
    model = model_of(json.loads(size), len(ids) + 4).eval()
    if precision == "bfloat16":
        model = model.to(torch.bfloat16)
    text = Path(pieces).read_text(encoding="utf-8").splitlines()
    sources = sorted(([ids.get(p, UNK) for p in line.split()] + [EOS] for line in text), key=len)

    def run(chosen: list[list[int]]) -> None:
        for start in range(0, len(chosen), 64):
            batch = chosen[start : start + 64]
            width = max(map(len, batch))
            source = torch.tensor([line + [PAD] * (width - len(line)) for line in batch])
            with torch.inference_mode():
                model.generate(
                    input_ids=source,
                    attention_mask=(source != PAD).long(),
                    num_beams=4,
                    length_penalty=0.6,
                    min_new_tokens=int(length),
                    max_new_tokens=int(length),
                    do_sample=False,
                )

    run(sources[:64])
    start = time.perf_counter()
    run(sources)
    print(json.dumps(time.perf_counter() - start))


if __name__ == "__main__":
    torch.manual_seed(1)
    tasks: dict[str, Callable[..., object]] = {"train": train, "translate": translate}
    tasks[sys.argv[1]](*sys.argv[2:])
