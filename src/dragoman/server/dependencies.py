"""The shared parts of a server's APIs, injected into their routes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import anyio
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from dragoman.server.access import AccessControl
from dragoman.server.database.server_store import ServerStore
from dragoman.server.jobs import JobRunner
from dragoman.server.read_glossaries import ReadGlossaries
from dragoman.server.server_config import ServerConfig
from dragoman.translation.service.interface import RefusedError, TranslationService

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
