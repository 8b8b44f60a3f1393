"""Cross-entropy with label smoothing (Szegedy et al. 2016; Vaswani et al. 2017, section 5.4).

The target distribution is ``q(k) = (1 - s) [k = y] + s / V`` for smoothing ``s`` and a
vocabulary of ``V``; the loss of a position is ``-sum_k q(k) log p(k)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from dragoman.data.batches import Batch
from dragoman.models.interface import TranslationModel
from dragoman.text.vocabulary import PAD

CHUNK_SCORES = 1 << 23
"""Scores (positions times vocabulary) held at once on a CPU."""
CACHED_SCORES = 1 << 20
"""Of these, so many at a time become probabilities: few enough to stay in a CPU's cache."""
GPU_CHUNK_SCORES = 1 << 27
"""Scores held at once on a GPU, where each chunk costs the start of a dozen kernels; not tuned
on one yet."""


@dataclass(frozen=True)
class Loss:
    """Sums over target positions, padding left out; tensors without gradient."""

    smoothed: Tensor  # scalar, what training minimises, with the model's auxiliary loss
    nll: Tensor  # scalar, negative log-likelihood in nats: perplexity is exp(nll / tokens)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The summed loss of a chunk, with the gradient ``p - q`` made while ``p`` is at hand."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, logits: Tensor, gold: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        accurate = torch.promote_types(logits.dtype, torch.float32)
        vocabulary = logits.shape[-1]
        at_once = CACHED_SCORES if logits.device.type == "cpu" else logits.numel()
        gradient = torch.empty_like(logits) if ctx.needs_input_grad[0] else None  # type: ignore[attr-defined]
        nll = uniform = logits.new_zeros((), dtype=accurate)
        for start in range(0, len(logits), rows := max(1, at_once // vocabulary)):
            part = slice(start, start + rows)
            index = gold[part].unsqueeze(-1)
            log_p = logits[part].log_softmax(-1, dtype=accurate)
            nll = nll - log_p.gather(-1, index).sum()
            uniform = uniform - log_p.sum() / vocabulary
            if gradient is not None:
                p_minus_q = log_p.exp_().sub_(smoothing / vocabulary)
                p_minus_q.scatter_add_(-1, index, log_p.new_full(index.shape, smoothing - 1))
                gradient[part] = p_minus_q
        if gradient is not None:
            ctx.save_for_backward(gradient)
        ctx.mark_non_differentiable(nll)
        return (1 - smoothing) * nll + smoothing * uniform, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, upstream: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return gradient * upstream, None, None


def smoothed_cross_entropy(logits: Tensor, gold: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Summed smoothed loss and summed negative log-likelihood.

    Args:
        logits: ``(positions, vocabulary)``, any float type; summed in float32 or better.
        gold: ids ``(positions,)``.
        smoothing: ``s``, between 0 and 1.
    """
    apply: Callable[..., tuple[Tensor, Tensor]] = _SmoothedCrossEntropy.apply
    return apply(logits, gold, smoothing)


def backward(model: TranslationModel, batch: Batch, smoothing: float) -> Loss:
    """Loss of a batch, padding left out, and its backward pass; gradients add up.

    Args:
        model: in training mode.
        batch: on the model's device.
        smoothing: label smoothing.
    """
    memory = model.encode(batch.source, batch.source_mask)
    hidden, _ = model.decode(batch.target_input, memory, model.start(memory))
    real = batch.target_output != PAD
    auxiliary = model.auxiliary_loss(batch.source_mask, real)
    return chunked_backward(
        hidden[real], batch.target_output[real], model.logits, smoothing, auxiliary
    )


def chunked_backward(
    hidden: Tensor,
    gold: Tensor,
    logits: Callable[[Tensor], Tensor],
    smoothing: float,
    auxiliary: Tensor | None = None,
) -> Loss:
    """Loss of all positions and, if ``hidden`` carries a gradient, its backward pass.

    The projection to the vocabulary goes forward and backward chunk by chunk, so that no
    ``(positions, vocabulary)`` tensor exists; then one backward pass runs through the rest.

    Args:
        hidden: ``(positions, d_model)``, padding already left out.
        gold: ids ``(positions,)``.
        logits: ``TranslationModel.logits``.
        smoothing: label smoothing.
        auxiliary: added to the loss of each position, from ``TranslationModel.auxiliary_loss``.
    """
    training = hidden.requires_grad
    leaf = hidden.detach().requires_grad_(training)
    smoothed = nll = torch.zeros((), device=hidden.device)
    vocabulary = logits(leaf[:1].detach()).shape[-1]
    scores = CHUNK_SCORES if hidden.device.type == "cpu" else GPU_CHUNK_SCORES
    chunk = max(1, scores // vocabulary)
    for part, part_gold in zip(leaf.split(chunk), gold.split(chunk), strict=True):
        part_loss, part_nll = smoothed_cross_entropy(logits(part), part_gold, smoothing)
        if training:
            part_loss.backward()
        smoothed = smoothed + part_loss.detach()
        nll = nll + part_nll.detach()
    others = [] if auxiliary is None else [auxiliary * len(gold)]
    if training:
        torch.autograd.backward([hidden, *others], [leaf.grad, *(None for _ in others)])
    smoothed = sum((other.detach() for other in others), smoothed)
    return Loss(smoothed, nll)
