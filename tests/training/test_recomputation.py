"""Layers that are computed again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from families import VARIATIONS, build, variations
from reversal import Reversal, assert_same, weights
from torch import Tensor

from dragoman.models import ModelConfig
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.dropout import Dropout, dropout_state, seed_dropout
from dragoman.training.objectives import CrossEntropy
from dragoman.training.recomputation import recompute_layers
from dragoman.training.step import activation_bytes
from dragoman.training.trainer import Trainer

LAYERED = {name: config for name, config in VARIATIONS.items() if config.has_separate_layers}
BATCH = next(Reversal(sentences=5).all_batches())


def gradients(model: TranslationModel) -> dict[str, Tensor]:
    """Of a pass with dropout, from a fresh state of all generators."""
    seed_dropout(1)
    torch.manual_seed(1)
    model.zero_grad(set_to_none=True)
    CrossEntropy(0.1).backward(model, BATCH, 1.0)
    found = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return found | {"figures": torch.tensor(list(model.figures().values()))}


@pytest.mark.parametrize("config", variations(LAYERED))
def test_gradients_are_the_same_bit_for_bit(config: ModelConfig) -> None:
    model = build(config).train()
    for module in model.modules():
        if isinstance(module, Dropout):
            module.rate = 0.3
    expected = gradients(model)
    assert len(expected) > 10
    recompute_layers(model)
    assert_same(gradients(model), expected)


def test_the_masks_of_what_follows_are_not_disturbed() -> None:
    model = build(VARIATIONS["transformer"]).train()
    for module in model.modules():
        if isinstance(module, Dropout):
            module.rate = 0.3
    gradients(model)
    expected = dropout_state()
    recompute_layers(model)
    gradients(model)
    assert str(dropout_state()) == str(expected)


def test_less_is_kept_for_the_backward_pass() -> None:
    model = build(VARIATIONS["transformer"]).train()

    def step() -> int:
        CrossEntropy(0.1).backward(model, BATCH, 1.0)
        return BATCH.target_tokens

    kept = activation_bytes(step, model.parameters())
    recompute_layers(model)
    assert activation_bytes(step, model.parameters()) < kept / 3


def test_training_is_the_same(trainer: Callable[..., Trainer], tmp_path: Path) -> None:
    for choice in ("none", "layers"):
        trainer(tmp_path / choice, recompute=choice).train()
    assert_same(weights(tmp_path / "none", 12), weights(tmp_path / "layers", 12))
