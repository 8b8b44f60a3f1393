"""A candidate glossary from parallel text: terms of the source and their translations.

Candidates are sequences of words that occur often enough and neither begin nor end with a stop
word, ranked by C-value (Frantzi, Ananiadou and Mima 2000, "Automatic Recognition of Multi-Word
Terms", section 3). It uses log(length + 1), so that single words also count (Barrón-Cedeño et al.
2009).  Their translations are the spans of the target that are linked only to them, as in the
extraction of phrase pairs (Och and Ney 2004, section 2.1).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import regex

from dragoman.text.language_codes import base_language
from dragoman.text.tokens import Word, words_of
from dragoman.text.word_alignment import Aligned

_INITIAL = 1e-3
"""Weight of a spelling at the beginning of a line, where capitals mean little."""
_LONGEST_SPAN = 3
"""Maximum words by which a translation may be longer than its term."""
_LEAST_ALIGNED = 0.25
"""Minimum share of a term's occurrences with a translation; a smaller share is accidental."""
_MINOR_FORM = 0.05
"""Minimum share of a translation's occurrences for listing one of its forms."""
_FORMS = 6
_HANGUL = regex.compile(r"\p{Hangul}$")
_FREQUENT = 100
"""Number of the most frequent words that may be stop words of a language without a list."""
_SHORT = 3
"""Their maximum length in letters."""
_ENGLISH = """
a about above across after again against all almost also although always am among an and any are
around as at be because been before being below between both but by can cannot could did do does
doing don't done down during each either else etc even ever every few first for from further get
gets had has have having he her here hers him his how i if in instead into is isn't it its itself
just last least less let like made make makes many may me might more most much must my need needs
neither never no none nor not nothing now of off often on once one only onto or other others our
out over own per please possible same set several she should since so some such than that the their
them then there these they this those through to together too toward two under unless until up upon
us use used uses using very via want was we well were what when where whether which while who whose
why will with within without would yes yet you your yours
"""
_TYPOGRAPHIC = _ENGLISH.replace("'", "’")
_LISTS = {"en": frozenset(_ENGLISH.split()) | frozenset(_TYPOGRAPHIC.split())}

Tokens = tuple[str, ...]


@dataclass(frozen=True)
class TermLimits:
    """Criteria for candidates."""

    minimum_count: int = 5
    """Minimum occurrences of a term, and of its translation."""
    maximum_words: int = 4
    """Maximum words of a term, or characters in scripts without spaces."""
    minimum_share: float = 0.5
    """Share of a term's aligned occurrences that its main translation must have."""
    inconsistent_share: float = 0.2
    """Minimum share of a further translation that makes a term inconsistent."""


@dataclass(frozen=True)
class TermRendering:
    """One translation of a term, in all its forms."""

    text: str
    """Its most frequent form."""
    forms: tuple[str, ...]
    """Its forms, most frequent first; ``text`` is the first."""
    count: int


@dataclass(frozen=True)
class CandidateTerm:
    """A term of the source and its translations."""

    source: str
    count: int
    """Occurrences."""
    aligned: int
    """Occurrences with a translation."""
    c_value: float
    renderings: tuple[TermRendering, ...]
    """Translations, most frequent first."""
    is_inconsistent: bool
    """Whether another translation than the first has a large share."""

    @property
    def share(self) -> float:
        """Share of the first translation among the aligned occurrences."""
        return self.renderings[0].count / self.aligned

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"share": self.share}


@dataclass(frozen=True)
class TokenizedPair:
    """A sentence pair as words."""

    source: list[Word]
    target: list[Word]

    @classmethod
    def of(cls, source: str, target: str) -> TokenizedPair:
        """The words of both sides."""
        return cls(words_of(source), words_of(target))

    @property
    def keys(self) -> tuple[list[str], list[str]]:
        """The words with their case folded, for alignment."""
        return [word.key for word in self.source], [word.key for word in self.target]


