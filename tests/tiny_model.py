"""The smallest model on disk, for tests that need any."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.saved.model import SavedConfig, save_model
from dragoman.text.vocabulary import VocabularyConfig
from dragoman.text.vocabulary_training import train_vocabularies

LINES = ["a b c d e", "e d c", "b a"] * 9


def save_tiny_model(directory: Path, lines: Sequence[str] = LINES, **search: Any) -> Path:
    """An untrained Transformer of letters; what it translates is short."""
    vocabularies = train_vocabularies(
        zip(lines, lines, strict=True), VocabularyConfig(size=14), seed=1
    )
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2)
    torch.manual_seed(1)
    model = Transformer(config, len(vocabularies.source), len(vocabularies.target))
    weights = {name: tensor.detach() for name, tensor in model.named_parameters()}
    saved = SavedConfig(model=config, search={"extra_length": 3, **search})
    save_model(directory, saved, vocabularies, weights)
    return directory
