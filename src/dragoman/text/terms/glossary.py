"""Glossaries: how terms must be translated, and their positions in a text."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from dragoman.core.errors import DataError
from dragoman.core.wording import shown
from dragoman.text.normalization import normalize
from dragoman.text.terms.glossary_files import Term, read_terms
from dragoman.text.word_edges import Span, fold, is_whole, longest_apart, occurrences

_KEY = 4  # characters by which terms are looked up


class Match(NamedTuple):
    """A term in a source; ``start`` and ``end`` in characters of the normalised text."""

    term: Term
    start: int
    end: int


class Glossary:
    """Terms, which are looked up in texts as whole words.

    Args:
        name: of their file or other origin, for messages.
        unit: the unit of :attr:`Term.line`, such as a line or an entry.

    Raises:
        DataError: a side is empty, or two terms contradict each other.
    """

    def __init__(self, terms: Iterable[Term], name: str = "glossary", unit: str = "line") -> None:
        self.name, self._unit = name, unit
        self._by_source: dict[tuple[str, bool], Term] = {}
        self._buckets: dict[str, list[tuple[str, Term]]] = defaultdict(list)
        for term in map(_normalised, terms):
            self._add(term)
        self.terms: tuple[Term, ...] = tuple(self._by_source.values())
        for term in sorted(self.terms, key=lambda term: not term.case_sensitive):
            folded = fold(term.source)
            self._buckets[folded[:_KEY]].append((folded, term))

    @classmethod
    def read(cls, path: Path | str, languages: tuple[str, str] | None = None) -> Glossary:
        """Reads a glossary: TBX if the suffix says so, otherwise a table separated by tabs.

        :mod:`dragoman.text.terms.glossary_files` describes both.

        Args:
            languages: source and target language, needed for TBX. A table may have them as header.

        Raises:
            DataError: the file is missing or broken, or terms contradict each other.
        """
        terms, unit = read_terms(Path(path), languages)
        return cls(terms, str(path), unit)

    @classmethod
    def of(cls, targets: Mapping[str, str | Sequence[str]]) -> Glossary:
        """A glossary from Python: for each term a translation, or several alternatives.

        Raises:
            DataError: a side is empty.
        """
        return cls(
            Term(source, (found,) if isinstance(found, str) else tuple(found))
            for source, found in targets.items()
        )

    def beside(self, others: Iterable[Glossary]) -> Glossary:
        """One glossary of this and others; the first that has a term decides."""
        terms: dict[tuple[str, bool], Term] = {}
        for one in (self, *others):
            terms = {**one._by_source, **terms}
        return Glossary(terms.values(), self.name, self._unit)

    def __len__(self) -> int:
        return len(self.terms)

    def whole(self, source: str) -> Term | None:
        """The term that equals the whole normalised source; None if there are none or several."""
        text = normalize(source)
        found = self._by_source.get((text, True))
        return found or self._by_source.get((fold(text), False))

    def matches(self, source: str) -> list[Match]:
        """The terms in a source, in its order, without overlaps; longer terms win.

        The text is normalised first.
        """
        found = list(self.candidates(normalize(source)))
        return [found[index] for index in longest_apart((one.start, one.end) for one in found)]

    def candidates(self, text: str) -> Iterator[Match]:
        """Every term in a normalised text, even if they overlap; case-sensitive ones first."""
        folded = fold(text)
        for start in range(len(text)):
            for length in range(1, _KEY + 1):
                for key, term in self._buckets.get(folded[start : start + length], ()):
                    end = start + len(key)
                    if (
                        folded.startswith(key, start)
                        and (not term.case_sensitive or text.startswith(term.source, start))
                        and is_whole(text, start, end)
                    ):
                        yield Match(term, start, end)
                if start + length >= len(text):
                    break

    def missing(self, source: str, translation: str) -> list[Match]:
        """The terms of ``source`` that ``translation`` lacks.

        A term that occurs twice must be translated twice. Each word of the translation counts for a
        single term.
        """
        matches = self.matches(source)
        lacking = unmet([match.term.spellings() for match in matches], normalize(translation))
        return [matches[index] for index in lacking]

    def place(self, term: Term) -> str:
        """The origin of a term, such as ``terms.tsv:7``."""
        if not term.line:
            return self.name
        return f"{self.name}:{'' if self._unit == 'line' else self._unit + ' '}{term.line}"

    def _add(self, term: Term) -> None:
        self._check(term)
        key = (term.source if term.case_sensitive else fold(term.source), term.case_sensitive)
        other = self._by_source.setdefault(key, term)
        if set(other.targets) != set(term.targets):
            there, both = "", "in one list"  # for terms from Python
            if other.line:
                there, both = (
                    f" in {self._unit} {other.line}",
                    f"in one {self._unit}, separated by |",
                )
            raise DataError(
                f"{self.place(term)}: {shown(term.source)} is {shown('|'.join(term.targets))}, but "
                f"{shown('|'.join(other.targets))}{there}; leave one of them out, or give both "
                f"{both}"
            )

    def _check(self, term: Term) -> None:
        if not term.source:
            raise DataError(f"{self.place(term)}: the term is empty; give one, or remove the line")
        if not term.targets or not all(term.targets):
            raise DataError(
                f"{self.place(term)}: an empty translation of {shown(term.source)}; give one, or "
                "the flag do-not-translate"
            )
        if term.do_not_translate and term.targets != (term.source,):
            raise DataError(
                f"{self.place(term)}: do-not-translate, but {shown(term.source)} has the "
                f"translation {shown('|'.join(term.targets))}; leave one of them out"
            )


def unmet(
    phrases: Sequence[Sequence[str]], text: str, whole: Sequence[bool] | None = None
) -> list[int]:
    """Indices of the ``phrases`` that ``text`` lacks; an occurrence counts for a single phrase.

    Args:
        phrases: alternatives of each phrase; any of them suffices.
        whole: whether each must begin and end at word boundaries; by default, all must.
    """
    keys = [(tuple(one), whole is None or whole[i]) for i, one in enumerate(phrases)]
    found = {key: _places(text, *key) for key in dict.fromkeys(keys)}
    places = [found[key] for key in keys]
    taken: dict[int, Span] = {}
    vain: set[tuple[tuple[str, ...], bool]] = set()
    # The longest phrases and those with the fewest alternatives choose their places first.
    order = sorted(
        range(len(phrases)), key=lambda i: (-max(map(len, phrases[i])), len(phrases[i]), i)
    )
    for index in order:
        if keys[index] in vain:  # no room for it, so none for an equal phrase
            continue
        if seats := _seats(index, places, taken):
            taken |= seats
        else:
            vain.add(keys[index])
    return [index for index in range(len(phrases)) if index not in taken]


def _places(text: str, alternatives: Sequence[str], whole: bool) -> list[Span]:
    """All positions of the alternatives, the longest first."""
    longest_first = sorted(alternatives, key=len, reverse=True)
    return [span for one in longest_first for span in occurrences(text, one, whole=whole)]


def _seats(
    index: int, places: Sequence[Sequence[Span]], taken: Mapping[int, Span]
) -> dict[int, Span]:
    """A place for one more phrase, and new places for the phrases that make room for it.

    It is an augmenting path of a bipartite matching, searched breadth first, or empty if none
    exists.
    """
    successors: dict[int, tuple[int, Span]] = {}  # new holder of a place, and the place
    holders = {span: phrase for phrase, span in taken.items()}
    waiting, seen = deque([index]), set[Span]()
    while waiting:
        phrase = waiting.popleft()
        for span in places[phrase]:
            if span in seen:
                continue
            seen.add(span)
            there = (
                [holders[span]]
                if span in holders  # places do not overlap, so no other phrase is here
                else [
                    other
                    for other, held in taken.items()
                    if other != phrase and not _apart(span, held)
                ]
            )
            if not there:
                moves = {phrase: span}
                mover = phrase
                while mover != index:
                    mover, place = successors[mover]
                    moves[mover] = place
                if all(_apart(*two) for two in combinations(moves.values(), 2)):
                    return moves
            elif len(there) == 1 and there[0] not in successors:
                successors[there[0]] = phrase, span
                waiting.append(there[0])
    return {}


def _apart(one: Span, other: Span) -> bool:
    return one[1] <= other[0] or other[1] <= one[0]


def _normalised(term: Term) -> Term:
    targets = tuple(dict.fromkeys(map(normalize, term.targets)))
    return Term(
        normalize(term.source), targets, term.case_sensitive, term.do_not_translate, term.line
    )
