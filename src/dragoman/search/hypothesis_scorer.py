"""The score that ranks finished hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from dragoman.models.interface import select
from dragoman.search.penalties import Penalties, coverage, length_penalty
from dragoman.search.scorer import Scorer
from dragoman.text.vocabularies.vocabulary import BOS, PAD

# Pairs of target and source positions whose attention weights are computed at once, for each
# layer and head of a model.
_PAIRS_AT_ONCE = 1 << 18


class HypothesisScorer:
    """Scores the finished hypotheses of a batch.

    Attention is computed when a hypothesis is finished, in one more pass over all of it, as in
    training.  Unfinished hypotheses are compared without it: coverage concerns whole translations.

    Args:
        scorer: whose attention counts.
        source_mask: ``(batch, source)``, True is a real token.
        penalties: of length and coverage.
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

        Raises:
            ConfigError: coverage counts, but the scorer has no attention over the source.
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
