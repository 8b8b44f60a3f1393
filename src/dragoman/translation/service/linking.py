"""Links between words of a sentence and of its translation, in characters of both."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from dragoman.core.errors import ConfigError, DataError
from dragoman.text.terms.terminology import Terminology
from dragoman.text.tokens import words_of
from dragoman.text.vocabularies import Vocabulary
from dragoman.text.vocabularies.piece_spans import Span, as_split
from dragoman.translation.aligning import attention_links
from dragoman.translation.capital_lines import CapitalLines
from dragoman.translation.service.translated_text import Link
from dragoman.translation.translator import Translator

_TOKEN = re.compile(r"\S+")


def word_links(
    translator: Translator, read: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> list[tuple[Link, ...]]:
    """The links of translated sentences, by attention; empty if attention cannot give them.

    They are empty if the model has no attention, translates the context first (unknown here), or
    cannot read a sentence at once.

    Args:
        translator: has translated the sentences.
        read: the sources with their tags and context in front.
        pairs: sources and targets.
    """
    vocabularies, context = translator.vocabularies, translator.context
    if context is not None and context.target:
        return [()] * len(pairs)
    below, beside = (_usual_case(translator, vocabulary) for vocabulary in vocabularies)
    pairs = [(below(source), beside(target)) for source, target in pairs]
    read = [*map(below, read)]
    lines = [
        (as_split(vocabularies.source, source), as_split(vocabularies.target, target))
        for source, target in pairs
    ]
    words = [(_words(source), _words(target)) for source, target in lines]
    try:
        whole = zip(read, (target for _, target in lines), strict=True)
        found = list(attention_links(translator, lines, words, read=whole))
    except (ConfigError, DataError):  # a family without attention, or too long
        return [()] * len(pairs)
    links = []
    for (source, target), (source_words, target_words), aligned in zip(
        pairs, words, found, strict=True
    ):
        source_place = origins(vocabularies.source, source)
        target_place = origins(vocabularies.target, target)
        places = sorted((j, i) for i, j in aligned.all)
        links.append(
            tuple(
                Link(
                    *(source_place(place) for place in source_words[i]),
                    *(target_place(place) for place in target_words[j]),
                )
                for j, i in places
            )
        )
    return links


def through(first: Sequence[Link], second: Sequence[Link]) -> tuple[Link, ...]:
    """Links over a third language: from a source to words that translate its translations."""
    links = {
        Link(one.source_start, one.source_end, two.target_start, two.target_end)
        for one in first
        for two in second
        if one.target_start < two.source_end and two.source_start < one.target_end
    }
    return tuple(sorted(links, key=lambda link: (link.target_start, link.source_start)))


def origins(vocabulary: Vocabulary, text: str) -> Callable[[int], int]:
    """A function from places in a text as its vocabulary reads it to places in the original.

    If normalisation changes the length of a word, places within it are in proportion.
    """
    read = as_split(vocabulary, text)
    if read == text:
        return lambda place: place
    ours = [found.span() for found in _TOKEN.finditer(text)]
    theirs = [found.span() for found in _TOKEN.finditer(read)]
    if len(ours) != len(theirs):
        ours, theirs = [(0, len(text))], [(0, len(read))]

    def origin(place: int) -> int:
        for (start, end), (begin, stop) in zip(ours, theirs, strict=True):
            if place <= stop:
                inside = max(0, place - begin)
                return start + round(inside * (end - start) / max(1, stop - begin))
        return len(text)

    return origin


def _usual_case(translator: Translator, vocabulary: Vocabulary) -> Callable[[str], str]:
    """A function that takes the capitals from texts, with the same places, as search reads them."""
    stay = translator.search.capitals == "keep"
    capitals = CapitalLines(Terminology(), vocabulary, context=translator.context, stay=stay)

    def usual(text: str) -> str:
        found = capitals.usual(text)
        return found if len(found) == len(text) else text

    return usual


def _words(line: str) -> list[Span]:
    return [(word.start, word.end) for word in words_of(line)]
