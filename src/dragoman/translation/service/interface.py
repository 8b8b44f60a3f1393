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


class Detection(NamedTuple):
    """A language that a text may be in."""

    language: str
    probability: float
    """From 0 to 1, among the languages that the service reads or writes."""


class Link(NamedTuple):
    """A part of a target that translates a part of its source, as character offsets in both."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int


class TokenScore(NamedTuple):
    """A piece of a translation, or its end symbol, with its log-probability."""

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


class MarkPlace(NamedTuple):
    """The place of a mark of a text in the translation of a sentence."""

    mark: int
    """The mark's index in the request."""
    start: int
    """In characters of the translation."""
    stop: int


@dataclass(frozen=True)
class Rendering:
    """One translation of a sentence."""

    text: str
    score: float | None = None
    """Score that ranks the search's hypotheses; None if a memory answered."""
    confidence: float | None = None
    """Probability that the translation is right; None if the model is not calibrated."""
    links: tuple[Link, ...] = ()
    """In characters of the sentence and of this translation, in the order of the target."""
    from_memory: bool = False
    places: tuple[MarkPlace, ...] | None = None
    """Places of the marks within the sentence in this translation; None if the model gives none.
    Marks around the whole sentence are omitted."""
    missing: tuple[str, ...] = ()
    """Required terms and copied strings that the translation lacks."""
    invented: tuple[str, ...] = ()
    """Placeholders, tags and addresses that the translation has and the sentence lacks."""
    faults: tuple[str, ...] = ()
    """Why it is degenerate: see :attr:`~dragoman.translation.outputs.Translation.faults`."""
    token_scores: tuple[TokenScore, ...] = ()
    """Scores of its pieces and the end symbol; through a pivot, of the second leg.  Empty unless
    wanted, or if the translation did not come from a single search."""


@dataclass(frozen=True)
class TranslatedSentence:
    """A part of a text that was translated by itself."""

    source: str
    """The sentence, without white space around it."""
    start: int
    """Character offset in the text."""
    renderings: tuple[Rendering, ...]
    """At least one, best first."""
    target_start: int = 0
    """Character offset of the best rendering in the translated text."""


@dataclass(frozen=True)
class TranslatedText:
    """A translated text."""

    text: str
    """The best translations, joined by the white space of the source."""
    source: str
    """Language of the source as the service calls it; given or detected."""
    target: str
    """Language of the translation as the service calls it."""
    detection: Detection | None
    """The detected source language with its probability; None if the language was given."""
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
        """Links of the best translations, as character offsets in the whole texts."""
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
