"""The reliability of a system's confidences, as a table and a diagram."""

from __future__ import annotations

from pathlib import Path

from dragoman.core.files import atomic_write
from dragoman.core.text_tables import markdown_table
from dragoman.evaluation.reliability import Bin, Reliability


def table(found: Reliability) -> str:
    """The figures, then Markdown with a row for each bin that has lines."""
    low, high = found.calibration_error_interval
    auc = "-"
    if found.auc is not None and found.auc_interval is not None:
        auc = f"{found.auc:.3f} (95 %: {found.auc_interval[0]:.3f} to {found.auc_interval[1]:.3f})"
    lines = [
        f"{found.lines:,} lines: {found.right:.1%} right, mean confidence {found.confidence:.1%}",
        f"expected calibration error: {found.calibration_error:.3f} "
        f"(95 %: {low:.3f} to {high:.3f}; {found.error_by_chance:.3f} by chance alone)",
        f"Brier score: {found.brier:.3f}",
        f"AUC: {auc}",
        "",
        markdown_table(
            ["confidence", "lines", "mean", "right", "95 %"],
            [_cells(one) for one in found.bins if one.lines],
            "lrrrl",
        ),
    ]
    return "\n".join(lines)


def _cells(one: Bin) -> list[str]:
    assert one.right is not None and one.interval is not None, "it has lines"
    low, high = one.interval
    return [
        f"{one.lower:.1f} to {one.upper:.1f}",
        f"{one.lines:,}",
        f"{one.confidence:.2f}",
        f"{one.right:.2f}",
        f"{low:.2f} to {high:.2f}",
    ]


def draw(found: Reliability, right: str, path: Path) -> None:
    """Write the reliability diagram (SVG).

    Args:
        found: confidences, and whether each line was right.
        right: criterion for a right translation.
        path: the file.
    """
    from dragoman.workflows.reports.figures import to_svg
    from dragoman.workflows.reports.plots import reliability_diagram

    title = f"{right}; calibration error {found.calibration_error:.3f}"
    picture = to_svg(reliability_diagram(found, title), text_as_paths=True)
    with atomic_write(path) as stream:
        stream.write(picture)
