"""Several processes that train together, on one machine or many: PyTorch's elastic launcher.

Each process is a worker that runs the command line of a single process.  Unlike ``torchrun``, this
launcher divides the cores, and forwards signals to all processes and gives each time to save.  It
restarts only processes that may succeed, and reports one line however many processes failed.
"""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch.distributed.elastic.agent.server.api import WorkerSpec
from torch.distributed.elastic.rendezvous import RendezvousError

from dragoman import __version__
from dragoman.cli.launching.addresses import interface_of, own_address, split_address
from dragoman.cli.launching.rendezvous import (
    History,
    Rendezvous,
    RendezvousOverError,
    RendezvousTerms,
)
from dragoman.cli.launching.supervision import RecordingAgent, Supervision
from dragoman.cli.launching.worker_failures import RECOVERS, Failures, read_errors
from dragoman.cli.streams import BROKEN_PIPE
from dragoman.core.device import usable_cores
from dragoman.core.errors import ConfigError, DragomanError, InterruptedRunError, WorkerError
from dragoman.training.distributed import CONTINUES
from dragoman.workflows.progress import tell

MANY_RESTARTS = 10
"""Default number of restarts of failed processes if the number of machines may change."""
_UNLIMITED = 10**6  # a rendezvous counts restarts, and knows which do not count
_POLL_SECONDS = 0.1
_IN_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Launch:
    """The processes that train together, and their rendezvous."""

    processes: int
    """Processes on this machine."""
    terms: RendezvousTerms = field(default_factory=RendezvousTerms)

    @classmethod
    def of(
        cls,
        processes: int | str,
        nodes: tuple[int, int] = (1, 1),
        rendezvous: str | None = None,
        restarts: int | None = None,
        lost_after: float = RendezvousTerms.lost_after,
    ) -> Launch:
        """Build from the options of a command; ``auto`` is one process per GPU.

        Args:
            restarts: of failed processes; by default none, and :data:`MANY_RESTARTS` if the number
                of machines may change.
        """
        gpus = torch.cuda.device_count()
        count = max(1, gpus) if processes == "auto" else int(processes)
        if restarts is None:
            restarts = MANY_RESTARTS if nodes[0] < nodes[1] else 0
        launch = cls(count, RendezvousTerms(*nodes, rendezvous, restarts, lost_after))
        if 0 < gpus < count:
            raise ConfigError(
                f"--processes {count}: each needs its own GPU, and there are {gpus}; use "
                f"{gpus} or fewer, or hide the GPUs with CUDA_VISIBLE_DEVICES= to use the CPU"
            )
        if (nodes[1] > 1) != (rendezvous is not None):
            raise ConfigError(
                "--nodes 2 (or more, or 1:3) and --rendezvous HOST:PORT go together: the address "
                "of one of the machines and a free port on it, the same on all"
            )
        if rendezvous is not None:
            split_address(rendezvous)
        if "RANK" in os.environ and not launch.alone:
            raise ConfigError(
                "this process was already started by a launcher, such as torchrun (RANK is set); "
                "drop either --processes and --nodes or that launcher"
            )
        return launch

    @property
    def alone(self) -> bool:
        """Whether this is a single, unsupervised process."""
        return self.processes == self.terms.most_nodes == 1 and not self.terms.recovers

    def carry_out(self, arguments: Sequence[str]) -> None:
        """Run a command in all processes and wait until the last has ended."""
        history = History()
        with _folder_of_errors() as folder, _environment(self):
            for attempt in range(_UNLIMITED):
                place = Path(folder, str(attempt))
                history = replace(history, last=Failures())  # an abandoned agent keeps its own
                supervision = self._supervision(arguments, place, history)
                supervision.run()
                if not self._returns(supervision, history):
                    break
                tell(f"the machines at {self.terms.rendezvous} cannot be reached; trying again")
            failures = Failures([*history.last.errors, *read_errors(place)], history.last.codes)
        self._conclude(supervision, failures, history)

    def _returns(self, supervision: Supervision, history: History) -> bool:
        """Whether this machine only lost the others, and will meet them again."""
        if supervision.received or not (self.terms.recovers and history.begun):
            return False
        lost = isinstance(supervision.error, (RendezvousError, RuntimeError))
        return supervision.cut_off or lost

    def _conclude(self, supervision: Supervision, failures: Failures, history: History) -> None:
        error = supervision.error
        if isinstance(error, (RendezvousError, ValueError)) and not history.begun:
            raise ConfigError(
                f"--rendezvous {self.terms.rendezvous}: {self.terms.most_nodes} machines did not "
                f"meet there ({error}); start the same command on each of them, with a port that "
                "no other program uses"
            ) from error
        expected = isinstance(error, (RendezvousOverError, RendezvousError))
        if error is not None and not expected and not isinstance(error, DragomanError):
            raise error
        if isinstance(error, RendezvousOverError) and (error := error.reason) is not None:
            # It is the cause of the connections that processes here have lost.
            known = [
                failure
                for failure in failures.errors
                if failure["exit_code"] != WorkerError.exit_code
            ]
            failures = Failures(known)
        conclude(failures, supervision.received)
        if isinstance(error, DragomanError):
            raise error
        if error is not None:
            raise WorkerError(
                f"another machine stopped or cannot be reached ({error}); see its output"
            ) from error

    def _supervision(self, arguments: Sequence[str], folder: Path, history: History) -> Supervision:
        """The supervision of this machine's processes; it may wait for other machines."""
        command = (
            f"'dragoman {shlex.join(arguments)}' (Dragoman {__version__}, PyTorch "
            f"{torch.__version__})"
        )

        def kill() -> None:
            agent.kill()

        rendezvous = Rendezvous(self.terms, command, history, tell, kill)
        worker = ["-m", "dragoman.cli.worker", *arguments]
        spec = WorkerSpec(
            role="dragoman",
            local_world_size=self.processes,
            rdzv_handler=rendezvous,
            entrypoint=sys.executable,
            args=tuple(part.replace("$", "$$") for part in worker),  # PyTorch fills in $NAMES
            max_restarts=_UNLIMITED,
            monitor_interval=_POLL_SECONDS,
        )
        agent = RecordingAgent(spec, folder, history)
        return Supervision(agent, rendezvous, self.terms.most_nodes > 1)


