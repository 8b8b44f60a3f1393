"""Failures of the processes of this machine, and the decision whether to restart them."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.cli.streams import BROKEN_PIPE
from dragoman.core.errors import WorkerError
from dragoman.core.files import read_json

RECOVERS = "DRAGOMAN_RECOVERS"
"""The environment variable that the launcher sets if it restarts processes."""


@dataclass(frozen=True)
class Failures:
    """The ends of this machine's processes that did not end by themselves."""

    errors: Sequence[Mapping[str, Any]] = ()
    """Errors that processes reported: ``message``, ``exit_code``, and ``echo`` if another's."""
    codes: Mapping[int, int] = field(default_factory=dict)
    """Exit code by rank; of a process that was killed, the negative number of the signal."""

    @property
    def in_short(self) -> str:
        """A short description of the failure."""
        # An agent sends the other processes SIGTERM when one has failed.
        killed = (rank for rank, code in self.codes.items() if code < 0 and code != -signal.SIGTERM)
        ranks = ", ".join(map(str, sorted(killed)))
        return f"killed: process {ranks}" if ranks else "processes lost those of another machine"

    @property
    def are_final(self) -> bool:
        """Whether processes would fail again if restarted: one of them has reported an error.

        A process that was killed, or that only lost its connection to a killed process, would not.
        """
        codes = (error["exit_code"] for error in self.errors)
        said = any(code != WorkerError.exit_code and code <= 128 for code in codes)
        return said or BROKEN_PIPE in self.codes.values()

    @property
    def are_a_pause(self) -> bool:
        """Whether processes only saved and stopped, because a machine joined or on request."""
        stopped = any(is_stop(error["exit_code"]) for error in self.errors)
        killed = any(code < 0 and code != -signal.SIGTERM for code in self.codes.values())
        return stopped and not killed and not self.are_final


def is_stop(code: int) -> bool:
    """Whether this exit code is of a process that was stopped by a signal."""
    return code > 128 and code != BROKEN_PIPE


def read_errors(folder: Path) -> list[dict[str, Any]]:
    """The errors that processes have left below a folder."""
    return [read_json(file) for file in sorted(folder.rglob("error.json"))]


def forget_errors(folder: Path) -> None:
    """Remove the errors, so that they are not mixed with those of the next processes."""
    for file in folder.rglob("error.json"):
        file.unlink(missing_ok=True)
