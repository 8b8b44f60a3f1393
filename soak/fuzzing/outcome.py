"""What became of one hostile input."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import dragoman

Kind = Literal["accepted", "refused", "error", "slow", "memory", "died"]

GOOD: frozenset[Kind] = frozenset(["accepted", "refused"])
_LONGEST_MESSAGE = 8000
"""Characters that a user can still be expected to look at."""
_PACKAGE = str(Path(dragoman.__file__).parent)


@dataclass(frozen=True)
class Outcome:
    """What became of an input."""

    kind: Kind
    place: str = ""
    """Of a failure: the error and where in the package it came from; equal ones are one defect."""
    detail: str = ""
    """Of a failure: the traceback, or what the process wrote last."""
    seconds: float = 0.0
    """Of processor time."""
    grown: int = 0
    """Bytes by which the process grew at most."""

    @property
    def is_good(self) -> bool:
        """Whether the input was read, or refused in the right way."""
        return self.kind in GOOD


def of_refusal(error: Exception) -> Outcome:
    """The outcome of a right kind of error, if a user can read its message."""
    message = str(error)
    if not message.strip() or len(message) > _LONGEST_MESSAGE:
        what = "an endless message" if message.strip() else "an empty message"
        return Outcome("error", f"{what} in {_place(error)}", f"{message:.400}")
    return Outcome("refused")


def of_error(error: BaseException) -> Outcome:
    """The outcome of a wrong kind of error."""
    kind: Kind = "memory" if isinstance(error, MemoryError) else "error"
    trace = "".join(traceback.format_exception(error, limit=-12))
    return Outcome(kind, f"{type(error).__name__} in {_place(error)}", trace[-_LONGEST_MESSAGE:])


def _place(error: BaseException) -> str:
    """The innermost function of the package through which an error went."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(_PACKAGE)] or frames
    if not ours:
        return "nowhere"
    return f"{Path(ours[-1].filename).name}:{ours[-1].name}"