def _folder_of_errors() -> tempfile.TemporaryDirectory[str]:
    """Folder for the errors of processes: in memory if possible, as a disk may be full."""
    there = os.access(_IN_MEMORY, os.W_OK | os.X_OK)
    return tempfile.TemporaryDirectory(prefix="dragoman-", dir=_IN_MEMORY if there else None)


def conclude(failures: Failures, received: signal.Signals | None) -> None:
    """Raise the error to report, if any: a cause before its consequences."""
    errors, codes = list(failures.errors), failures.codes
    # An agent sends the other processes SIGTERM when one has failed.
    expected = (signal.SIGTERM, received)
    killed = {rank: -code for rank, code in codes.items() if code < 0 and -code not in expected}
    if BROKEN_PIPE in codes.values():
        raise BrokenPipeError
    # First a process that failed, then one stopped by our signal or another, then one that only
    # echoes the error of another process.
    known = [error for error in errors if error["exit_code"] != WorkerError.exit_code]
    stopped = 128 + (received or 0)

    def cause_first(error: Mapping[str, Any]) -> tuple[bool, bool, bool]:
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
    if received is not None:
        raise InterruptedRunError(f"stopped by {received.name}, outside of training", received)
    for error in errors:
        raise WorkerError(error["message"])
    for rank, code in codes.items():
        raise WorkerError(f"process {rank} ended without a message, with exit code {code}")


@contextmanager
def _environment(launch: Launch) -> Iterator[None]:
    """Divide the cores unless the user has, and silence PyTorch's own messages."""
    values = {
        "OMP_NUM_THREADS": str(max(1, usable_cores() // launch.processes)),
        # Machines come and go, so each round opens its own store (see Rendezvous).
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    }
    if launch.terms.recovers:
        values[RECOVERS] = "1"
    if launch.terms.rendezvous is not None:
        address = own_address(*split_address(launch.terms.rendezvous))
        if address is not None and (interface := interface_of(address)) is not None:
            values["GLOO_SOCKET_IFNAME"] = interface  # where the others are
    added = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(added)
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        for name in (*added, CONTINUES):
            os.environ.pop(name, None)
