"""Work beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")

_AT_ONCE = 2000
"""Maximum characters that are processed in the event loop."""


async def aside(size: int, work: Callable[[], Result]) -> Result:
    """The result of some work, in a thread if it takes long; ``size`` is in characters."""
    return await asyncio.to_thread(work) if size > _AT_ONCE else work()


async def in_own_thread(work: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function that uses PyTorch in a new thread, beside the thread that translates.

    The thread ends with the work.  GNU OpenMP gives each thread that computes helper threads, and
    keeps them until that thread ends.  If a process has more of them than cores, all go to sleep
    between any two steps: with a model loaded in a thread that stays, one sentence took 219 ms
    instead of 77 ms.
    """
    with ThreadPoolExecutor(1) as executor:
        return await asyncio.get_running_loop().run_in_executor(executor, work, *arguments)
