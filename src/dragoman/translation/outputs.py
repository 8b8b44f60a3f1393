"""What a translator returns: translations, scores of given translations, and attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from torch import Tensor


@dataclass(frozen=True)
class Translation:
    """One translation of a line."""

    text: str
    """The translation; empty for an empty line and for a refused one."""

    score: float
    """Log-probability over length penalty, plus coverage penalty: the higher, the better.  With
    minimum Bayes risk the expected utility, 0 to 100."""

    log_probability: float
    """Natural logarithm of the model's probability of these pieces and the end symbol."""

    pieces: list[str]
    """The pieces that ``text`` was joined from."""

    ended: bool
    """False if the length limit cut the translation off."""

    refused: str | None = None
    """Why the line was not translated: its number, how much too long it is, and what to do."""

    pivot: str | None = None
    """The text in the pivot language that this was translated from, if there is a pivot.  Then
    ``score`` and ``log_probability`` are sums over both legs."""

    missing: tuple[str, ...] | None = None
    """The terms and copied strings that ``text`` should contain and does not; None if nothing was
    to be checked."""

    confidence: float | None = None
    """Probability that it is right, as calibrated by ``dragoman calibrate``; None unless the system
    has ``confidence``, and where there was nothing to translate."""
    faults: tuple[str, ...] = ()
    """What makes it degenerate: ``repetition``, if a part of it follows itself again and again;
    ``length``, if it is far too long for its source."""
    token_scores: list[float] | None = None
    """Natural logarithm of the model's probability of each of ``pieces``, then of the end symbol.
    Their sum is ``log_probability``, unless that also counts a first leg (``pivot``) or context
    that the model translates before the line.  None if nothing was searched for, or by an engine
    that does not give them (``ctranslate2``)."""


class Scored(NamedTuple):
    """How likely a given translation is."""

    log_probability: float
    """Natural logarithm of its probability, including the end symbol."""

    tokens: int
    """Target pieces, including the end symbol: ``exp(-log_probability / tokens)`` is the
    perplexity."""


class Unscored(NamedTuple):
    """Why a given translation has no score."""

    kind: Literal["too long for the model", "unknown language tag"]
    """The same for all pairs with this problem."""

    reason: str
    """What exactly is wrong, and what to do."""


AttentionOf = Literal["source", "encoder", "decoder"]
"""What is looked at: the source while the target is written; in self-attention, the source by the
source (encoder), or the target by the target (decoder)."""


class Attention(NamedTuple):
    """Where a model looks in the source while it writes each target piece.

    In self-attention, ``target`` are the pieces that look, and ``source`` those that are looked at.
    """

    weights: Tensor
    """``(layers, heads, target, source)``; they sum to one over the source."""

    target: list[str]
    """Target pieces, including the end symbol: what is written at each position."""

    source: list[str]
    """Source pieces, including the end symbol; of a decoder, what was read at each position."""

    text: str
    """The text that the target pieces were split from; empty for an encoder."""


def total(lines: Sequence[Scored]) -> Scored:
    """Total log-probability and number of tokens of all lines."""
    return Scored(sum(line.log_probability for line in lines), sum(line.tokens for line in lines))
