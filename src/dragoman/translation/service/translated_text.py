"""A translated text with its sentences, their translations and what is known of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


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
