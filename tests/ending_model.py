"""A small Transformer with random weights whose outputs end, as those of trained models do."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.saved.model import save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.vocabularies import BOS, EOS, PAD, UNK, Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

WORDS = ["the", "a", "small", "large", "house", "tree", "stands", "by", "under", "near", "river"]
SIZES: dict[str, Any] = {
    "encoder_layers": 2,
    "decoder_layers": 1,
    "d_model": 16,
    "d_ff": 24,
    "heads": 2,
}


def sentences(count: int) -> list[str]:
    chance = random.Random(3)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 9))) for _ in range(count)]


def write_model(
    path: Path,
    seed: int = 1,
    tags: tuple[str, ...] = (),
    scores: Mapping[int, float] | None = None,
    **variation: Any,
) -> Path:
    """A model that would put out nothing but tags, if there are any.

    Args:
        scores: what some pieces have in front of what the model computes.
    """
    text = sentences(80)
    vocabularies: Vocabularies = train_vocabularies(
        zip(text, text, strict=True), VocabularyConfig(size=60, tags=tags), seed=1
    )
    config = TransformerConfig(**{**SIZES, **variation})
    torch.manual_seed(seed)
    model = Transformer(config, len(vocabularies.source), len(vocabularies.target))
    for parameter in model.parameters():  # fresh biases and gains could hide a missing one
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, mean=0.7, std=0.3)
    decoder: Any = model.decoder
    last: Any = decoder[-1].residuals[2].norm
    if config.residual.norm == "pre":
        last = model.decoder_norm
    with torch.no_grad():  # as trained models do, it ends by itself and shuns what is banned
        model.output.weight[:, 0] = 0
        model.output.weight[[EOS, PAD, UNK, BOS], 0] = torch.tensor([2.0, -9.0, -9.0, -9.0])
        model.output.weight[vocabularies.target.tags, 0] = 9.0
        for piece, score in (scores or {}).items():
            model.output.weight[piece, 0] = score
        last.weight[0], last.bias[0] = 0, 1
        last.weight *= -1  # the piece just read would else come again, its embedding being tied
    weights = {name: tensor.detach() for name, tensor in model.named_parameters()}
    saved = SavedConfig(model=config, search={"extra_length": 12, "beam": 3})
    save_model(path, saved, vocabularies, weights)
    return path
