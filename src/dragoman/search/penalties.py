"""How hypotheses of different lengths are compared."""

from __future__ import annotations


def length_penalty(length: int, alpha: float) -> float:
    """``((5 + |Y|) / 6)^alpha``, Wu et al. 2016, equation 14; Vaswani et al. 2017, section 6.1.

    A hypothesis' log-probability is divided by it.  ``alpha`` 0 compares log-probabilities as
    they are, which favours short output.

    Args:
        length: pieces of the hypothesis, the end symbol counted, as in the paper's own code.
        alpha: 0.6 in the paper.
    """
    return float(((5 + length) / 6) ** alpha)
