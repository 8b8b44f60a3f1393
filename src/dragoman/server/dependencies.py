"""What all doors of a server share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from fastapi import APIRouter
from starlette.responses import Response

from dragoman.server.database.records import ApiKey
from dragoman.server.database.server_store import ServerStore
from dragoman.server.jobs import JobRunner
from dragoman.server.read_glossaries import ReadGlossaries
from dragoman.server.server_config import ServerConfig
from dragoman.translation.service.interface import RefusedError, TranslationService


class Admits(Protocol):
    """Decides who may ask for how much."""

    async def admit(
        self, secret: str | None, address: str, texts: Sequence[str] = (), *, files: bool = False
    ) -> ApiKey | None:
        """Admit a request, and count it and its characters.

        Args:
            secret: the key that the request brings, if any.
            address: where the client is.
            texts: what it wants to have translated, or detected.
            files: whether it brings files, whose characters are charged when they are translated.

        Returns:
            The key, if there is one.

        Raises:
            RefusedError: ``forbidden``, ``too_large``, ``too_many_requests`` or ``quota_exceeded``.
            StorageError, SavedError: the database cannot be asked.
        """

    def count(self, characters: int) -> None:
        """Let monitoring know of characters that are charged already, such as those of a file."""


@dataclass(frozen=True)
class Premises:
    """What is behind the doors."""

    service: TranslationService
    store: ServerStore
    guard: Admits
    config: ServerConfig

    @cached_property
    def jobs(self) -> JobRunner:
        """Translates files; doors that take any run it in their router's lifespan."""
        return JobRunner(self.service, self.store, self.config.limits, self.guard.count)

    @cached_property
    def glossaries(self) -> ReadGlossaries:
        """Kept glossaries as translators read them, by the revisions of their dictionaries."""
        return ReadGlossaries()


@dataclass(frozen=True)
class Door:
    """A protocol: its routes, and how it words that something is refused."""

    name: str
    prefixes: tuple[str, ...]
    """Of the paths whose errors it words; the door with the longest one is asked."""
    router: APIRouter
    refuse: Callable[[RefusedError, int], Response]
    """The response to a request that is refused with this error.  The number is the status that
    HTTP has for it, such as 404 or 405, from which a protocol may deviate."""
