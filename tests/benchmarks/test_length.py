"""Where two curves of cost cross, and which rows the published table has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # its programs name one another like this

from length import Cost, crossing, table  # noqa: E402
from pictures import COST  # noqa: E402


def test_curves_cross_between_measured_lengths() -> None:
    """Costs of ``length`` and of a constant 300 cross at 300, whatever was measured around it."""
    lengths = (64, 128, 256, 512, 1024)
    linear = [(length, float(length)) for length in lengths]
    constant = [(length, 300.0) for length in lengths]
    assert crossing(linear, constant) == "300"
    assert crossing(linear, [(length, 1.0) for length in lengths]) == "below 64"
    assert crossing(constant, linear) == "above 1,024"  # cheaper only when short


def test_the_last_crossing_counts() -> None:
    """A kind that is cheaper by chance at a short length pays only where it stays cheaper."""
    full = [(64, 10.0), (128, 10.0), (256, 20.0), (512, 40.0)]
    other = [(64, 9.0), (128, 20.0), (256, 20.0), (512, 20.0)]
    assert crossing(full, other) == "256"


def test_what_costs_more_at_the_end_pays_nowhere() -> None:
    full = [(64, 10.0), (128, 10.0), (256, 10.0)]
    assert crossing(full, [(64, 20.0), (128, 5.0), (256, 20.0)]) == "above 256"


def test_the_picture_reads_the_table_that_is_printed() -> None:
    rows = table({"window of 129": {8192: Cost(81.0, 1234.0, 2**30)}})
    assert COST.findall("\n".join(rows)) == [("window of 129", "8,192", "81", "1,234", "1.00")]


@pytest.mark.parametrize("document", ["scaling.md"])
def test_the_published_table_is_readable(document: str) -> None:
    text = (BENCHMARKS.parent / "docs" / document).read_text(encoding="utf-8")
    rows = COST.findall(text.split("## Cost against length", 1)[1])
    assert {kind for kind, *_ in rows} == {"full", "window of 129", "strided, 64", "linear"}
