"""The simpler simple recurrent unit (SSRU) of Kim et al. 2019.

"From Research to Production and Back: Ludicrously Fast Neural Machine Translation" (WNGT 2019):
the SRU of Lei et al. 2018 without its reset gate.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.models.layers.mixing import DecoderMixing


class SSRU(DecoderMixing):
    """``f_t = sigmoid(W_f x_t + b_f)``, ``c_t = f_t * c_(t-1) + (1 - f_t) * W x_t``, ``ReLU(c_t)``.

    Gates do not see ``c``, so both products are computed for all positions at once, and the cost of
    a step does not depend on the target's length.  ``c`` is kept in float32 or better.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.forget = nn.Linear(d_model, d_model)
        self.candidate = nn.Linear(d_model, d_model, bias=False)
        for linear in (self.forget, self.candidate):
            nn.init.xavier_uniform_(linear.weight)
        nn.init.zeros_(self.forget.bias)

    def past(self, rows: int, like: Tensor) -> Tensor:
        """``c_0 = 0``, ``(rows, 1, d_model)``."""
        wide = torch.promote_types(like.dtype, torch.float32)
        return like.new_zeros(rows, 1, self.forget.out_features, dtype=wide)

    def read(
        self, x: Tensor, past: Tensor, start: int, shared: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """``past`` is the last ``c``."""
        decay = self.forget(x).to(past.dtype).sigmoid()  # (rows, length, d_model)
        cells = linear_recurrence(decay, (1 - decay) * self.candidate(x), past)
        return cells.relu().to(x.dtype), cells[:, -1:]


def linear_recurrence(decay: Tensor, added: Tensor, first: Tensor) -> Tensor:
    """``c_t = decay_t * c_(t-1) + added_t`` for all positions in log2(length) rounds.

    After each round a position holds the recurrence over twice as many positions (Hillis and
    Steele 1986).  Nothing is divided: the closed form with ``added_t / (decay_1 ... decay_t)``
    overflows after a few dozen positions.

    Args:
        decay: ``(rows, length, width)``, between 0 and 1.
        added: of the same shape.
        first: ``c_0``, ``(rows, 1, width)``.

    Returns:
        ``c_1`` to ``c_length``, ``(rows, length, width)``.
    """
    length, reach = decay.shape[1], 1
    while reach < length:
        added = added + decay * _delayed(added, reach, 0.0)
        decay = decay * _delayed(decay, reach, 1.0)
        reach *= 2
    return added + decay * first


def _delayed(x: Tensor, positions: int, before: float) -> Tensor:
    """Shift ``x`` right by ``positions``, filling with ``before``."""
    return functional.pad(x[:, :-positions], (0, 0, positions, 0), value=before)
