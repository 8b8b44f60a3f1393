"""Runs blocking calls, such as those of the database, in threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anyio import to_thread

Result = TypeVar("Result")


async def in_thread(call: Callable[..., Result], *arguments: object, **named: object) -> Result:
    """The result of a blocking call, which runs in a thread.

    A request whose time is up or whose client has left does not wait for the call, as a database
    may hang.  The call itself continues.
    """
    return await to_thread.run_sync(partial(call, *arguments, **named), abandon_on_cancel=True)
