"""Supervision of the processes of this machine, with signals forwarded to them."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from torch.distributed.elastic.agent.server.api import RunResult, WorkerGroup, WorkerSpec
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs

from dragoman.cli.launching.rendezvous import History, Rendezvous
from dragoman.cli.launching.worker_failures import Failures, forget_errors, read_errors

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_POLL_SECONDS = 0.1


class RecordingAgent(LocalElasticAgent):
    """PyTorch's supervisor of this machine's processes, which also records how they ended."""

    def __init__(self, spec: WorkerSpec, folder: Path, history: History) -> None:
        super().__init__(spec, DefaultLogsSpecs(log_dir=str(folder)))
        self._folder, self._history = folder, history

    def send(self, number: int) -> bool:
        """Send all processes a signal; False if they have not been started yet."""
        processes = [worker.id for worker in self.get_worker_group().workers]
        if not processes or None in processes:
            return False
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, number)
        return True

    def kill(self) -> None:
        """End all processes at once, even those that wait in vain."""
        self.send(signal.SIGKILL)

    def _monitor_workers(self, worker_group: WorkerGroup) -> RunResult:
        result = super()._monitor_workers(worker_group)
        if result.failures:
            codes = {rank: failure.exitcode for rank, failure in result.failures.items()}
            self._history.last = Failures((), codes)
        return result

    def _stop_workers(self, worker_group: WorkerGroup, *args: Any, **kwargs: Any) -> None:
        super()._stop_workers(worker_group, *args, **kwargs)
        # Now, since a process that is being stopped may report an earlier error.
        self._history.last = Failures(read_errors(self._folder), self._history.last.codes)
        forget_errors(self._folder)


class Supervision:
    """Runs an agent in a thread, so that this process handles signals and forwards them.

    In the main thread the agent would catch them itself and kill its processes 30 seconds later,
    even while they write.

    Args:
        meets_others: whether the agent may first wait a long time for them.
    """

    def __init__(self, agent: RecordingAgent, rendezvous: Rendezvous, meets_others: bool) -> None:
        self._agent, self._rendezvous, self._meets_others = agent, rendezvous, meets_others
        self.finished = False
        """Whether all processes have ended by themselves."""
        self.error: Exception | None = None
        self.received: signal.Signals | None = None
        self.cut_off = False
        """Whether this machine lost contact with the others."""
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
                if self._rendezvous.is_cut_off:
                    self.cut_off = True
                    self._agent.kill()  # before the others start again without them
                    return
        finally:
            self._rendezvous.part()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _supervise(self) -> None:
        try:
            self.finished = not self._agent.run().is_failed()
            self._rendezvous.shutdown()
        except Exception as error:
            self.error = error

    def _receive(self, number: int, _: object) -> None:
        self.received, self._pending = signal.Signals(number), True

    def _forward(self) -> bool:
        """Forward the signal to the processes; False if there are none yet."""
        received = self.received or signal.SIGTERM
        self._rendezvous.stop(received)
        if not self._agent.send(received):
            return False
        self._pending = False
        return True