def extract_terms(
    pairs: Sequence[tuple[str, str]],
    tokenized: Sequence[TokenizedPair],
    aligned: Iterable[Aligned],
    *,
    language: str,
    limits: TermLimits | None = None,
    stops: frozenset[str] | None = None,
) -> list[CandidateTerm]:
    """Candidate terms, the most significant first.

    Args:
        aligned: the links of each pair, between these words.
        stops: words that a term neither begins nor ends with, in lower case; by default those of
            the language.
    """
    limits = limits or TermLimits()
    if stops is None:
        stops = stop_words(language, Counter(w.key for one in tokenized for w in one.source))
    counts: Counter[Tokens] = Counter()
    for one in tokenized:
        counts.update(tokens for tokens, _, _ in ngrams(one.source, limits.maximum_words, stops))
    kept = {tokens: n for tokens, n in counts.items() if n >= limits.minimum_count}
    values = c_values(kept)
    found: defaultdict[Tokens, _Uses] = defaultdict(_Uses)
    for (source, target), words, links in zip(pairs, tokenized, aligned, strict=True):
        of_source, of_target = linked_words(links.all, words)
        for tokens, start, end in ngrams(words.source, limits.maximum_words, stops):
            if values.get(tokens, 0.0) <= 0:
                continue
            uses = found[tokens]
            uses.add_source(source, words.source, start, end)
            linked = sorted({j for i in range(start, end + 1) for j in of_source[i]})
            span = linked_span(linked, (start, end), of_target, words.target)
            is_sure = any((i, j) in links.sure for i in range(start, end + 1) for j in linked)
            if span is not None and is_sure:
                uses.add_target(target, words.target, *span)
    terms = (
        _candidate(kept[tokens], values[tokens], uses, limits) for tokens, uses in found.items()
    )
    ranked = [term for term in terms if term is not None]
    return sorted(ranked, key=lambda term: (-term.c_value, term.source))


def c_values(counts: dict[Tokens, int]) -> dict[Tokens, float]:
    """The C-value of each candidate: its frequency, less that inside longer ones, by length."""
    nested: defaultdict[Tokens, list[int]] = defaultdict(list)
    for tokens, count in counts.items():
        inner = {
            tokens[start:end]
            for start in range(len(tokens))
            for end in range(start + 1, len(tokens) + 1)
        }
        for one in inner - {tokens}:
            if one in counts:
                nested[one].append(count)
    return {
        tokens: math.log2(len(tokens) + 1)
        * (count - (sum(nested[tokens]) / len(nested[tokens]) if tokens in nested else 0.0))
        for tokens, count in counts.items()
    }


def ngrams(
    words: Sequence[Word], longest: int, stops: frozenset[str]
) -> Iterator[tuple[Tokens, int, int]]:
    """Sequences of words that may be terms, with the places of their first and last word."""
    for start, first in enumerate(words):
        if not first.is_word or first.key in stops:
            continue
        for end in range(start, min(start + longest, len(words))):
            last = words[end]
            if not last.is_word:
                break
            if last.key not in stops:
                yield tuple(word.key for word in words[start : end + 1]), start, end


def linked_words(
    links: Iterable[tuple[int, int]], words: TokenizedPair
) -> tuple[list[list[int]], list[list[int]]]:
    """The target words of each source word, and the source words of each target word."""
    of_source: list[list[int]] = [[] for _ in words.source]
    of_target: list[list[int]] = [[] for _ in words.target]
    for i, j in links:
        of_source[i].append(j)
        of_target[j].append(i)
    return of_source, of_target


def linked_span(
    linked: Sequence[int], term: tuple[int, int], of_target: list[list[int]], words: Sequence[Word]
) -> tuple[int, int] | None:
    """The first and last target word of a term's translation; None if it is unclear.

    Args:
        linked: target words that are linked to the term, in order.
        term: first and last source word of the term.
    """
    if not linked:
        return None
    (start, end), first, last = term, linked[0], linked[-1]
    if last - first > end - start + _LONGEST_SPAN:
        return None
    if not all(start <= i <= end for j in range(first, last + 1) for i in of_target[j]):
        return None
    return (first, last) if words[first].is_word and words[last].is_word else None


class _Uses:
    """Spellings of a term and of its translations."""

    def __init__(self) -> None:
        self.sources: defaultdict[str, float] = defaultdict(float)
        self.targets: defaultdict[str, defaultdict[str, float]] = defaultdict(
            lambda: defaultdict(float)
        )
        self.counts: Counter[str] = Counter()

    def add_source(self, line: str, words: Sequence[Word], start: int, end: int) -> None:
        """Counts an occurrence."""
        self.sources[line[words[start].start : words[end].end]] += _weight(start)

    def add_target(self, line: str, words: Sequence[Word], first: int, last: int) -> None:
        """Counts the translation of an occurrence."""
        text = line[words[first].start : words[last].end]
        self.counts[text.casefold()] += 1
        self.targets[text.casefold()][text] += _weight(first)

    def spelling(self, key: str) -> str:
        """The usual spelling of a translation."""
        return _usual(self.targets[key])


