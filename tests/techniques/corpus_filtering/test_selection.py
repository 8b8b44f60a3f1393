"""The best pairs are kept, in their order, and the report says what became of the others."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, DataError
from dragoman.techniques.corpus_filtering.scored_corpus import ScoredCorpus
from dragoman.techniques.corpus_filtering.selection import Threshold, kept_numbers, select

SCORED = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9]), st.booleans()), min_size=1)


@given(SCORED, st.floats(0.01, 1))
def test_a_share_is_of_the_best(scored: list[tuple[float, bool]], keep: float) -> None:
    scores, fit = (np.array(column) for column in zip(*scored, strict=True))
    kept = kept_numbers(scores, fit, Threshold(keep=keep)).tolist()
    assert kept == sorted(kept)
    assert all(fit[number] for number in kept)
    wanted = int(round(keep * len(scored), 6))
    assert len(kept) == min(wanted, int(fit.sum()))
    others = [number for number in range(len(scored)) if fit[number] and number not in kept]
    for one in kept:
        assert all((-scores[one], one) < (-scores[other], other) for other in others)


@given(SCORED, st.sampled_from([0.0, 0.1, 0.15, 0.5, 0.95]))
def test_a_score_must_be_exceeded(scored: list[tuple[float, bool]], above: float) -> None:
    scores, fit = (np.array(column) for column in zip(*scored, strict=True))
    kept = kept_numbers(scores, fit, Threshold(above=above)).tolist()
    assert kept == [n for n, (score, is_fit) in enumerate(scored) if is_fit and score > above]


def test_shares_are_decimal_fractions() -> None:
    scores = np.arange(100) / 100
    kept = kept_numbers(scores, np.ones(100, np.bool_), Threshold(keep=0.29))
    assert len(kept) == 29, "although 0.29 * 100 is less in binary"


def corpus(folder: Path, scores: list[float | None]) -> ScoredCorpus:
    path = folder / "pairs.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        for line, score in enumerate(scores, 1):
            row = {"source": f"s{line}", "target": f"t{line}", "line": line, "score": score or 0.0}
            entropies = {"forward": 1.0, "reverse": float(line)}
            if score is None:
                entropies = dict.fromkeys(entropies)  # type: ignore[assignment]  # as in a file
            row |= {**entropies, "problem": "empty" if score is None else None}
            stream.write(json.dumps(row) + "\n")
    return ScoredCorpus(path, len(scores), None)


def test_the_report(tmp_path: Path) -> None:
    scores = [0.5, None, 0.125, 0.9, 0.25, 0.1, 0.2, 0.3, 0.05, 0.4, 0.45, 0.6, 0.7, 0.8]
    kept: list[dict[str, Any]] = []
    report = select(corpus(tmp_path, scores), Threshold(keep=0.5), kept.append)
    assert [row["line"] for row in kept] == [1, 4, 10, 11, 12, 13, 14]
    assert (report.read, report.kept) == (14, 7)
    assert report.dropped == {"low score": 6, "empty": 1}
    assert (report.lowest_kept, report.forward) == (0.4, 1.0)
    assert report.reverse == pytest.approx((105 - 2) / 13)
    shown = {name: [row["score"] for row in rows] for name, rows in report.examples.items()}
    assert shown == {
        "worst": [0.05, 0.1, 0.125, 0.2, 0.25],
        "last_dropped": [0.3],
        "first_kept": [0.4, 0.45, 0.5, 0.6, 0.7],
    }


@pytest.mark.parametrize(
    ("scores", "threshold", "message"),
    [
        ([0.1, 0.4], Threshold(above=0.5), "highest score is 0.4"),
        ([0.1, 0.4], Threshold(keep=0.4), "less than one"),
        ([None, None], Threshold(keep=0.9), "no pair is fit"),
    ],
)
def test_a_filter_that_leaves_nothing(
    scores: list[float | None], threshold: Threshold, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        select(corpus(tmp_path, scores), threshold, lambda row: None)


def test_one_threshold() -> None:
    for given_values in ({}, {"keep": 0.5, "above": 0.5}):
        with pytest.raises(ConfigError, match="either"):
            Threshold(**given_values)
