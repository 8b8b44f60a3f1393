"""Forms of address in German lines: "du", "Sie", or the old-fashioned polite "Ihr"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_FAMILIAR = re.compile(r"\b(?:du|dich|dir|dein(?:e[mnrs]?)?)\b", re.IGNORECASE)
# Capital letters count only within a sentence, where "sie" (she, they) and "ihr" (her, you) have
# small ones: after a word or a comma.
_WITHIN = r"(?<=[\w,] )"
_POLITE = re.compile(rf"{_WITHIN}(?:Sie|Ihnen)\b")
_OLD = re.compile(rf"{_WITHIN}(?:Ihr|Euch|Euer|Eure[mnrs]?)\b")


class Forms(NamedTuple):
    """Shares of lines in per cent; a line may count in several."""

    familiar: float
    """With a form of "du"."""
    polite: float
    """With "Sie" or "Ihnen", capital within a sentence."""
    old: float
    """With "Ihr", "Euch" or "Euer", capital within a sentence; "Ihr" may be polite "Sie", too."""


def forms(lines: Sequence[str]) -> Forms:
    """How lines address their reader; all 0 if there are none."""

    def share(pattern: re.Pattern[str]) -> float:
        found = sum(pattern.search(line) is not None for line in lines)
        return 100 * found / max(1, len(lines))

    return Forms(share(_FAMILIAR), share(_POLITE), share(_OLD))


def changed(lines: Sequence[str], others: Sequence[str]) -> float:
    """Share of lines that differ from their counterparts, in per cent; equally many of both."""
    differing = sum(one != other for one, other in zip(lines, others, strict=True))
    return 100 * differing / max(1, len(lines))
