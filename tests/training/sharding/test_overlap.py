"""Gradients sent while the backward pass runs, beside the whole sent after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import torch
from families import VARIATIONS, build
from reversal import Reversal, SharedReversal, assert_same, tiny_config, tiny_model, translation
from torch import Tensor
from worlds import GlooThreads, gloo_together

from dragoman.core.errors import ConfigError
from dragoman.data.batches import Batch
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.low_rank import AdapterConfig, add_adapters
from dragoman.saved.weights import read_tensors
from dragoman.training.checkpoint import checkpoints
from dragoman.training.distributed import World
from dragoman.training.objectives import CrossEntropy
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.sharding.replicas import OverlappingReplicas, Replicas
from dragoman.training.tasks import Task
from dragoman.training.trainer import Trainer

PART_NUMBERS = 300  # of 4,000 parameters
Sizes = list[int]


class Passes(SharedReversal):
    """Each step in several passes, of which every process takes its rows."""

    def __init__(self, world: World, passes: int) -> None:
        super().__init__(world)
        self.passes = passes


def train(
    run: Path,
    size: int,
    when: str,
    passes: int = 1,
    precision: str = "float32",
    adapter: AdapterConfig | None = None,
) -> Sizes:
    """Train the tiny task with two tasks in it; how much each process' collectives summed."""
    sent: list[Sizes] = [[] for _ in range(size)]
    models = [tiny_model(dropout=0.0) for _ in range(size)]
    if adapter is not None:
        for model in models:
            add_adapters(model, adapter, seed=1)

    def work(world: GlooThreads) -> None:
        config = tiny_config(
            max_steps=5, validation_steps=9, precision=precision, send_gradients=when
        )
        kind = torch.bfloat16 if precision == "bfloat16" else torch.float32
        settings = (config.optimizer, kind, None)
        tasks = [
            translation(Passes(world, passes)),
            Task("other", Passes(world, passes), CrossEntropy(0.0), 0.5),
        ]
        trainer = Trainer(
            models[world.rank],
            tasks,
            lambda model: {"loss": 1.0},
            config,
            run,
            seed=5,
            d_model=16,
            world=world,
            make_sharding=lambda model: (
                OverlappingReplicas(model, *settings, world=world, part_numbers=PART_NUMBERS)
                if when == "during"
                else Replicas(model, *settings)
            ),
        )
        trainer.train()
        sent[world.rank] += world.sent

    for one in gloo_together(size, work):
        one.result()
    assert all(one == sent[0] for one in sent), "all processes send in one order"
    return sent[0]


def saved(run: Path) -> dict[str, Tensor]:
    return read_tensors(checkpoints(run)[-1] / "model.safetensors")


@pytest.mark.parametrize(("passes", "precision"), [(1, "float32"), (3, "float32"), (2, "bfloat16")])
def test_two_processes_learn_the_same_bit_for_bit(
    passes: int, precision: str, tmp_path: Path
) -> None:
    """A sum of two does not depend on their order."""
    after = train(tmp_path / "after", 2, "after", passes, precision)
    during = train(tmp_path / "during", 2, "during", passes, precision)
    assert len(during) > len(after) + 5 * 5
    assert_same(saved(tmp_path / "during"), saved(tmp_path / "after"))


def test_adapters_learn_the_same_bit_for_bit(tmp_path: Path) -> None:
    """No embeddings learn, so that nothing is left to send after the backward pass."""
    for when in ("after", "during"):
        train(tmp_path / when, 2, when, adapter=AdapterConfig(rank=2))
    assert_same(saved(tmp_path / "during"), saved(tmp_path / "after"))


def test_three_processes_learn_the_same_within_rounding(tmp_path: Path) -> None:
    for when in ("after", "during"):
        train(tmp_path / when, 3, when)
    after = saved(tmp_path / "after")
    for name, values in saved(tmp_path / "during").items():
        torch.testing.assert_close(values, after[name], rtol=1e-3, atol=1e-5, msg=name)


