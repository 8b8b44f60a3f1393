"""Commands in forks of a process that has imported what is slow to import."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import NamedTuple, TextIO, cast

_STARTS_PROCESSES = frozenset(("--workers", "--processes", "serve", "bulk"))
"""Arguments of commands that are started afresh, as they start others themselves."""

_PATIENCE = 600.0  # seconds

_ONE_AT_A_TIME = Lock()
"""Held while exit codes are read, since starting a process also reads those of others."""


class Ended(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str


def ended(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], stdin: bytes = b""
) -> Ended:
    """Run ``dragoman`` in a folder."""
    with TemporaryDirectory() as temporary:
        streams = [Path(temporary) / name for name in ("in", "out", "err")]
        streams[0].write_bytes(stdin)
        if _STARTS_PROCESSES & set(arguments):
            with (
                streams[0].open() as given,
                streams[1].open("w") as out,
                streams[2].open("w") as err,
            ):
                code = subprocess.run(
                    [sys.executable, "-m", "dragoman", *arguments],
                    cwd=folder,
                    env=dict(environment),
                    stdin=given,
                    stdout=out,
                    stderr=err,
                    timeout=_PATIENCE,
                    check=False,
                ).returncode
        else:
            process = _forks().Process(
                target=_become, args=(arguments, folder, dict(environment), streams)
            )
            with _ONE_AT_A_TIME:
                process.start()
            assert wait([process.sentinel], _PATIENCE), f"dragoman {' '.join(arguments)} goes on"
            with _ONE_AT_A_TIME:
                process.join()
            assert process.exitcode is not None
            code = process.exitcode
        return Ended(code, *(path.read_bytes().decode("utf-8", "replace") for path in streams[1:]))


@cache
def _forks() -> ForkServerContext:
    """Processes whose parent has imported PyTorch, and most of Dragoman."""
    os.environ |= {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}  # read when it is imported
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["soak.outputs.preloaded"])
    return context


def _become(
    arguments: Sequence[str], folder: Path, environment: dict[str, str], streams: Sequence[Path]
) -> None:
    """Make this process the command, with files as its standard streams."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    modes = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT)
    for number, (path, mode) in enumerate(zip(streams, modes, strict=True)):
        os.dup2(os.open(path, mode), number)
    sys.stdin, sys.stdout = _stream(0, "r"), _stream(1, "w")
    sys.stderr = _stream(2, "w", "backslashreplace")
    sys.argv = ["dragoman", *arguments]
    sys.modules.pop("dragoman.__main__", None)  # runpy warns of what it finds there
    runpy.run_module("dragoman", run_name="__main__", alter_sys=True)


def _stream(number: int, mode: str, errors: str = "surrogateescape") -> TextIO:
    """A standard stream as Python opens it."""
    return cast(TextIO, os.fdopen(number, mode, encoding="utf-8", errors=errors, closefd=False))
