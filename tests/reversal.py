"""A tiny task for trainers: copy the source, its pieces reversed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from dragoman.data.batches import Batch, BatchConfig, make_batch
from dragoman.models import FAMILIES, TransformerConfig
from dragoman.models.interface import TranslationModel
from dragoman.training.trainer import TrainingConfig

VOCABULARY = 19


class Reversal:
    """Batches of random sentences and their reversal, the same for an epoch each time.

    Args:
        batches: in each window.
        sentences: in each batch.
        parts: windows of an epoch.
    """

    def __init__(self, batches: int = 5, sentences: int = 16, parts: int = 1) -> None:
        self.batches, self.sentences, self.parts = batches, sentences, parts

    def windows(self, epoch: int) -> int:
        return self.parts

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[Batch]:
        for index in range(start, self.batches):
            random = np.random.default_rng([epoch, window, index])
            sources = [
                random.integers(4, VOCABULARY, size=random.integers(2, 7)).tolist()
                for _ in range(self.sentences)
            ]
            yield make_batch(sources, [source[::-1] for source in sources])


def tiny_model(dropout: float = 0.1, **choices: Any) -> TranslationModel:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16, "d_ff": 32}
    config = TransformerConfig(**sizes, heads=2, dropout=dropout, **choices)
    return FAMILIES[config.family](config, VOCABULARY, VOCABULARY)


def tiny_config(**values: Any) -> TrainingConfig:
    defaults = {
        "batches": BatchConfig(batch_tokens=1000),
        "schedule": {"warmup_steps": 10, "peak_learning_rate": 0.01},
        "precision": "float32",
        "max_steps": 12,
        "validation_steps": 6,
        "checkpoint_steps": 4,
        "best_metric": "loss",
        "log_steps": 1,
    }
    return TrainingConfig.model_validate({**defaults, **values})
