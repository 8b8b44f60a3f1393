"""The shared parts of a server's APIs, injected into their routes, with its glossaries."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import anyio
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from dragoman.core.errors import DataError
from dragoman.server.access import AccessControl
from dragoman.server.database.server_store import ServerStore
from dragoman.server.jobs import JobRunner
from dragoman.server.server_config import ServerConfig
from dragoman.text.normalization import normalize
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.glossary_files import Term
from dragoman.text.word_edges import fold
from dragoman.translation.service.interface import RefusedError, TranslationService


def glossary_of(entries: Iterable[tuple[str, str | Sequence[str]]]) -> Glossary:
    """A glossary of terms, each with a translation or several alternatives.

    Case counts for terms that differ only in case, such as "Polish" and "polish".

    Raises:
        RefusedError: ``invalid``, if a side is empty, or two terms contradict each other.
    """
    pairs = list(entries)
    spellings = Counter(fold(normalize(source)) for source, _ in pairs)
    try:
        return Glossary(
            (
                Term(
                    source,
                    (target,) if isinstance(target, str) else tuple(target),
                    case_sensitive=spellings[fold(normalize(source))] > 1,
                    line=number,
                )
                for number, (source, target) in enumerate(pairs, 1)
            ),
            unit="entry",
        )
    except DataError as error:
        raise RefusedError("invalid", str(error)) from None


class ReadGlossaries:
    """A cache of glossaries, so that large ones are not read for each request."""

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, Glossary] = OrderedDict()
        self._lock = threading.Lock()
        self._turns: dict[Hashable, threading.Lock] = {}  # of glossaries being read

    def get(self, identity: Hashable, entries: Callable[[], Sequence[tuple[str, str]]]) -> Glossary:
        """The glossary of an identity; ``entries`` is called if it is not in the cache.

        If several threads need the same glossary, one reads it while the others wait, as reading
        tens of thousands of terms takes seconds of processor time.
        """
        with self._lock:
            if (found := self._known(identity)) is not None:
                return found
            turn = self._turns.setdefault(identity, threading.Lock())
        with turn:
            with self._lock:  # another thread may have read it meanwhile
                if (found := self._known(identity)) is not None:
                    return found
            try:
                found = glossary_of(entries())
                with self._lock:
                    self._held[identity] = found
                    while len(self._held) > self._most:
                        self._held.popitem(last=False)
            finally:
                with self._lock:
                    self._turns.pop(identity, None)
        return found

    def _known(self, identity: Hashable) -> Glossary | None:
        """A cached glossary, marked as the most recently used."""
        if identity in self._held:
            self._held.move_to_end(identity)
        return self._held.get(identity)


_LAST_WORDS = 1.0
"""Seconds reserved for sending an answer; of a short time limit, a tenth."""


@dataclass(frozen=True)
class Dependencies:
    """The parts behind the APIs."""

    service: TranslationService
    store: ServerStore
    access: AccessControl
    config: ServerConfig

    @cached_property
    def jobs(self) -> JobRunner:
        """Translates files."""
        return JobRunner(self.service, self.store, self.config.limits, self.access.count)

    @cached_property
    def glossaries(self) -> ReadGlossaries:
        """Kept glossaries in the translators' form, by the revisions of their dictionaries."""
        return ReadGlossaries()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Translate files in the background; at the end, write the remaining usage."""
        try:
            async with self.jobs.running():
                yield
        finally:
            await self.access.close()


async def _of_application(request: Request) -> Dependencies:
    dependencies: Dependencies = request.app.state.dependencies
    return dependencies


Server = Annotated[Dependencies, Depends(_of_application)]
"""The dependencies of the server, as a parameter of a route."""


@dataclass(frozen=True)
class Api:
    """A protocol: its routes, and the format of its errors."""

    name: str
    prefixes: tuple[str, ...]
    """Prefixes of the paths whose errors it formats; the API with the longest matching prefix does
    so."""
    router: APIRouter
    refuse: Callable[[RefusedError, int], Response]
    """Makes the response to a request refused with an error.  The number is the HTTP status, such
    as 404 or 405, from which a protocol may deviate."""


def time_left() -> float:
    """Seconds that the work on a request may take, reserving some of its time for the answer."""
    left = anyio.current_effective_deadline() - anyio.current_time()
    return left - min(_LAST_WORDS, left / 10)
