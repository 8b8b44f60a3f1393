"""The second of two processes that train together: ``train_shared_reversal.py RUN``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from reversal import shared_trainer

from dragoman.training.distributed import World

world = World.join()
shared_trainer(Path(sys.argv[1]), world).train()
world.leave()
