"""Translation through a third language, the pivot: n-best to n-best, the best joint score wins.

Utiyama and Isahara (2007), "A Comparison of Pivot Methods for Phrase-Based Statistical Machine
Translation", section 2 (sentence translation strategy): each of the n best hypotheses in the pivot
language is translated into n hypotheses of the target language, and the sum of the scores of both
legs ranks the pairs.  Johnson et al. (2017, arXiv:1611.04558), section 4.6, translate only the best
hypothesis.  The legs are ordinary searches, independent of each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.core.errors import ConfigError
from dragoman.core.wording import shown
from dragoman.search import SearchConfig
from dragoman.translation.line_stream import Line, TranslatedLine
from dragoman.translation.outputs import Translation

Leg = Callable[[Iterator[Line], Callable[[int], object]], Iterator[TranslatedLine]]
"""Translates lines, and reports progress to a function."""


def check_ranks(config: SearchConfig) -> None:
    """Check that a search can be a leg: joint scores rank the hypotheses of both.

    Raises:
        ConfigError: it samples or minimises Bayes risk.
    """
    if config.mbr is not None:
        raise ConfigError(
            "mbr: through a pivot the best joint score decides, and expected utilities have none; "
            "leave it out"
        )
    if config.sampling is not None:
        raise ConfigError(
            "sampling: through a pivot the best joint score decides, and samples have none; leave "
            "it out"
        )


@dataclass(frozen=True, kw_only=True)
class _FirstLine(Line):
    """A line for the first leg, whose hypotheses must contain only its copied strings."""

    whole: Line
    """The line with the prefix and terms of its final translation."""

    @classmethod
    def of(cls, line: Line) -> _FirstLine:
        """A line without the requirements of the second leg."""
        copied = None if line.demands is None else line.demands.copied()
        return cls(line.text, "", line.number, line.given, copied, whole=line)


@dataclass(frozen=True, kw_only=True)
class _PivotLine(Line):
    """A hypothesis in the pivot language, as the second leg translates it."""

    first: TranslatedLine
    """The line and its hypotheses in the pivot language, without repetitions."""
    is_last: bool
    """Whether this is the last of the line's hypotheses."""


class PivotStream:
    """Translates lines as they come, through hypotheses in the pivot language.

    Args:
        into: translates into the pivot language.
        onward: translates from it.
        nbest: maximum number of translations of a line.
        progress: called with the number of lines translated so far.
    """

    def __init__(
        self, into: Leg, onward: Leg, nbest: int, progress: Callable[[int], object]
    ) -> None:
        self._into, self._onward = into, onward
        self._nbest, self._progress = nbest, progress
        self._ends: deque[int] = deque()  # how many hypotheses there are up to each line's last
        self._hypotheses = self._done = 0

    def run(self, lines: Iterator[Line]) -> Iterator[TranslatedLine]:
        """Each line with its translations, in order.

        If reading ``lines`` fails, the lines before the failure are translated first.
        """
        of_line: list[list[Translation]] = []
        for pivot, translations in self._onward(self._read(lines), self._report):
            assert isinstance(pivot, _PivotLine), "as they were read"
            of_line.append(translations)
            if pivot.is_last:
                line, pivots = pivot.first
                yield TranslatedLine(line, joined(pivots, of_line)[: self._nbest])
                of_line = []

    def _read(self, lines: Iterator[Line]) -> Iterator[_PivotLine]:
        """Hypotheses in the pivot language, at least one of each line, which may be empty.

        Each keeps the number of its line, which errors report, and the prefix and the terms of its
        translation.
        """
        for line, translations in self._into(map(_FirstLine.of, lines), lambda _: None):
            assert isinstance(line, _FirstLine), "as they were given"
            first = TranslatedLine(line.whole, distinct(translations))
            self._hypotheses += len(first.translations)
            self._ends.append(self._hypotheses)
            for place, pivot in enumerate(first.translations, 1):
                yield _PivotLine(
                    pivot.text,
                    line.whole.prefix,
                    line.number,
                    line.given,
                    line.whole.demands,
                    first=first,
                    is_last=place == len(first.translations),
                )

    def _report(self, hypotheses: int) -> None:
        """Report the lines that are done when this many hypotheses are translated."""
        before = self._done
        while self._ends and self._ends[0] <= hypotheses:
            self._ends.popleft()
            self._done += 1
        if self._done > before:
            self._progress(self._done)


def distinct(hypotheses: Sequence[Translation]) -> list[Translation]:
    """Hypotheses without repeated texts (the first is the best); empty ones only if alone.

    Pieces may spell a text in several ways.  An empty hypothesis has nothing to translate: its
    translation would cost nothing, and win.
    """
    by_text: dict[str, Translation] = {}
    for one in hypotheses:
        by_text.setdefault(one.text, one)
    return [one for one in by_text.values() if one.text.strip()] or [hypotheses[0]]


def joined(
    pivots: Sequence[Translation], found: Sequence[Sequence[Translation]]
) -> list[Translation]:
    """Translations of a line by their joint score, best first, each text once.

    Translations that lack a term, or invent something, come after all others.  If the line was
    refused, or all of its hypotheses, a refusal is the only one.

    The joint score is the sum of the scores that the two searches rank by: log-probabilities, each
    divided by its own length penalty.  Of pairs with the same translation the best pair counts,
    rather than their sum over pivots, since normalised scores are no probabilities.

    Args:
        pivots: hypotheses in the pivot language, or one refusal of the line.
        found: translations of each of them, best first.
    """
    if pivots[0].refused is not None:
        return [pivots[0]]
    best: dict[str, Translation] = {}
    for pivot, translations in zip(pivots, found, strict=True):
        for one in translations:
            if one.refused is not None:
                continue
            pair = replace(
                one,
                score=pivot.score + one.score,
                log_probability=pivot.log_probability + one.log_probability,
                ended=pivot.ended and one.ended,
                pivot=pivot.text,
                confidence=None,  # the second leg's ignores the first
                faults=tuple(dict.fromkeys((*pivot.faults, *one.faults))),
            )
            if one.text not in best or pair.score > best[one.text].score:
                best[one.text] = pair
    if not best:
        (refusal, *_), pivot = found[0], pivots[0]
        reason = f"{refusal.refused}; this is its translation into the pivot language, "
        return [replace(refusal, refused=f"{reason}{shown(pivot.text)}", pivot=pivot.text)]
    return sorted(best.values(), key=_rank)


def _rank(pair: Translation) -> tuple[int, float, str]:
    return len(pair.missing or ()) + len(pair.invented or ()), -pair.score, pair.text
