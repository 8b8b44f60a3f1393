"""Translation memory: known translations, which are used instead of new ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from dragoman.translation.service.interface import Pairing, Rendering
from dragoman.translation.service.text_jobs import TextJob

Remember = Callable[[Sequence[str], str, str], Mapping[str, str]]
"""Takes texts, their language and the target language; returns the known translations."""

_AT_ONCE = 8
"""Maximum simultaneous look-ups."""


class TranslationMemory:
    """Looks up known translations, in separate threads.

    A database that hangs then delays only its own requests, and not other work beside the event
    loop, such as language detection.

    Args:
        remember: looks up translations; it may block.
        may_remember: whether a pair of languages may have known translations; never blocks.
    """

    def __init__(self, remember: Remember, may_remember: Callable[[str, str], bool]) -> None:
        self._remember, self._may_remember = remember, may_remember
        self._threads = ThreadPoolExecutor(_AT_ONCE, "remembering")

    def close(self) -> None:
        """Accept no further look-ups; look-ups that hang are abandoned."""
        self._threads.shutdown(wait=False)

    async def answer(self, jobs: Sequence[TextJob]) -> None:
        """Give texts and sentences their known translations."""
        by_pair: dict[Pairing, list[TextJob]] = {}
        for job in jobs:
            request = job.request
            if request.memory and not request.prefix and job.pair.source != job.pair.target:
                by_pair.setdefault(job.pair, []).append(job)
        for pair, mine in by_pair.items():
            if self._may_remember(*pair):
                await self._answer(pair, mine)

    async def _answer(self, pair: Pairing, jobs: Sequence[TextJob]) -> None:
        wholes = [job.request.text.strip() for job in jobs]
        texts = [*wholes, *(unit.source for job in jobs for unit in job.units)]
        wanted = [text for text in dict.fromkeys(texts) if text]
        loop = asyncio.get_running_loop()
        known = await loop.run_in_executor(self._threads, self._remember, wanted, *pair)
        for job, whole in zip(jobs, wholes, strict=True):
            if whole in known:
                job.answer_whole(Rendering(known[whole], from_memory=True))
                continue
            for unit in job.units:
                if unit.source in known:
                    unit.renderings = (Rendering(known[unit.source], from_memory=True),)
