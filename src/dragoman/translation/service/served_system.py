"""A system in memory with the queue in front of it.

A multilingual model is loaded once: lines into different languages differ only in their tags, and
share batches.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, Unpack

from dragoman.core.errors import BusyError, DragomanError, NoWorkersError
from dragoman.search import SearchConfig
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.batching import BatchingConfig, RequestBatcher
from dragoman.translation.call_options import LineOptions, SearchOptions
from dragoman.translation.outputs import Translation
from dragoman.translation.service.interface import RefusedError
from dragoman.translation.service.loaded_system import LoadedSystem
from dragoman.translation.translator import Translator

Result = TypeVar("Result")

_THREADS = "translating"
logging.getLogger("dragoman.translation.terms").addFilter(
    # Line numbers mean nothing here, and texts of clients do not belong in a log.
    lambda record: not (record.threadName or "").startswith(_THREADS)
)
_SHARE = 4
"""A request has at most this fraction (1/4) of the queue at a time, to leave room for others."""
_MEMORY = 0.9
"""Weight of the past in the moving average of the speed."""
_AWAY_SECONDS = 5.0
"""Retry delay after processes that translate were killed and others cannot be started."""
_REMEMBERED = 256
"""Maximum number of search settings kept."""


def translating_threads(batching: BatchingConfig) -> ThreadPoolExecutor:
    """The threads in which all systems of a service translate.

    They are shared, since each thread has its own helper threads (see
    :func:`~dragoman.translation.service.offloading.in_own_thread`): a batch of one model waits for
    that of another, and then has all cores.
    """
    return ThreadPoolExecutor(batching.batches_at_once, _THREADS)


class MeasuredTranslator:
    """A translator that counts its work; safe to call from several threads."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._configured: dict[tuple[tuple[str, Any], ...], SearchConfig] = {}
        self._lock = threading.Lock()
        self.lines = self.batches = 0
        self.seconds = 0.0
        self.speed = 0.0
        """Recent lines per second; 0 before the first batch."""

    def configure(self, **options: Unpack[SearchOptions]) -> SearchConfig:
        """Configure the translator; requests with equal options get the same object."""
        key = tuple(sorted(options.items()))
        if key not in self._configured:
            if len(self._configured) >= _REMEMBERED:
                self._configured.clear()
            self._configured[key] = self._translator.configure(**options)
        return self._configured[key]

    def translate_nbest(
        self, lines: Iterable[str], **options: Unpack[LineOptions]
    ) -> list[list[Translation]]:
        """The translations of the translator."""
        begin = time.perf_counter()
        translated = self._translator.translate_nbest(lines, **options)
        seconds = time.perf_counter() - begin
        count = len(translated)
        speed = count / max(seconds, 1e-9)
        with self._lock:
            self.lines, self.batches = self.lines + count, self.batches + 1
            self.seconds += seconds
            self.speed = _MEMORY * self.speed + (1 - _MEMORY) * speed if self.speed else speed
        return translated


class ServedSystem:
    """Translates lines of many callers with one system; made in the event loop that uses it.

    It closes the system, but not before the end of a ``with`` block.  ``threads`` run the
    translations.
    """

    def __init__(self, loaded: LoadedSystem, batching: BatchingConfig, threads: Executor) -> None:
        self.loaded, self._config, self._threads = loaded, batching, threads
        self.measured = MeasuredTranslator(loaded.translator)
        self._batcher = RequestBatcher(self.measured, batching, threads)
        self._starting: asyncio.Task[None] | None = None
        self._users = 0
        self._unused = asyncio.Event()
        self._unused.set()

    def __enter__(self) -> ServedSystem:
        self._users += 1
        self._unused.clear()
        return self

    def __exit__(self, *_: object) -> None:
        self._users -= 1
        if not self._users:
            self._unused.set()

    def is_ready(self) -> bool:
        """Whether lines are translated at once; if not, killed processes are started again."""
        if self.loaded.translator.is_ready:
            return True
        if self._starting is None or self._starting.done():
            self._starting = asyncio.ensure_future(self._start())
        return False

    @property
    def waiting_lines(self) -> int:
        """Lines in the queue."""
        return self._batcher.waiting_lines

    @property
    def patience(self) -> float:
        """Estimated seconds until a full queue has room."""
        speed = self.measured.speed
        return min(60.0, max(1.0, self.waiting_lines / speed if speed else 1.0))

    async def translate(
        self,
        lines: Sequence[str],
        *,
        nbest: int = 1,
        prefixes: Sequence[str] | None = None,
        glossary: Glossary | None = None,
    ) -> list[list[Translation]]:
        """The best translations of any number of lines with tags; equal lines are translated once.

        Raises:
            BusyError: there is no room in the queue for the first of them.
            RefusedError: ``busy``, while processes that translate cannot be started.
            DragomanError: the errors of :meth:`RequestBatcher.translate_nbest`.
        """
        given = list(zip(lines, prefixes or [""] * len(lines), strict=True))
        distinct = list(dict.fromkeys(given))
        if len(distinct) > self._config.batch_lines:  # each batch then has lines of one length
            distinct.sort(key=lambda one: -len(one[0]))
        size = max(self._config.batch_lines, self._config.queue_lines // _SHARE)
        size = min(size, self._config.queue_lines)
        translations: dict[tuple[str, str], list[Translation]] = {}
        for start in range(0, len(distinct), size):
            part = distinct[start : start + size]
            call = partial(
                self._batched,
                [line for line, _ in part],
                prefix=None if prefixes is None else [prefix for _, prefix in part],
                glossary=glossary,
                nbest=nbest,
            )
            translated = await (self._insisting(call) if start else call())
            translations.update(zip(part, translated, strict=True))
        return [translations[line] for line in given]

    async def in_turn(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function between batches."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, work, *arguments)

    async def close(self) -> None:
        """Wait for all ``with`` blocks to end, then free the models."""
        await self._unused.wait()
        await self._batcher.close()
        self.loaded.translator.close()

    async def _start(self) -> None:
        """Start processes in place of killed ones, unless that was just tried."""
        with self, suppress(DragomanError):  # which is logged
            await self.in_turn(self.loaded.warm_up)

    async def _batched(self, lines: Sequence[str], **options: Any) -> list[list[Translation]]:
        """Translations from the batcher; busy while processes that translate cannot be started."""
        try:
            return await self._batcher.translate_nbest(lines, **options)
        except NoWorkersError as error:
            text = "what translates these languages is being started again; try again later"
            raise RefusedError("busy", text, _AWAY_SECONDS) from error

    async def _insisting(self, call: Callable[[], Any]) -> Any:
        """Try again while there is no room, so that earlier translations are not lost."""
        while True:
            try:
                return await call()
            except BusyError:
                await asyncio.sleep(min(1.0, self.patience))
