"""Work beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

_AT_ONCE = 2000
"""Characters that are worked at without leaving the event loop."""


async def aside(size: int, work: Callable[[], Result]) -> Result:
    """The result of some work, in a thread if it takes long."""
    return await asyncio.to_thread(work) if size > _AT_ONCE else work()
