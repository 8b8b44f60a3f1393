"""Places of marks in a translation whose model has learned to move them."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.documents.marks.marked_text import Mark, MarkedText, Range, walk
from dragoman.text.inline_tags import TagKind, TagSpan
from dragoman.translation.service.translated_text import TranslatedSentence, TranslatedText


def tag_spans(marked: MarkedText) -> tuple[TagSpan, ...]:
    """The marks of a text as a service takes them, each in front of those within it."""
    return tuple(TagSpan(mark.start, mark.stop, _kind(mark)) for mark in walk(marked.marks))


def _kind(mark: Mark) -> TagKind:
    if mark.is_atom:
        return "copy"
    return "point" if mark.is_point else "pair"


def learned_places(marked: MarkedText, translated: TranslatedText) -> dict[int, Range] | None:
    """The place of each mark in the translation, in characters, by the ``id`` of the mark.

    A mark over several sentences begins where the first has it and ends where the last has it.

    Returns:
        None if the service does not give all places (:func:`tag_spans`), or if marks would cross.
    """
    sentences = translated.sentences
    if not sentences or any(one.renderings[0].places is None for one in sentences):
        return None
    within = [
        {place.mark: (place.start, place.stop) for place in sentence.renderings[0].places or ()}
        for sentence in sentences
    ]
    places: dict[int, Range] = {}
    for at, mark in enumerate(walk(marked.marks)):
        ranges = [
            _of_sentence(mark, one, known.get(at))
            for one, known in zip(sentences, within, strict=True)
            if _touches(mark, one)
        ]
        if not ranges:
            ranges = [_between(mark, sentences)]
        start, stop = ranges[0][0], ranges[-1][1]
        if mark.opens_before:
            start = 0
        if mark.closes_after:
            stop = len(translated.text)
        if mark.is_atom and start == stop:
            return None  # nothing is there that it could be written instead of
        if mark.is_point:
            start = stop = _beside_space(marked.text, mark, translated.text, start)
        places[id(mark)] = start, stop
    return places if _fit(marked.marks, places, (0, len(translated.text))) else None


def _touches(mark: Mark, sentence: TranslatedSentence) -> bool:
    """Whether a mark is in a sentence, at least in part."""
    begin, end = sentence.start, sentence.start + len(sentence.source)
    if mark.start == mark.stop:
        return begin <= mark.start <= end
    return mark.start < end and begin < mark.stop


def _of_sentence(mark: Mark, sentence: TranslatedSentence, known: Range | None) -> Range:
    """Place of a mark in the translation of a sentence, in characters of the whole text."""
    begin, target = sentence.start, sentence.target_start
    stop = target + len(sentence.renderings[0].text)
    if known is not None:
        return target + known[0], target + known[1]
    if mark.start == mark.stop:
        return (target, target) if mark.start <= begin else (stop, stop)
    return target, stop


def _between(mark: Mark, sentences: Sequence[TranslatedSentence]) -> Range:
    """The place of a mark between two sentences: behind the first."""
    ends = [
        sentence.target_start + len(sentence.renderings[0].text)
        for sentence in sentences
        if sentence.start + len(sentence.source) <= mark.start
    ]
    place = ends[-1] if ends else 0
    return place, place


def _beside_space(text: str, mark: Mark, target: str, place: int) -> int:
    """The place of a point behind the space, if a word followed it directly in the source."""
    follows = not mark.after and text[mark.start : mark.start + 1].strip()
    preceded = mark.before or text[mark.start - 1 : mark.start].isspace()
    if follows and preceded and target[place : place + 1].isspace():
        return place + 1
    return place


def _fit(marks: Sequence[Mark], places: dict[int, Range], within: Range) -> bool:
    """Whether no mark crosses another, or is outside of the one that it is in."""
    end = within[0]
    for mark in sorted(marks, key=lambda one: places[id(one)]):
        start, stop = places[id(mark)]
        if start < end or stop < start or stop > within[1]:
            return False
        if mark.children and not _fit(mark.children, places, (start, stop)):
            return False
        end = stop
    return True
