"""The scores of a pair: adequacy and domain from cross-entropies, and a score of its lengths.

Cross-entropies are in nats per token, end symbols included, so that long pairs are not at a
disadvantage.  All scores are in [0, 1] and multiplied (Junczys-Dowmunt 2018, arXiv:1809.00197;
the score of lengths is ours).
"""

from __future__ import annotations

import math


def adequacy(forward: float, reverse: float) -> float:
    """The dual conditional cross-entropy: 1 if both models are certain, and so agree.

    ``exp(-(|H_A(y|x) - H_B(x|y)| + (H_A(y|x) + H_B(x|y)) / 2))``.  Both models give a pair of
    unrelated sides a high cross-entropy.  If one side has more content, only one model does,
    which the difference penalises.

    Args:
        forward: ``H_A(y|x)``, of the target given the source.
        reverse: ``H_B(x|y)``, of the source given the target.
    """
    return math.exp(-(abs(forward - reverse) + (forward + reverse) / 2))


def domain_match(wanted: float, general: float) -> float:
    """How well a target matches a domain: ``min(exp(H_N(y) - H_I(y)), 1)``.

    This is the cross-entropy difference of Moore and Lewis (2010, "Intelligent selection of
    language model training data"), capped at 1.

    Args:
        wanted: ``H_I(y)`` by the language model of the domain.
        general: ``H_N(y)`` by that of other text.
    """
    return math.exp(min(general - wanted, 0.0))


def length_match(excess: float) -> float:
    """How usual the length of a target is: ``exp(-z^2 / 4)``.

    This is the square root of the normal density, relative to its maximum.

    Args:
        excess: z, the deviation from the expected length in standard deviations.
    """
    return math.exp(-(excess**2) / 4)
