"""R-Drop: two passes under different dropout should agree (Liang et al. 2021).

"R-Drop: Regularized Dropout for Neural Networks", arXiv:2106.14448, equations 2 to 4: for the
distributions ``p1`` and ``p2`` that two passes predict at a position with the piece ``y``,

    loss = -log p1(y) - log p2(y) + alpha / 2 * (KL(p1 || p2) + KL(p2 || p1)).

Half of it is minimised here, so that with alpha 0 it is the mean of the two cross-entropies.  As
in their program, both passes are one pass over the batch and its copy, with label smoothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from dragoman.data.batches import Batch
from dragoman.models.interface import FamilyConfig, TranslationModel
from dragoman.training.objectives.chunks import chunked_backward, read_target
from dragoman.training.objectives.cross_entropy import per_token, smoothed_cross_entropy
from dragoman.training.objectives.interface import ObjectiveConfig


class RDropConfig(ObjectiveConfig):
    """R-Drop: two passes under different dropout should agree (Liang et al. 2021)."""

    kind: Literal["r_drop"] = "r_drop"
    """Selects this objective."""
    alpha: float = Field(5.0, gt=0)
    """Weight of the divergence between the passes; 5 in the paper for translation."""

    def build(self, smoothing: float, model: FamilyConfig) -> RDrop:
        """See :meth:`ObjectiveConfig.build`."""
        return RDrop(smoothing, self.alpha)


@dataclass(frozen=True)
class RDrop:
    """Label-smoothed cross-entropy of two passes, and the divergence between them.

    Totals: ``loss``, what is minimised; ``nll``, negative log-likelihood in nats, the mean of both
    passes; ``divergence``, the mean of both Kullback-Leibler divergences; ``tokens``.
    """

    smoothing: float
    """Label smoothing: probability mass spread evenly over all pieces."""
    alpha: float
    """Weight of the divergence; 5 in the paper for translation."""
    totals = ("loss", "nll", "divergence", "tokens")

    def backward(
        self, model: TranslationModel, batch: Batch, scale: float = 1.0
    ) -> Mapping[str, Tensor]:
        """Gradients and totals of a batch; see :class:`~dragoman.training.tasks.Objective`."""
        hidden, gold, auxiliary = read_target(model, _twice(batch))
        pairs = hidden.unflatten(0, (2, -1)).transpose(0, 1)  # (positions, passes, d_model)
        gold = gold.unflatten(0, (2, -1)).T  # (positions, passes)

        def loss(part: Tensor, rows: slice) -> tuple[Tensor, Tensor, Tensor]:
            logits = model.logits(part)  # (rows, passes, vocabulary)
            smoothed, nll = smoothed_cross_entropy(
                logits.flatten(0, 1), gold[rows].flatten(), self.smoothing
            )
            divergence = symmetric_divergence(logits)
            return (smoothed + self.alpha * divergence) / 2, nll / 2, divergence

        totals = chunked_backward(pairs, model, loss, scale=scale, auxiliary=auxiliary)
        tokens = totals[0].new_tensor(batch.target_tokens)
        return dict(zip(self.totals, (*totals, tokens), strict=True))

    def figures(self, totals: Mapping[str, float]) -> dict[str, float]:
        """Loss, negative log-likelihood and divergence per token, and perplexity."""
        return per_token(totals)


def symmetric_divergence(logits: Tensor) -> Tensor:
    """``(KL(p1 || p2) + KL(p2 || p1)) / 2``, summed over positions.

    Args:
        logits: ``(positions, 2, vocabulary)``, any float type; summed in float32 or better.
    """
    accurate = torch.promote_types(logits.dtype, torch.float32)
    first, second = logits.log_softmax(-1, dtype=accurate).unbind(1)  # (positions, vocabulary)
    # Both divergences at once: sum p1 (log p1 - log p2) + p2 (log p2 - log p1).
    return ((first.exp() - second.exp()) * (first - second)).sum() / 2


def _twice(batch: Batch) -> Batch:
    """The batch followed by its copy."""
    names = ("source", "source_mask", "target_input", "target_output")
    return replace(batch, **{name: getattr(batch, name).repeat(2, 1) for name in names})
