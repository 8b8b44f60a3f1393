"""The instrument of kills and power losses: ``recorder.c``, built, armed, and its log read.

It is loaded into the processes that are tried, never into the product.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SOURCE = Path(__file__).with_name("recorder.c")


class NoInstrumentError(Exception):
    """The instrument cannot be built here; the text says why."""


def build(folder: Path) -> Path:
    """Compile the instrument into ``folder``, to be named in ``LD_PRELOAD``.

    Raises:
        NoInstrumentError: there is no C compiler, or it refuses.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise NoInstrumentError("no C compiler (cc)")
    library = folder / "recorder.so"
    flags = ("-shared", "-fPIC", "-O1", "-ldl", "-lpthread")
    command = [compiler, str(_SOURCE), "-o", str(library), *flags]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        raise NoInstrumentError(f"{_SOURCE.name} does not compile: {built.stderr.strip()[:300]}")
    return library


def arm(folder: Path, log: Path | None = None, kill_at: int = 0, delay: float = 0.0) -> None:
    """Watch what this process does below ``folder``; the instrument must have been preloaded.

    Args:
        folder: absolute, with its symbolic links resolved.
        log: file to record to.
        kill_at: number of the operation, from 1, before which the process is killed; of a write
            half is done.  0 for never.
        delay: seconds that each operation waits, as on a slow disk.
    """
    recorder_arm = ctypes.CDLL(None).recorder_arm
    recorder_arm.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_long, ctypes.c_long]
    where = b"" if log is None else bytes(log)
    recorder_arm(bytes(folder), where, kill_at, int(delay * 1e6))


def let_clock_jump(seconds: int) -> None:
    """Let the time of day of this process be wrong by ``seconds``, now ahead and now behind."""
    ctypes.CDLL(None).recorder_jump(ctypes.c_long(seconds))


@dataclass(frozen=True)
class Operation:
    """One change of the files below the folder."""

    what: str
    """``create``, ``truncate``, ``write``, ``fsync``, ``rename``, ``unlink``, ``mkdir``, ``rmdir``
    or ``symlink``."""
    node: int
    """Inode of the file or directory, 0 where the names say it."""
    offset: int
    """Where a write begins, or the length to which a file is truncated."""
    path: str
    """Absolute, when it happened."""
    other: str = ""
    """The new name, or the target of a link."""
    data: bytes = b""
    """What was written."""

    def __str__(self) -> str:
        return " ".join(part for part in (self.what, self.path, self.other) if part)


def read_log(path: Path) -> Iterator[Operation]:
    """The operations of a log, in order."""
    with path.open("rb") as stream:
        while line := stream.readline():
            what, node, offset, size, name, other = line.decode().rstrip("\n").split("\t")
            yield Operation(what, int(node), int(offset), name, other, stream.read(int(size)))
