"""Calls that block, such as those of the database, while other requests are answered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anyio import to_thread

Result = TypeVar("Result")


async def in_thread(call: Callable[..., Result], *arguments: object, **named: object) -> Result:
    """The result of a call that blocks, for a request.

    A request whose time is up, or whose client has left, does not wait for the end of the call,
    which a database that hangs would put off; the call itself goes on.
    """
    return await to_thread.run_sync(partial(call, *arguments, **named), abandon_on_cancel=True)
