"""Past target positions in self-attention, while search chooses among rows.

A step of beam search first chooses rows, because hypotheses are continued, dropped and moved, and
then adds a position to each.  Two separate operations would both copy all keys and values.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.models.layers.attention import KeysValues


@dataclass(frozen=True)
class PastPositions:
    """Keys and values of earlier positions, of rows that are chosen but not copied yet.

    Its tensors are never overwritten, so two hypotheses, or two searches, may continue from the
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
        """See :func:`dragoman.models.interface.select`; the rows are copied by :meth:`extended`."""
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
