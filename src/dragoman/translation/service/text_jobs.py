"""A text in translation: its sentences, and their translations so far."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from dragoman.text.inline_tags import TagSpan
from dragoman.text.language_codes import base_language
from dragoman.text.normalization import normalize
from dragoman.text.sentences import SplitMode, TextSpan, split_text
from dragoman.text.splitters import SENTENCEX
from dragoman.text.terms.copied_text import is_copied
from dragoman.translation.service.interface import Pairing, TextRequest
from dragoman.translation.service.translated_text import (
    Detection,
    MarkPlace,
    Rendering,
    TranslatedSentence,
    TranslatedText,
)

LONGEST = 1000
"""Maximum characters of a sentence.  Longer sentences are divided in every mode, as models learn
from sentences, and the time of a search grows with the square of the length."""

_UNSPACED = frozenset({"ja", "km", "lo", "my", "th", "wuu", "yue", "zh"})
"""Languages written without spaces between sentences."""

_BREAKS = (
    re.compile(r"(?<![.!?。！？…])[.!?。！？…]+[\"'”’)\]]*\s+|[。！？]"),
    re.compile(r"[;:；：]\s+|[；：]"),
    re.compile(r"[,，、،]\s+|[，、]|(?<!\s)\s+[–—-]\s+"),
    re.compile(r"\s+"),
)
"""Places at which to divide a sentence that is too long, the best first."""


@dataclass(eq=False)
class Unit:
    """A part of a text that is translated by itself."""

    span: TextSpan
    source: str
    text: str
    """The source normalised, as every model reads it."""
    before: tuple[str, ...] = ()
    """The sentences in front of it, the nearest last, for models that read context."""
    renderings: tuple[Rendering, ...] = ()
    """Its translations; empty until it is translated."""
    given_marks: tuple[TagSpan, ...] = ()
    """Marks of the whole text."""
    marks: tuple[tuple[int, TagSpan], ...] = ()
    """Marks in this part, except marks around all of it: in characters of the source, each with its
    index among the marks of the text."""
    is_cut: bool = False
    """Whether it begins or ends within something that is copied."""
    parts: list[Unit] = field(default_factory=list)
    """The parts of a unit that was too long."""

    @classmethod
    def of(
        cls,
        text: str,
        span: TextSpan,
        before: tuple[str, ...] = (),
        marks: tuple[TagSpan, ...] = (),
    ) -> Unit:
        """A part of ``text``, which has ``marks``."""
        source = text[slice(*span)]
        unit = cls(span, source, normalize(source), before, given_marks=marks)
        unit.marks = tuple(marks_within(marks, span))
        unit.is_cut = any(
            one.kind == "copy" and any(one.start < end < one.stop for end in span) for one in marks
        )
        return unit

    @property
    def is_copied(self) -> bool:
        """Whether there is nothing in it to translate."""
        rest, end = "", 0
        for _, one in sorted(self.marks, key=lambda item: item[1].start):
            if one.kind == "copy":
                rest, end = f"{rest}{self.source[end : one.start]} ", one.stop
        return is_copied(normalize(rest + self.source[end:]) if end else self.text)

    def copy(self) -> Rendering:
        """The source as its own translation."""
        places = tuple(MarkPlace(at, one.start, one.stop) for at, one in self.marks)
        return Rendering(self.source, places=places)

    def undivided(self) -> Iterator[Unit]:
        """This unit or, if it was divided, its parts."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.undivided()

    def divide(self, text: str) -> list[Unit]:
        """The halves of a part of ``text``, which has at least two characters."""
        self.parts = [
            Unit.of(text, span, self.before, self.given_marks) for span in divided(text, self.span)
        ]
        return self.parts


@dataclass(eq=False)
class TextJob:
    """A text to translate in one direction."""

    request: TextRequest
    pair: Pairing
    detection: Detection | None
    units: list[Unit] = field(default_factory=list)

    def plan(
        self,
        context: int,
        before: Callable[[str, str, int], tuple[str, ...]],
        splitter: str = SENTENCEX,
    ) -> None:
        """Divide the text; parts without anything to translate become their own translations.

        Args:
            context: number of sentences that the model reads in front of each.
            before: :func:`last_sentences`, possibly with a cache.
            splitter: name of what divides texts into sentences.
        """
        request, language = self.request, self.pair.source
        near: tuple[str, ...] = ()
        if context:
            near = before(request.context, language, context)
        for span in planned(request.text, language, request.split, splitter):
            unit = Unit.of(request.text, span, near, request.marks)
            if not unit.text or (unit.is_copied and not request.prefix):
                unit.renderings = (unit.copy(),)
            self.units.append(unit)
            if context:
                near = (*near, unit.text)[-context:]

    def answer_whole(self, translation: Rendering) -> None:
        """Set the translation of the text as a whole."""
        begin = len(self.request.text) - len(self.request.text.lstrip())
        span = TextSpan(begin, len(self.request.text.rstrip()))
        unit = Unit.of(self.request.text, span, marks=self.request.marks)
        unit.renderings = (translation,)
        self.units = [unit]


