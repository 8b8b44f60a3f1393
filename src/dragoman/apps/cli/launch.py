"""Several processes that train together, on one machine or many: PyTorch's elastic launcher.

Each process is a worker with the command line of one process.  What is added to ``torchrun``:
cores are divided, signals reach all processes and each may take its time to save, and whatever
failed in how many processes, the user reads one line.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import torch
from torch.distributed.elastic.agent.server.api import RunResult, WorkerSpec
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
from torch.distributed.elastic.rendezvous import RendezvousError, RendezvousParameters
from torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler

from dragoman.apps.cli.main import BROKEN_PIPE
from dragoman.core.errors import ConfigError, InterruptedRunError, WorkerError
from dragoman.core.files import read_json

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_MEETING_SECONDS = 900  # how long machines wait for one another at the start
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Launch:
    """How many processes train together, and where they meet."""

    processes: int
    """On this machine."""
    nodes: int = 1
    """Machines."""
    rendezvous: str | None = None
    """``HOST:PORT`` where machines meet; None for one machine."""

    @classmethod
    def of(cls, processes: int | str, nodes: int, rendezvous: str | None) -> Launch:
        """What the options of a command mean; ``auto`` is as many processes as there are GPUs.

        Raises:
            ConfigError: they do not go together, or there are not enough GPUs.
        """
        gpus = torch.cuda.device_count()
        count = max(1, gpus) if processes == "auto" else int(processes)
        launch = cls(count, nodes, rendezvous)
        if 0 < gpus < count:
            raise ConfigError(
                f"--processes {count}: each takes a GPU of its own, and there are {gpus}; give "
                f"{gpus} or fewer, or hide the GPUs with CUDA_VISIBLE_DEVICES= to use the CPU"
            )
        if (nodes > 1) != (rendezvous is not None):
            raise ConfigError(
                "--nodes 2 (or more) and --rendezvous HOST:PORT go together: the address of one "
                "of the machines and a free port of it, the same on all"
            )
        if "RANK" in os.environ and not launch.alone:
            raise ConfigError(
                "this process was started by a launcher already, such as torchrun (RANK is set); "
                "leave out --processes and --nodes, or that launcher"
            )
        return launch

    @property
    def alone(self) -> bool:
        """Whether one process does it all."""
        return self.processes == self.nodes == 1

    def carry_out(self, arguments: Sequence[str]) -> None:
        """Carry out a command in all processes, until the last of them has ended.

        Args:
            arguments: of ``dragoman``, for one process.

        Raises:
            WorkerError: a process failed, with its message and exit code; or another machine did.
            InterruptedRunError: a signal came before there was anything to save.
            ConfigError: the machines did not meet.
        """
        with tempfile.TemporaryDirectory(prefix="dragoman-") as folder, _environment(self):
            supervision = _Supervision(lambda: self._agent(arguments, folder), self.nodes > 1)
            supervision.run()
            errors = [read_json(file) for file in Path(folder).rglob("error.json")]
        error, started = supervision.error, bool(supervision.processes())
        if isinstance(error, (RendezvousError, ValueError)) and self.rendezvous and not started:
            raise ConfigError(
                f"--rendezvous {self.rendezvous}: {self.nodes} machines did not meet there "
                f"({error}); start the same command on each of them"
            ) from error
        if error is not None and not (isinstance(error, RendezvousError) and started):
            raise error
        _conclude(errors, supervision)
        if error is not None:
            raise WorkerError(
                f"another machine ended its part or cannot be reached ({error}); see what it says"
            ) from error

    def _agent(self, arguments: Sequence[str], folder: str) -> LocalElasticAgent:
        """PyTorch's supervisor of the processes of this machine; it may wait for the others."""
        # A machine's own name may not resolve, and one machine alone does not need it.
        address = None if self.rendezvous else "localhost"
        parameters = RendezvousParameters(
            "c10d",
            self.rendezvous or "localhost:0",
            "dragoman",
            min_nodes=self.nodes,
            max_nodes=self.nodes,
            local_addr=address,
            join_timeout=_MEETING_SECONDS,
            read_timeout=_MEETING_SECONDS,
        )
        worker = ["-m", "dragoman.apps.cli.worker", *arguments]
        spec = WorkerSpec(
            role="dragoman",
            local_world_size=self.processes,
            rdzv_handler=get_rendezvous_handler(parameters),
            entrypoint=sys.executable,
            args=tuple(part.replace("$", "$$") for part in worker),  # PyTorch fills in $NAMES
            max_restarts=0,  # what failed fails again; whoever wants to go on says 'resume'
            monitor_interval=_POLL_SECONDS,
            local_addr=address,
        )
        return LocalElasticAgent(spec, DefaultLogsSpecs(log_dir=folder))


