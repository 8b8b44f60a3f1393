"""The tiny task of reversal, trained by processes that share out state, gradients or weights.

As a program it is the second of two such processes: ``sharded_reversal.py RUNS``.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from reversal import VOCABULARY, SharedReversal, tiny_config, tiny_model, translation
from torch import Tensor

from dragoman.data.batches import Batch
from dragoman.models.interface import TranslationModel
from dragoman.saved.weights import read_tensors
from dragoman.training.checkpoint import checkpoints
from dragoman.training.choose_sharding import chosen_sharding
from dragoman.training.distributed import World
from dragoman.training.objectives import CrossEntropy, MaskedLM
from dragoman.training.objectives.masked_lm import Masking
from dragoman.training.sharding.gradient_sharding import GradientSharding
from dragoman.training.sharding.interface import Sharding
from dragoman.training.tasks import Objective, Task
from dragoman.training.trainer import Trainer

FILES = ("model.safetensors", "optimizer.safetensors")
PART_NUMBERS = 300  # of 4,000 parameters


class Uneven(SharedReversal):
    """The leading process has two passes in a step, others one."""

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
        for (batch,) in super().window(epoch, window, start):
            rows = torch.arange(batch.sentences)
            parts = [rows[:3], rows[3:]] if self.world.is_leader else [rows]
            yield [_chosen(batch, part) for part in parts]


class Sparse(Uneven):
    """In every third step, a process has nothing to learn, and never the same one."""

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
        for number, step in enumerate(super().window(epoch, window, start), start):
            yield [] if (number + self.world.rank) % 3 == 2 else step


class Hidden(SharedReversal):
    """Masked sentences: in a third of the steps none, in another none that hide anything."""

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
        for number, (batch,) in enumerate(super().window(epoch, window, start), start):
            turn = (number + self.world.rank) % 3
            maskable = np.arange(5, VOCABULARY if turn < 2 else 5)
            yield [] if turn == 1 else [Masking(4, maskable)(batch, number)]


class Dying(SharedReversal):
    """Another process than the leading one dies in the middle of the first step."""

    def completed(self, batch: Batch, model: TranslationModel) -> Batch:
        if not self.world.is_leader:
            os._exit(0)
        return batch


def _chosen(batch: Batch, rows: Tensor) -> Batch:
    target = batch.target_output[rows]
    return Batch(
        source=batch.source[rows],
        source_mask=batch.source_mask[rows],
        target_input=batch.target_input[rows],
        target_output=target,
        rows=rows,
        target_tokens=int((target != 0).sum()),
    )


def sharded_trainer(
    run: Path,
    world: World,
    model: TranslationModel,
    stream: type[SharedReversal] = SharedReversal,
    objective: Objective | None = None,
    **values: Any,
) -> Trainer:
    """A trainer of two tasks, of this process' share of them, from the newest checkpoint on."""
    settings = {"max_steps": 5, "validation_steps": 3, "checkpoint_steps": 3}
    config = tiny_config(**{**settings, **values})

    def sharding(model: TranslationModel) -> Sharding:
        if config.sharding != "gradients" or world.size == 1:
            return chosen_sharding(config, world)(model)
        precision = torch.bfloat16 if config.precision == "bfloat16" else torch.float32
        own = config.optimizer, precision, config.ema_decay
        return GradientSharding(model, *own, world=world, part_numbers=PART_NUMBERS)

    trainer = Trainer(
        model,
        [
            translation(stream(world), objective),
            Task("other", SharedReversal(world), CrossEntropy(0.0), 0.5),
        ],
        weighed,
        config,
        run,
        seed=5,
        d_model=16,
        world=world,
        make_sharding=sharding,
    )
    trainer.resume()
    return trainer


def weighed(model: TranslationModel) -> dict[str, float]:
    """A figure of the weights that are validated, which goes into the checkpoint."""
    return {"loss": float(sum(p.detach().double().sum() for p in model.parameters()))}


def saved(run: Path, name: str = FILES[0]) -> dict[str, Tensor]:
    return read_tensors(checkpoints(run)[-1] / name)


def begun(run: Path, other: Path) -> None:
    """Give ``other`` all checkpoints of ``run`` but the newest."""
    for checkpoint in checkpoints(run)[:-1]:
        shutil.copytree(checkpoint, other / "checkpoints" / checkpoint.name)


def assert_close(run: Path, other: Path) -> None:
    """The newest checkpoints are equal but for rounding."""
    for name in FILES:
        first, second = saved(run, name), saved(other, name)
        assert first.keys() == second.keys()
        for key, values in first.items():
            torch.testing.assert_close(second[key], values, rtol=1e-4, atol=1e-6, msg=key)


COMMON: dict[str, Any] = {"ema_decay": 0.9, "optimizer": {"clip_norm": 0.5, "weight_decay": 0.1}}


def train_all(runs: Path, world: World) -> None:
    """What each of the processes does, one training after another."""

    def train(run: str, stream: type[SharedReversal] = Uneven, **values: Any) -> None:
        model = tiny_model(dropout=0.1)
        sharded_trainer(runs / run, world, model, stream, **COMMON, **values).train()

    for sharding in ("none", "state", "gradients", "parameters"):
        train(sharding, sharding=sharding)
    for sharding in ("none", "parameters"):
        train(f"bfloat16-{sharding}", sharding=sharding, precision="bfloat16", max_steps=2)
    for sharding in ("none", "parameters"):
        train(f"sparse-{sharding}", Sparse, sharding=sharding, max_steps=3)
        hidden = {"sharding": sharding, "max_steps": 3, "objective": MaskedLM(0.1)}
        train(f"hidden-{sharding}", Hidden, **hidden)
    world.broadcast(lambda: begun(runs / "parameters", runs / "recomputed"))
    train("recomputed", sharding="parameters", recompute="layers")
    world.broadcast(lambda: begun(runs / "parameters", runs / "later"))
    train("later", sharding="gradients")


def lose_one(runs: Path, world: World) -> None:
    """Train together with a process that dies."""
    sharded_trainer(runs / "lost", world, tiny_model(), Dying, sharding="parameters").train()


if __name__ == "__main__":
    joined = World.join()
    world = World(joined.rank, joined.size, torch.device("cpu"), joined.store)
    train_all(Path(sys.argv[1]), world)
    lose_one(Path(sys.argv[1]), world)