def _weight(place: int) -> float:
    return 1.0 if place else _INITIAL


def _usual(spellings: Mapping[str, float]) -> str:
    """The most frequent spelling; of equally frequent ones, the first in alphabetic order."""
    return min(spellings, key=lambda text: (-spellings[text], text))


def _candidate(count: int, value: float, uses: _Uses, limits: TermLimits) -> CandidateTerm | None:
    aligned = sum(uses.counts.values())
    renderings = _renderings(uses)
    if not renderings or renderings[0].count < limits.minimum_count:
        return None
    if renderings[0].count < limits.minimum_share * aligned or aligned < _LEAST_ALIGNED * count:
        return None
    others = [one.count / aligned for one in renderings[1:]]
    inconsistent = bool(others) and others[0] >= limits.inconsistent_share
    source = _usual(uses.sources)
    return CandidateTerm(source, count, aligned, value, tuple(renderings), inconsistent)


def _renderings(uses: _Uses) -> list[TermRendering]:
    """Translations with their forms joined, most frequent first."""
    ranked = sorted(uses.counts, key=lambda key: (-uses.counts[key], key))
    found = []
    for group in grouped_forms(ranked):
        total = sum(uses.counts[key] for key in group)
        forms = [
            uses.spelling(key)
            for key in group[:_FORMS]
            if uses.counts[key] >= max(2, _MINOR_FORM * total) or key == group[0]
        ]
        if _HANGUL.search(forms[0]):  # particles after a word do not belong to it
            forms = [min(forms, key=len)]
        found.append(TermRendering(forms[0], tuple(dict.fromkeys(forms)), total))
    return sorted(found, key=lambda one: (-one.count, one.text))


def grouped_forms(texts: Iterable[str]) -> list[list[str]]:
    """Groups of texts that look like forms of one word, each text in the first such group.

    Texts that begin with the same Korean word form a group if this word is itself among the texts.
    A frequent word may have thousands of translations, so only some are compared.
    """
    ranked = list(texts)
    known = set(ranked)
    groups: list[list[str]] = []
    alike: defaultdict[str, list[list[str]]] = defaultdict(list)
    of_stem: dict[str, list[str]] = {}
    for text in ranked:
        stem = _stem(text, known)
        near = alike[_beginning(text)]
        group = None if stem is None else of_stem.get(stem)
        if group is None:
            group = next((group for group in near if are_forms(group[0], text)), None)
        if group is None:
            groups.append(group := [])
            near.append(group)
        if stem is not None:
            of_stem.setdefault(stem, group)
        group.append(text)
    return groups


def _stem(text: str, known: Collection[str]) -> str | None:
    """The shortest known beginning that ends in Hangul, of which the text is a form.

    A single syllable does not count, since it begins too many words.
    """
    ends = range(text.rfind(" ") + 2, len(text))
    beginnings = (text[: end + 1] for end in ends if _HANGUL.match(text[end]))
    return next((one for one in beginnings if one in known), None)


def _beginning(text: str) -> str:
    """The minimum common beginning of two forms of a word, by :func:`are_forms`."""
    return text[:1] if any(map(_HANGUL.match, text[:3])) else text[:3]


def are_forms(one: str, other: str) -> bool:
    """Whether two translations look like forms of a word, which differ only at the end.

    In Korean, particles follow the word, so the longer form must begin with the whole shorter one.
    """
    shorter, longer = sorted((one, other), key=len)
    if _HANGUL.search(shorter):
        return longer.startswith(shorter) and " " not in longer[len(shorter) :]
    if " " in longer[len(shorter) :]:
        return False
    common = next(
        (n for n, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter)
    )
    return common >= 3 and len(longer) - common <= 3


def stop_words(language: str, counts: Counter[str]) -> frozenset[str]:
    """Stop words of a language, in lower case.

    English has a list.  In any other language they are the words of at most three letters among the
    hundred most frequent, which are articles, pronouns and prepositions in most alphabetic scripts.
    Scripts in which a character is a word or a syllable have none.
    """
    code = base_language(language)
    if code in _LISTS:
        return _LISTS[code]
    frequent = [word for word, _ in counts.most_common(_FREQUENT)]
    return frozenset(
        word for word in frequent if len(word) <= _SHORT and max(word) < "\u1100" and word.isalpha()
    )
