"""Cross-entropy with label smoothing (Szegedy et al. 2016; Vaswani et al. 2017, section 5.4).

The target distribution is ``q(k) = (1 - s) [k = y] + s / V`` for smoothing ``s`` and a
vocabulary of ``V`` pieces.  The loss of a position is ``-sum_k q(k) log p(k)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable
from typing_extensions import override

from dragoman.data.batches import Batch
from dragoman.models.interface import FamilyConfig, TranslationModel
from dragoman.training.objectives.chunks import cached_parts, chunked_backward, read_target
from dragoman.training.objectives.interface import ObjectiveConfig


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The summed loss of a chunk; its gradient ``p - q`` is computed along with ``p``."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, logits: Tensor, gold: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        accurate = torch.promote_types(logits.dtype, torch.float32)
        vocabulary = logits.shape[-1]
        gradient = torch.empty_like(logits) if ctx.needs_input_grad[0] else None  # type: ignore[attr-defined]
        nll = uniform = logits.new_zeros((), dtype=accurate)
        for part in cached_parts(logits):
            scores = logits[part].to(accurate)  # (rows, vocabulary)
            index = gold[part].unsqueeze(-1)  # (rows, 1)
            p = scores.softmax(-1)
            # log sum_k exp(z_k) = max z - log max p, where max p is at least 1 / V
            log_sum = scores.amax(-1) - p.amax(-1).log()  # (rows,)
            nll = nll + (log_sum - scores.gather(-1, index).squeeze(-1)).sum()
            uniform = uniform + log_sum.sum() - scores.sum() / vocabulary
            if gradient is not None:
                p_minus_q = p.sub_(smoothing / vocabulary)
                p_minus_q.scatter_add_(-1, index, p.new_full(index.shape, smoothing - 1))
                gradient[part] = p_minus_q
        if gradient is not None:
            ctx.save_for_backward(gradient)
        ctx.mark_non_differentiable(nll)
        return (1 - smoothing) * nll + smoothing * uniform, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, upstream: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors  # type: ignore[attr-defined]
        # Nearly always 1; checking this on a GPU would take longer than multiplying.
        if upstream.device.type != "cpu" or upstream.item() != 1:
            gradient = gradient * upstream
        return gradient, None, None


def smoothed_cross_entropy(logits: Tensor, gold: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """The smoothed loss and the negative log-likelihood, summed over positions.

    Args:
        logits: ``(positions, vocabulary)``, any float type; summed in float32 or better.
        gold: ids ``(positions,)``.
        smoothing: ``s``, between 0 and 1.
    """
    apply: Callable[..., tuple[Tensor, Tensor]] = _SmoothedCrossEntropy.apply
    return apply(logits, gold, smoothing)


class CrossEntropyConfig(ObjectiveConfig):
    """Cross-entropy with label smoothing, as in the paper (section 5.4)."""

    kind: Literal["cross_entropy"] = "cross_entropy"
    """Selects this objective."""

    @override
    def build(self, smoothing: float, model: FamilyConfig) -> CrossEntropy:
        return CrossEntropy(smoothing)


@dataclass(frozen=True)
class CrossEntropy:
    """Label-smoothed cross-entropy of the target, with the model's auxiliary loss.

    Totals: ``loss``, the minimised sum; ``nll``, negative log-likelihood in nats; ``tokens``.
    """

    smoothing: float
    """Label smoothing: probability mass spread evenly over all pieces."""
    totals = ("loss", "nll", "tokens")

    def backward(
        self, model: TranslationModel, batch: Batch, scale: float = 1.0
    ) -> Mapping[str, Tensor]:
        """Gradients and totals of a batch; see :class:`~dragoman.training.tasks.Objective`."""
        hidden, gold, auxiliary = read_target(model, batch)

        def loss(part: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
            return smoothed_cross_entropy(model.logits(part), gold[rows], self.smoothing)

        smoothed, nll = chunked_backward(hidden, model, loss, scale=scale, auxiliary=auxiliary)
        return {"loss": smoothed, "nll": nll, "tokens": nll.new_tensor(batch.target_tokens)}

    def figures(self, totals: Mapping[str, float]) -> dict[str, float]:
        """Loss and negative log-likelihood per token, and perplexity."""
        return per_token(totals)


def per_token(totals: Mapping[str, float]) -> dict[str, float]:
    """Every total per token, and the perplexity from ``nll``."""
    tokens = totals["tokens"]
    figures = {name: total / tokens for name, total in totals.items() if name != "tokens"}
    return figures | {"perplexity": math.exp(min(figures["nll"], 100.0))}
