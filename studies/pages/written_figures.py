"""Figures as they are written in a table: ``28.86 ± 1.46`` or ``+5.27 [+4.36, +6.16] (0.0001)``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = r"[+-]?\d[\d,]*(?:\.\d+)?"
_FIGURE = re.compile(rf"(?P<value>{_NUMBER})(?: ± (?P<margin>{_NUMBER}))?")
_RANGE = re.compile(rf"\[(?P<low>{_NUMBER}), (?P<high>{_NUMBER})\]")
_LEVEL = 0.05
_P = re.compile(r"\((?:p )?<?(?P<p>0\.\d+)")


@dataclass(frozen=True)
class Figure:
    """A figure, with its 95 % interval and p where these are written beside it."""

    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @property
    def beyond_chance(self) -> bool:
        """Whether a difference is significant at 5 %, by its p or by its interval."""
        if self.p is not None:
            return self.p < _LEVEL
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def read_figure(cell: str) -> Figure | None:
    """The figure that a cell begins with; None if it begins with something else.

    ``±`` is half of an interval, brackets hold both ends, and parentheses p.
    """
    text = cell.replace("**", "")
    if not (found := _FIGURE.match(text)):
        return None
    value = _plain(found["value"])
    low = high = None
    if found["margin"]:
        margin = _plain(found["margin"])
        low, high = value - margin, value + margin
    elif bounds := _RANGE.search(text):
        low, high = _plain(bounds["low"]), _plain(bounds["high"])
    chance = _P.search(text)
    return Figure(value, low, high, float(chance["p"]) if chance else None)


def _plain(written: str) -> float:
    return float(written.replace(",", ""))
