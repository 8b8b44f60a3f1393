"""The score that ranks hypotheses: penalties make different lengths and coverage comparable.

    s(Y, X) = log P(Y | X) / lp(Y) + cp(X; Y)

(Wu et al. 2016, equation 14), with a length penalty ``lp`` and a coverage penalty ``cp``, which is
never above 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from dragoman.models.interface import select
from dragoman.search.scorer import Scorer
from dragoman.text.vocabularies import BOS, PAD

_LEAST = torch.finfo(torch.float32).tiny
"""A floor: a softmax in float32 may give 0, whose logarithm makes all such hypotheses equally bad.
"""
# Pairs of target and source positions whose attention weights are computed at once, for each
# layer and head of a model.
_PAIRS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Penalties:
    """Strengths of both penalties."""

    length: float
    """alpha; 0 compares plain log-probabilities."""
    coverage: float = 0.0
    """beta; 0 ignores coverage."""


def length_penalty(length: int, alpha: float) -> float:
    """``((5 + |Y|) / 6)^alpha``, Wu et al. 2016, equation 14; Vaswani et al. 2017, section 6.1.

    A hypothesis' log-probability is divided by it.  ``length`` counts the end symbol, as in the
    paper's own code.
    """
    return float(((5 + length) / 6) ** alpha)


def coverage(weights: Tensor, source_mask: Tensor, target_mask: Tensor) -> Tensor:
    """``sum_i log(min(sum_j p_ij, 1))``, ``(rows,)``, float64; Wu et al. 2016, equation 14.

    0 if every source position got at least the attention of one target position; lower the more of
    the source got little attention.  Weights that are NaN count as 0.

    Args:
        weights: ``p_ij``, ``(rows, target, source)``; over the source they sum to 1.
        source_mask: ``(rows, source)``, True is a real token.
        target_mask: ``(rows, target)``, True is a real token.
    """
    # (rows, target, source) summed to (rows, source)
    received = (weights.double().nan_to_num(0.0) * target_mask.unsqueeze(2)).sum(1)
    return received.clamp(_LEAST, 1.0).log().masked_fill(~source_mask, 0.0).sum(1)


class HypothesisScorer:
    """Scores the finished hypotheses of a batch.

    Attention is computed when a hypothesis is finished, in one more pass over all of it, as in
    training.  Unfinished hypotheses are compared without it: coverage concerns whole translations.
    ``source_mask`` is ``(batch, source)``, True for a real token.
    """

    def __init__(self, scorer: Scorer, source_mask: Tensor, penalties: Penalties) -> None:
        self.penalties = penalties
        self._scorer, self._source_mask = scorer, source_mask

    def scores(
        self,
        outputs: Sequence[Sequence[int]],
        log_probabilities: Sequence[float],
        sentences: Tensor,
        memory: Any,
        places: Tensor,
    ) -> list[float]:
        """A score for each hypothesis, equation 14 of Wu et al. 2016.

        Args:
            outputs: ids of each without begin and end symbols.
            log_probabilities: of each with its end symbol.
            sentences: ``(hypotheses,)``: the sentence of the batch that each belongs to.
            memory: of the sentences that are left.
            places: ``(hypotheses,)``: indices of these sentences in ``memory``.
        """
        alpha, beta = self.penalties.length, self.penalties.coverage
        scores = [
            log_probability / length_penalty(len(ids) + 1, alpha)
            for ids, log_probability in zip(outputs, log_probabilities, strict=True)
        ]
        if not beta or not outputs:
            return scores
        covered = self._coverage(outputs, self._source_mask[sentences], memory, places)
        return [score + beta * cover for score, cover in zip(scores, covered, strict=True)]

    def _coverage(
        self, outputs: Sequence[Sequence[int]], source_mask: Tensor, memory: Any, places: Tensor
    ) -> list[float]:
        inputs = [torch.tensor([BOS, *ids], device=places.device) for ids in outputs]
        target = pad_sequence(inputs, batch_first=True, padding_value=PAD)  # (hypotheses, target)
        lengths = torch.tensor([len(ids) for ids in inputs], device=places.device)
        target_mask = torch.arange(target.size(1), device=places.device) < lengths.unsqueeze(1)
        rows = max(1, _PAIRS_AT_ONCE // (target.size(1) * source_mask.size(1)))
        found = [
            coverage(self._scorer.attention(part, select(memory, place)), source, real)
            for part, place, source, real in zip(
                target.split(rows),
                places.split(rows),
                source_mask.split(rows),
                target_mask.split(rows),
                strict=True,
            )
        ]
        values: list[float] = torch.cat(found).tolist()
        return values
