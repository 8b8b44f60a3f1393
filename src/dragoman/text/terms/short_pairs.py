"""A glossary from the short pairs of a corpus, such as the labels of a user interface.

A label is translated alone, so its translation needs no alignment.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import regex

from dragoman.text.normalization import normalize
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.glossary_files import Term
from dragoman.text.terms.term_extraction import stop_words
from dragoman.text.word_edges import fold

_MOST_WORDS, _MOST_CHARACTERS = 3, 40
_FEWEST_LETTERS = 4
"""Shorter sources, such as "to" and "on", are words of sentences rather than terms."""
_SHARE = 0.8
"""Least share of a term's occurrences that have its main translation."""
_WORDS = regex.compile(r"[\p{L}\p{M}][\p{L}\p{M}' ’-]*")


def glossary_of_short_pairs(pairs: Iterable[tuple[str, str]], language: str) -> Glossary:
    """The terms that are translated alone, and nearly always in the same way.

    Args:
        language: of the sources, whose stop words are no terms.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    words: Counter[str] = Counter()
    for source, target in pairs:
        term, translation = normalize(source), normalize(target)
        words.update(fold(term).split())
        if _is_term(term) and _WORDS.fullmatch(translation) and _is_short(translation):
            found[fold(term)][translation] += 1
    terms, stops = [], stop_words(language, words)
    for source, translations in found.items():
        ((best, count),) = translations.most_common(1)
        if source not in stops and count >= _SHARE * sum(translations.values()):
            within = best[0].lower() + best[1:]  # labels begin with a capital
            terms.append(Term(source, tuple(dict.fromkeys((best, within)))))
    return Glossary(terms, "short pairs")


def _is_term(text: str) -> bool:
    letters = sum(map(str.isalpha, text))
    return letters >= _FEWEST_LETTERS and bool(_WORDS.fullmatch(text)) and _is_short(text)


def _is_short(text: str) -> bool:
    return len(text.split()) <= _MOST_WORDS and len(text) <= _MOST_CHARACTERS