class Noting(World):
    """Where a sum would be, numbers that no gradient has."""

    def start_all_reduce(self, tensor: Tensor) -> Callable[[], None]:
        tensor += 1000
        return lambda: None


FAMILIES = {config.family: name for name, config in VARIATIONS.items()}


@pytest.mark.parametrize("name", ["transformer", "transformer, experts", *FAMILIES.values()])
def test_every_parameter_is_sent_once_and_some_before_the_pass_ends(name: str) -> None:
    """In every family, also where a part of the model has no gradient in a pass."""
    world = Noting(0, 2, torch.device("cpu"))
    model = build(VARIATIONS[name]).float().train()
    optimizer = OverlappingReplicas(
        model, AdamConfig(), torch.float32, world=world, part_numbers=50
    )
    batch = next(Reversal().all_batches())
    objective = CrossEntropy(0.1)
    for early in (False, True):
        if early:
            optimizer.expect_last()
        objective.backward(model, batch, 1.0)
        optimizer.collect()
        assert bool((optimizer.gradient > 500).any()) == early
    optimizer.reduce(world)
    assert bool((optimizer.gradient > 500).all())
    assert bool((optimizer.gradient < 1500).all())


def test_a_process_without_a_batch_sends_the_same(tmp_path: Path) -> None:
    """A step may have fewer sentences than there are processes."""

    class Some(SharedReversal):
        def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
            for number, step in enumerate(super().window(epoch, window, start), start):
                yield step if (number + self.world.rank) % 2 else []

    def work(world: GlooThreads) -> dict[str, Tensor]:
        trainer = Trainer(
            models[world.rank],
            [translation(Some(world))],
            lambda model: {"loss": 1.0},
            tiny_config(max_steps=4, validation_steps=9, send_gradients=when),
            tmp_path / when,
            seed=5,
            d_model=16,
            world=world,
        )
        trainer.train()
        return {name: tensor.clone() for name, tensor in trainer.sharding.weights().items()}

    found = {}
    for when in ("after", "during"):
        models = [tiny_model(dropout=0.0) for _ in range(2)]
        first, second = (one.result() for one in gloo_together(2, work))
        assert_same(first, second)
        found[when] = first
    assert_same(found["during"], found["after"])


def test_an_objective_of_several_passes_is_told() -> None:
    class Twice(CrossEntropy):
        def backward(
            self, model: TranslationModel, batch: Batch, scale: float = 1.0
        ) -> Mapping[str, Tensor]:
            super().backward(model, batch, scale)
            return super().backward(model, batch, scale)

    model = tiny_model()
    world = Noting(0, 2, torch.device("cpu"))
    settings = (AdamConfig(), torch.float32, None)
    optimizer = OverlappingReplicas(model, *settings, world=world, part_numbers=PART_NUMBERS)
    optimizer.expect_last()
    with pytest.raises(ConfigError, match="send_gradients: during needs an objective with one"):
        Twice(0.1).backward(model, next(Reversal().all_batches()), 1.0)


class Silent(World):
    """Two processes of which the other one never says anything."""

    def start_all_reduce(self, tensor: Tensor) -> Callable[[], None]:
        return lambda: None


def test_what_is_sent_cannot_be_collected_again() -> None:
    """If memory runs out, a pass before the last one can be repeated, and the last one cannot."""
    model = tiny_model(dropout=0.0)
    world = Silent(0, 2, torch.device("cpu"))
    optimizer = OverlappingReplicas(
        model, AdamConfig(), torch.float32, world=world, part_numbers=PART_NUMBERS
    )
    batch = next(Reversal().all_batches())
    CrossEntropy(0.1).backward(model, batch)
    optimizer.collect()
    assert optimizer.start_over()
    assert not optimizer.gradient.any()
    optimizer.expect_last()
    CrossEntropy(0.1).backward(model, batch)
    assert not optimizer.start_over()
