"""What a translator gives: translations, scores of given ones, and attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor


@dataclass(frozen=True)
class Translation:
    """One translation of a line."""

    text: str
    """The translation; empty for an empty line, and for one that was refused."""

    score: float
    """Log-probability over length penalty, and coverage penalty: the higher, the better."""

    log_probability: float
    """Natural logarithm of the model's probability of these pieces and the end."""

    pieces: list[str]
    """The pieces that ``text`` was put together from."""

    ended: bool
    """False where the length limit cut the translation off."""

    refused: str | None = None
    """Why the line was not translated: which one it is, how much too long, and what to do."""


class Scored(NamedTuple):
    """How likely a given translation is."""

    log_probability: float
    """Natural logarithm of its probability, the end counted."""

    tokens: int
    """Target pieces, the end counted: ``exp(-log_probability / tokens)`` is the perplexity."""


class Attention(NamedTuple):
    """Where a model looks in the source while it writes each target piece."""

    weights: Tensor
    """``(layers, heads, target, source)``; over the source they sum to one."""

    target: list[str]
    """Target pieces, the end among them."""

    source: list[str]
    """Source pieces, the end among them."""

    text: str
    """What the target pieces were split from."""


def total(lines: Sequence[Scored]) -> Scored:
    """Log-probability and number of tokens of all lines together."""
    return Scored(sum(line.log_probability for line in lines), sum(line.tokens for line in lines))
