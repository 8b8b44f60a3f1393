"""Requests that wait for their translations, and their parts in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dragoman.core import tracing
from dragoman.core.errors import DeadlineError
from dragoman.search import SearchConfig
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.outputs import Translation

_FEW_LINES = 8
"""Lines that a request has, at most, to be served before longer ones."""


@dataclass(eq=False)
class WaitingRequest:
    """The lines of one caller."""

    config: SearchConfig
    glossary: Glossary | None
    lines: list[str]
    prefixes: list[str] | None
    arrived: float
    answer: asyncio.Future[list[list[Translation]]]
    taken: int = 0
    """Number of lines handed to the translator so far."""
    translations: dict[int, list[Translation]] = field(default_factory=dict)
    """Translations so far, by the place of their line."""
    trace: tracing.Waiting | None = field(default_factory=tracing.waiting)

    @property
    def is_small(self) -> bool:
        """Whether it has few lines."""
        return len(self.lines) <= _FEW_LINES

    @property
    def kind(self) -> tuple[SearchConfig, bool, Glossary | None]:
        """Requests of the same kind can share a call."""
        return self.config, self.prefixes is None, self.glossary


class RequestPart(NamedTuple):
    """Lines of a request that are in a batch."""

    request: WaitingRequest
    places: range

    def give(self, translated: Sequence[list[Translation]]) -> None:
        """Keep the translations of these lines; the last ones of a request are its answer."""
        request, known = self.request, self.request.translations
        known.update(zip(self.places, translated, strict=True))
        if len(known) == len(request.lines) and not request.answer.done():
            request.answer.set_result([known[n] for n in range(len(request.lines))])


def expire(answer: asyncio.Future[list[list[Translation]]]) -> None:
    """Answer with the error of a deadline, unless there is an answer."""
    fail(answer, DeadlineError("the translation was not ready at its deadline"))


def fail(answer: asyncio.Future[list[list[Translation]]], error: Exception) -> None:
    """Answer with an error, unless there is an answer."""
    if not answer.done():
        answer.set_exception(error)
