"""The processes that train together; one process is a world of size 1, not a special case.

``torchrun --nproc-per-node 4 -m dragoman train CONFIG`` starts one process for each device.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
import torch.distributed
from torch import Tensor

from dragoman.device import best_device


@dataclass(frozen=True)
class World:
    """This process among those that train together."""

    rank: int
    size: int
    device: torch.device

    @classmethod
    def alone(cls) -> World:
        """A world of this process."""
        return cls(0, 1, best_device())

    @classmethod
    def join(cls) -> World:
        """Join the processes that ``torchrun`` started, if it did."""
        if "RANK" not in os.environ:
            return cls.alone()
        device = best_device()
        if device.type == "cuda":
            device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            torch.cuda.set_device(device)
        if not torch.distributed.is_initialized():
            torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
        return cls(torch.distributed.get_rank(), torch.distributed.get_world_size(), device)

    @property
    def leads(self) -> bool:
        """Whether this process writes files and talks to the user."""
        return self.rank == 0

    def sum(self, tensor: Tensor) -> Tensor:
        """``tensor`` summed over all processes, in place."""
        if self.size > 1:
            torch.distributed.all_reduce(tensor)
        return tensor

    def wait(self) -> None:
        """Until all processes are here."""
        if self.size > 1:
            torch.distributed.barrier()
