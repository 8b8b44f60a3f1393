"""Processes that train together as threads of one process, for tests of what they do together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor
from torch.distributed import (  # type: ignore[attr-defined]
    GatherOptions,
    HashStore,
    ProcessGroupGloo,
)
from typing_extensions import override

from dragoman.training.distributed import World

ALONE = World(0, 1, torch.device("cpu"))


class _Together:
    """Where threads add up their tensors."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size, timeout=60)
        self.tensors: list[Tensor] = [torch.empty(0)] * size

    def sum(self, rank: int, tensor: Tensor) -> Tensor:
        self.tensors[rank] = tensor.clone()
        self.barrier.wait()
        tensor.copy_(torch.stack(self.tensors).sum(0))
        self.barrier.wait()
        return tensor


def together(size: int, work: Callable[[World], Any]) -> list[Future[Any]]:
    """What ``work`` gives in each of ``size`` worlds, by rank."""
    place, store = _Together(size), HashStore()
    store.set_timeout(timedelta(milliseconds=10))  # whoever may wait for long must not rely on it

    class Threads(World):
        def all_reduce(self, tensor: Tensor) -> Tensor:
            return place.sum(self.rank, tensor)

    worlds = [Threads(rank, size, torch.device("cpu"), store) for rank in range(size)]
    with ThreadPoolExecutor(size) as pool:
        return [pool.submit(work, world) for world in worlds]


@dataclass(frozen=True)
class GlooThreads(World):
    """A process that is a thread, with a gloo group of its own among the others."""

    group: Any = None
    sent: list[int] = field(default_factory=list)
    """How many numbers each collective summed."""

    @override
    def all_reduce(self, tensor: Tensor) -> Tensor:
        self.start_all_reduce(tensor)()
        return tensor

    @override
    def start_all_reduce(self, tensor: Tensor) -> Callable[[], None]:
        assert self.group is not None
        self.sent.append(tensor.numel())
        return self.group.allreduce([tensor]).wait

    @override
    def _all_gather(self, whole: Tensor, own: Tensor) -> None:
        self.group._allgather_base(whole, own).wait()

    @override
    def _start_all_to_all(self, received: Tensor, sent: Tensor) -> Callable[[], None]:
        self.sent.append(sent.numel())
        return self.group.alltoall_base(received, sent, [], []).wait

    @override
    def _gather(self, own: Tensor, parts: list[Tensor] | None) -> None:
        options = GatherOptions()
        options.rootRank = 0
        self.group.gather([parts] if parts else [], [own], options).wait()


def gloo_together(size: int, work: Callable[[GlooThreads], Any]) -> list[Future[Any]]:
    """What ``work`` gives in each of ``size`` worlds that sum by gloo, by rank."""
    store = HashStore()

    def joined(rank: int) -> Any:
        group = ProcessGroupGloo(store, rank, size, timedelta(seconds=60))
        return work(GlooThreads(rank, size, torch.device("cpu"), store, group=group))

    with ThreadPoolExecutor(size) as pool:
        return [pool.submit(joined, rank) for rank in range(size)]
