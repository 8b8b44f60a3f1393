"""A process that trains on the tiny task, to be killed by a test: ``train_reversal.py RUN``."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from reversal import tiny_config, tiny_model, two_tasks

from dragoman.training.distributed import World
from dragoman.training.trainer import Trainer

world = World.join()
trainer = Trainer(
    tiny_model(),
    two_tasks(),
    lambda model: {"loss": 1.0},
    tiny_config(max_steps=60, checkpoint_steps=3, validation_steps=30),
    Path(sys.argv[1]),
    seed=5,
    d_model=16,
    world=World(world.rank, world.size, torch.device("cpu")),
)
trainer.resume()
trainer.train()
