"""Scores by confidence and by length of the source, as tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.text_tables import markdown_table
from dragoman.evaluation.lengths import Bucket
from dragoman.evaluation.metrics import Score
from dragoman.evaluation.reliability import Bin, Reliability


def reliability_table(reliability: Reliability) -> str:
    """The figures, then Markdown with a row for each bin that has lines."""
    low, high = reliability.calibration_error_interval
    auc = "-"
    if reliability.auc is not None and reliability.auc_interval is not None:
        least, most = reliability.auc_interval
        auc = f"{reliability.auc:.3f} (95 %: {least:.3f} to {most:.3f})"
    lines = [
        f"{reliability.lines:,} lines: {reliability.right:.1%} right, "
        f"mean confidence {reliability.confidence:.1%}",
        f"expected calibration error: {reliability.calibration_error:.3f} "
        f"(95 %: {low:.3f} to {high:.3f}; {reliability.error_by_chance:.3f} by chance alone)",
        f"Brier score: {reliability.brier:.3f}",
        f"AUC: {auc}",
        "",
        markdown_table(
            ["confidence", "lines", "mean", "right", "95 %"],
            [_bin_cells(bucket) for bucket in reliability.bins if bucket.lines],
            "lrrrl",
        ),
    ]
    return "\n".join(lines)


def _bin_cells(bucket: Bin) -> list[str]:
    assert bucket.right is not None and bucket.interval is not None, "it has lines"
    low, high = bucket.interval
    return [
        f"{bucket.lower:.1f} to {bucket.upper:.1f}",
        f"{bucket.lines:,}",
        f"{bucket.confidence:.2f}",
        f"{bucket.right:.2f}",
        f"{low:.2f} to {high:.2f}",
    ]


def draw_reliability(reliability: Reliability, right: str, path: Path) -> None:
    """Write the reliability diagram (SVG); ``right`` is the criterion for a right translation."""
    from dragoman.workflows.reports.figures import write_picture
    from dragoman.workflows.reports.plots import reliability_diagram

    title = f"{right}; calibration error {reliability.calibration_error:.3f}"
    write_picture(reliability_diagram(reliability, title), path, text_as_paths=True)


def system_names(files: Sequence[Path]) -> list[str]:
    """Names for the systems that wrote these files: file names without suffix, if they differ.

    For example, ``translations/recurrent.test2016`` becomes recurrent.
    """
    stems = [file.stem for file in files]
    return stems if len(set(stems)) == len(stems) else [str(file) for file in files]


def source_lengths(sources: Sequence[str], model: Path | None) -> list[int]:
    """The length of each source in words, or in source pieces of a model or run."""
    if model is None:
        return [len(source.split()) for source in sources]
    from dragoman.text.vocabularies import Vocabularies

    return [len(ids) for ids in Vocabularies.load(model).source.encode_batch(sources)]


@dataclass(frozen=True)
class LengthReport:
    """Scores of several systems by the length of the source."""

    unit: str
    """The unit of lengths."""
    buckets: list[Bucket]

    def table(self) -> str:
        """Markdown: a row per bucket, a column per system."""
        names = list(self.buckets[0].scores)
        score = self.buckets[0].scores[names[0]]
        every = (value for bucket in self.buckets for value in bucket.scores.values())
        interval = ", 95% intervals" if any(value.confidence for value in every) else ""
        head = [f"{self.unit} in the source", "sentences", *names]
        rows = (
            [str(bucket), f"{bucket.sentences:,}", *map(_cell, bucket.scores.values())]
            for bucket in self.buckets
        )
        table = markdown_table(head, rows, "l" + "r" * (len(head) - 1))
        return f"{score.name}{interval} [{score.signature}]\n\n{table}"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"unit": self.unit, "rows": [bucket.to_json() for bucket in self.buckets]}

    def draw(self, path: Path) -> None:
        """Write the table as a picture (SVG)."""
        from dragoman.workflows.reports.figures import write_picture
        from dragoman.workflows.reports.plots import length_picture

        write_picture(length_picture(self.buckets, self.unit), path, text_as_paths=True)


def _cell(score: Score) -> str:
    margin = f" ± {score.confidence.margin:.1f}" if score.confidence else ""
    return f"{score.value:.1f}{margin}"
