"""Self-attention of encoder and decoder (Vaswani et al. 2017, section 3.2.3).

:class:`EncoderSelfAttention` and :class:`DecoderSelfAttention` are the paper's: projections, then
:func:`~dragoman.models.layers.attention.attend`.  The two classes after them have another scoring,
rotary positions or a restricted neighbourhood.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from dragoman.models.layers.attention import MultiHeadAttention, attend
from dragoman.models.layers.mixing import DecoderMixing, EncoderMixing, Shared
from dragoman.models.layers.neighbourhood import Neighbourhood
from dragoman.models.layers.past_positions import PastPositions
from dragoman.models.layers.scoring import ScoredAttention


class EncoderSelfAttention(MultiHeadAttention, EncoderMixing):
    """Every position sees all real tokens.

    Args:
        sizes: d_model, heads, d_k, d_v and dropout of :class:`MultiHeadAttention`.
        neighbourhood: the visible positions, and the effect of distance on scores.
        options: of :class:`MultiHeadAttention`.
    """

    def __init__(self, *sizes: Any, neighbourhood: Neighbourhood, **options: Any) -> None:
        super().__init__(*sizes, **options)
        self.neighbourhood = neighbourhood

    def shared(self, mask: Tensor, like: Tensor, marked: Tensor | None = None) -> Shared:
        """The bias of scores."""
        return self.neighbourhood.encoder_bias(mask, like, marked)

    def mix(self, x: Tensor, shared: Shared) -> Tensor:
        """``shared`` is the bias."""
        own = self.keys_values(x)
        return self.joined(attend(self.queries(x), own, shared, self.dropout, self.scale))


class DecoderSelfAttention(MultiHeadAttention, DecoderMixing):
    """Every position sees itself and earlier positions, whose keys and values are kept.

    Arguments are those of :class:`EncoderSelfAttention`.
    """

    def __init__(self, *sizes: Any, neighbourhood: Neighbourhood, **options: Any) -> None:
        super().__init__(*sizes, **options)
        self.neighbourhood = neighbourhood

    def shared(self, rows: int, start: int, length: int, like: Tensor) -> Shared | None:
        """The bias of scores."""
        return self.neighbourhood.decoder_bias(rows, start, length, like)

    def past(self, rows: int, like: Tensor) -> PastPositions:
        """Keys and values of no positions."""
        return PastPositions.none(rows, self.heads, self.d_k, self.d_v, like)

    def read(
        self, x: Tensor, past: PastPositions, start: int, shared: Shared | None
    ) -> tuple[Tensor, PastPositions]:
        """``shared`` is the bias."""
        now = past.extended(self.keys_values(x))
        context = attend(self.queries(x), now, shared, self.dropout, self.scale)
        return self.joined(context), PastPositions(now)


class EncoderScoredSelfAttention(ScoredAttention, EncoderSelfAttention):
    """Every position sees its neighbourhood, with another scoring or rotary positions."""

    def mix(self, x: Tensor, shared: Shared) -> Tensor:
        """``shared`` is the bias."""
        return self.scored(x, self.keys_values(x), shared, 0)


class DecoderScoredSelfAttention(ScoredAttention, DecoderSelfAttention):
    """Every position sees itself and earlier positions in its neighbourhood.

    Keys and values are kept while later positions can see them.
    """

    def read(
        self, x: Tensor, past: PastPositions, start: int, shared: Shared | None
    ) -> tuple[Tensor, PastPositions]:
        """``shared`` is the bias."""
        now = past.extended(self.keys_values(x, start))
        return self.scored(x, now, shared, start), PastPositions(self.neighbourhood.kept(now))
