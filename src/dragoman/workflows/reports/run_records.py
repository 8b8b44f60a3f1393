"""The records that a run writes while it trains."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.evaluation.metric_names import metric_names
from dragoman.evaluation.metrics import metric_named

_ROUND_TRIP = "round_trip"

Records = Sequence[dict[str, Any]]


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records of ``metrics.jsonl``, without a line cut by a crash; empty if it is missing."""
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


def dev_figures() -> list[str]:
    """Figures of a dev set besides loss and perplexity, in the order of reports."""
    return [*metric_names(), _ROUND_TRIP]


def figure_label(figure: str) -> str:
    """The label of a figure of a dev set in reports."""
    if figure == _ROUND_TRIP:
        return "BLEU of round trips"
    return "dev loss" if figure == "loss" else metric_named(figure).label
