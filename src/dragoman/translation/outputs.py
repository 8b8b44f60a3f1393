"""Results of a translator: translations, scores of given translations, and attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from torch import Tensor

from dragoman.core.errors import DataError
from dragoman.core.html_tables import heat_table, html_table

_COLUMNS = ("line", "rank", "text", "score", "confidence", "pivot", "missing", "invented")
_NOTED = ("faults", "refused")


@dataclass(frozen=True)
class Translation:
    """One translation of a line."""

    text: str
    """The translation; empty for an empty or refused line."""

    score: float
    """Log-probability over length penalty, plus coverage penalty: the higher, the better.  With
    minimum Bayes risk the expected utility, 0 to 100.  0 without a search: for an empty line, and
    for one that has nothing to translate, which is copied."""

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
    """The required terms and copied strings that ``text`` lacks; None if nothing was required."""

    invented: tuple[str, ...] | None = None
    """Placeholders, tags and addresses that ``text`` has and its source lacks; None if they were
    not looked for."""

    confidence: float | None = None
    """Probability that the translation is right, as calibrated by ``dragoman calibrate``.  None if
    the system lacks ``confidence``, or there was nothing to translate."""
    faults: tuple[str, ...] = ()
    """Why the translation is degenerate: ``repetition``, if a part follows itself again and again;
    ``length``, if it is far too long for its source."""
    token_scores: list[float] | None = None
    """Natural logarithm of the model's probability of each of ``pieces``, then of the end symbol.
    Their sum is ``log_probability``, unless that also counts a first leg (``pivot``) or context
    that the model translates before the line.  None without a search, or if the engine does not
    give them (``ctranslate2``)."""


class TranslatedLines(list[list[Translation]]):
    """The translations of each line, best first; a notebook shows them as a table."""

    def rows(self) -> list[dict[str, Any]]:
        """A row for each translation: ``line`` and ``rank``, from 1, and its values by name.

        ``pandas.DataFrame(found.rows())`` makes a table of them.
        """
        return [
            {"line": line, "rank": rank, **asdict(one)}
            for line, several in enumerate(self, 1)
            for rank, one in enumerate(several, 1)
        ]

    def _repr_html_(self) -> str:
        return html_table(self.rows(), (*_COLUMNS, *_NOTED))


def best_text(translations: Sequence[Translation]) -> str:
    """The text of the best translation of a line.

    Raises:
        DataError: the line was refused.
    """
    if (reason := translations[0].refused) is not None:
        raise DataError(reason)
    return translations[0].text


class Scored(NamedTuple):
    """The log-probability of a given translation."""

    log_probability: float
    """Natural logarithm of the probability, including the end symbol."""

    tokens: int
    """Target pieces, including the end symbol: ``exp(-log_probability / tokens)`` is the
    perplexity."""


class Unscored(NamedTuple):
    """Why a given translation has no score."""

    kind: Literal["too long for the model", "unknown language tag"]
    """The same for all pairs with this problem."""

    reason: str
    """The exact problem, and what to do."""


AttentionOf = Literal["source", "encoder", "decoder"]
"""Kind of attention: over the source while the target is written, or self-attention within the
source (encoder) or the target (decoder)."""


class Attention(NamedTuple):
    """Attention of a model to its source while it writes each target piece.

    In self-attention, the pieces in ``target`` attend to those in ``source``.
    """

    weights: Tensor
    """``(layers, heads, target, source)``; they sum to 1 over the source."""

    target: list[str]
    """Target pieces, including the end symbol, by the position that writes them."""

    source: list[str]
    """Source pieces, including the end symbol; for a decoder, the piece read at each position."""

    text: str
    """The text that the target pieces were split from; empty for an encoder."""

    def _repr_html_(self) -> str:
        """The mean over layers and heads, with a row for each target piece."""
        return heat_table(self.weights.mean((0, 1)).tolist(), self.target, self.source)


def total(lines: Sequence[Scored]) -> Scored:
    """Total log-probability and number of tokens of all lines."""
    return Scored(sum(line.log_probability for line in lines), sum(line.tokens for line in lines))
