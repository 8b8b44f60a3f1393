"""Reading a whole text for the facts that matter to its model."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from dragoman.core.errors import DataError
from dragoman.text.corpora.cleaning import CleaningConfig, clean, held_out_keys, normalize
from dragoman.text.corpora.cleaning_report import CleaningReport
from dragoman.text.corpora.corpus import part_labels, read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.reservoir import Reservoir
from dragoman.text.scripts import script_shares
from dragoman.workflows.text_features import EXAMINED_PAIRS, TextFeatures

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
    features: TextFeatures = field(default_factory=TextFeatures)
    """Strings of programs and short lines, in a sample."""

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
    parts: Sequence[CorpusPart],
    languages: tuple[str, str],
    held_out: list[list[Pair]],
    keep: Callable[[Pair], object] = lambda _: None,
) -> tuple[Facts, list[Pair]]:
    """Read the training text once.

    Args:
        parts: of one direction, or of several.
        languages: of the sources and the targets, for reports.
        held_out: pairs of the dev and of the test set, which the training text must not repeat.
        keep: called with every filled pair, normalised, that repeats none of them.

    Returns:
        The facts, and a sample of the pairs that cleaning keeps.
    """
    keys = frozenset[int]().union(*map(held_out_keys, held_out))
    report = CleaningReport()
    sample: Reservoir[Pair] = Reservoir(SAMPLE_PAIRS, seed=1)
    sides = _Characters(), _Characters()

    def filled(part: CorpusPart) -> Iterator[Pair]:
        for pair in read_pairs(part):
            tidy = Pair(normalize(pair.source), normalize(pair.target), pair.line)
            if tidy.source and tidy.target and keys.isdisjoint(held_out_keys([tidy])):
                keep(tidy)
            yield pair

    dropped: Counter[str] = Counter()
    for label, part in zip(part_labels(parts), parts, strict=True):
        cleaned = clean(filled(part), CleaningConfig(), report, part=label, held_out=keys)
        for pair in cleaned:
            sample.add(pair)
            for side, text in zip(sides, pair[:2], strict=True):
                side.counts.update(text)
        for reason, finding in report.part(label).dropped.items():
            dropped[reason] += finding.count
    source, target = (side.side(language) for side, language in zip(sides, languages, strict=True))
    dev, test = map(len, held_out)
    features = TextFeatures.of(
        (pair.source, pair.target, f"line {pair.line}") for pair in sample.items[:EXAMINED_PAIRS]
    )
    facts = Facts(report.kept, report.read, dict(dropped), source, target, dev, test, features)
    return facts, sample.items


BLOCK_PAIRS = 10
"""Lines per block: neighbours are often similar, so they go to the same set."""


MOST_DEV_PAIRS, MOST_TEST_PAIRS = 500, 1000
"""A larger set would cost time in every validation and hardly be more informative."""


_FEWEST_PAIRS = 100  # of each set, if an eighth of the text is as much


_SMALLEST_TEXT = 8 * BLOCK_PAIRS


def held_out_sizes(pairs: int) -> tuple[int, int]:
    """Pairs of the dev and the test set of a text: a twentieth each, within bounds."""
    wanted = max(_FEWEST_PAIRS, pairs // 20)
    return tuple(min(most, wanted, pairs // 8) for most in (MOST_DEV_PAIRS, MOST_TEST_PAIRS))  # type: ignore[return-value]


def chained(parts: Sequence[CorpusPart]) -> Iterator[Pair]:
    """The pairs of all parts, numbered throughout if there are several parts."""
    if len(parts) == 1:
        return read_pairs(parts[0])
    pairs = (pair for part in parts for pair in read_pairs(part))
    return (pair._replace(line=number) for number, pair in enumerate(pairs, 1))


def name_of(parts: Sequence[CorpusPart]) -> str:
    """The parts in messages."""
    return parts[0].name if len(parts) == 1 else f"{parts[0].name} and {len(parts) - 1} more"


def hold_out(
    parts: Sequence[CorpusPart], *, dev: list[Pair] | None, test: list[Pair] | None, seed: int = 1
) -> tuple[list[Pair], list[Pair]]:
    """Draw blocks of neighbouring pairs for the sets that are not given.

    Only pairs that cleaning keeps are drawn, and none whose source or target is also in the other
    set.  Memory use does not grow with the text.

    Args:
        seed: the same text and seed give the same sets.

    Returns:
        The dev and the test set, in the order of the text.
    """
    given = held_out_keys([*(dev or ()), *(test or ())])
    report = CleaningReport()
    drawn: Reservoir[list[Pair]] = Reservoir(
        (MOST_DEV_PAIRS + MOST_TEST_PAIRS) // BLOCK_PAIRS, seed
    )
    kept = clean(chained(parts), CleaningConfig(), report, held_out=given)
    while block := list(islice(kept, BLOCK_PAIRS)):
        drawn.add(block)
    if report.kept < _SMALLEST_TEXT:
        raise DataError(
            f"{name_of(parts)}: {report.kept} of {report.read} pairs remain after cleaning, too "
            f"few to split dev and test sets off; give at least {_SMALLEST_TEXT}"
        )
    blocks = drawn.items
    random.Random(seed).shuffle(blocks)
    dev_size, test_size = held_out_sizes(report.kept)
    blocks_left = iter(blocks)
    if test is None:
        test = list(_filled_up(blocks_left, test_size))
    if dev is None:
        keys = held_out_keys(test)
        fresh = (
            [pair for pair in block if keys.isdisjoint(held_out_keys([pair]))]
            for block in blocks_left
        )
        dev = list(_filled_up(fresh, dev_size))
    return dev, test


def hold_out_alike(
    parts: Sequence[CorpusPart], sets: tuple[list[Pair], list[Pair]]
) -> tuple[list[Pair], list[Pair]] | None:
    """The pairs whose sources are in the dev and test sets of another direction.

    So that a project's strings are kept out of training in all directions alike.

    Returns:
        The dev and the test set, or None if fewer than half of them have such pairs.
    """
    dev, test = (frozenset(pair.source.casefold() for pair in pairs) for pairs in sets)
    found: tuple[list[Pair], list[Pair]] = [], []
    for pair in clean(chained(parts), CleaningConfig(), CleaningReport()):
        source = pair.source.casefold()
        if source in test:
            found[1].append(pair)
        elif source in dev:
            found[0].append(pair)
    enough = all(2 * len(mine) >= len(theirs) for mine, theirs in zip(found, sets, strict=True))
    return found if enough else None


def _filled_up(blocks: Iterator[list[Pair]], size: int) -> list[Pair]:
    """Whole blocks until there are ``size`` pairs."""
    pairs: list[Pair] = []
    while len(pairs) < size and (block := next(blocks, None)) is not None:
        pairs += block
    return sorted(pairs, key=lambda pair: pair.line)
