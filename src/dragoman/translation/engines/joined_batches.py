"""Sentences of several batches that are searched for together, and put back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dragoman.search import Hypothesis
from dragoman.translation.engines.engine import SourceBatch


class SearchedSentence(NamedTuple):
    """A sentence of a searched batch."""

    batch: SourceBatch
    found: list[list[Hypothesis]]
    """Of the batch."""
    place: int

    @property
    def alone(self) -> SourceBatch:
        """The sentence as a batch."""
        return self.batch.chosen([self.place])


def replace_hypotheses(
    sentences: Sequence[SearchedSentence], hypotheses: Iterable[list[Hypothesis]]
) -> None:
    """Replace the hypotheses of some sentences."""
    for sentence, best in zip(sentences, list(hypotheses), strict=True):
        sentence.found[sentence.place] = best


def join_batches(batches: Iterable[SourceBatch], tokens: int) -> Iterator[SourceBatch]:
    """The sentences of several batches, whose outputs have the same demands, in larger batches.

    A batch has at most ``tokens`` padded source pieces, unless a single one of ``batches`` has
    more.
    """
    joined: SourceBatch | None = None
    for batch in batches:
        if not batch.sources:
            continue
        if joined is None:
            joined = batch
            continue
        sources = joined.sources + batch.sources
        alike = (joined.prefixes is None, joined.demands is None) == (
            batch.prefixes is None,
            batch.demands is None,
        )
        if not alike or len(sources) * max(map(len, sources)) > tokens:
            yield joined
            joined = batch
            continue
        joined = SourceBatch(
            joined.numbers + batch.numbers,
            sources,
            None if batch.prefixes is None else (joined.prefixes or []) + batch.prefixes,
            None if batch.demands is None else (joined.demands or []) + batch.demands,
        )
    if joined is not None:
        yield joined
