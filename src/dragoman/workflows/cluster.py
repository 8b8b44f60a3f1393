"""Ray, which distributes work on the cores of one machine or of a cluster; imported only here.

Only its tasks are used.  Their results are files that all machines see, so nothing is lost with a
process or a machine: Ray repeats the task elsewhere.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from dragoman.core.errors import ConfigError, DragomanError, MissingExtraError, WorkerError
from dragoman.core.version import __version__

_REPEATS = 8
"""Maximum repetitions of a task whose worker or machine was lost."""

try:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to anybody
    # A task that requests no GPU sees none.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "1")
    # One that Ray kills for lack of memory is repeated without end otherwise.
    os.environ.setdefault("RAY_task_oom_retries", str(_REPEATS))
    import ray
except ModuleNotFoundError as error:
    raise MissingExtraError.of("Ray (the extra 'cluster')", "ray") from error

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD = 2
"""Waiting or running tasks per core, so that no core idles."""
_OBJECT_STORE_BYTES = 128 * 2**20  # tasks exchange little: their results are files
_QUIET: dict[str, Any] = {
    "log_to_driver": False,
    "logging_level": logging.ERROR,
    "configure_logging": False,
}
_STARTS = 3  # each waits for half a minute
_MACHINES_SECONDS = 10.0
# The path of a socket, which may have 107 characters, continues some 80 below.
_LONGEST_FOLDER = 24


@dataclass(frozen=True)
class _Outcome:
    """The outcome of a task; an error of ours is a value, to keep its kind and its one line."""

    result: Any = None
    error: DragomanError | None = None


def _carry_out(work: Callable[[Any], Any], item: Any, version: str, folder: str) -> _Outcome:
    if __version__ != version:
        return _Outcome(
            error=ConfigError(
                f"a machine of the cluster has Dragoman {__version__}, this one "
                f"{version}; install the same version on all"
            )
        )
    try:
        os.chdir(folder)
    except OSError:
        return _Outcome(
            error=ConfigError(
                f"{folder}: not on all machines of the cluster; work in a folder of a file system "
                "that all of them share"
            )
        )
    try:
        return _Outcome(work(item))
    except DragomanError as error:
        return _Outcome(error=error)


class RayRunner:
    """Carries out work by the tasks of a Ray that is already connected.

    Args:
        gpus: of each task; below 1, several tasks share a GPU, and at 0, tasks see none.
    """

    def __init__(self, gpus: float = 0) -> None:
        self._task = ray.remote(max_retries=_REPEATS, num_cpus=1, num_gpus=gpus)(_carry_out)
        self._machines, self._counted = 1, -_MACHINES_SECONDS

    @property
    def machines(self) -> int:
        """Number of live machines, at most some seconds old, or as at the end."""
        is_old = time.monotonic() - self._counted > _MACHINES_SECONDS
        if is_old and ray.is_initialized():
            self._machines = sum(bool(node["Alive"]) for node in ray.nodes())
            self._counted = time.monotonic()
        return self._machines

    def carry_out(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        """The items with their results, as they come."""
        shared, waiting = ray.put(work), iter(items)
        pending: dict[Any, Item] = {}
        try:
            while True:
                for item in islice(waiting, max(0, _AHEAD * _cores() - len(pending))):
                    task = self._task.remote(shared, item, __version__, os.getcwd())
                    pending[task] = item
                if not pending:
                    return
                (done, *_), _ = ray.wait(list(pending), num_returns=1)
                yield pending.pop(done), _result(done)
        finally:
            # Once Ray has ended, which may come first, asking it for anything would start another.
            for task in pending if ray.is_initialized() else ():
                with suppress(Exception):  # it may be over, or its machine gone
                    ray.cancel(task, force=True)


def _cores() -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _result(task: Any) -> Any:
    try:
        outcome: _Outcome = ray.get(task)
    except ray.exceptions.RayTaskError as error:
        raise error.as_instanceof_cause() from None
    except ray.exceptions.RayError as error:
        raise WorkerError(
            f"a worker of the cluster was lost {_REPEATS + 1} times at the same work, perhaps for "
            f"lack of memory ({_first_line(error)}); repeat the command with fewer --workers or "
            "--shard-lines"
        ) from error
    if outcome.error is not None:
        raise outcome.error
    return outcome.result


@contextmanager
def connected(address: str | None, workers: int | None, gpus: float = 0) -> Iterator[RayRunner]:
    """Connect to a cluster, or start a Ray on this machine that ends with the block.

    Args:
        address: of a cluster, such as ``host:6379``; None starts a Ray.
        workers: processes on this machine; by default as many as cores.
        gpus: of each task.
    """
    logging.getLogger("ray").setLevel(logging.ERROR)
    with _temporary_folder() as folder:
        if address is None:
            _start(workers or os.cpu_count() or 1, folder)
        else:
            _connect(address)
        try:
            _check_gpus(gpus)
            yield RayRunner(gpus)
        finally:
            ray.shutdown()


def _check_gpus(wanted: float) -> None:
    """Refuse a task that Ray would never start, without a message."""
    alive = (node["Resources"] for node in ray.nodes() if node["Alive"])
    most = max((float(resources.get("GPU", 0)) for resources in alive), default=0)
    if wanted > most:
        raise ConfigError(
            f"--gpus {wanted:g}: no machine has as many (the most is {most:g}); ask for fewer, or "
            "add machines that have them"
        )


def _connect(address: str) -> None:
    try:
        ray.init(address=address, **_QUIET)
    except (OSError, RuntimeError, ValueError, SystemExit) as error:  # Ray would end the process
        raise ConfigError(
            f"--cluster {address}: no Ray cluster can be reached there; start one with 'ray start "
            "--head', or check 'ray status'"
        ) from error


def _start(workers: int, folder: Path) -> None:
    """Start a Ray on this machine, with retries: under load its parts may miss each other."""
    for left in reversed(range(_STARTS)):
        try:
            ray.init(
                num_cpus=workers,
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE_BYTES,
                _temp_dir=str(folder),
                **_QUIET,
            )
            return
        except Exception as error:  # Ray raises no narrower exception on a timeout
            ray.shutdown()
            if not left:
                raise WorkerError(
                    f"Ray does not start on this machine ({_first_line(error)}); repeat the "
                    "command when it is less busy, or work in this process with --workers 0"
                ) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0]


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder for Ray's sockets and logs; in /tmp if the usual folder's name is too long."""
    parent = tempfile.gettempdir()
    if len(parent) > _LONGEST_FOLDER:
        parent = "/tmp"
    with tempfile.TemporaryDirectory(
        prefix="ray-", dir=parent, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)
