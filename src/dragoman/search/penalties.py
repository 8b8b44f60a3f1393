"""Penalties that make hypotheses of different lengths and coverage comparable.

    s(Y, X) = log P(Y | X) / lp(Y) + cp(X; Y)

(Wu et al. 2016, equation 14), with a length penalty ``lp`` and a coverage penalty ``cp``, which is
never above 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_LEAST = torch.finfo(torch.float32).tiny
"""A floor: a softmax in float32 may give 0, whose logarithm makes all such hypotheses equally bad.
"""


@dataclass(frozen=True)
class Penalties:
    """Strengths of both penalties."""

    length: float
    """alpha; 0 compares plain log-probabilities."""
    coverage: float = 0.0
    """beta; 0 ignores coverage."""


def length_penalty(length: int, alpha: float) -> float:
    """``((5 + |Y|) / 6)^alpha``, Wu et al. 2016, equation 14; Vaswani et al. 2017, section 6.1.

    A hypothesis' log-probability is divided by it.  ``alpha`` 0 compares log-probabilities as
    they are, which favours short output.

    Args:
        length: pieces of the hypothesis, the end symbol counted, as in the paper's own code.
        alpha: 0.6 in the paper.
    """
    return float(((5 + length) / 6) ** alpha)


def coverage(weights: Tensor, source_mask: Tensor, target_mask: Tensor) -> Tensor:
    """``sum_i log(min(sum_j p_ij, 1))``, Wu et al. 2016, equation 14, without its beta.

    0 if every source position got at least the attention of one target position; lower the more of
    the source got little attention.  Weights that are NaN count as 0.

    Args:
        weights: ``p_ij``, ``(rows, target, source)``; over the source they sum to 1.
        source_mask: ``(rows, source)``, True is a real token.
        target_mask: ``(rows, target)``, True is a real token.

    Returns:
        ``(rows,)``, float64.
    """
    # (rows, target, source) summed to (rows, source)
    received = (weights.double().nan_to_num(0.0) * target_mask.unsqueeze(2)).sum(1)
    return received.clamp(_LEAST, 1.0).log().masked_fill(~source_mask, 0.0).sum(1)
