"""Translating the requests of many callers together: the basis of a server.

A lone line costs nearly as much as a batch of lines.  Requests therefore share a call of the
translator if they want the same search and arrive while the engine is busy, or within a few
milliseconds of one another.  Each caller gets the same translations as if it were alone: lines are
numbered within their request, so neither neighbours nor batches change samples or errors.

Everything happens in one event loop, except the translator's work, which runs in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, Unpack, runtime_checkable

from pydantic import Field

from dragoman.core import tracing
from dragoman.core.arguments import check_lines
from dragoman.core.config import Config
from dragoman.core.errors import BusyError, DataError, DeadlineError, UsageError, WorkerError
from dragoman.search import SearchConfig
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.call_options import LineOptions, SearchOptions
from dragoman.translation.outputs import Translation, best_text
from dragoman.translation.terms import UseOfTerms
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
    """While further requests keep arriving within `wait_seconds`, the first one waits longer: up to
    this share of the last batch's time. Clients that have just been answered then share a batch."""
    queue_lines: int = Field(2048, ge=1)
    """Maximum lines in the queue; further requests are refused."""
    batches_at_once: int = Field(1, ge=1, le=1024)
    """Batches that are translated at the same time. With workers, a server's default is the largest
    number of workers of any system."""


_LONGEST_WAITING = 3
"""Interval, in batches, at which the first line is that of the request which has waited longest."""


class Translates(Protocol):
    """Methods that a batcher needs of a :class:`~dragoman.translation.translator.Translator`."""

    def configure(self, **options: Unpack[SearchOptions]) -> SearchConfig:
        """The search settings of a call with these options."""

    def translate_nbest(
        self, lines: Iterable[str], **options: Unpack[LineOptions]
    ) -> list[list[Translation]]:
        """The best translations of each line; lines that cannot be translated are refused."""


@runtime_checkable
class ReadsContext(Protocol):
    """Gives lines their context, if the models read lines with the lines before them."""

    def in_context(self, lines: Sequence[str]) -> list[str]:
        """The lines of one text, each with its context."""


class RequestBatcher:
    """Batches requests; must be created, used and closed in one event loop.

    Closing it does not close the translator, whose calls ``executor`` runs, by default the
    batcher's own threads.
    """

    def __init__(
        self,
        translator: Translates,
        config: BatchingConfig | None = None,
        executor: Executor | None = None,
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
        self._free = asyncio.Semaphore(self._config.batches_at_once)
        self._gathered = 0  # batches so far
        self._working = 0  # batches that are being translated, or about to be
        self._serving: asyncio.Task[None] | None = None
        self._batches: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def waiting_lines(self) -> int:
        """Number of lines that no batch has taken yet."""
        return self._waiting

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
        request = self._request(lines, prefix, glossary, options, loop)
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
        if self._own is not None:
            self._own.shutdown()

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
        loop: asyncio.AbstractEventLoop,
    ) -> WaitingRequest:
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
        return WaitingRequest(config, glossary, texts, prefixes, loop.time(), loop.create_future())

    def _admit(self, request: WaitingRequest) -> None:
        """Put a request at the end of the queue, if there is room."""
        if self._closed:
            raise UsageError("this batcher is closed; create another one")
        lines, room = len(request.lines), self._config.queue_lines
        if lines > room:
            raise DataError(f"{lines} lines are more than the {room} that may wait; send fewer")
        if self._waiting + lines > room:
            raise BusyError(
                f"{self._waiting} of at most {room} lines are waiting to be translated, so there "
                f"is no room for {lines} more; try again later"
            )
        self._queue[request] = None
        self._waiting += lines
        self._latest = request.arrived
        if self._serving is None:
            self._serving = asyncio.get_running_loop().create_task(self._serve())
        self._changed.set()

    def _leave(self, request: WaitingRequest) -> None:
        """Drop the remaining work of a request that has its answer or no longer wants one."""
        if request in self._queue:
            del self._queue[request]
            self._waiting -= len(request.lines) - request.taken
            self._changed.set()
        if request.answer.done() and not request.answer.cancelled():
            request.answer.exception()  # mark it as retrieved: a cancelled caller does not read it

    async def _serve(self) -> None:
        """Batch requests until the batcher is closed and its queue is empty."""
        try:
            while True:
                await self._free.acquire()
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
        """Wait until a batch is full, its first request has waited long enough, or on closing."""
        clock = asyncio.get_running_loop().time
        while not (self._closed or self._waiting >= self._config.batch_lines):
            left = None
            if self._queue:
                left = self._due() - clock()
                if left <= 0:
                    return
            self._changed.clear()
            # Not wait_for: in Python 3.11, it ignores a cancellation as the event is set.
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()

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
            self._free.release()

    async def _answer(self, parts: list[RequestPart]) -> None:
        """Give each request of a batch its translations, or the error that it causes."""
        parts = [part for part in parts if not part.request.answer.done()]
        if not parts:
            return
        try:
            with tracing.batch_span([part.request.trace for part in parts]):
                translated = await self._call(parts)
        except Exception as error:
            if len(parts) == 1:
                fail(parts[0].request.answer, error)
                self._leave(parts[0].request)
                return
            for part in parts:  # one by one, so that only the request that fails gets the error
                await self._answer([part])
            return
        begin = 0
        for part in parts:
            part.give(translated[begin : begin + len(part.places)])
            begin += len(part.places)

    async def _call(self, parts: list[RequestPart]) -> list[list[Translation]]:
        """Call the translator in a thread."""
        config, without_prefix, glossary = parts[0].request.kind
        options: dict[str, Any] = config.model_dump()
        if not without_prefix:
            given = [(part.request.prefixes or [], part.places) for part in parts]
            options["prefix"] = [prefixes[n] for prefixes, places in given for n in places]
        if glossary is not None:
            options["glossary"] = glossary
        options["numbers"] = [n for part in parts for n in part.places]
        lines = [part.request.lines[n] for part in parts for n in part.places]
        call = partial(_translated, self._translator, lines, options, tracing.current())
        translated = await asyncio.get_running_loop().run_in_executor(self._executor, call)
        if len(translated) != len(lines):
            raise WorkerError(f"{len(lines)} lines were given and {len(translated)} came back")
        return translated


def _translated(
    translator: Translates, lines: list[str], options: dict[str, Any], trace: Any
) -> list[list[Translation]]:
    try:
        # Lines of several requests are no evidence about a glossary.
        with tracing.search_span(trace, len(lines)), UseOfTerms().counts():
            return translator.translate_nbest(lines, **options)
    except StopIteration as error:  # no future can hold it: its caller would wait for ever
        raise RuntimeError("the translator raised StopIteration") from error
