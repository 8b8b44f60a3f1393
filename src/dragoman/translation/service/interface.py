"""The interface of a translation service, independent of protocols.

A caller hands in whole texts of any length.  The service splits them into sentences, translates
these in batches shared with other callers, and joins them with their white space.  Every refusal is
a :class:`RefusedError`, which each protocol words in its own way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from dragoman.text.inline_tags import TagSpan
from dragoman.text.sentences import SplitMode
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.service.translated_text import (
    Detection,
    TranslatedSentence,
    TranslatedText,
)

RefusalKind = Literal[
    "invalid",
    "unsupported",
    "forbidden",
    "not_found",
    "too_large",
    "too_many_requests",
    "quota_exceeded",
    "busy",
    "timed_out",
    "internal",
]
"""Why a request is refused.

``invalid``: the request makes no sense.  ``unsupported``: the language or direction does not exist.
``forbidden``: the key is missing or wrong.  ``not_found``: the resource does not exist.
``too_large``: the request exceeds a limit.  ``too_many_requests``: the key has made too many
requests.  ``quota_exceeded``: the key has used up its characters.  ``busy``: the queue is full.
``timed_out``: the time limit has passed.  ``internal``: a fault of the server, which its log shows.
"""


class RefusedError(Exception):
    """A refused request.

    Args:
        kind: why, for programs.
        message: why, for people: one sentence that says what to do.
        retry_after: seconds after which the same request may succeed; None if it never will.
    """

    def __init__(self, kind: RefusalKind, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind, self.retry_after = kind, retry_after


class Pairing(NamedTuple):
    """A direction that a service translates in."""

    source: str
    target: str


@dataclass(frozen=True)
class TextRequest:
    """A text to translate."""

    text: str
    target: str
    """Language code, as clients write it: ``de``, ``DE``, ``pt-BR``.  The region is dropped if no
    direction translates into it."""
    source: str | None = None
    """Language code; None: detected."""
    nbest: int = 1
    """Number of translations wanted of each sentence."""
    prefix: str = ""
    """Beginning of the translation of the (only) sentence."""
    split: SplitMode = "sentences"
    tags: tuple[str, ...] = ()
    """Tags in front of each source, such as a style.  Tags that the model lacks are refused as
    ``unsupported``."""
    glossary: Glossary | None = None
    """Terms that the translation must use."""
    kept: Glossary | None = None
    """``glossary`` plus strings to copy; replaces it in systems that can demand terms."""
    context: str = ""
    """Text before this one, which is not translated; read only by models trained with context."""
    links: bool = False
    """Whether to link words with their translations."""
    token_scores: bool = False
    """Whether to give the log-probabilities of pieces; refused as ``unsupported`` by systems that
    have none."""
    memory: bool = True
    """Whether sentences that someone has corrected get their correction."""
    marks: tuple[TagSpan, ...] = ()
    """Tags around, between or instead of words, in characters; none crosses another.  A model that
    has learned inline tags gives their places in the translation."""


class TextService(Protocol):
    """Translates whole texts, such as those of documents.

    Its methods are called in one event loop.  A caller that is cancelled leaves the queue.
    """

    async def translate(
        self, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        """Translate texts in shared batches.

        After ``seconds`` the answer is useless; None: the service decides.

        Raises:
            RefusedError: for all texts if one is refused: ``invalid``, ``unsupported``,
                ``too_large``, ``busy`` or ``timed_out``.
        """

    async def detect_sources(self, texts: Sequence[str], target: str) -> list[Detection]:
        """The source language that :meth:`translate` assumes for each text if none is given.

        The candidates are the languages translated into the target language, and that language
        itself.  Each text is judged by itself; the others count only in cases of doubt.

        Raises:
            RefusedError: ``unsupported``, if nothing translates into the target language, or the
                service cannot detect languages.
        """


class TranslationService(TextService, Protocol):
    """Translates texts and streams in a set of directions that it knows."""

    def directions(self) -> list[Pairing]:
        """All pairs of languages, sorted: trained pairs and pairs through a pivot."""

    def is_ready(self) -> bool:
        """Whether there are directions, and texts in all of them are translated at once.

        If processes that translate were killed, this call begins to start new ones.
        """

    def tags(self, direction: Pairing) -> tuple[str, ...]:
        """Tags that requests in a direction may use, sorted."""

    def stream(
        self, request: TextRequest, *, seconds: float | None = None
    ) -> AsyncIterator[TranslatedSentence]:
        """Yield the sentences of a text in order, each as soon as it is translated.

        Raises:
            RefusedError: as for :meth:`translate`; also in the middle of the text.
        """

    async def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """Possible languages of each text, most probable first; none for an empty text.

        Raises:
            RefusedError: ``unsupported``, if the service cannot detect languages.
        """


@dataclass(frozen=True)
class SystemStatus:
    """The status of one system."""

    models: tuple[str, ...]
    """Paths of its models."""
    pairs: tuple[Pairing, ...]
    """Its directions, sorted."""
    waiting_lines: int
    """Lines in its queue."""
    lines: int
    """Lines translated since it was loaded."""
    batches: int
    """Calls of the translator for these lines."""
    seconds: float
    """Total time of these calls."""
    reloads: int
    """How often the system was loaded again."""
    problem: str | None
    """Why its current files are not served (missing, or an error); None if they are."""


@dataclass(frozen=True)
class ServiceStatus:
    """The status of all systems of a service."""

    systems: tuple[SystemStatus, ...]
    directions: int
    """Number of directions, including those through a pivot."""

    @property
    def waiting_lines(self) -> int:
        """Lines in all queues."""
        return sum(one.waiting_lines for one in self.systems)
