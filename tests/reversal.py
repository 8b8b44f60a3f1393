"""A tiny task for trainers: copy the source, its pieces reversed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dragoman.data.batches import Batch, make_batch
from dragoman.models import FAMILIES, TransformerConfig
from dragoman.models.interface import TranslationModel
from dragoman.saved.weights import read_tensors
from dragoman.training.checkpoint import path_of
from dragoman.training.distributed import World
from dragoman.training.objectives import CrossEntropy
from dragoman.training.observers import Record
from dragoman.training.settings import TrainingConfig
from dragoman.training.tasks import Objective, Stream, Task
from dragoman.training.trainer import Trainer

VOCABULARY = 19


class Reversal:
    """Batches of random sentences and their reversal, the same for an epoch each time.

    Args:
        steps: in each window.
        sentences: in each batch.
        parts: windows of an epoch.
        passes: batches of each step.
    """

    def __init__(
        self, steps: int = 5, sentences: int = 16, parts: int = 1, passes: int = 1
    ) -> None:
        self.steps, self.sentences, self.parts, self.passes = steps, sentences, parts, passes

    def windows(self, epoch: int) -> int:
        return self.parts

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
        batches = self.all_batches(epoch, window, start * self.passes)
        while step := list(islice(batches, self.passes)):
            yield step

    def completed(self, batch: Batch, model: TranslationModel) -> Batch:
        return batch

    def all_batches(self, epoch: int = 0, window: int = 0, start: int = 0) -> Iterator[Batch]:
        for index in range(start, self.steps * self.passes):
            random = np.random.default_rng([epoch, window, index])
            sources = [
                random.integers(4, VOCABULARY, size=random.integers(2, 7)).tolist()
                for _ in range(self.sentences)
            ]
            yield make_batch(sources, [source[::-1] for source in sources])


class Copying(Reversal):
    """Sentences as they are; an epoch of another length than Reversal's."""

    def __init__(self, steps: int = 3, parts: int = 2) -> None:
        super().__init__(steps, sentences=7, parts=parts)

    def all_batches(self, epoch: int = 0, window: int = 0, start: int = 0) -> Iterator[Batch]:
        for batch in super().all_batches(epoch, window, start):
            sources = [
                [i for i in row.tolist() if i > 3] for row in batch.source
            ]  # without end and padding
            yield make_batch(sources, sources)


class SharedReversal(Reversal):
    """Every process' rows of each batch."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def all_batches(self, epoch: int = 0, window: int = 0, start: int = 0) -> Iterator[Batch]:
        for batch in super().all_batches(epoch, window, start):
            rows = torch.arange(self.world.rank, batch.sentences, self.world.size)
            target_output = batch.target_output[rows]
            yield Batch(
                source=batch.source[rows],
                source_mask=batch.source_mask[rows],
                target_input=batch.target_input[rows],
                target_output=target_output,
                rows=rows,
                target_tokens=int((target_output != 0).sum()),
            )


def tiny_model(dropout: float = 0.1, **choices: Any) -> TranslationModel:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16, "d_ff": 32}
    config = TransformerConfig(**sizes, heads=2, dropout=dropout, **choices)
    return FAMILIES[config.family](config, VOCABULARY, VOCABULARY)


def tiny_config(**values: Any) -> TrainingConfig:
    defaults = {
        "schedule": {"warmup_steps": 10, "peak_learning_rate": 0.01},
        "precision": "float32",
        "max_steps": 12,
        "validation_steps": 6,
        "checkpoint_steps": 4,
        "best_metric": "loss",
        "log_steps": 1,
    }
    return TrainingConfig.model_validate({**defaults, **values})


def translation(stream: Stream, objective: Objective | None = None) -> Task:
    return Task("translation", stream, objective or CrossEntropy(0.1))


def two_tasks(weight: float = 0.5) -> list[Task]:
    return [translation(Reversal()), Task("copying", Copying(), CrossEntropy(0.0), weight)]


def shared_trainer(
    run: Path,
    world: World,
    validate: Callable[[TranslationModel], dict[str, float]] = lambda model: {"loss": 1.0},
) -> Trainer:
    """A trainer of this process' share of the tiny task."""
    return Trainer(
        tiny_model(dropout=0.0),
        [translation(SharedReversal(world))],
        validate,
        tiny_config(max_steps=7, validation_steps=3, checkpoint_steps=100),
        run,
        seed=5,
        d_model=16,
        world=world,
    )


class Records(list[Record]):
    """An observer that remembers."""

    def record(self, record: Record) -> None:
        self.append(record)

    def rewind(self, step: int) -> None:
        self[:] = [record for record in self if record["step"] <= step]

    def close(self) -> None:
        pass

    def of(self, kind: str) -> list[Record]:
        return [record for record in self if record["kind"] == kind]


class Stopper(Records):
    """Sends this process SIGTERM when it is told of a step, of which it learns in the next one."""

    def __init__(self, step: int, kind: str = "training") -> None:
        super().__init__()
        self.stop, self.kind = step - 1, kind

    def record(self, record: Record) -> None:
        super().record(record)
        if record["kind"] == self.kind and record["step"] == self.stop:
            os.kill(os.getpid(), signal.SIGTERM)


def weights(run: Path, step: int) -> dict[str, torch.Tensor]:
    return read_tensors(path_of(run, step) / "model.safetensors")


def assert_same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> None:
    assert first.keys() == second.keys()
    different = [name for name in first if not torch.equal(first[name], second[name])]
    assert different == []
