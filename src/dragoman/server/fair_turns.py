"""Turns for pieces of files, so that small files do not wait for large ones.

The next turn goes to the file with the fewest translated characters (least attained service).
Every third turn goes to the file that has waited longest, so that no file waits for ever.  A small
file needs no turn: its sentences join the next batch, where requests have turns anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from typing_extensions import override

from dragoman.translation.service.interface import TextRequest, TextService
from dragoman.translation.service.translated_text import Detection, TranslatedText

_LONGEST_WAITING = 3
"""Interval, in turns, at which the file that has waited longest gets a turn."""
_SMALL = 2000
"""Characters up to which the first piece of a file needs no turn."""


class _Waiting(NamedTuple):
    had: int
    turn: asyncio.Future[None]


class FairTurns:
    """Gives turns, in one event loop."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting: list[_Waiting] = []  # the longest waiting first
        self._passed_on = 0

    @asynccontextmanager
    async def turn(self, had: int) -> AsyncIterator[None]:
        """Wait for a turn, and hold it.

        ``had`` is the number of characters of the file that are already translated.
        """
        await self._wait(had)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, had: int) -> None:
        if self._free:
            self._free -= 1
            return
        mine = _Waiting(had, asyncio.get_running_loop().create_future())
        self._waiting.append(mine)
        try:
            await mine.turn
        except asyncio.CancelledError:
            if mine in self._waiting:
                self._waiting.remove(mine)
            else:  # the turn came at the same moment
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        if not self._waiting:
            self._free += 1
            return
        self._passed_on += 1
        place = 0
        if self._passed_on % _LONGEST_WAITING:
            place = min(range(len(self._waiting)), key=lambda one: self._waiting[one].had)
        self._waiting.pop(place).turn.set_result(None)


class TurnTakingService(TextService):
    """A service that translates a file in turns with others."""

    def __init__(self, service: TextService, turns: FairTurns) -> None:
        self._service, self._turns, self._had = service, turns, 0

    @override
    async def translate(
        self, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        """Translate texts; the time limit begins with the turn."""
        size = sum(len(request.text) for request in requests)
        if not self._had and size <= _SMALL:
            self._had = size
            return await self._service.translate(requests, seconds=seconds)
        async with self._turns.turn(self._had):
            self._had += size
            return await self._service.translate(requests, seconds=seconds)

    @override
    async def detect_sources(self, texts: Sequence[str], target: str) -> list[Detection]:
        return await self._service.detect_sources(texts, target)
