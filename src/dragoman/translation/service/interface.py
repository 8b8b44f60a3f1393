"""What a translation service takes and gives, for whatever stands in front of it.

A caller hands in whole texts of any length, and the service splits them into sentences, translates
these beside those of other callers, and joins them with their white space.  Everything a caller may
be refused for is a :class:`RefusedError`, which each protocol words in its own way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from dragoman.text.inline_tags import TagSpan
from dragoman.text.sentences import SplitMode
from dragoman.text.terms.glossary import Glossary

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
"""Why a request is not answered: what it asks for makes no sense; there is no such language or
direction; the key is missing or wrong; there is no such thing; it is longer than the bounds; the
key has made too many requests, or used up its characters; the queue is full; its time is up; the
server has a fault, which its log describes."""


class RefusedError(Exception):
    """A request that is not answered.

    Args:
        kind: why, for programs.
        message: why, for people: one sentence that says what to do.
        retry_after: seconds after which the same request may succeed; None if it never will.
    """

    def __init__(self, kind: RefusalKind, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind, self.retry_after = kind, retry_after


class Detection(NamedTuple):
    """A language that a text may be in."""

    language: str
    probability: float
    """From 0 to 1, among the languages that the service reads or writes."""


class Link(NamedTuple):
    """A part of a target that translates a part of its source, in characters of each."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int


class TokenScore(NamedTuple):
    """A piece of a translation, or its end symbol, and how likely it is there."""

    piece: str
    log_probability: float


class Pairing(NamedTuple):
    """A direction that a service translates in."""

    source: str
    target: str


@dataclass(frozen=True)
class TextRequest:
    """A text to translate."""

    text: str
    target: str
    """Language code, as clients write it: ``de``, ``DE``, ``pt-BR``; regions are dropped if nothing
    translates into them."""
    source: str | None = None
    """Language code; None: detected."""
    nbest: int = 1
    """How many translations of each sentence are wanted."""
    prefix: str = ""
    """What the translation of the (only) sentence begins with."""
    split: SplitMode = "sentences"
    tags: tuple[str, ...] = ()
    """Tags in front of each source, such as a style, among those that the model has; others are
    refused as ``unsupported``."""
    glossary: Glossary | None = None
    """Terms that must be used."""
    kept: Glossary | None = None
    """``glossary`` and what is to be copied; read in its place by systems that can demand terms."""
    context: str = ""
    """Text before this one, which is not translated; read by models trained with context alone."""
    links: bool = False
    """Whether to say which words translate which."""
    token_scores: bool = False
    """Whether to give the log-probabilities of pieces; refused as ``unsupported`` by systems that
    have none."""
    memory: bool = True
    """Whether a sentence that someone has corrected gets that correction."""
    marks: tuple[TagSpan, ...] = ()
    """What is around, between or instead of its words, in characters; none crosses another.  A
    model that has learned inline tags says where they are in the translation."""


class MarkPlace(NamedTuple):
    """Where a mark of a text is in the translation of a sentence."""

    mark: int
    """Its index in the request."""
    start: int
    """In characters of the translation."""
    stop: int


@dataclass(frozen=True)
class Rendering:
    """One translation of a sentence."""

    text: str
    score: float | None = None
    """As search ranks; None if a memory answered."""
    confidence: float | None = None
    """Probability that it is right; None if the model is not calibrated."""
    links: tuple[Link, ...] = ()
    """In characters of the sentence and of this translation, in the order of the target."""
    from_memory: bool = False
    places: tuple[MarkPlace, ...] | None = None
    """Where the marks within the sentence are in this translation; None if the model does not say.
    Those around all of it are not among them."""
    missing: tuple[str, ...] = ()
    """The terms and copied strings that it should contain and does not."""
    faults: tuple[str, ...] = ()
    """What makes it degenerate: see :attr:`~dragoman.translation.outputs.Translation.faults`."""
    token_scores: tuple[TokenScore, ...] = ()
    """Its pieces and the end symbol; of the second leg through a pivot.  Empty unless wanted, and
    if no single search gave it."""


@dataclass(frozen=True)
class TranslatedSentence:
    """A part of a text that was translated by itself."""

    source: str
    """The sentence, without white space around it."""
    start: int
    """Where it begins in the text, in characters."""
    renderings: tuple[Rendering, ...]
    """At least one, best first."""
    target_start: int = 0
    """Where the best one begins in the translated text, in characters."""


@dataclass(frozen=True)
class TranslatedText:
    """A translated text."""

    text: str
    """The best translations, joined by the white space of the source."""
    source: str
    """Its language as the service calls it; given or detected."""
    target: str
    """The language of the translation, as the service calls it."""
    detection: Detection | None
    """How sure the source language is; None if it was given."""
    sentences: tuple[TranslatedSentence, ...]

    @property
    def alternatives(self) -> list[str]:
        """Other translations of the whole text, each different.

        The first has the second best translation of every sentence, the next the third best.
        """
        ranks = max((len(one.renderings) for one in self.sentences), default=1)
        found = dict.fromkeys(self._ranked(rank) for rank in range(1, ranks))
        return [one for one in found if one != self.text]

    def _ranked(self, rank: int) -> str:
        """The text with the translation of this rank for each sentence that has one."""
        parts, end = [], 0
        for one in self.sentences:
            parts.append(self.text[end : one.target_start])
            end = one.target_start + len(one.renderings[0].text)
            parts.append(one.renderings[min(rank, len(one.renderings) - 1)].text)
        return "".join([*parts, self.text[end:]])

    @property
    def links(self) -> list[Link]:
        """Links of the best translations, in characters of the whole texts."""
        return [
            Link(
                one.start + link.source_start,
                one.start + link.source_end,
                one.target_start + link.target_start,
                one.target_start + link.target_end,
            )
            for one in self.sentences
            for link in one.renderings[0].links
        ]


class TranslationService(Protocol):
    """Translates texts in the directions that it has.

    Its methods are called in one event loop; a caller that is cancelled leaves the queue.
    """

    def directions(self) -> list[Pairing]:
        """All pairs of languages, sorted: trained ones and those through a pivot."""

    def is_ready(self) -> bool:
        """Whether texts are translated at once in every direction, of which there is one.

        If processes that translate were killed, others are started; asking begins that.
        """

    def tags(self, direction: Pairing) -> tuple[str, ...]:
        """Tags that requests in a direction may ask for, sorted; none if there are none."""

    async def translate(
        self, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        """Translations of texts, which share batches.

        Args:
            requests: the texts.
            seconds: after how many seconds the answer is useless; None: the service decides.

        Raises:
            RefusedError: for all of them, if one is refused: ``invalid``, ``unsupported``,
                ``too_large``, ``busy`` or ``timed_out``.
        """

    def stream(
        self, request: TextRequest, *, seconds: float | None = None
    ) -> AsyncIterator[TranslatedSentence]:
        """The sentences of a text in order, each as soon as it is translated.

        Raises:
            RefusedError: as for :meth:`translate`; also in the middle of the text.
        """

    async def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """Languages that each text may be in, the most probable first; none for an empty text.

        Raises:
            RefusedError: ``unsupported``, if nothing here can tell languages apart.
        """

    async def detect_sources(self, texts: Sequence[str], target: str) -> list[Detection]:
        """The language that :meth:`translate` takes each text to be in, if none is given.

        It is one that is translated into the target language, or that itself.  Each text is judged
        by itself; only where that leaves doubt do the others count.

        Args:
            texts: any texts.
            target: language code, as clients write it.

        Raises:
            RefusedError: ``unsupported``, if nothing translates into the target language, or
                nothing here can tell languages apart.
        """
