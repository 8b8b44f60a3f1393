"""A process that has imported everything, and forks for each command: 0.1 s instead of 3 s.

``python -m soak.warm`` reads orders, JSON line by line, and answers each the same way.  A command
runs in a fork of it as ``python -m dragoman`` would, with an instrument that can kill it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from soak.instrument import arm, let_clock_jump

_KILL = -signal.SIGKILL


@dataclass(frozen=True)
class Order:
    """A command to run."""

    arguments: tuple[str, ...]
    """Of ``dragoman``."""
    folder: str
    """Working directory, below which files are watched; resolved."""
    log: str = ""
    """File to record operations to; empty for none."""
    kill_at: int = 0
    """Number of the operation at which to kill, from 1; 0 for never."""
    kill_after: float = 0.0
    """Seconds after which to kill; 0 for never."""
    limit: float = 120.0
    """Seconds after which the command hangs; it is then killed."""
    file_bytes: int = 0
    """Maximum size of a file (RLIMIT_FSIZE); 0 for any."""
    memory_bytes: int = 0
    """Maximum address space beyond what the process has already (RLIMIT_AS); 0 for any."""
    delay: float = 0.0
    """Seconds that each operation on a file waits."""
    clock_jumps: int = 0
    """Seconds by which the time of day jumps to and fro."""


@dataclass(frozen=True)
class Ended:
    """What came of it."""

    code: int
    """Exit code, or the negative number of the signal that ended it."""
    seconds: float
    out: str
    """Standard output and standard error."""
    hung: bool = False
    """Whether it was killed because it took too long."""

    @property
    def killed(self) -> bool:
        """Whether the instrument or the timer killed it."""
        return self.code == _KILL and not self.hung


class Warm:
    """The process, from outside; a context manager.

    Args:
        library: the instrument, or None to do without.
        folder: for what the commands print.
    """

    def __init__(self, library: Path | None, folder: Path) -> None:
        preloaded = {} if library is None else {"LD_PRELOAD": str(library)}
        environment = {**os.environ, **preloaded, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "soak.warm", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def run(self, order: Order) -> Ended:
        """Carry out an order."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("the warm process has ended")
        return Ended(**json.loads(answer))

    def __enter__(self) -> Warm:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()  # closes its input, which ends it


def _carried_out(order: Order, printed: Path) -> Ended:
    started = time.monotonic()
    printed.write_bytes(b"")
    child = os.fork()
    if not child:
        _command(order, printed)
    descriptor = os.pidfd_open(child)
    limit = order.kill_after or order.limit
    over = not select.select([descriptor], [], [], limit)[0]
    if over:
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    os.close(descriptor)
    _, status = os.waitpid(child, 0)
    return Ended(
        os.waitstatus_to_exitcode(status),
        round(time.monotonic() - started, 3),
        printed.read_text(errors="replace"),
        hung=over and not order.kill_after,
    )


def _command(order: Order, printed: Path) -> None:
    """Become the command; never returns."""
    code = 1
    try:
        os.setsid()
        os.chdir(order.folder)
        out = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for descriptor, target in ((nothing, 0), (out, 1), (out, 2)):
            os.dup2(descriptor, target)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        _limited(order)
        if order.log or order.kill_at or order.delay:
            log = Path(order.log) if order.log else None
            arm(Path(order.folder), log, order.kill_at, order.delay)
        if order.clock_jumps:
            let_clock_jump(order.clock_jumps)
        from dragoman.cli.main import run

        code = run(order.arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(code)


def _limited(order: Order) -> None:
    import resource

    if order.file_bytes:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that a write fails instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (order.file_bytes, order.file_bytes))
    if order.memory_bytes:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        limit = used + order.memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _import_everything() -> None:
    """All that commands import, but nothing that starts a thread."""
    import logging
    import warnings

    import dragoman.cli.main
    import dragoman.experiment
    import dragoman.techniques.adaptation.flow
    import dragoman.techniques.backtranslation.rounds
    import dragoman.translation.building
    import dragoman.workflows.runs

    level = logging.WARNING
    logging.basicConfig(level=level, handlers=[dragoman.cli.main.StandardError()])
    warnings.simplefilter("ignore")


def _serve(folder: Path) -> None:
    _import_everything()
    printed = folder / "printed.txt"
    for line in sys.stdin:
        values = json.loads(line)
        ended = _carried_out(Order(**{**values, "arguments": tuple(values["arguments"])}), printed)
        print(json.dumps(asdict(ended)), flush=True)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
