"""Several processes that train together, on one machine or many: PyTorch's elastic launcher.

Each process is a worker that runs the command line of a single process.  Unlike ``torchrun``, this
divides the cores, forwards signals to all processes and gives each time to save, and reports one
line, whatever failed in however many processes.
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

from dragoman.apps.cli.streams import BROKEN_PIPE
from dragoman.core.errors import ConfigError, InterruptedRunError, WorkerError
from dragoman.core.files import read_json

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_MEETING_SECONDS = 900  # machines wait this long for one another at the start
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Launch:
    """How many processes train together, and where they meet."""

    processes: int
    """Processes on this machine."""
    nodes: int = 1
    """Number of machines."""
    rendezvous: str | None = None
    """``HOST:PORT`` where machines meet; None for one machine."""

    @classmethod
    def of(cls, processes: int | str, nodes: int, rendezvous: str | None) -> Launch:
        """Build from the options of a command; ``auto`` is one process per GPU.

        Raises:
            ConfigError: the options do not fit together, or there are not enough GPUs.
        """
        gpus = torch.cuda.device_count()
        count = max(1, gpus) if processes == "auto" else int(processes)
        launch = cls(count, nodes, rendezvous)
        if 0 < gpus < count:
            raise ConfigError(
                f"--processes {count}: each needs its own GPU, and there are {gpus}; use "
                f"{gpus} or fewer, or hide the GPUs with CUDA_VISIBLE_DEVICES= to use the CPU"
            )
        if (nodes > 1) != (rendezvous is not None):
            raise ConfigError(
                "--nodes 2 (or more) and --rendezvous HOST:PORT go together: the address of one "
                "of the machines and a free port on it, the same on all"
            )
        if "RANK" in os.environ and not launch.alone:
            raise ConfigError(
                "this process was already started by a launcher, such as torchrun (RANK is set); "
                "drop either --processes and --nodes or that launcher"
            )
        return launch

    @property
    def alone(self) -> bool:
        """Whether this is a single process."""
        return self.processes == self.nodes == 1

    def carry_out(self, arguments: Sequence[str]) -> None:
        """Run a command in all processes and wait until the last has ended.

        Args:
            arguments: of ``dragoman``, for one process.

        Raises:
            WorkerError: a process failed (with its message and exit code), or another machine did.
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
                f"another machine stopped or cannot be reached ({error}); see its output"
            ) from error

    def _agent(self, arguments: Sequence[str], folder: str) -> LocalElasticAgent:
        """PyTorch's supervisor of this machine's processes; it may wait for other machines."""
        # A machine's own name may not resolve, and a single machine does not need it.
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
            max_restarts=0,  # what failed would fail again; 'dragoman resume' continues
            monitor_interval=_POLL_SECONDS,
            local_addr=address,
        )
        return LocalElasticAgent(spec, DefaultLogsSpecs(log_dir=folder))


class _Supervision:
    """Runs an agent in a thread, so that this process handles signals and forwards them.

    In the main thread the agent would catch them itself and kill its processes 30 seconds later,
    even while they write.

    Args:
        make_agent: called in that thread.
        meets_others: whether the agent may first wait a long time for those of other machines.
    """

    def __init__(self, make_agent: Callable[[], LocalElasticAgent], meets_others: bool) -> None:
        self._make_agent, self._meets_others = make_agent, meets_others
        self._agent: LocalElasticAgent | None = None
        self.result: RunResult | None = None
        self.error: Exception | None = None
        self.received: signal.Signals | None = None
        self._pending = False

    def run(self) -> None:
        """Run until all processes have ended, or a signal comes before the machines have met."""
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
        """The process ids, also of processes that have ended; empty until all have started."""
        workers = self._agent.get_worker_group().workers if self._agent is not None else []
        numbers = [worker.id for worker in workers]
        return [] if None in numbers else numbers

    def _forward(self) -> bool:
        """Forward the signal to the processes; False if there are none yet."""
        processes = self.processes()
        if not processes:
            return False
        self._pending = False
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, self.received or signal.SIGTERM)
        return True


def _conclude(errors: list[dict[str, Any]], supervision: _Supervision) -> None:
    """Raise the error to report, if any: a cause before its consequences."""
    failures = supervision.result.failures if supervision.result is not None else {}
    codes = {rank: failure.exitcode for rank, failure in failures.items()}
    # An agent sends the other processes SIGTERM when one has failed.
    expected = (signal.SIGTERM, supervision.received)
    killed = {rank: -code for rank, code in codes.items() if code < 0 and -code not in expected}
    if BROKEN_PIPE in codes.values():
        raise BrokenPipeError
    # First a process that failed, then one stopped by our signal or another, then one that only
    # echoes the error of another process.
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
            f"process {rank} was killed by {signal.Signals(number).name}, perhaps for lack of "
            "memory; continue from the last checkpoint with 'dragoman resume'"
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
    """Divide the cores unless the user has, and silence PyTorch's own messages."""
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
