"""Average attention: the gated mean of all earlier positions (Zhang et al. 2018).

"Accelerating Neural Transformer Decoding via an Average Attention Network", arXiv:1805.00631.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dragoman.models.layers.mixing import DecoderMixing


class AverageAttention(DecoderMixing):
    """``h_t = i_t * x_t + f_t * g_t``: a position and the mean of those up to it, both gated.

    ``g_t = FFN(1 / t (x_1 + ... + x_t))`` and ``[i_t; f_t] = sigmoid(W [x_t; g_t] + b)``.  The
    residual sum and its normalisation belong to the layer.  The cost of a step does not depend on
    the target's length: only one sum is kept, in float32 or better.
    """

    def __init__(self, d_model: int, feed_forward: nn.Module) -> None:
        super().__init__()
        self.feed_forward = feed_forward
        self.gates = nn.Linear(2 * d_model, 2 * d_model)
        nn.init.xavier_uniform_(self.gates.weight)
        nn.init.zeros_(self.gates.bias)

    def past(self, rows: int, like: Tensor) -> Tensor:
        """The sum of no positions, ``(rows, 1, d_model)``."""
        wide = torch.promote_types(like.dtype, torch.float32)
        return like.new_zeros(rows, 1, self.gates.in_features // 2, dtype=wide)

    def read(
        self, x: Tensor, past: Tensor, start: int, shared: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """``past`` is the sum of all earlier inputs."""
        sums = past + x.to(past.dtype).cumsum(1)  # (rows, length, d_model)
        count = torch.arange(start + 1, start + 1 + x.shape[1], device=x.device).unsqueeze(1)
        average = self.feed_forward((sums / count).to(x.dtype))
        # (rows, length, 2 * d_model) to two gates (rows, length, d_model)
        own, earlier = self.gates(torch.cat([x, average], dim=-1)).sigmoid().chunk(2, dim=-1)
        return own * x + earlier * average, sums[:, -1:]
