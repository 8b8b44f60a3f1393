"""State and gradients that are shared out: the same weights and checkpoints as of replicas.

The processes are threads, joined by gloo.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from reversal import SharedReversal, assert_same, tiny_model
from sharded_reversal import FILES, Sparse, assert_close, begun, saved, sharded_trainer
from worlds import GlooThreads, gloo_together

from dragoman.models.layers.low_rank import AdapterConfig, add_adapters
from dragoman.training.checkpoint import checkpoints, read_progress
from dragoman.training.consolidation import Consolidation
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.sharding.gradient_sharding import GradientSharding
from dragoman.training.sharding.state_sharding import StateSharding

SHARDINGS = ("state", "gradients")


def train(
    run: Path,
    size: int,
    sharding: str,
    stream: type[SharedReversal] = SharedReversal,
    adapter: AdapterConfig | None = None,
    **values: Any,
) -> list[int]:
    """Train by so many processes; how many numbers the leader has exchanged in each collective."""
    models = [tiny_model(dropout=0.0) for _ in range(size)]  # threads share a generator
    if adapter is not None:
        for model in models:
            add_adapters(model, adapter, seed=1)
    sent: list[int] = []

    def work(world: GlooThreads) -> None:
        model = models[world.rank]
        sharded_trainer(run, world, model, stream, sharding=sharding, **values).train()
        if world.is_leader:
            sent.extend(world.sent)

    for one in gloo_together(size, work):
        one.result()
    return sent


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_two_processes_learn_what_replicas_do_bit_for_bit(tmp_path: Path, precision: str) -> None:
    """A sum of two does not depend on their order; the average is validated and saved, too."""
    values: dict[str, Any] = {
        "precision": precision,
        "ema_decay": 0.9,
        "optimizer": {"weight_decay": 0.1},
    }
    train(tmp_path / "none", 2, "none", **values)
    train(tmp_path / "state", 2, "state", **values)
    for name in FILES:
        assert_same(saved(tmp_path / "none", name), saved(tmp_path / "state", name))
    validated = [read_progress(checkpoints(tmp_path / n)[-1]).best for n in ("none", "state")]
    assert validated[0] == validated[1]


@pytest.mark.parametrize("sharding", SHARDINGS)
def test_a_clipped_gradient_has_the_norm_of_all_shares(tmp_path: Path, sharding: str) -> None:
    values: dict[str, Any] = {"optimizer": {"clip_norm": 0.05}}
    train(tmp_path / "none", 2, "none", **values)
    train(tmp_path / sharding, 2, sharding, **values)
    assert_close(tmp_path / "none", tmp_path / sharding)


@pytest.mark.parametrize("sharding", SHARDINGS)
def test_a_run_goes_on_whoever_kept_what(tmp_path: Path, sharding: str) -> None:
    """Bit for bit with as many processes; within rounding by three, and by one without shares."""
    train(tmp_path / "whole", 2, sharding)
    for size in (1, 2, 3):
        run = tmp_path / str(size)
        begun(tmp_path / "whole", run)
        train(run, size, sharding)
        assert_close(tmp_path / "whole", run)
    for name in FILES:
        assert_same(saved(tmp_path / "whole", name), saved(tmp_path / "2", name))


@pytest.mark.parametrize("sharding", SHARDINGS)
def test_processes_with_fewer_batches_or_none_take_part(tmp_path: Path, sharding: str) -> None:
    train(tmp_path / "none", 3, "none", Sparse)
    train(tmp_path / sharding, 3, sharding, Sparse)
    assert_close(tmp_path / "none", tmp_path / sharding)


@pytest.mark.parametrize("sharding", SHARDINGS)
def test_adapters_learn_what_those_of_replicas_do(tmp_path: Path, sharding: str) -> None:
    """No embeddings learn, so that nothing is left to send after the backward pass."""
    for one in ("none", sharding):
        train(tmp_path / one, 2, one, adapter=AdapterConfig(rank=2))
    assert_close(tmp_path / "none", tmp_path / sharding)


def test_gradients_are_sent_in_parts(tmp_path: Path) -> None:
    sent = train(tmp_path, 2, "gradients", max_steps=1)
    assert max(sent) < 2000  # of 4,000 parameters
    assert sum(sent) > 2 * 4000  # in each of two passes


@pytest.mark.parametrize("kind", [StateSharding, GradientSharding])
def test_a_penalty_holds_the_shares_of_all_processes(kind: type[StateSharding]) -> None:
    models = [tiny_model() for _ in range(2)]
    origin = {name: p.detach() + 0.5 for name, p in models[0].named_parameters()}
    fisher = {name: p.detach().abs() for name, p in models[0].named_parameters()}
    value = 3.0 / 2 * sum(float(f.sum()) for f in fisher.values()) * 0.25

    def work(world: GlooThreads) -> None:
        optimizer = kind(models[world.rank], AdamConfig(), torch.float32, world=world)
        penalty = Consolidation(optimizer, fisher, origin, 3.0)
        assert penalty.value() == pytest.approx(value, rel=1e-5)
        penalty.add_gradient(2.0)
        expected = optimizer.flat(fisher) * (-0.5 * 3.0 * 2.0)
        torch.testing.assert_close(optimizer.gradient, expected, rtol=1e-4, atol=1e-6)
        assert optimizer.gradient.any()

    for one in gloo_together(2, work):
        one.result()
