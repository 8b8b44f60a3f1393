"""A parser on disk, untrained: what it writes are trees because search lets nothing else pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import build_model, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

PAIRS = [
    ("The dog barks .", "(S (NP DT NN )NP (VP VBZ )VP . )S"),
    ("A -LRB- big -RRB- cat sleeps .", "(S (NP DT -LRB- JJ -RRB- NN )NP (VP VBZ )VP . )S"),
]


def save_parser(directory: Path, **search: Any) -> Path:
    """An untrained parser of letters, whose search has the grammar of trees."""
    config = TransformerConfig(
        encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2, embeddings="target"
    )
    vocabularies = train_vocabularies(
        PAIRS * 5, VocabularyConfig(size=30, joint=False, target_kind="word"), seed=1
    )
    torch.manual_seed(1)
    model = build_model(config, vocabularies)
    weights = {name: tensor.detach() for name, tensor in model.named_parameters()}
    settings = {"grammar": "trees", "extra_length": 12, "beam": 3, **search}
    save_model(directory, SavedConfig(model=config, search=settings), vocabularies, weights)
    return directory
