"""A process among those that ``test_distributed`` starts: each takes its share of every batch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from reversal import Reversal, tiny_config, tiny_model

from dragoman.data.batches import Batch
from dragoman.training.distributed import World
from dragoman.training.trainer import Trainer


class Share(Reversal):
    """Every rank's rows of each batch."""

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[Batch]:
        for batch in super().window(epoch, window, start):
            rows = torch.arange(world.rank, batch.sentences, world.size)
            target_output = batch.target_output[rows]
            yield Batch(
                source=batch.source[rows],
                source_mask=batch.source_mask[rows],
                target_input=batch.target_input[rows],
                target_output=target_output,
                rows=rows,
                target_tokens=int((target_output != 0).sum()),
            )


world = World.join()
trainer = Trainer(
    tiny_model(dropout=0.0),
    Share(),
    lambda model: {"loss": 1.0},
    tiny_config(max_steps=7, validation_steps=3),
    Path(sys.argv[1]),
    seed=5,
    d_model=16,
    world=world,
)
trainer.resume()
trainer.train()
