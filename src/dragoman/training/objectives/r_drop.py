"""R-Drop: two passes under different dropout should agree (Liang et al. 2021).

"R-Drop: Regularized Dropout for Neural Networks", arXiv:2106.14448, equations 2 to 4: for the
distributions ``p1`` and ``p2`` that two passes predict at a position with the piece ``y``,

    loss = -log p1(y) - log p2(y) + alpha / 2 * (KL(p1 || p2) + KL(p2 || p1)).

Half of it is minimised here, so that with alpha 0 it is the mean of the two cross-entropies.  As
in their program, both passes are one pass over the batch and its copy, with label smoothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable
from typing_extensions import override

from dragoman.data.batches import Batch
from dragoman.models.interface import FamilyConfig, TranslationModel
from dragoman.training.objectives.chunks import cached_parts, chunked_backward, read_target
from dragoman.training.objectives.cross_entropy import per_token, smoothed_cross_entropy
from dragoman.training.objectives.interface import ObjectiveConfig


class RDropConfig(ObjectiveConfig):
    """R-Drop: two passes under different dropout should agree (Liang et al. 2021)."""

    kind: Literal["r_drop"] = "r_drop"
    """Selects this objective."""
    alpha: float = Field(5.0, gt=0)
    """Weight of the divergence between the passes; 5 in the paper for translation."""

    def unfit(self, model: FamilyConfig) -> Iterator[str]:
        """Models without dropout, whose two passes are equal."""
        if not model.trains_at_random:
            yield (
                "r_drop compares two passes under different dropout, and without dropout they are "
                "equal; set model.dropout above 0, or remove r_drop"
            )

    @override
    def build(self, smoothing: float, model: FamilyConfig) -> RDrop:
        return RDrop(smoothing, self.alpha)


@dataclass(frozen=True)
class RDrop:
    """Label-smoothed cross-entropy of two passes, and the divergence between them.

    Totals: ``loss``, the minimised sum; ``nll``, negative log-likelihood in nats, the mean of both
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
    apply: Callable[[Tensor], Tensor] = _SymmetricDivergence.apply
    return apply(logits)


class _SymmetricDivergence(torch.autograd.Function):
    """The divergence of a chunk; its gradient is computed along with it, which halves the time.

    With ``d = log p1 - log p2``, the divergence is half of ``sum (p1 - p2) d``, and its gradient at
    the logits of the two passes half of ``p1 (d - sum p1 d) + p1 - p2`` and of
    ``-p2 (d - sum p2 d) - p1 + p2``.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, logits: Tensor) -> Tensor:
        accurate = torch.promote_types(logits.dtype, torch.float32)
        gradient = torch.empty_like(logits) if ctx.needs_input_grad[0] else None  # type: ignore[attr-defined]
        halves = logits.new_tensor([[0.5], [-0.5]], dtype=accurate)  # (passes, 1)
        divergence = logits.new_zeros((), dtype=accurate)
        for part in cached_parts(logits):
            log_p = logits[part].log_softmax(-1, dtype=accurate)  # (rows, passes, vocabulary)
            apart = (log_p[:, 0] - log_p[:, 1]).unsqueeze(1)  # d: (rows, 1, vocabulary)
            p = log_p.exp_()
            difference = (p[:, 0] - p[:, 1]).unsqueeze(1)
            divergence = divergence + torch.linalg.vecdot(difference, apart).sum() / 2
            if gradient is not None:
                centred = apart - p @ apart.mT  # (rows, passes, vocabulary)
                gradient[part] = centred.mul_(p).add_(difference).mul_(halves)
        if gradient is not None:
            ctx.save_for_backward(gradient)
        return divergence

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, upstream: Tensor) -> Tensor:
        (gradient,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return gradient * upstream


def _twice(batch: Batch) -> Batch:
    names = ("source", "source_mask", "target_input", "target_output")
    return replace(batch, **{name: getattr(batch, name).repeat(2, 1) for name in names})
