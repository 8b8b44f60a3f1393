"""The processes that train together; one process is a world of size 1, not a special case.

``dragoman train CONFIG --processes 4`` starts them, and so does ``torchrun``: one for each GPU.
They meet at a store first, where waiting has no time limit, and form a group for collectives when
they first add something up: by then the leading process has prepared the text, which can take
longer than a collective may wait.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from dragoman.core.device import best_device
from dragoman.core.errors import DragomanError, WorkerError

Result = TypeVar("Result")

# The longest wait in a collective: for the process that writes a large checkpoint to a slow disk.
_TIMEOUT = timedelta(hours=1)
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class World:
    """This process among those that train together."""

    rank: int
    size: int
    device: torch.device
    store: Store | None = None
    """Where the processes meet outside of collectives; None for one alone."""

    @classmethod
    def alone(cls) -> World:
        """A world of this process."""
        return cls(0, 1, best_device())

    @classmethod
    def join(cls) -> World:
        """Join the processes that a launcher started, if one did.

        Raises:
            WorkerError: the others cannot be reached.
        """
        if "RANK" not in os.environ:
            return cls.alone()
        device = best_device()
        if device.type == "cuda":
            device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            torch.cuda.set_device(device)
        with _lost_processes():
            store, rank, size = next(rendezvous("env://", timeout=_TIMEOUT))
        return cls(rank, size, device, PrefixStore("dragoman", store))

    @property
    def is_leader(self) -> bool:
        """Whether this process writes files and talks to the user."""
        return self.rank == 0

    def all_reduce(self, tensor: Tensor) -> Tensor:
        """``tensor`` summed over all processes, in place.

        Raises:
            WorkerError: another process ended or cannot be reached.
        """
        if self.size > 1:
            with _lost_processes():
                if not torch.distributed.is_initialized():
                    self._form_group()
                torch.distributed.all_reduce(tensor)
        return tensor

    def start_all_reduce(self, tensor: Tensor) -> Callable[[], None]:
        """Begin to sum ``tensor`` over all processes, in place.

        Returns:
            What waits until the sum is there.

        Raises:
            WorkerError: another process ended or cannot be reached; also when waiting.
        """
        with _lost_processes():
            if not torch.distributed.is_initialized():
                self._form_group()
            handle = torch.distributed.all_reduce(tensor, async_op=True)

        def wait() -> None:
            with _lost_processes():
                handle.wait()

        return wait

    def gather(self, work: Callable[[], Any]) -> list[Any]:
        """Do ``work`` in every process and return the results of all, by rank.

        A failure ends all processes instead of leaving the others waiting.

        Args:
            work: its result must be made of what JSON knows.

        Raises:
            WorkerError: ``work`` failed in another process, with its message and exit code; where
                it failed, its own error is raised.
        """
        if self.size == 1:
            return [work()]
        failure: Exception | None = None
        try:
            outcome = {"result": work()}
        except Exception as error:
            failure, outcome = error, self._failed(error)
        outcomes = [json.loads(data) for data in self._exchange(json.dumps(outcome).encode())]
        if failure is not None:
            raise failure
        for outcome in outcomes:
            _check(outcome)
        return [outcome["result"] for outcome in outcomes]

    def broadcast(self, work: Callable[[], Any]) -> Any:
        """Do ``work`` in the leading process alone and return its result in all.

        What a shared file system shows of a directory may be a minute old on another machine, so
        one process looks for all.

        Args:
            work: its result must be made of what JSON knows.

        Raises:
            WorkerError: it failed in the leading process; there its own error is raised.
        """
        return self.gather(lambda: work() if self.is_leader else None)[0]

    def leader_first(self, name: str, work: Callable[[], Result]) -> Result:
        """Do ``work`` in the leading process, and then in the others.

        The others wait at the store and not in a collective, so there is no time limit.

        Args:
            name: of the work; each is done once.
            work: what the leading process makes, the others find.

        Raises:
            WorkerError: it failed in the leading process; there its own error is raised.
        """
        if self.store is None:
            return work()
        if not self.is_leader:
            with _lost_processes():
                while not self.store.check([name]):
                    time.sleep(_POLL_SECONDS)
                _check(json.loads(self.store.get(name)))
            return work()
        outcome = {"error": "the leading process was interrupted", "exit_code": None}
        try:
            result = work()
            outcome = {}
        except Exception as error:
            outcome = self._failed(error)
            raise
        finally:
            self.store.set(name, json.dumps(outcome))
        return result

    def leave(self) -> None:
        """End the group; what comes after is done by each process for itself."""
        if self.size > 1 and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()

    def _form_group(self) -> None:
        assert self.store is not None, "processes meet at a store first"
        torch.distributed.init_process_group(
            "nccl" if self.device.type == "cuda" else "gloo",
            store=PrefixStore("group", self.store),
            rank=self.rank,
            world_size=self.size,
            timeout=_TIMEOUT,
        )

    def _exchange(self, data: bytes) -> list[bytes]:
        """The ``data`` of every process, by rank: sums in which each fills its own place."""
        sizes = torch.zeros(self.size, dtype=torch.int64, device=self.device)
        sizes[self.rank] = len(data)
        lengths = self.all_reduce(sizes).tolist()
        own = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        whole = torch.zeros(sum(lengths), dtype=torch.uint8, device=self.device)
        whole.split(lengths)[self.rank].copy_(own)
        return [bytes(part.tolist()) for part in self.all_reduce(whole).split(lengths)]

    def _failed(self, error: Exception) -> dict[str, Any]:
        known = isinstance(error, DragomanError)
        kind = "" if known else f"{type(error).__name__}: "
        code = error.exit_code if isinstance(error, DragomanError) else 1
        return {"error": f"process {self.rank}: {kind}{error}", "exit_code": code}


def _check(outcome: dict[str, Any]) -> None:
    if "error" in outcome:
        raise WorkerError(outcome["error"], outcome["exit_code"])


@contextmanager
def _lost_processes() -> Iterator[None]:
    """What PyTorch says when a connection breaks, as an error of ours."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise WorkerError(
            f"another of the processes that train together ended or cannot be reached ({reason})"
        ) from error
