"""The processes that train together; one process is a world of size 1, not a special case.

``dragoman train CONFIG --processes 4`` starts them, and so does ``torchrun``: one for each GPU.
They first meet at a store, where waiting has no time limit, and form a group for collectives with
their first reduction: by then the leading process has prepared the text, which can take longer than
the timeout of a collective.
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

CONTINUES = "DRAGOMAN_CONTINUES"
"""The environment variable with which a launcher says whether processes take others' place."""

# Timeout of collectives: long enough for a process to write a large checkpoint to a slow disk.
# That a machine is gone is noticed sooner, by whoever started the processes.
_TIMEOUT = timedelta(minutes=20)
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class World:
    """The processes that train together, as seen by one of them."""

    rank: int
    size: int
    device: torch.device
    store: Store | None = None
    """Where the processes meet outside of collectives; None for a single process."""
    continues: bool = False
    """Whether these processes take the place of others, and go on with what those have begun."""

    @classmethod
    def alone(cls) -> World:
        """A world of this process alone."""
        return cls(0, 1, best_device())

    @classmethod
    def join(cls) -> World:
        """Join the processes that a launcher started, if there was one.

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
        continues = os.environ.get(CONTINUES) == "1"
        return cls(rank, size, device, PrefixStore("dragoman", store), continues)

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
        """Start summing ``tensor`` over all processes, in place.

        Returns:
            A function that waits for the sum.

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
        """Run ``work`` in every process and return all results, by rank.

        A failure ends all processes instead of leaving the others waiting.

        Args:
            work: its result must be representable in JSON.

        Raises:
            WorkerError: ``work`` failed in another process, with its message and exit code; the
                process where it failed raises its own error.
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
        """Run ``work`` in the leading process only and return its result in all.

        On another machine, a shared file system may show a directory as it was a minute ago, so one
        process looks for all.

        Args:
            work: its result must be representable in JSON.

        Raises:
            WorkerError: it failed in the leading process, which raises its own error.
        """
        return self.gather(lambda: work() if self.is_leader else None)[0]

    def leader_first(self, name: str, work: Callable[[], Result]) -> Result:
        """Run ``work`` in the leading process, then in the others.

        The others wait at the store, not in a collective, so there is no time limit.

        Args:
            name: of the work; each name is used once.
            work: the leading process creates its results, which the others find.

        Raises:
            WorkerError: it failed in the leading process, which raises its own error.
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
        """Leave the group; from here on each process works by itself."""
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
        """The ``data`` of every process, by rank: a sum in which each fills its own slot."""
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
    """Turn PyTorch's errors about broken connections into a :class:`WorkerError`."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise WorkerError(
            f"another of the training processes ended or cannot be reached ({reason})"
        ) from error