class _Supervision:
    """An agent at work in a thread, so that signals are this process' own to pass on.

    In the main thread it would catch them itself, and kill its processes 30 seconds later
    whatever they were writing.

    Args:
        make_agent: called in that thread.
        meets_others: whether the agent may first wait long for those of other machines.
    """

    def __init__(self, make_agent: Callable[[], LocalElasticAgent], meets_others: bool) -> None:
        self._make_agent, self._meets_others = make_agent, meets_others
        self._agent: LocalElasticAgent | None = None
        self.result: RunResult | None = None
        self.error: Exception | None = None
        self.received: signal.Signals | None = None
        self._pending = False

    def run(self) -> None:
        """Until all processes have ended, or a signal comes while machines wait for others."""
        thread = Thread(target=self._supervise, daemon=True)
        heard = [number for number in FORWARDED if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, self._receive) for number in heard}
        try:
            thread.start()
            while thread.is_alive():
                thread.join(_POLL_SECONDS)
                if self._pending and not self._forward() and self._meets_others:
                    return
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _supervise(self) -> None:
        try:
            self._agent = self._make_agent()
            self.result = self._agent.run()
        except Exception as error:
            self.error = error

    def _receive(self, number: int, _: object) -> None:
        self.received, self._pending = signal.Signals(number), True

    def processes(self) -> list[int]:
        """Their numbers, also once they have ended; none before all are started."""
        workers = self._agent.get_worker_group().workers if self._agent is not None else []
        numbers = [worker.id for worker in workers]
        return [] if None in numbers else numbers

    def _forward(self) -> bool:
        """Pass the signal on to the processes; False if there are none yet."""
        processes = self.processes()
        if not processes:
            return False
        self._pending = False
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, self.received or signal.SIGTERM)
        return True


def _conclude(errors: list[dict[str, Any]], supervision: _Supervision) -> None:
    """Raise what the user should hear of, if anything: a cause before its consequences."""
    failures = supervision.result.failures if supervision.result is not None else {}
    codes = {rank: failure.exitcode for rank, failure in failures.items()}
    # An agent ends the other processes by SIGTERM when one has failed.
    expected = (signal.SIGTERM, supervision.received)
    killed = {rank: -code for rank, code in codes.items() if code < 0 and -code not in expected}
    if BROKEN_PIPE in codes.values():
        raise BrokenPipeError
    # One that failed, then one that was stopped by the signal or by another's, then one that only
    # heard of another's error.
    known = [error for error in errors if error["exit_code"] != WorkerError.exit_code]
    stopped = 128 + (supervision.received or 0)

    def cause_first(error: dict[str, Any]) -> tuple[bool, bool, bool]:
        code = error["exit_code"]
        return error["echo"], code > 128, code != stopped

    known.sort(key=cause_first)
    if known:
        raise WorkerError(known[0]["message"], known[0]["exit_code"])
    for rank, number in killed.items():
        raise WorkerError(
            f"process {rank} was ended by {signal.Signals(number).name}, perhaps for want of "
            "memory; go on from the last checkpoint with 'dragoman resume'"
        )
    if supervision.received is not None:
        raise InterruptedRunError(
            f"stopped by {supervision.received.name}, outside of training", supervision.received
        )
    for error in errors:
        raise WorkerError(error["message"])
    for rank, code in codes.items():
        raise WorkerError(f"process {rank} ended without a message, with exit code {code}")


@contextmanager
def _environment(launch: Launch) -> Iterator[None]:
    """Divide the cores, unless the user has; and leave it to us to tell what happens."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    values = {
        "OMP_NUM_THREADS": str(max(1, (cores or 1) // launch.processes)),
        "TORCH_CPP_LOG_LEVEL": "ERROR",
    }
    added = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(added)
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        for name in added:
            del os.environ[name]
