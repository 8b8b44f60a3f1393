"""Reading a whole text for the facts that matter to its model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dragoman.text.corpora.cleaning import CleaningConfig, clean, held_out_keys, normalize
from dragoman.text.corpora.cleaning_report import CleaningReport
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.reservoir import Reservoir
from dragoman.text.scripts import script_shares

SAMPLE_PAIRS = 50_000
"""Pairs that are encoded to measure lengths and speed."""


@dataclass(frozen=True)
class Side:
    """One language of a text."""

    language: str
    scripts: dict[str, float]
    """Scripts with their shares of the letters, by Unicode name, largest first."""
    characters: int
    """Number of different characters."""
    length: int
    """Total number of characters."""


@dataclass(frozen=True)
class Facts:
    """Facts about the pairs that training would see."""

    pairs: int
    """Pairs that cleaning keeps."""
    read: int
    """Pairs that were read."""
    dropped: dict[str, int]
    """Pairs left out by reason, except those split off."""
    source: Side
    target: Side
    dev_pairs: int
    test_pairs: int

    @property
    def mean_length(self) -> float:
        """Mean characters per target sentence."""
        return self.target.length / max(1, self.pairs)


@dataclass
class _Characters:
    """Counts the characters of one side."""

    counts: Counter[str] = field(default_factory=Counter)

    def side(self, language: str) -> Side:
        return Side(
            language, script_shares(self.counts), len(self.counts), sum(self.counts.values())
        )


def look_at(
    part: CorpusPart,
    languages: tuple[str, str],
    held_out: list[list[Pair]],
    keep: Callable[[Pair], object] = lambda _: None,
) -> tuple[Facts, list[Pair]]:
    """Read the training text once.

    Args:
        part: the text.
        languages: of source and target.
        held_out: pairs of the dev and of the test set, which the training text must not repeat.
        keep: called with every filled pair, normalised, that repeats none of them.

    Returns:
        The facts, and a sample of the pairs that cleaning keeps.
    """
    keys = frozenset[int]().union(*map(held_out_keys, held_out))
    report = CleaningReport()
    sample: Reservoir[Pair] = Reservoir(SAMPLE_PAIRS, seed=1)
    sides = _Characters(), _Characters()

    def filled() -> Iterator[Pair]:
        for pair in read_pairs(part):
            tidy = Pair(normalize(pair.source), normalize(pair.target), pair.line)
            if tidy.source and tidy.target and keys.isdisjoint(held_out_keys([tidy])):
                keep(tidy)
            yield pair

    pairs = filled()
    for pair in clean(pairs, CleaningConfig(), report, part=part.name, held_out=keys):
        sample.add(pair)
        for side, text in zip(sides, pair[:2], strict=True):
            side.counts.update(text)
    dropped = {reason: finding.count for reason, finding in report.part(part.name).dropped.items()}
    source, target = (side.side(language) for side, language in zip(sides, languages, strict=True))
    dev, test = map(len, held_out)
    return Facts(report.kept, report.read, dropped, source, target, dev, test), sample.items
