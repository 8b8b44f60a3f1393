"""The projection to the vocabulary and its loss as one operator, for compiled passes.

A compiler cannot look into a backward pass that runs within a forward pass, as in
:func:`~dragoman.training.objectives.chunks.chunked_backward`.  The operator does the same work in
a call without inner structure: chunk by chunk, it computes scores, loss and gradients, and keeps
the gradients for the backward pass (Hsu et al. 2024, "Liger Kernel", arXiv:2410.10989, section
3.2).  So a whole pass is one graph, and no ``(positions, vocabulary)`` tensor exists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from dragoman.data.batches import Batch
from dragoman.models.interface import TranslationModel
from dragoman.text.vocabularies import PAD
from dragoman.training.objectives import chunks
from dragoman.training.objectives.cross_entropy import CrossEntropy

Sums = tuple[Tensor, Tensor]
"""The smoothed loss and the negative log-likelihood, summed over positions."""

_NAME = "dragoman::projected_loss"


def projected_loss(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    gold: Tensor,
    smoothing: float,
    *,
    fused: bool = False,
) -> Sums:
    """The loss of :func:`~.cross_entropy.smoothed_cross_entropy` at ``hidden W^T + b``.

    Args:
        hidden: ``(positions, d_model)``; padding counts nothing.
        weight: ``(vocabulary, d_model)``.
        bias: ``(vocabulary,)``, if any.
        gold: ids ``(positions,)``.
        smoothing: probability mass spread evenly over all pieces.
        fused: compile what lies between the products.
    """
    operator = torch.ops.dragoman.projected_loss
    smoothed, nll, *_ = operator(hidden, weight, bias, gold, smoothing, fused)
    return smoothed, nll.detach()


def position_losses(logits: Tensor, gold: Tensor, smoothing: float) -> tuple[Tensor, ...]:
    """Smoothed loss, negative log-likelihood and gradient ``p - q`` of each position.

    The same as in :mod:`~.cross_entropy`, without changing anything in place, as compilers like it.

    Args:
        logits: ``(positions, vocabulary)``.
        gold: ids ``(positions,)``.
        smoothing: probability mass spread evenly over all pieces.
    """
    scores = logits.to(torch.promote_types(logits.dtype, torch.float32))
    index = gold.unsqueeze(-1)  # (positions, 1)
    log_sum = scores.logsumexp(-1, keepdim=True)
    nll = (log_sum - scores.gather(-1, index)).squeeze(-1)
    uniform = log_sum.squeeze(-1) - scores.mean(-1)
    is_gold = (torch.arange(scores.shape[-1], device=scores.device) == index).to(scores.dtype)
    p_minus_q = (scores - log_sum).exp() - smoothing / scores.shape[-1] - (1 - smoothing) * is_gold
    return (1 - smoothing) * nll + smoothing * uniform, nll, p_minus_q.to(logits.dtype)


@cache
def _fused() -> Callable[..., tuple[Tensor, ...]]:
    return torch.compile(position_losses, dynamic=True, fullgraph=True)


def _loss_and_gradients(  # noqa: PLR0917 - as the operator declares
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    gold: Tensor,
    smoothing: float,
    fused: bool,
) -> tuple[Tensor, ...]:
    losses = _fused() if fused else position_losses
    sums = hidden.new_zeros(2, dtype=torch.promote_types(hidden.dtype, torch.float32))
    of_hidden, of_weight = torch.empty_like(hidden), torch.zeros_like(weight)
    of_bias = hidden.new_zeros(0) if bias is None else torch.zeros_like(bias)
    for rows in chunks.slices(len(hidden), len(weight), hidden.device):
        real = (gold[rows] != PAD).to(hidden.dtype)  # not selected, which waits for a GPU
        smoothed, nll, gradient = losses(
            functional.linear(hidden[rows], weight, bias), gold[rows], smoothing
        )
        sums += torch.stack([smoothed, nll]) @ real.to(sums.dtype)
        of_hidden[rows] = (gradient @ weight) * real.unsqueeze(-1)
        of_weight.addmm_(gradient.t(), hidden[rows] * real.unsqueeze(-1))
        if bias is not None:
            of_bias += real @ gradient
    return sums[0].clone(), sums[1].clone(), of_hidden, of_weight, of_bias


def _shapes(hidden: Tensor, weight: Tensor, bias: Tensor | None, *_: Any) -> tuple[Tensor, ...]:
    accurate = torch.promote_types(hidden.dtype, torch.float32)
    sums = (hidden.new_empty((), dtype=accurate) for _ in range(2))
    of_bias = hidden.new_empty(0) if bias is None else torch.empty_like(bias)
    return *sums, torch.empty_like(hidden), torch.empty_like(weight), of_bias


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.has_bias = inputs[2] is not None
    ctx.save_for_backward(*output[2:])


def _gradients(ctx: Any, upstream: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    of_hidden, of_weight, of_bias = (kept * upstream for kept in ctx.saved_tensors)
    return of_hidden, of_weight, of_bias if ctx.has_bias else None, None, None, None


torch.library.define(
    _NAME,
    "(Tensor hidden, Tensor weight, Tensor? bias, Tensor gold, float smoothing, bool fused)"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
)
torch.library.impl(_NAME, "default", _loss_and_gradients)
torch.library.register_fake(_NAME, _shapes)
torch.library.register_autograd(_NAME, _gradients, setup_context=_keep)


def whole_pass(
    model: TranslationModel, batch: Batch, smoothing: float, *, fused: bool = False
) -> Sums:
    """Teacher forcing and its loss, as one function that a compiler can take as a whole.

    Args:
        model: with a linear projection.
        batch: on the model's device.
        smoothing: probability mass spread evenly over all pieces.
        fused: compile what lies between the products of the loss.
    """
    memory = model.encode(batch.source, batch.source_mask)
    hidden, _ = model.decode(batch.target_input, memory, model.start(memory))
    assert model.projection is not None
    weight, bias = model.projection.weight, model.projection.bias
    gold = batch.target_output.flatten()
    return projected_loss(hidden.flatten(0, 1), weight, bias, gold, smoothing, fused=fused)


@dataclass(frozen=True)
class WholePass(CrossEntropy):
    """Cross-entropy by a single pass and its gradient, perhaps compiled.

    For models without an auxiliary loss.
    """

    compute: Callable[..., Sums] = whole_pass
    """:func:`whole_pass`, or what a compiler makes of it."""

    @override
    def backward(
        self, model: TranslationModel, batch: Batch, scale: float = 1.0
    ) -> Mapping[str, Tensor]:
        smoothed, nll = self.compute(model, batch, self.smoothing)
        (smoothed * scale).backward()
        tokens = nll.new_tensor(batch.target_tokens)
        return {"loss": smoothed.detach(), "nll": nll, "tokens": tokens}
