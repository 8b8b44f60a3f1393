"""Self-attention of encoder and decoder (Vaswani et al. 2017, section 3.2.3).

:class:`EncoderSelfAttention` and :class:`DecoderSelfAttention` are the paper's: projections, then
:func:`~dragoman.models.layers.attention.attend`.  The two classes after them have another scoring,
rotary positions or a restricted neighbourhood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dragoman.models.layers.attention import KeysValues, MultiHeadAttention, attend
from dragoman.models.layers.mixing import DecoderMixing, EncoderMixing, Shared
from dragoman.models.layers.neighbourhood import Neighbourhood
from dragoman.models.layers.scoring import ScoredAttention


class SelfAttention(MultiHeadAttention):
    """Attention within a sentence, where each position sees its neighbourhood."""

    def __init__(self, *sizes: Any, neighbourhood: Neighbourhood, **options: Any) -> None:
        super().__init__(*sizes, **options)
        self.neighbourhood = neighbourhood


class EncoderSelfAttention(SelfAttention, EncoderMixing):
    """Every position sees all real tokens."""

    def shared(self, mask: Tensor, like: Tensor, marked: Tensor | None = None) -> Shared:
        """The bias of scores."""
        return self.neighbourhood.encoder_bias(mask, like, marked)

    def mix(self, x: Tensor, shared: Shared) -> Tensor:
        """``shared`` is the bias."""
        own = self.keys_values(x)
        return self.joined(attend(self.queries(x), own, shared, self.dropout, self.scale))


class DecoderSelfAttention(SelfAttention, DecoderMixing):
    """Every position sees itself and earlier positions, whose keys and values are kept."""

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


@dataclass(frozen=True)
class PastPositions:
    """Keys and values of earlier positions, of rows that are chosen but not copied yet.

    A step of beam search chooses rows, because hypotheses are continued, dropped and moved, and
    then adds a position to each.  Two separate operations would both copy all keys and values.

    The tensors are never overwritten, so two hypotheses, or two searches, may continue from the
    same past.
    """

    known: KeysValues  # (rows known, heads, length, d_k or d_v)
    rows: Tensor | None = None  # (rows,): the chosen rows of `known`; None: all, in order

    @classmethod
    def none(cls, rows: int, heads: int, d_k: int, d_v: int, like: Tensor) -> PastPositions:
        """The past before the first position; ``like`` gives type and device."""
        sizes = ((rows, heads, 0, d_k), (rows, heads, 0, d_v))
        return cls(KeysValues(*(like.new_empty(size) for size in sizes)))

    def selected(self, rows: Tensor) -> PastPositions:
        """The chosen rows, which are copied by :meth:`extended`."""
        return PastPositions(self.known, rows if self.rows is None else self.rows[rows])

    def extended(self, later: KeysValues) -> KeysValues:
        """These positions followed by those of ``later``, which has the chosen rows."""
        if self.known.keys.shape[2] == 0:
            return later
        return KeysValues(
            self._grown(self.known.keys, later.keys), self._grown(self.known.values, later.values)
        )

    def _grown(self, known: Tensor, later: Tensor) -> Tensor:
        if self.rows is None:
            return torch.cat([known, later], dim=2)
        if torch.is_grad_enabled():  # writing in place would lose the gradient
            return torch.cat([known.index_select(0, self.rows), later], dim=2)
        rows, heads, added, width = later.shape
        length = known.shape[2]
        grown = later.new_empty(rows, heads, length + added, width)
        # Two axes instead of three, (heads, length * width), are copied up to twice as fast.
        torch.index_select(known.flatten(2), 0, self.rows, out=grown[:, :, :length].flatten(2))
        grown[:, :, length:] = later
        return grown
