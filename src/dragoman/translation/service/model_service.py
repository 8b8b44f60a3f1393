"""A translation service over models in memory."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, TypeVar

from typing_extensions import override

from dragoman.core.errors import BusyError, ConfigError, DataError, DeadlineError
from dragoman.saved.system import TranslationSystem
from dragoman.text.splitters import SENTENCEX, splitter
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.batching import BatchingConfig
from dragoman.translation.service.codes import fitting
from dragoman.translation.service.detecting import LanguageDetector
from dragoman.translation.service.direction_table import DirectionTable
from dragoman.translation.service.interface import (
    Pairing,
    RefusedError,
    ServiceStatus,
    SystemStatus,
    TextRequest,
    TranslationService,
)
from dragoman.translation.service.known_translations import (
    Remember,
    TranslationMemory,
    answer_terms,
)
from dragoman.translation.service.loaded_system import LoadedSystem
from dragoman.translation.service.offloading import aside, in_own_thread
from dragoman.translation.service.reloading import Reloader, identity, keep_looking
from dragoman.translation.service.served_system import ServedSystem, translating_threads
from dragoman.translation.service.text_jobs import (
    Joiner,
    TextJob,
    Unit,
    joined,
    last_sentences,
    sizes,
)
from dragoman.translation.service.translated_text import (
    Detection,
    Rendering,
    TranslatedSentence,
    TranslatedText,
)
from dragoman.translation.service.unit_translation import UnitOptions, UnitTranslator

Result = TypeVar("Result")

_MOST_NBEST = 101
"""Maximum translations of a sentence, because time grows with the width of the beam."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_LATER_SECONDS = 5.0
"""Seconds after which to retry a request that timed out, as the server may have been busy."""
_FIRST, _MOST = 2, 64
"""First and maximum number of sentences translated together when results are streamed."""


@dataclass(frozen=True)
class ServiceOptions:
    """Settings of a service."""

    pivots: Sequence[str] = ("en",)
    """Languages to translate through if there is no direct system, in order of preference."""
    batching: BatchingConfig = field(default_factory=BatchingConfig)
    """How the lines of requests are gathered."""
    seconds: float = 60.0
    """Default time limit of a request."""
    reload_seconds: float = 5.0
    """Interval between checks for changed models; 0 disables them."""
    confidence: bool = True
    """Whether translations have a confidence if the model is calibrated."""
    remember: Remember | None = None
    """Known translations of texts, which replace new ones.  It is called in a thread, once for each
    direction of a request."""
    may_remember: Callable[[str, str], bool] = lambda source, target: True
    """Whether a pair of languages may have known translations; never blocks."""
    splitter: str = SENTENCEX
    """Name of what divides texts into sentences."""