def last_sentences(
    text: str, language: str, count: int, *, splitter: str = SENTENCEX
) -> tuple[str, ...]:
    """The last sentences of a text, normalised: at most ``count``, which is at least 1."""
    spans = planned(text, language, "sentences", splitter)[-count:]
    return tuple(normalize(text[slice(*span)]) for span in spans)


def marks_within(marks: tuple[TagSpan, ...], span: TextSpan) -> Iterator[tuple[int, TagSpan]]:
    """Marks that are in a part of a text, in its characters, but not around all of it."""
    begin, end = span
    for at, one in enumerate(marks):
        start, stop = max(one.start, begin), min(one.stop, end)
        if one.start == one.stop:
            inside = begin < one.start < end
        else:
            is_whole = one.kind == "pair" and (start, stop) == (begin, end)
            inside = start < stop and not is_whole
        if inside:
            yield at, TagSpan(start - begin, stop - begin, one.kind)


class Joiner:
    """Puts the translations of a text's sentences together, one after another."""

    def __init__(self, job: TextJob) -> None:
        self._job = job
        self._parts: list[str] = []
        self._end = self._length = 0
        self._sentences: list[TranslatedSentence] = []

    def add(self, unit: Unit) -> list[TranslatedSentence]:
        """The sentences of the next translated part of the text."""
        return [self._added(one) for one in unit.undivided()]

    def finished(self) -> TranslatedText:
        """The whole text, when all sentences are there."""
        job = self._job
        text = "".join([*self._parts, job.request.text[self._end :]])
        return TranslatedText(text, *job.pair, job.detection, tuple(self._sentences))

    def _added(self, unit: Unit) -> TranslatedSentence:
        gap = self._job.request.text[self._end : unit.span.start]
        if self._sentences:
            gap = gap_between(gap, *self._job.pair)
        self._extend(gap)
        renderings = unit.renderings
        if self._job.request.marks and not unit.marks and not unit.is_cut:
            renderings = (replace(renderings[0], places=()), *renderings[1:])
        found = TranslatedSentence(unit.source, unit.span.start, renderings, self._length)
        self._extend(unit.renderings[0].text)
        self._sentences.append(found)
        self._end = unit.span.end
        return found

    def _extend(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)


def joined(job: TextJob) -> TranslatedText:
    """A text whose sentences are all translated."""
    joiner = Joiner(job)
    for unit in job.units:
        joiner.add(unit)
    return joiner.finished()


def sizes(total: int, first: int, most: int) -> Iterator[range]:
    """Ranges of growing sizes that make up ``range(total)``, so that the first result comes early.

    ``first`` and ``most`` are the size of the first range and the maximum.
    """
    start, size = 0, first
    while start < total:
        yield range(start, min(total, start + size))
        start, size = start + size, min(most, 2 * size)


def planned(text: str, language: str, mode: SplitMode, splitter: str = SENTENCEX) -> list[TextSpan]:
    """The sentences of a text, none of them longer than ``LONGEST``."""
    segments = split_text(text, language, mode, splitter)
    return [part for segment in segments for part in shortened(text, segment, LONGEST)]


def shortened(text: str, segment: TextSpan, limit: int) -> list[TextSpan]:
    """A segment divided, as often as needed, into parts of at most ``limit`` characters."""
    done: list[TextSpan] = []
    waiting = [segment]
    while waiting:
        one = waiting.pop()
        if one.end - one.start <= limit:
            done.append(one)
        else:
            waiting += reversed(divided(text, one))
    return done


def divided(text: str, segment: TextSpan) -> list[TextSpan]:
    """Two parts of a segment with at least two characters, divided where it hurts least.

    This is the place of the best kind in the middle half that is nearest to the middle.  A word is
    divided only if the segment has no other place.
    """
    start, end = segment
    middle, quarter = (start + end) // 2, (end - start) // 4
    places: list[int] = []
    for kind in _BREAKS:
        found = kind.finditer(text, start + quarter, end - quarter)
        places = [one.end() for one in found if one.end() < end]
        if places:
            break
    else:
        places = [one.end() for one in _BREAKS[-1].finditer(text, start + 1, end - 1)]
    at = min(places or [middle], key=lambda place: abs(place - middle))
    first = text[start:at].rstrip()
    rest = len(text[at:end]) - len(text[at:end].lstrip())
    return [TextSpan(start, start + len(first)), TextSpan(at + rest, end)]


def gap_between(before: str, source: str, target: str) -> str:
    """The separator of two translations: the white space that separates their sources.

    A single space if only the target language writes spaces between sentences.
    """
    return before or (" " if _is_unspaced(source) and not _is_unspaced(target) else "")


def _is_unspaced(language: str) -> bool:
    return base_language(language) in _UNSPACED
