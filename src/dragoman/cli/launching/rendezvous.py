"""The rendezvous of machines that train together, even as machines are lost or join.

PyTorch's own rendezvous decides who takes part and with which rank.  A :class:`Rendezvous` stands
between it and PyTorch's agent, and decides whether to go on at all: a process that was killed is
started again, but not a process that has reported an error.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from torch.distributed import TCPStore  # type: ignore[attr-defined]
from torch.distributed.distributed_c10d import Store
from torch.distributed.elastic.rendezvous import (
    RendezvousClosedError,
    RendezvousError,
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStoreInfo,
    RendezvousTimeoutError,
)
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import create_backend
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import create_handler

from dragoman.cli.launching.addresses import (
    is_here,
    own_address,
    split_address,
    wait_until_reachable,
)
from dragoman.cli.launching.heartbeats import Heartbeats, MachineRound
from dragoman.cli.launching.worker_failures import Failures, is_stop
from dragoman.core.errors import ConfigError, WorkerError
from dragoman.training.distributed import CONTINUES

JOIN_SECONDS = 900
"""Seconds that machines wait for one another."""
_LAST_CALL_SECONDS = 5  # for machines beyond the fewest
_STORE_SECONDS = 60  # for one answer of the store
_KEEP_ALIVES = 4  # that a machine may miss before PyTorch's rendezvous takes it for lost
_BEGUN, _COMMAND = "dragoman/begun", "dragoman/command"


@dataclass(frozen=True)
class RendezvousTerms:
    """Terms of a rendezvous, the same on all machines: place, number of machines and restarts."""

    fewest_nodes: int = 1
    most_nodes: int = 1
    rendezvous: str | None = None
    """``HOST:PORT`` where machines meet; None for one machine."""
    restarts: int = 0
    """Maximum restarts of this machine's failed processes."""
    lost_after: float = 20.0
    """Seconds of silence after which a machine is lost."""

    @property
    def elastic(self) -> bool:
        """Whether training goes on with fewer machines than the maximum."""
        return self.fewest_nodes < self.most_nodes

    @property
    def recovers(self) -> bool:
        """Whether failed processes are restarted at all."""
        return self.elastic or self.restarts > 0


@dataclass
class History:
    """The history of this training on this machine, over all rendezvous."""

    begun: bool = False
    """Whether processes were started."""
    failures: int = 0
    """Number of failures of the processes."""
    last: Failures = field(default_factory=Failures)
    """The last failures."""


class RendezvousOverError(Exception):
    """The training ends: no machine starts processes again.

    Args:
        reason: an error that another machine reported, if it ended the training.
    """

    def __init__(self, reason: WorkerError | None = None) -> None:
        super().__init__("no process is started again")
        self.reason = reason


