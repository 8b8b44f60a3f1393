"""Several recipes on one budget, scored on one test set, as in the paper's Tables 2 and 3."""

from __future__ import annotations

from dragoman.workflows.compare.comparison import Comparison, Contest
from dragoman.workflows.compare.plan import Budget

__all__ = ["Budget", "Comparison", "Contest"]
