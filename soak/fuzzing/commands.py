"""Commands as a user gives them, in this process; what would be a traceback is raised."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import BytesIO, TextIOWrapper

from dragoman.cli.main import run
from dragoman.core.errors import DragomanError


class CommandError(Exception):
    """A command that could not be carried out in an expected way; its cause is the error."""


def carry_out(arguments: Sequence[object], stdin: bytes = b"") -> int:
    """The exit code of a command.

    Raises:
        DragomanError: it ended with one.
        CommandError: it ended with any other exception, which a user would see as "unexpected".
    """
    seen: list[BaseException] = []

    def tell(error: BaseException, message: str, code: int) -> int:
        seen.append(error)
        return code

    before, sys.stdin = sys.stdin, TextIOWrapper(BytesIO(stdin), encoding="utf-8")
    try:
        code = run([str(one) for one in arguments], tell)
    finally:
        sys.stdin = before
    if not seen:
        return code
    if isinstance(seen[0], (DragomanError, MemoryError)):
        raise seen[0]
    raise seen[0] from CommandError(" ".join(map(str, arguments)))