class Rendezvous(RendezvousHandler):
    """The handler that gives PyTorch's agent its place among the machines, after each failure.

    Each round of machines has a separate store, so that it sees nothing left by earlier rounds.

    Args:
        command: the command of the processes; it must be the same on all machines.
        end_processes: kills the processes of this machine.
    """

    def __init__(
        self,
        terms: RendezvousTerms,
        command: str,
        history: History,
        tell: Callable[[str], object],
        end_processes: Callable[[], object],
    ) -> None:
        self._terms, self._command, self._history = terms, command, history
        self._tell, self._end_processes = tell, end_processes
        self._inner: RendezvousHandler | None = None
        self._store: Store | None = None
        self._server: TCPStore | None = None
        self._heartbeats: Heartbeats | None = None
        self._abandoned = False
        self._lost = False
        self.stop_asked = False
        """Whether the user has stopped the training."""

    def next_rendezvous(self) -> RendezvousInfo:
        """Take part in the next round, unless the training has ended.

        Raises:
            RendezvousOverError: the training has ended; see :attr:`History.last` and the reason.
        """
        self._check_whether_to_go_on()
        inner = self._inner or self._arrive()
        try:
            return self._open_round(inner.next_rendezvous())
        except RendezvousTimeoutError as error:
            raise self._nobody_came() from error
        except (RendezvousError, RuntimeError) as error:  # some of the store's are RuntimeError
            closed = isinstance(error, RendezvousClosedError)
            if (reason := self._reason(wait=closed)) or closed:
                raise RendezvousOverError(reason or _ENDED) from error
            raise

    def num_nodes_waiting(self) -> int:
        """Number of machines that wait to take part, or 1 to force a new round after a loss."""
        heartbeats = self._heartbeats
        if heartbeats is not None:
            if not self._lost and (lost := heartbeats.lost()):
                self._lost = True
                self._tell(f"{len(lost)} of the machines cannot be reached any more")
                self._end_processes()  # they wait in vain
            reason = self._reason()
            if self._lost or (reason is not None and not is_stop(reason.exit_code)):
                return 1
        return self._inner.num_nodes_waiting() if self._inner is not None else 0

    @property
    def is_cut_off(self) -> bool:
        """Whether this machine must stop its processes, since others go on without it."""
        return self._heartbeats is not None and self._heartbeats.cut_off

    def stop(self, received: int) -> None:
        """Let no machine start again, since the user has stopped this one with a signal."""
        self.stop_asked = True
        if self._heartbeats is not None and self._terms.recovers:
            name = signal.Signals(received).name
            reason = WorkerError(f"{socket.gethostname()}: stopped by {name}", 128 + received)
            self._heartbeats.end_for_all(_spelt(reason))

    def part(self) -> None:
        """Leave the round."""
        self._abandoned = True
        if self._heartbeats is not None:
            self._heartbeats.stop()

    def get_backend(self) -> str:
        """The kind of store."""
        return "c10d"

    def get_run_id(self) -> str:
        """The name under which machines meet."""
        return "dragoman"

    @property
    def use_agent_store(self) -> bool:
        """Processes use the store that the first machine opens for a round."""
        return True

    def is_closed(self) -> bool:
        """Whether the rendezvous is closed to all machines."""
        return self._inner is not None and self._inner.is_closed()

    def set_closed(self) -> None:
        """Close the rendezvous to all machines."""
        if self._inner is not None:
            self._inner.set_closed()

    def shutdown(self) -> bool:
        """End the rendezvous for all, once training is finished."""
        return self._inner is None or self._inner.shutdown()

    def _check_whether_to_go_on(self) -> None:
        terms, history = self._terms, self._history
        if self._abandoned:
            raise RendezvousOverError
        if self.stop_asked:
            self._close()
            raise RendezvousOverError
        if (reason := self._reason()) is not None:
            raise RendezvousOverError(reason)
        if self._inner is None:
            return
        failures = history.last
        if failures.are_final or not terms.recovers:
            self._end_for_all(failures)
            raise RendezvousOverError
        if self._lost or failures.are_a_pause or not failures.codes:
            self._tell("the machines that are there now go on from the last checkpoint")
            return
        history.failures += 1
        if history.failures > terms.restarts:
            if not terms.elastic:
                self._end_for_all(failures)
            raise RendezvousOverError
        self._tell(
            f"{failures.in_short}; starting again from the last checkpoint "
            f"(restart {history.failures} of {terms.restarts})"
        )

    def _end_for_all(self, failures: Failures) -> None:
        """Send the other machines the reason why the training ends."""
        said = [error for error in failures.errors if error["exit_code"] != WorkerError.exit_code]
        message, code = failures.in_short, None
        if said:
            message, code = said[0]["message"], said[0]["exit_code"]
        if self._heartbeats is not None:
            name = socket.gethostname()
            self._heartbeats.end_for_all(_spelt(WorkerError(f"{name}: {message}", code)))
        self._close()

    def _close(self) -> None:
        """Close the rendezvous to all machines, if the store can still be reached."""
        with suppress(RendezvousError, RuntimeError):
            self.set_closed()

    def _reason(self, *, wait: bool = False) -> WorkerError | None:
        """The error that another machine reported, if it ended the training for all."""
        if self._heartbeats is None:
            return None
        deadline = time.monotonic() + self._terms.lost_after / 4 * wait
        while self._heartbeats.ended is None and time.monotonic() < deadline:
            time.sleep(0.05)
        if self._heartbeats.ended is None:
            return None
        reason = json.loads(self._heartbeats.ended)
        return WorkerError(reason["message"], reason["exit_code"])

    def _nobody_came(self) -> Exception:
        terms = self._terms
        if self._history.begun:
            return WorkerError(
                f"fewer than {terms.fewest_nodes} machines came back within "
                f"{JOIN_SECONDS // 60} minutes; continue with 'dragoman resume'"
            )
        return ConfigError(
            f"--rendezvous {terms.rendezvous}: {terms.fewest_nodes} machines did not meet there "
            f"within {JOIN_SECONDS // 60} minutes; start the same command on each of them"
        )

    def _arrive(self) -> RendezvousHandler:
        """Connect to the rendezvous, or open it as the first machine."""
        terms = self._terms
        keep_alive = max(1, round(terms.lost_after / _KEEP_ALIVES))
        address, hosts = None, True
        if terms.rendezvous is not None:
            host, port = split_address(terms.rendezvous)
            # PyTorch would compare the host's name with this machine's, which may be another.
            here = is_here(host)
            reached = wait_until_reachable(host, port, 0 if here else JOIN_SECONDS)
            if not here and not reached:
                raise self._unreachable()
            address, hosts = own_address(host, port), not reached
        parameters = RendezvousParameters(
            "c10d",
            terms.rendezvous or "localhost:0",
            self.get_run_id(),
            min_nodes=terms.fewest_nodes,
            max_nodes=terms.most_nodes,
            # A machine's own name may not resolve, and a single machine does not need it.
            local_addr=address if terms.rendezvous else "localhost",
            join_timeout=JOIN_SECONDS,
            last_call_timeout=_LAST_CALL_SECONDS,
            keep_alive_interval=keep_alive,
            keep_alive_max_attempt=_KEEP_ALIVES,
            read_timeout=_STORE_SECONDS,
            is_host=hosts,
        )
        backend, store = create_backend(parameters)
        self._agree(store)
        if self._history.begun:
            store.set(_BEGUN, "1")
        if terms.rendezvous is not None:
            self._heartbeats = Heartbeats(lambda: _connected(host, port), terms.lost_after)
            self._heartbeats.start()
        self._store, self._inner = store, create_handler(store, backend, parameters)
        return self._inner

    def _agree(self, store: Store) -> None:
        """Refuse to take part with another command than the machine that came first."""
        first = store.compare_set(_COMMAND, "", self._command).decode()
        if first != self._command:
            raise ConfigError(
                f"--rendezvous {self._terms.rendezvous}: this machine has {self._command}, and the "
                f"machine that came first has {first}; start the same command with the same "
                "versions on each"
            )

    def _unreachable(self) -> Exception:
        terms = self._terms
        if self._history.begun:
            return WorkerError(
                f"nobody answered at {terms.rendezvous} for {JOIN_SECONDS // 60} minutes; "
                "continue with 'dragoman resume'"
            )
        return ConfigError(
            f"--rendezvous {terms.rendezvous}: {terms.fewest_nodes} machines did not meet there "
            f"(nobody answered for {JOIN_SECONDS // 60} minutes); start the same command on "
            "each of them"
        )

    def _open_round(self, info: RendezvousInfo) -> RendezvousInfo:
        """Agree on a store for this round and on its initial values, and let it begin."""
        if self._abandoned:
            raise RendezvousOverError
        assert self._store is not None and info.bootstrap_store_info is not None
        if info.rank == 0:
            host = info.bootstrap_store_info.master_addr
            self._server = TCPStore(host, 0, is_master=True, wait_for_workers=False)
            opened: dict[str, Any] = {
                "name": uuid.uuid4().hex,
                "host": host,
                "port": self._server.port,
                "continues": self._store.check([_BEGUN]),
            }
            self._store.set(_BEGUN, "1")
            info.store.set("dragoman/round", json.dumps(opened))
        else:
            self._server = None
            opened = json.loads(info.store.get("dragoman/round"))
        self._lost = False
        self._history.begun, self._history.last = True, Failures()
        if self._heartbeats is not None:
            self._heartbeats.begin(MachineRound(opened["name"], info.rank, info.world_size))
        os.environ[CONTINUES] = str(int(opened["continues"]))  # processes inherit it
        place = RendezvousStoreInfo(opened["host"], opened["port"])
        return RendezvousInfo(info.store, info.rank, info.world_size, place)


_ENDED = WorkerError("the training at this --rendezvous has ended")


def _connected(host: str, port: int) -> Store:
    return TCPStore(
        host, port, is_master=False, timeout=timedelta(seconds=_STORE_SECONDS), multi_tenant=False
    )


def _spelt(reason: WorkerError) -> str:
    return json.dumps({"message": str(reason), "exit_code": reason.exit_code})