class ModelService(TranslationService):
    """Translates with systems in memory; made by :meth:`open`.

    An ``async with`` block closes it at its end.
    """

    def __init__(
        self, systems: Sequence[LoadedSystem], options: ServiceOptions | None = None
    ) -> None:
        options = options or ServiceOptions()
        self._batching, self._seconds = options.batching, options.seconds
        self._splitter = options.splitter
        self._threads = translating_threads(self._batching)
        self._systems = [ServedSystem(one, self._batching, self._threads) for one in systems]
        self._pivots = tuple(options.pivots)
        self._memory = None
        if options.remember is not None:
            self._memory = TranslationMemory(options.remember, options.may_remember)
        self._reloaders: list[Reloader] = []
        self._looking: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False
        self._table = DirectionTable(self._systems, self._pivots)
        self._detector = self._new_detector()

    @classmethod
    async def open(
        cls, systems: Sequence[TranslationSystem], options: ServiceOptions | None = None
    ) -> ModelService:
        """Load systems, and serve them in the running event loop.

        If directions are equal, the first system is preferred.

        Raises:
            DragomanError: the errors of :meth:`LoadedSystem.load`.
        """
        options = options or ServiceOptions()
        splitter(options.splitter)  # a broken one is told now
        loaded: list[LoadedSystem] = []
        files = []
        try:
            for system in systems:
                files.append(await asyncio.to_thread(identity, system))
                load = partial(LoadedSystem.load, confidence=options.confidence)
                loaded.append(await in_own_thread(load, system))
        except BaseException:
            for one in loaded:
                one.translator.close()
            raise
        service = cls(loaded, options)
        for place, (system, before) in enumerate(zip(systems, files, strict=True)):
            exchange = partial(service._exchange, place)
            service._reloaders.append(Reloader(system, before, exchange))
        if options.reload_seconds:
            looking = keep_looking(service.look, options.reload_seconds)
            service._looking = asyncio.ensure_future(looking)
        return service

    async def close(self) -> None:
        """Answer all accepted requests, and free the models."""
        self._closed = True
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        await asyncio.gather(*(system.close() for system in self._systems), *self._closing)
        await asyncio.to_thread(self._threads.shutdown)
        if self._memory is not None:
            self._memory.close()

    async def __aenter__(self) -> ModelService:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def look(self) -> None:
        """Check for changed models now; a change counts if two checks see the same files."""
        for reloader in self._reloaders:
            await reloader.look()

    def status(self) -> ServiceStatus:
        """The current status of the service."""
        reloaders: Sequence[Reloader | None] = self._reloaders or [None] * len(self._systems)
        return ServiceStatus(
            tuple(
                SystemStatus(
                    tuple(map(str, system.loaded.system.models)),
                    tuple(sorted(system.loaded.pairs)),
                    system.waiting_lines,
                    system.measured.lines,
                    system.measured.batches,
                    system.measured.seconds,
                    reloader.reloads if reloader else 0,
                    reloader.problem if reloader else None,
                )
                for system, reloader in zip(self._systems, reloaders, strict=True)
            ),
            len(self._table.routes),
        )

    def _exchange(self, place: int, loaded: LoadedSystem) -> None:
        """Replace a system; the old system first answers its requests."""
        new = ServedSystem(loaded, self._batching, self._threads)
        old, self._systems[place] = self._systems[place], new
        self._table = DirectionTable(self._systems, self._pivots)
        self._detector = self._new_detector()
        task = asyncio.ensure_future(old.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    @override
    def directions(self) -> list[Pairing]:
        return list(self._table.directions)

    @override
    def is_ready(self) -> bool:
        return bool(self._table.routes) and all(system.is_ready() for system in self._systems)

    @override
    def tags(self, direction: Pairing) -> tuple[str, ...]:
        pair = self._table.pair(*direction)
        if pair.source == pair.target:
            return ()
        leg = self._table.routes[pair][-1]
        return tuple(leg.system.loaded.styles(leg.pair))

    @override
    async def translate(
        self, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        return await self._in_time(self._translated(requests), seconds)

    @override
    async def stream(
        self, request: TextRequest, *, seconds: float | None = None
    ) -> AsyncIterator[TranslatedSentence]:
        loop = asyncio.get_running_loop()
        seconds = self._seconds if seconds is None else seconds
        end = loop.time() + seconds
        (job,) = await self._in_time(self._planned([request]), seconds)
        joiner = Joiner(job)
        for part in sizes(len(job.units), _FIRST, _MOST):
            units = job.units[part.start : part.stop]
            await self._in_time(self._answer([(job, units)]), seconds, left=end - loop.time())
            for unit in units:
                for sentence in joiner.add(unit):
                    yield sentence

    async def prepare_detection(self) -> None:
        """Load the language detector, so that the first request does not wait for it."""
        await asyncio.to_thread(self._detector.prepare)

    @override
    async def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        return await asyncio.to_thread(self._detector.detect, list(texts))

    @override
    async def detect_sources(self, texts: Sequence[str], target: str) -> list[Detection]:
        into, sources = self._table.sources_into(target)
        return await asyncio.to_thread(self._detector.judge, list(texts), into, sources)

    async def _translated(self, requests: Sequence[TextRequest]) -> list[TranslatedText]:
        jobs = await self._planned(requests)
        await self._answer([(job, job.units) for job in jobs])
        return [joined(job) for job in jobs]

    def _new_detector(self) -> LanguageDetector:
        """A detector of all languages; pivots that are read are the likeliest without evidence."""
        sources = self._table.sources
        preferred = [one for pivot in self._pivots for one in fitting(pivot, sources)]
        return LanguageDetector(list(dict.fromkeys([*preferred, *sources])), self._table.targets)

    async def _planned(self, requests: Sequence[TextRequest]) -> list[TextJob]:
        """The texts divided into sentences, with their known translations."""
        if self._closed:
            raise RefusedError("busy", "the service is stopping; try again later", 5.0)
        requests = [_readable(request) for request in requests]
        detections = await self._detected(requests)
        jobs, table = [], self._table
        for request, detection in zip(requests, detections, strict=True):
            source = request.source if detection is None else detection.language
            pair = table.pair(source or "", request.target)
            jobs.append(TextJob(request, pair, detection))
        size = sum(len(job.request.text) + len(job.request.context) for job in jobs)
        await aside(size, lambda: _plan(jobs, table, self._splitter))
        if self._memory is not None:
            await self._memory.answer(jobs)
        return jobs

    async def _detected(self, requests: Sequence[TextRequest]) -> list[Detection | None]:
        """The detected languages of texts without a source language; None for the others."""
        detections: list[Detection | None] = [None] * len(requests)
        places: dict[str, list[int]] = {}
        for place, request in enumerate(requests):
            if request.source is None:
                places.setdefault(request.target, []).append(place)
        for target, mine in places.items():
            judged = await self.detect_sources([requests[place].text for place in mine], target)
            for place, detection in zip(mine, judged, strict=True):
                detections[place] = detection
        return detections

    async def _answer(self, given: Sequence[tuple[TextJob, Sequence[Unit]]]) -> None:
        """Translate sentences of some texts, all at once."""
        groups: dict[tuple[Pairing, UnitOptions], list[tuple[str, Unit]]] = {}
        for job, units in given:
            request, options = job.request, UnitOptions.of(job.request, self._terms(job))
            waiting = [(request.text, unit) for unit in units if not unit.renderings]
            if waiting:
                groups.setdefault((job.pair, options), []).extend(waiting)
        with ExitStack() as opened:
            works = []
            for (pair, options), mine in groups.items():
                if pair not in self._table.routes:
                    raise RefusedError(
                        "unsupported", f"nothing translates from {pair.source} to {pair.target} now"
                    )
                translator = UnitTranslator(self._table.routes[pair], options)
                works.append(opened.enter_context(translator).translate(mine))
            await _together(works)

    def _terms(self, job: TextJob) -> Glossary | None:
        """The terms required in a text's translation, by its client or by its markup."""
        kept, legs = job.request.kept, self._table.routes.get(job.pair)
        if kept is None or legs is None or not legs[-1].system.loaded.demands_terms:
            return job.request.glossary
        return kept

    async def _in_time(
        self,
        work: Coroutine[Any, Any, Result],
        seconds: float | None,
        *,
        left: float | None = None,
    ) -> Result:
        """Await a request; if it fails, raise an error in words for clients.

        If ``left`` is given, ``work`` is a part of a request, for which this many of its
        ``seconds`` remain.
        """
        seconds = self._seconds if seconds is None else seconds
        try:
            # Not wait_for: in Python 3.11, it ignores a cancellation as the work ends.
            async with asyncio.timeout(seconds if left is None else left):
                return await work
        except (TimeoutError, DeadlineError) as error:
            text = f"the translation was not ready after {seconds:.3g} s; send less text"
            raise RefusedError("timed_out", text, _LATER_SECONDS) from error
        except BusyError as error:
            patience = max(system.patience for system in self._systems)
            raise RefusedError(
                "busy", "too many sentences are waiting to be translated; try again later", patience
            ) from error
        except DataError as error:
            raise RefusedError("invalid", str(error)) from error
        except ConfigError as error:
            raise RefusedError("unsupported", str(error)) from error


def _readable(request: TextRequest) -> TextRequest:
    """A request without halves of surrogate pairs, which JSON can contain but answers cannot."""
    if not 1 <= request.nbest <= _MOST_NBEST:
        raise RefusedError(
            "invalid", f"nbest: expected 1 to {_MOST_NBEST} translations, found {request.nbest}"
        )
    if not _SURROGATES.search(f"{request.text}{request.prefix}"):
        return request
    text, prefix = (_SURROGATES.sub("\ufffd", one) for one in (request.text, request.prefix))
    return replace(request, text=text, prefix=prefix)


async def _together(works: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Wait for all; if one fails, cancel the others."""
    if len(works) == 1:
        await works[0]
        return
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _plan(jobs: Sequence[TextJob], table: DirectionTable, divider: str) -> None:
    """Divide texts into sentences."""
    before = cache(
        partial(last_sentences, splitter=divider)
    )  # texts of one request share their context
    for job in jobs:
        if job.pair.source == job.pair.target:
            if job.request.text.strip():
                job.answer_whole(Rendering(job.request.text.strip()))
            continue
        context = table.routes[job.pair][0].system.loaded.translator.context
        job.plan(0 if context is None else context.sentences, before, divider)
        if job.request.prefix and len(job.units) != 1:
            raise RefusedError(
                "invalid",
                f"a prefix is for a text of one sentence, and this one has {len(job.units)}; "
                "send the sentence alone, or do not let the text be split",
            )
        answer_terms(job, [*filter(None, [job.request.glossary]), *table.glossaries(job.pair)])
