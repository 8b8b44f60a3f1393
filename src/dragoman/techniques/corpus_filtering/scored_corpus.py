"""A corpus with the score of each pair, made shard by shard so that scores are not lost.

A killed process loses its current shards, and the same call resumes after the last finished shard.
Each shard is scored by itself, so its batches, and with them every digit, are those of an
uninterrupted call on the same number of threads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any

from dragoman.core.claims import claimed
from dragoman.core.errors import DataError, UsageError
from dragoman.techniques.corpus_filtering.expected_lengths import ExpectedLengths
from dragoman.techniques.corpus_filtering.pair_scorer import (
    PairScorer,
    ScoredPairs,
    ScoringModels,
    scored_in_order,
)
from dragoman.techniques.host import ShowCount
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.lines import read_lines
from dragoman.text.reservoir import Reservoir
from dragoman.translation.corpus_origin import model_digest
from dragoman.translation.shards import Made, Shards

SHARD_LINES = 4000
_LOCK = ".lock"
_MEASURED = 100_000  # pairs from which usual lengths are learned

Progress = Callable[[int, int], AbstractContextManager[ShowCount]]
"""From the number of pairs done before and that of all pairs to a display of progress."""


def _nobody(done: int, details: Sequence[str] = ()) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class ScoredCorpus:
    """A finished corpus: JSON lines with the keys of :class:`PairScorer`."""

    path: Path
    """The file ``pairs.jsonl.gz``."""
    pairs: int
    """Number of pairs in it, which are all pairs read."""
    tokens_per_second: float | None
    """Target pieces of all models per second in this call; None if nothing was left to do."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """The pairs in the order of the corpus."""
        return (json.loads(line) for line in read_lines(self.path))


def score_corpus(
    models: ScoringModels,
    part: CorpusPart,
    output: Path,
    *,
    lengths: bool = True,
    workers: int = 1,
    shard_lines: int = SHARD_LINES,
    progress: Progress = lambda done, total: nullcontext(_nobody),
) -> ScoredCorpus:
    """Score the pairs of ``part`` into the directory ``output``; the same call resumes.

    Memory does not grow with the corpus.  A finished corpus is returned unchanged.

    Args:
        models: the models that score.
        part: pairs of a source and a target.
        output: directory of ``pairs.jsonl.gz`` and ``origin.json``, which has the digests of models
            and text.
        lengths: whether unusual lengths lower a score; usual lengths are learned from the pairs.
        workers: number of processes that score.
        shard_lines: pairs per shard.
        progress: shows how much is done.
    """
    if shard_lines < 1:
        raise UsageError(f"shard_lines: expected a positive number, found {shard_lines}")
    shards = Shards(output, Made("scored corpus", "score"))
    shards.check_usable()
    total, digest, usual = _measure(part)
    expected = usual if lengths else None
    use = "this directory; wait until it ends, or choose another one"
    speed = None
    with claimed(output / _LOCK, use), closing(PairScorer(models, expected)) as scorer:
        origin = {
            "models": _described(models),
            "settings": scorer.settings,
            "lengths": lengths,
            "languages": None if models.languages is None else list(models.languages),
            "shard_lines": shard_lines,
            "input": {"lines": total, "sha256": digest, "usual_lengths": asdict(usual)},
        }
        if shards.begin(origin) is None:
            pieces = _pieces(part, shard_lines, shards.done)
            with progress(shards.done, total) as count:
                speed = _write(scored_in_order(models, scorer, pieces, workers), shards, count)
            shards.join(origin)
    return ScoredCorpus(shards.path, total, speed)


def _write(scored: Iterator[ScoredPairs], shards: Shards, count: ShowCount) -> float:
    """Write all remaining shards, and return the speed in tokens per second."""
    begun, tokens, speed = monotonic(), 0, 0.0
    for rows, scored_tokens in scored:
        with shards.next(len(rows)) as shard:
            for row in rows:
                shard.add(row)
        tokens += scored_tokens
        speed = tokens / max(monotonic() - begun, 1e-9)
        count(shards.done, (f"{speed:,.0f} target tokens/s",))
    return speed


def _described(models: ScoringModels) -> Mapping[str, Any]:
    """The digests of the models, by role."""
    return {
        name: [model_digest(path) for path in system.models]
        for name, system in models.systems().items()
    }


def _measure(part: CorpusPart) -> tuple[int, str, ExpectedLengths]:
    """The number of pairs, a digest of them, and their usual lengths."""
    content, total, lengths = hashlib.sha256(), 0, Reservoir[tuple[int, int]](_MEASURED, seed=1)
    for pair in read_pairs(part):
        content.update(json.dumps(pair[:3]).encode() + b"\n")
        total += 1
        if pair.source and pair.target:
            lengths.add((len(pair.source), len(pair.target)))
    if not total:
        raise DataError(f"{part.name}: no pairs; give a file with pairs")
    # If a side of every pair is empty, no length is used.
    return total, content.hexdigest(), ExpectedLengths.of(lengths.items or [(1, 1)])


def _pieces(part: CorpusPart, shard_lines: int, done: int) -> Iterator[list[Pair]]:
    """The pairs of each shard after the first ``done`` pairs."""
    pairs = islice(read_pairs(part), done, None)
    while piece := list(islice(pairs, shard_lines)):
        yield piece
