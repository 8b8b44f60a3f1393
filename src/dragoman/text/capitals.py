"""Text all in capitals: its words in the case that a vocabulary knows, and capitals again.

A vocabulary learned from ordinary text has ``▁password`` as a piece and splits ``PASSWORD`` into
letters, which a model can hardly read.  It splits acronyms the other way round: ``▁PDF``, but
``▁p d f``.  So the case in which a word has the fewest pieces is the usual one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence

import regex

from dragoman.text.language_codes import base_language
from dragoman.text.normalization import normalize
from dragoman.text.word_edges import Span

Rarity = Callable[[str], tuple[int, int]]
"""How unusual a spelling is: its number of pieces, then its rank among spellings with as many."""

_WORD = regex.compile(r"[\w\p{M}]+(?:['’-][\w\p{M}]+)*")
_CODE = regex.compile(r"[\p{N}_]")
_CAPITAL = regex.compile(r"\p{Lu}")
_SMALL = regex.compile(r"(?V1)[\p{Ll}\p{Lt}--[ß]]")
_CASELESS = regex.compile(r"(?V1)[[\p{Lo}\p{Script=Georgian}]--[ªº]]")
"""Letters of scripts without case, or with capitals that few fonts have (Georgian)."""
_HINT = regex.compile(r"\p{Lu}\P{L}*\p{Lu}")
"""A fast test, which most lines do not pass."""
_SHORT = 4
"""Maximum letters of words that may be acronyms even if the vocabulary splits them."""
_DOTTED = frozenset({"tr", "az"})
"""Languages with two letters i, with and without a dot."""
_ACCENT, _DIAERESIS = "\u0301", "\u0308"
_GREEK = regex.compile(r"(?:\p{Script=Greek}\p{M}*)+")
_HIATUS = regex.compile(rf"(?<=[ΑΕΟΗΥΩΙ]{_ACCENT})([ΙΥ])(?!\p{{M}})")
"""The second of two vowels that are spoken apart, which only the accent of the first shows."""


def may_be_in_capitals(text: str) -> bool:
    """Whether a closer look at a text can pay: a fast test for many lines."""
    return _HINT.search(text) is not None


def is_in_capitals(text: str, kept: Sequence[Span] = ()) -> bool:
    """Whether a text has at least two letters outside ``kept`` places, and all are capitals."""
    rest = "".join(part for part, is_kept in _parts(text, kept) if not is_kept)
    if _SMALL.search(rest) or _CASELESS.search(rest):
        return False
    return len(_CAPITAL.findall(rest)) > 1


def without_capitals(
    text: str, rarity: Rarity, kept: Sequence[Span] = (), language: str | None = None
) -> str:
    """A text in capitals with each word in its usual case; acronyms and codes stay.

    Nothing changes unless the vocabulary knows a word better in another case.
    """
    parts = [*_parts(text, kept)]
    words = [
        word
        for part, is_kept in parts
        for word in ([] if is_kept else _WORD.findall(part))
        if not _CODE.search(word)
    ]
    if not any(_is_word(word, rarity, language) for word in words):
        return text
    is_first = True

    def usual(found: regex.Match[str]) -> str:
        nonlocal is_first
        if _CODE.search(word := found[0]):
            return word
        title, low = _spellings(word, language)
        spellings = (title, low, word) if is_first else (low, title, word)
        is_first = False
        return min(spellings, key=rarity)

    return "".join(part if is_kept else _WORD.sub(usual, part) for part, is_kept in parts)


def in_capitals(text: str, kept: Sequence[Span] = (), language: str | None = None) -> str:
    """A text in capitals outside ``kept`` places, by the rules of its language.

    In Turkish, i becomes İ.  Greek capitals have no accents.  A text with letters of a script
    without case stays as it is, Latin names in it among them.
    """
    if _CASELESS.search(text):
        return text
    is_dotted = language is not None and base_language(language) in _DOTTED

    def change(part: str) -> str:
        part = part.replace("i", "İ") if is_dotted else part
        return _GREEK.sub(lambda word: _greek_capitals(word[0]), part).upper()

    parts = _parts(text, kept)
    return normalize("".join(part if is_kept else change(part) for part, is_kept in parts))


def _is_word(word: str, rarity: Rarity, language: str | None) -> bool:
    """Whether a word in capitals is no acronym."""
    best, given = min(map(rarity, _spellings(word, language))), rarity(word)
    if len(word) > _SHORT or best[0] == 1:
        return best < given
    return best[0] < given[0] - 1


def _spellings(word: str, language: str | None) -> tuple[str, str]:
    """A word in capitals with a capital first letter, and without."""
    low = word
    if language is not None and base_language(language) in _DOTTED:
        low = low.replace("I", "ı")
    low = low.replace("İ", "i").lower()
    return word[:1] + low[1:], low


def _greek_capitals(word: str) -> str:
    plain = unicodedata.normalize("NFD", word).upper()
    plain = _HIATUS.sub(rf"\1{_DIAERESIS}", plain)
    marks = (sign for sign in plain if sign == _DIAERESIS or not unicodedata.combining(sign))
    return unicodedata.normalize("NFC", "".join(marks))


def _parts(text: str, kept: Sequence[Span]) -> Iterator[tuple[str, bool]]:
    """A text cut at ``kept`` places, which are in order; with whether each part is one of them."""
    end = 0
    for start, stop in kept:
        yield text[end:start], False
        yield text[start:stop], True
        end = stop
    yield text[end:], False
