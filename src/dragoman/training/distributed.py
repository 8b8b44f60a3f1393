"""The processes that train together; a single process is simply a world of size 1.

``dragoman train CONFIG --processes 4`` starts them, and so does ``torchrun``: one for each GPU.
They first meet at a store, where waiting has no time limit, and form a group for collectives with
their first reduction.  By then the leading process has prepared the text, which can take longer
than the timeout of a collective.
"""

from __future__ import annotations

import json
import os
import re
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
"""The environment variable by which a launcher marks processes that replace others."""

# Timeout of collectives: long enough for a process to write a large checkpoint to a slow disk.
# The launcher of the processes notices the loss of a machine sooner.
_TIMEOUT = timedelta(minutes=20)
_GLOO = re.compile(r"\[[^\]]*\bgloo/")
_POLL_SECONDS = 0.1
_LETTING_GO_SECONDS = 0.1  # 0.05 sufficed in 400 of 400 groups on a busy machine
_AT_ONCE = 1 << 21
"""Numbers of a long vector to exchange at once if a copy of them is needed: 8 MB."""


@dataclass(frozen=True)
class World:
    """The processes that train together, as seen by one of them.

    Any method raises :class:`WorkerError` if another process ended or cannot be reached.
    """

    rank: int
    size: int
    device: torch.device
    store: Store | None = None
    """The meeting place of the processes outside collectives; None for a single process."""
    continues: bool = False
    """Whether these processes replace others and continue their work."""

    @classmethod
    def alone(cls) -> World:
        """The world of a single process."""
        return cls(0, 1, best_device())

    @classmethod
    def join(cls) -> World:
        """Join the processes that a launcher started, if any."""
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
        """Sum ``tensor`` over all processes, in place."""
        if self.size > 1:
            with _lost_processes():
                if not torch.distributed.is_initialized():
                    self._form_group()
                torch.distributed.all_reduce(tensor)
        return tensor

    def start_all_reduce(self, tensor: Tensor) -> Callable[[], None]:
        """Start summing ``tensor`` over all processes, in place; return a function that waits."""
        return self._started(lambda: torch.distributed.all_reduce(tensor, async_op=True))

    def start_reduce_scatter(self, tensor: Tensor) -> Callable[[], Tensor]:
        """Start summing ``tensor`` over all processes; each gets its own range of the sum.

        Args:
            tensor: ``(size * numbers,)``; its content is lost.

        Returns:
            A function that waits, and returns the sum of this process' range: a view of ``tensor``.
        """
        own = self._own(tensor)
        if tensor.device.type == "cuda":
            scatter = _newest("reduce_scatter_single", "reduce_scatter_tensor")
            wait = self._started(lambda: scatter(own, tensor, async_op=True))
            return lambda: (wait(), own)[1]
        # Gloo's reduce-scatter sums everything in every process, which sends twice as much.
        received = torch.empty_like(tensor)
        arrive = self._start_all_to_all(received, tensor)

        def add_up() -> Tensor:
            arrive()
            return torch.sum(received.view(self.size, -1), dim=0, out=own)

        return add_up

    def reduce_scatter(self, tensor: Tensor) -> Tensor:
        """:meth:`start_reduce_scatter` of a long ``tensor``, waiting for this process' range."""
        if tensor.device.type == "cuda":
            return self.start_reduce_scatter(tensor)()
        own = self._own(tensor)
        columns = tensor.view(self.size, -1).split(max(1, _AT_ONCE // self.size), dim=1)
        for part, place in zip(columns, own.split(columns[0].shape[1]), strict=True):
            place.copy_(self.start_reduce_scatter(part.reshape(-1))())
        return own

    def all_gather(self, tensor: Tensor) -> None:
        """Fill the ranges of the other processes in ``tensor``, ``(size * numbers,)``.

        Each process provides its own.
        """
        if tensor.device.type == "cuda":
            self._all_gather(tensor, self._own(tensor))
            return
        rows = tensor.view(self.size, -1)
        for part in rows.split(max(1, _AT_ONCE // self.size), dim=1):  # gloo copies all of it
            parts = torch.empty(part.shape, dtype=part.dtype).view(-1)
            # As bytes, since gloo does not support every type.
            self._all_gather(parts.view(torch.uint8), part[self.rank].view(torch.uint8))
            part.copy_(parts.view(part.shape))

    def gather_ranges(self, own: Tensor) -> Tensor | None:
        """All processes' vectors, of equal length, concatenated on the leader's CPU; else None."""
        whole = None
        if self.is_leader:
            whole = torch.empty(self.size, len(own), dtype=own.dtype)
        for start in range(0, len(own), _AT_ONCE):
            part = own[start : start + _AT_ONCE].contiguous()
            parts = [torch.empty_like(part) for _ in range(self.size)] if self.is_leader else None
            self._gather(part, parts)
            if whole is not None and parts is not None:
                whole[:, start : start + _AT_ONCE] = torch.stack(parts).cpu()
        return whole if whole is None else whole.view(-1)

    def _own(self, tensor: Tensor) -> Tensor:
        """This process' range of a vector."""
        return tensor.view(self.size, -1)[self.rank]

    def _start_all_to_all(self, received: Tensor, sent: Tensor) -> Callable[[], None]:
        return self._started(
            lambda: torch.distributed.all_to_all_single(received, sent, async_op=True)
        )

    def _all_gather(self, whole: Tensor, own: Tensor) -> None:
        gather = _newest("all_gather_single", "all_gather_into_tensor")
        self._started(lambda: gather(whole, own, async_op=True))()

    def _gather(self, own: Tensor, parts: list[Tensor] | None) -> None:
        self._started(lambda: torch.distributed.gather(own, parts, async_op=True))()

    def _started(self, start: Callable[[], Any]) -> Callable[[], None]:
        """Start a collective in a group and return a function that waits for its end."""
        with _lost_processes():
            if not torch.distributed.is_initialized():
                self._form_group()
            handle = start()

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
            WorkerError: ``work`` failed in another process, with its message and exit code.  The
                process in which it failed raises its original error.
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

        A shared file system may show another machine an outdated directory, so only one process
        looks.  The result must be representable in JSON.
        """
        return self.gather(lambda: work() if self.is_leader else None)[0]

    def leader_first(self, name: str, work: Callable[[], Result]) -> Result:
        """Run ``work`` in the leading process, then in the others.

        The others wait at the store, not in a collective, so there is no time limit.

        Each ``name`` is used once.  If the work fails in the leading process, which raises its
        original error, the others raise WorkerError.
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
        """Leave the group; each process then works alone."""
        if self.size > 1 and torch.distributed.is_initialized():
            # PyTorch up to 2.7 holds Python's lock while it waits for Gloo's threads, and a thread
            # that releases the last tensor just then needs the lock: both would wait for ever.
            time.sleep(_LETTING_GO_SECONDS)
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


def _newest(name: str, before: str) -> Callable[..., Any]:
    """A collective that PyTorch has renamed; PyTorch 2.13 warns of the old name."""
    known = name if hasattr(torch.distributed, name) else before
    collective: Callable[..., Any] = getattr(torch.distributed, known)
    return collective


def _check(outcome: dict[str, Any]) -> None:
    if "error" in outcome:
        raise WorkerError(outcome["error"], outcome["exit_code"])


@contextmanager
def _lost_processes() -> Iterator[None]:
    """Turn PyTorch's errors about broken connections into a :class:`WorkerError`."""
    try:
        yield
    except RuntimeError as error:
        raise _lost(error) from error


@contextmanager
def lost_on_the_way() -> Iterator[None]:
    """Turn errors of connections that PyTorch uses internally into a :class:`WorkerError`.

    The work in the block may fail in other ways; other errors stay unchanged.
    """
    try:
        yield
    except RuntimeError as error:
        # Gloo's errors have no type, but their text begins with the place in its source code.
        if isinstance(error, torch.distributed.DistError) or _GLOO.match(str(error)):
            raise _lost(error) from error
        raise


def _lost(error: RuntimeError) -> WorkerError:
    reason = str(error).splitlines()[0]
    return WorkerError(f"another of the training processes ended or cannot be reached ({reason})")
