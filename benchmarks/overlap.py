"""Summing gradients after the backward pass or during it, in alternating steps.

    torchrun --nproc-per-node 2 benchmarks/overlap.py

The processes communicate by gloo on CPUs, by NCCL on GPUs.  The leader prints the median seconds of
a step of each kind and of the sum alone, and the paired difference with its quartiles.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
import torch

from dragoman.data.batches import make_batch
from dragoman.models import FAMILIES, TransformerConfig
from dragoman.models.interface import TranslationModel
from dragoman.training.distributed import World
from dragoman.training.objectives import CrossEntropy
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.sharding.interface import Sharding
from dragoman.training.sharding.replicas import OverlappingReplicas, Replicas


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--d-model", type=int, default=256)
    parser.add_argument("--sentences", type=int, default=16)
    parser.add_argument("--steps", type=int, default=15)
    arguments = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    world = World.join()
    config = TransformerConfig(d_model=arguments.d_model, d_ff=4 * arguments.d_model, heads=4)
    kinds: dict[str, tuple[TranslationModel, Sharding]] = {}
    for name in ("after", "during"):
        torch.manual_seed(1)
        model = FAMILIES["transformer"](config, 8000, 8000).to(world.device).train()
        kinds[name] = (
            model,
            OverlappingReplicas(model, AdamConfig(), torch.float32, world=world)
            if name == "during"
            else Replicas(model, AdamConfig(), torch.float32),
        )
    rng = np.random.default_rng(world.rank)
    sentences = rng.integers(4, 8000, (arguments.sentences, 24)).tolist()
    batch = make_batch(sentences, sentences).to(world.device)
    objective = CrossEntropy(0.1)

    def step(name: str) -> float:
        model, sharding = kinds[name]
        world.all_reduce(torch.zeros(1, device=world.device))  # so that all begin together
        started = time.perf_counter()
        sharding.expect_last()
        objective.backward(model, batch, 1.0)
        sharding.collect()
        sharding.reduce(world)
        sharding.scale(
            1 / batch.target_tokens / world.size
        )  # reads a number, so waits for the device
        seconds = time.perf_counter() - started
        sharding.step(1e-4)
        return seconds

    def alone() -> float:
        started = time.perf_counter()
        total = world.all_reduce(kinds["after"][1].gradient)
        float(total[0])
        return time.perf_counter() - started

    for name in kinds:
        step(name)
    times = np.array([[step("after"), step("during"), alone()] for _ in range(arguments.steps)])
    if world.is_leader:
        parameters = sum(p.numel() for p in kinds["after"][0].parameters())
        after, during, summing = np.median(times, axis=0)
        low, middle, high = np.percentile(times[:, 1] - times[:, 0], [25, 50, 75])
        print(
            f"{parameters / 1e6:.1f} million parameters, {world.size} processes, {world.device}: "
            f"after {after:.3f} s per step, during {during:.3f} s, the sum alone {summing:.3f} s; "
            f"during minus after {middle:+.3f} s (quartiles {low:+.3f} to {high:+.3f})"
        )
    world.leave()


if __name__ == "__main__":
    main()
