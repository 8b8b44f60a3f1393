"""Steps of training with a model that is thrown away."""

from __future__ import annotations

from itertools import repeat
from pathlib import Path

import pytest
import torch
from tiny_model import LINES, save_tiny_model

from dragoman.data.batches import Batch, make_batch
from dragoman.models.layers.low_rank import AdapterConfig
from dragoman.saved.model import load_model
from dragoman.saved.saved_config import SavedModel
from dragoman.text.vocabularies import PAD
from dragoman.training.settings import TrainingConfig
from dragoman.training.warm_start import StartConfig
from dragoman.workflows.rehearsal import Rehearsal


@pytest.fixture
def saved(tmp_path: Path) -> SavedModel:
    return load_model(save_tiny_model(tmp_path / "model"), "cpu")


def batches(saved: SavedModel) -> list[Batch]:
    """A short one and one with padding."""
    lines = saved.vocabularies.source.encode_batch(LINES[:3])
    return [make_batch(lines[:1], lines[1:2]), make_batch(lines, lines[::-1])]


def rehearsal(saved: SavedModel, *, adapter: AdapterConfig | None = None) -> Rehearsal:
    start = StartConfig(model=str(saved.path))
    training = TrainingConfig(start_from=start, adapter=adapter, precision="float32")
    steps = repeat(batches(saved))
    model, vocabularies = saved.config.model, saved.vocabularies
    return Rehearsal(model, training, vocabularies, steps, seed=2, takes_over=True)


@torch.no_grad()
def expected_loss(saved: SavedModel) -> float:
    """By the cross-entropy of PyTorch over whole batches."""
    total, tokens = 0.0, 0
    for batch in batches(saved):
        memory = saved.model.encode(batch.source, batch.source_mask)
        hidden, _ = saved.model.decode(batch.target_input, memory, saved.model.start(memory))
        logits = saved.model.logits(hidden).flatten(0, 1).double()
        gold = batch.target_output.flatten()
        total += float(
            torch.nn.functional.cross_entropy(logits, gold, ignore_index=PAD, reduction="sum")
        )
        tokens += int((gold != PAD).sum())
    return total / tokens


@pytest.mark.parametrize("adapter", [None, AdapterConfig(rank=2)])
def test_it_learns_from_the_weights_that_it_takes_over(
    saved: SavedModel, adapter: AdapterConfig | None
) -> None:
    tried = rehearsal(saved, adapter=adapter)
    before = tried.loss(batches(saved))
    assert before == pytest.approx(expected_loss(saved), rel=1e-5)
    tried.step()
    assert tried.loss(batches(saved)) == before  # a rate of 0 changes nothing
    for _ in range(5):
        tried.step(0.01)
    assert tried.loss(batches(saved)) < before - 0.01
    assert rehearsal(saved, adapter=adapter).loss(batches(saved)) == before
