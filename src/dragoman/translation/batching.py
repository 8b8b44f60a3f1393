"""Translating the requests of many callers together: the basis of a server.

A lone line costs nearly as much as a batch of lines.  Requests therefore share a call of the
translator if they want the same search and arrive while the engine is busy, or within a few
milliseconds of one another.  Each caller gets the same translations as if it were alone: lines are
numbered within their request, so neither neighbours nor batches change samples or errors.

Everything happens in one event loop, except the translator's work, which runs in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from pydantic import Field

from dragoman.core import tracing
from dragoman.core.arguments import check_lines
from dragoman.core.config import Config
from dragoman.core.errors import BusyError, DataError, DeadlineError, UsageError, WorkerError
from dragoman.search import SearchConfig
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.batch_translators import (
    ReadsContext,
    SearchesTwice,
    TranslateLines,
    Translates,
    translate_batch,
)
from dragoman.translation.late_lines import LateLines
from dragoman.translation.outputs import Translation, best_text
from dragoman.translation.waiting_requests import RequestPart, WaitingRequest, expire, fail


class BatchingConfig(Config):
    """How requests are gathered, and how many may wait."""

    batch_lines: int = Field(64, ge=1)
    """Maximum lines given to the translator at once; a longer request is served in parts, with
    other requests in between."""
    batch_characters: int = Field(16_384, ge=1)
    """Maximum characters given to the translator at once, unless a single line has more."""
    wait_seconds: float = Field(0.005, ge=0)
    """How long a request waits for others, in seconds, before a batch that is not full starts."""
    wait_share: float = Field(0.15, ge=0, le=1)
    """The first request waits longer, up to this share of the last batch's time, while further ones
    follow within `wait_seconds`, as when many clients have just received their answers."""
    queue_lines: int = Field(2048, ge=1)
    """Maximum lines in the queue; further requests are refused."""
    batches_at_once: int = Field(1, ge=1, le=1024)
    """Batches that the translator works on at the same time, such as one per worker."""


_LONGEST_WAITING = 3
"""Interval, in batches, at which the first line is that of the request which has waited longest."""


class RequestBatcher:
    """Batches requests; must be created, used and closed in one event loop.

    Closing it does not close the translator, whose calls ``executor`` runs, by default the
    batcher's own threads.  ``first_executor`` runs searches without second ones.
    """

    def __init__(
        self,
        translator: Translates,
        config: BatchingConfig | None = None,
        executor: Executor | None = None,
        first_executor: Executor | None = None,
    ) -> None:
        self._translator, self._config = translator, config or BatchingConfig()
        self._in_context = translator.in_context if isinstance(translator, ReadsContext) else None
        self._own = None if executor else ThreadPoolExecutor(self._config.batches_at_once)
        self._executor = executor or self._own
        self._queue: dict[WaitingRequest, None] = {}  # in the order of their turns
        self._waiting = 0  # lines of the queue
        self._latest = 0.0  # when the newest request came
        self._last_seconds = 0.0  # that a batch took
        self._changed = asyncio.Event()
        self._twice = translator if isinstance(translator, SearchesTwice) else None
        self._own_first = None
        if first_executor is None:
            threads = self._config.batches_at_once
            self._own_first = ThreadPoolExecutor(threads, "translating-first")
        self._first_executor = first_executor or self._own_first
        self._late = LateLines(
            self._answer_late, self._config.batch_lines, self._config.wait_seconds
        )
        self._gathered = 0  # batches so far
        self._working = 0  # batches that are being translated, or about to be
        self._serving: asyncio.Task[None] | None = None
        self._batches: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def waiting_lines(self) -> int:
        """Number of lines that no batch has taken yet."""
        return self._waiting + self._late.lines

    async def translate(self, lines: Iterable[str], **options: Any) -> list[str]:
        """The best translation of each line, with the arguments of :meth:`translate_nbest`."""
        translated = await self.translate_nbest(lines, **{**options, "nbest": 1})
        return list(map(best_text, translated))

    async def translate_nbest(
        self,
        lines: Iterable[str],
        *,
        deadline: float | None = None,
        prefix: str | Iterable[str] | None = None,
        glossary: Glossary | None = None,
        **options: Any,
    ) -> list[list[Translation]]:
        """The best translations of each line, as ``Translator.translate_nbest`` gives them.

        A cancelled caller leaves the queue.

        Args:
            lines: of the request.
            deadline: when the answer becomes useless, on the clock of the event loop
                (``asyncio.get_running_loop().time()``); None: never.
            prefix: as in ``Translator.stream_lines``.
            glossary: as there; requests with the same glossary can share a call.
            options: values of :class:`~dragoman.search.SearchConfig`.

        Raises:
            BusyError: too many lines are waiting already.
            DeadlineError: the deadline has passed.
            ConfigError: an option does not exist or is out of range.
            UsageError: ``lines`` or ``prefix`` is not a list of strings, or the batcher is closed.
            DataError: there are more lines than the queue can ever hold.
            Exception: any error of the translator; a RuntimeError in place of StopIteration.
        """
        loop = asyncio.get_running_loop()
        request = self._request(lines, prefix, glossary, options, deadline)
        if deadline is not None and deadline <= loop.time():
            raise DeadlineError("the deadline had passed before the request arrived")
        if not request.lines:
            return []
        self._admit(request)
        timer = None if deadline is None else loop.call_at(deadline, expire, request.answer)
        try:
            return await request.answer
        finally:
            if timer is not None:
                timer.cancel()
            self._leave(request)

    async def close(self) -> None:
        """Accept no more requests, and wait until those accepted are answered."""
        self._closed = True
        self._changed.set()
        if self._serving is not None:
            await asyncio.shield(self._serving)
        await self._late.close()
        for own in (self._own, self._own_first):
            if own is not None:
                own.shutdown()

    async def __aenter__(self) -> RequestBatcher:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _request(
        self,
        lines: Iterable[str],
        prefix: str | Iterable[str] | None,
        glossary: Glossary | None,
        options: dict[str, Any],
        deadline: float | None,
    ) -> WaitingRequest:
        loop = asyncio.get_running_loop()
        texts = list(check_lines(lines))
        if self._in_context is not None:  # a request may be served in parts
            texts = self._in_context(texts)
        config = self._translator.configure(**options)
        if prefix is None:
            prefixes = None
        elif isinstance(prefix, str):
            prefixes = [prefix] * len(texts)
        else:
            prefixes = list(check_lines(prefix, "prefix"))
            if len(prefixes) != len(texts):
                raise DataError(
                    f"{len(texts)} lines and {len(prefixes)} prefixes: give one prefix per line"
                )
        answer = loop.create_future()
        return WaitingRequest(config, glossary, texts, prefixes, loop.time(), answer, deadline)

    def _admit(self, request: WaitingRequest) -> None:
        """Put a request at the end of the queue, if there is room."""
        if self._closed:
            raise UsageError("this batcher is closed; create another one")
        lines, room = len(request.lines), self._config.queue_lines
        if lines > room:
            raise DataError(f"{lines} lines are more than the {room} that may wait; send fewer")
        if self.waiting_lines + lines > room:
            raise BusyError(
                f"{self.waiting_lines} of at most {room} lines are waiting to be translated, so "
                f"there is no room for {lines} more; try again later"
            )
        self._queue[request] = None
        self._waiting += lines
        self._latest = request.arrived
        if self._serving is None:
            self._serving = asyncio.get_running_loop().create_task(self._serve())
        self._note_work()

    def _note_work(self) -> None:
        """Look again at what is due, as work has come or is over."""
        self._late.note_work(is_idle=not (self._queue or self._working))
        self._changed.set()

    def _leave(self, request: WaitingRequest) -> None:
        """Drop the remaining work of a request that has its answer or no longer wants one."""
        if request in self._queue:
            del self._queue[request]
            self._waiting -= len(request.lines) - request.taken
            self._note_work()
        if request.answer.done() and not request.answer.cancelled():
            request.answer.exception()  # mark it as retrieved: a cancelled caller does not read it

    async def _serve(self) -> None:
        """Batch requests until the batcher is closed and its queue is empty."""
        try:
            while True:
                await self._batch_is_due()
                if not self._queue:
                    break
                self._working += 1
                batch = asyncio.get_running_loop().create_task(self._translate(self._gather()))
                self._batches.add(batch)
                batch.add_done_callback(self._batches.discard)
            if self._batches:
                await asyncio.wait(self._batches)
        finally:
            for request in list(self._queue):  # not empty if the event loop ends
                fail(request.answer, WorkerError("the batcher has stopped"))

    async def _batch_is_due(self) -> None:
        """Wait for a place, and until a batch is full or its first request has waited enough."""
        clock = asyncio.get_running_loop().time
        while self._queue or not self._closed:
            left = None
            if self._queue and self._has_place:
                if self._closed or self._waiting >= self._config.batch_lines:
                    return
                left = self._due() - clock()
                if left <= 0:
                    return
            self._changed.clear()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._changed.wait(), left)

    @property
    def _has_place(self) -> bool:
        """Whether a batch may begin; not while late lines fill a batch, or ever more were late."""
        return self._working < self._config.batches_at_once and not self._late.is_behind

    def _first_searches(self, config: SearchConfig) -> TranslateLines | None:
        """Searches with these settings without second ones, if there are any."""
        return self._twice.first_searches(config) if self._twice is not None else None

    def _due(self) -> float:
        """Start time of the first request's batch, if no other request comes."""
        first, wait = next(iter(self._queue)).arrived, self._config.wait_seconds
        latest = first + max(wait, self._config.wait_share * self._last_seconds)
        return min(latest, max(first, self._latest) + wait)

    def _next(self) -> WaitingRequest:
        """The request with which the next batch begins: a small one, if there is any."""
        self._gathered += 1
        longest_waiting = next(iter(self._queue))
        if self._gathered % _LONGEST_WAITING == 0:
            return longest_waiting
        return next((one for one in self._queue if one.is_small), longest_waiting)

    def _gather(self) -> list[RequestPart]:
        """Take the lines of the request whose turn it is, and of others of its kind.

        Waiting lines are shared out among the batches that can start now.  If not all fit, those of
        small requests come first, and lines of similar length go together, since a batch takes as
        many steps as its longest output.  Every third batch begins with the request that has waited
        longest, so that no request waits for ever.
        """
        first = self._next()
        alike = [request for request in self._queue if request.kind == first.kind]
        waiting = sum(len(request.lines) - request.taken for request in alike)
        share = -(-waiting // (1 + self._config.batches_at_once - self._working))
        limit = min(self._config.batch_lines, share)
        if waiting > limit:
            length = len(first.lines[first.taken])
            alike.sort(
                key=lambda one: (
                    one is not first,
                    not one.is_small,
                    abs(len(one.lines[one.taken]) - length),
                )
            )
        parts: list[RequestPart] = []
        lines = characters = 0
        for request in alike:
            begin = request.taken
            for line in request.lines[begin:]:
                full = characters + len(line) > self._config.batch_characters
                if lines and (lines == limit or full):
                    break
                lines, characters = lines + 1, characters + len(line)
                request.taken += 1
            if request.taken == begin:
                break
            tracing.leave_queue(request.trace)
            parts.append(RequestPart(request, range(begin, request.taken)))
            self._waiting -= request.taken - begin
            del self._queue[request]
            if request.taken < len(request.lines):
                self._queue[request] = None  # behind those that have not had a turn yet
                break
        return parts

    async def _translate(self, parts: list[RequestPart]) -> None:
        """Translate a batch, then make room for the next."""
        clock = asyncio.get_running_loop().time
        begin = clock()
        try:
            await self._answer(parts)
        except asyncio.CancelledError:  # the event loop ends: leave no caller waiting
            for part in parts:
                fail(part.request.answer, WorkerError("the batcher has stopped"))
            raise
        finally:
            self._last_seconds = clock() - begin
            self._working -= 1
            self._note_work()

    async def _answer_late(self, parts: list[RequestPart]) -> None:
        """Give late lines their translations, while others may become late."""
        self._changed.set()
        await self._answer(parts, is_late=True)

    async def _answer(self, parts: list[RequestPart], *, is_late: bool = False) -> None:
        """Give each request of a batch its translations, or the error that it causes.

        Lines that a second search is due for become late, unless they are.
        """
        parts = [part for part in parts if not part.request.answer.done()]
        if not parts:
            return
        try:
            with tracing.batch_span([part.request.trace for part in parts]):
                translated = await self._call(parts, is_late=is_late)
        except Exception as error:
            if len(parts) == 1:
                fail(parts[0].request.answer, error)
                self._leave(parts[0].request)
                return
            for part in parts:  # one by one, so that only the request that fails gets the error
                await self._answer([part], is_late=is_late)
            return
        begin = 0
        for part in parts:
            late = part.give(translated[begin : begin + len(part.places)])
            begin += len(part.places)
            if late is not None:
                self._late.add(late)

    async def _call(self, parts: list[RequestPart], *, is_late: bool) -> list[list[Translation]]:
        """Call the translator in a thread; late lines may have no translations the first time."""
        config, without_prefix, glossary = parts[0].request.kind
        options: dict[str, Any] = config.model_dump()
        if not without_prefix:
            given = [(part.request.prefixes or [], part.places) for part in parts]
            options["prefix"] = [prefixes[n] for prefixes, places in given for n in places]
        if glossary is not None:
            options["glossary"] = glossary
        options["numbers"] = [n for part in parts for n in part.places]
        lines = [part.request.lines[n] for part in parts for n in part.places]
        first = None if is_late or not without_prefix else self._first_searches(config)
        translate = first or self._translator.translate_nbest
        call = partial(translate_batch, translate, lines, options, tracing.current())
        executor = self._executor if first is None else self._first_executor
        translated = await asyncio.get_running_loop().run_in_executor(executor, call)
        if len(translated) != len(lines):
            raise WorkerError(f"{len(lines)} lines were given and {len(translated)} came back")
        if first is None and not all(translated):
            raise WorkerError("a line came back without translations")
        return translated
