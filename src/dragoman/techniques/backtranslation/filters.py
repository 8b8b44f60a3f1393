"""Selection of synthetic pairs for training: the recipe's cleaning, and the best by score."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.core.errors import DataError
from dragoman.recipe import ExperimentConfig
from dragoman.techniques.backtranslation.parts import held_out, synthetic_cleaning
from dragoman.techniques.backtranslation.selection_reports import PairReport, write_report
from dragoman.text.corpora.cleaning import CleaningReport, clean
from dragoman.text.formats import Pair
from dragoman.text.lines import read_lines, write_text

WORST = "low score"
"""The reason for dropping pairs with the lowest scores."""


def filter_pairs(
    corpus: Path,
    learner: ExperimentConfig,
    output: Path,
    *,
    drop_worst: float,
    limit: int | None,
) -> PairReport:
    """Write the pairs that are fit for training; each keeps its origin.

    Cleaning is that of the recipe: length ratio, identical sides, duplicates and so on.

    Args:
        corpus: JSON lines with ``source``, ``target`` and ``score``.
        learner: recipe of the model that learns from them.
        output: file to write; the report is written beside it.
        drop_worst: share of the cleaned pairs with the lowest scores to drop.
        limit: maximum number of pairs; further pairs with the lowest scores are also dropped.

    Raises:
        DataError: nothing is left.
    """
    cleaned = CleaningReport()
    scores = np.array([row["score"] for row in _clean(corpus, learner, cleaned)], dtype=np.float64)
    part = cleaned.part(corpus.name)
    report = PairReport(part.read, 0, {name: one.count for name, one in part.dropped.items()})
    worst = int(round(drop_worst * len(scores), 6))  # 0.29 of 100 are 29
    if limit is not None:
        worst = max(worst, len(scores) - limit)
    dropped = set(np.argsort(scores, kind="stable")[:worst].tolist())
    if dropped:
        report.dropped[WORST] = len(dropped)
    report.kept = len(scores) - len(dropped)
    if not report.kept:
        raise DataError(f"{corpus}: {report}; train a better reverse model, or filter less")
    with write_text(output) as stream:
        for number, row in enumerate(_clean(corpus, learner, CleaningReport())):
            if number not in dropped:
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    write_report(output, report)
    return report


def _clean(
    corpus: Path, learner: ExperimentConfig, report: CleaningReport
) -> Iterator[dict[str, Any]]:
    """The rows whose pairs pass cleaning, unchanged."""
    waiting: deque[tuple[int, dict[str, Any]]] = deque()

    def pairs() -> Iterator[Pair]:
        for number, line in enumerate(read_lines(corpus), 1):
            row = json.loads(line)
            waiting.append((number, row))
            yield Pair(row["source"], row["target"], number)

    kept = clean(
        pairs(),
        synthetic_cleaning(learner),
        report,
        part=corpus.name,
        held_out=held_out(learner),
    )
    for pair in kept:
        while (found := waiting.popleft())[0] != pair.line:
            pass  # dropped
        yield found[1]
