"""What a run records while it trains."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

METRIC_NAMES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER",
    "accuracy": "accuracy (%)",
    "macro_f1": "macro-F1 (%)",
    "wrong_language": "wrong language, %",
    "terms": "terms, %",
    "placeholders": "placeholders, %",
    "numbers": "numbers, %",
    "exact_match": "exact match, %",
    "degenerate": "degenerate, %",
    "tag_structure": "tag structure, %",
    "tag_placement": "tag placement, %",
    "bracketing_f1": "bracketing F1",
    "bracketing_recall": "bracketing recall",
    "bracketing_precision": "bracketing precision",
    "complete_match": "complete match, %",
    "tagging_accuracy": "tagging accuracy, %",
    "malformed_trees": "malformed trees, %",
    "round_trip": "BLEU of round trips",
}
"""Figures of a dev set, as they are written in reports."""

Records = Sequence[dict[str, Any]]


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records of ``metrics.jsonl``, without a line cut by a crash; none if missing."""
    records = []
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        try:
            records.append(json.loads(line))
        except (ValueError, RecursionError):
            continue
    return records
