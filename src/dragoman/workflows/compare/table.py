"""A comparison as a readable table, and its files."""

from __future__ import annotations

import logging
from pathlib import Path

from dragoman.core.errors import MissingExtraError
from dragoman.core.files import atomic_write, write_json
from dragoman.core.text_tables import markdown_table
from dragoman.evaluation.metrics import Score
from dragoman.workflows.compare.comparison import Comparison, ComparisonRow

log = logging.getLogger(__name__)

JSON_FILE, TABLE_FILE, PICTURE_FILE = "comparison.json", "comparison.md", "comparison.svg"


def write_comparison(comparison: Comparison, output: Path) -> list[Path]:
    """Write figures, table and picture; the last only if matplotlib is installed."""
    write_json(output / JSON_FILE, comparison.to_json())
    with atomic_write(output / TABLE_FILE) as stream:
        stream.write(table(comparison) + "\n")
    paths = [output / JSON_FILE, output / TABLE_FILE]
    try:
        from dragoman.workflows.reports.figures import write_picture
        from dragoman.workflows.reports.plots import comparison_picture

        picture = comparison_picture(comparison.to_json())
        write_picture(picture, output / PICTURE_FILE, text_as_paths=True)
        paths.append(output / PICTURE_FILE)
    except MissingExtraError as error:
        log.warning("no picture was drawn: %s", error)
    return paths


def table(comparison: Comparison) -> str:
    """Markdown: the common properties of the rows, the method of measurement, and the rows."""
    metrics = [score.name for score in comparison.rows[0].scores]
    first, *others = metrics
    head = [
        "system",
        f"{first} (95 %)",
        f"{first} to the first (p)",
        *others,
        "perplexity",
        "parameters",
        "steps",
        "target tokens",
        "FLOPs, counted",
        "FLOPs, time x peak",
        "training tokens/s",
        "sentences/s",
    ]
    rows = markdown_table(head, map(_cells, comparison.rows), "l" + "r" * (len(head) - 1))
    machine = comparison.machine
    peaks = ", ".join(
        f"{precision} products at {peak / 1e9:,.0f} GFLOP/s"
        for precision, peak in machine.peaks.items()
    )
    signatures = "; ".join(score.signature for score in comparison.rows[0].scores)
    notes = (
        f"{comparison.sentences:,} sentences of {comparison.test}; {comparison.budget}, one seed "
        f"each. {machine.device}, {machine.threads} threads, {peaks}. p by paired approximate "
        f"randomisation, * below 0.05, for each row by itself. "
        f"Perplexity is per piece of the references and comparable only within one vocabulary. "
        f"{signatures}"
    )
    return f"{notes}\n\n{rows}"


def _cells(row: ComparisonRow) -> list[str]:
    first, *others = row.scores
    tokens = row.speed.tokens_per_second
    return [
        row.name,
        _with_interval(first),
        _difference(row),
        *(f"{score.value:.2f}" for score in others),
        f"{row.perplexity:.2f}",
        f"{row.parameters / 1e6:.2f} M",
        f"{row.steps:,}",
        f"{row.target_tokens / 1e6:.1f} M",
        f"{row.flops:.2e}",
        f"{row.estimated_flops:.2e}",
        "" if tokens is None else f"{tokens:,.0f}",
        f"{row.speed.sentences_per_second:,.0f}",
    ]


def _with_interval(score: Score) -> str:
    margin = f" ± {score.confidence.margin:.2f}" if score.confidence else ""
    return f"{score.value:.2f}{margin}"


def _difference(row: ComparisonRow) -> str:
    if not row.differences:
        return ""
    difference = row.differences[0]
    star = "*" if difference.is_significant() else ""
    return f"{difference.difference:+.2f}{star} ({difference.p_value:.3f})"
