"""Teacher forcing, and the projection to the vocabulary chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from dragoman.data.batches import Batch
from dragoman.models.interface import TranslationModel
from dragoman.text.vocabularies import PAD

CHUNK_SCORES = 1 << 23
"""Scores (positions times vocabulary) held at once on a CPU."""
GPU_CHUNK_SCORES = 1 << 27
"""Scores held at once on a GPU, where each chunk costs a dozen kernel launches; not yet tuned on
a GPU."""
CACHED_SCORES = 1 << 20
"""Scores turned into probabilities at once, which fit a CPU's cache."""


def read_target(model: TranslationModel, batch: Batch) -> tuple[Tensor, Tensor, Tensor | None]:
    """Teacher forcing: one pass with the whole target as input.

    Returns:
        Hidden vectors of the positions that are not padding, ``(positions, d_model)``; the gold
        output of each of them, ids ``(positions,)``; the model's auxiliary loss per position.
    """
    memory = model.encode(batch.source, batch.source_mask)
    hidden, _ = model.decode(batch.target_input, memory, model.start(memory))
    real = batch.target_output != PAD  # (batch, target)
    auxiliary = model.auxiliary_loss(batch.source_mask, real)
    # (batch, target, d_model) and (batch, target) -> (positions, d_model) and (positions,)
    return hidden[real], batch.target_output[real], auxiliary


def chunked_backward(
    hidden: Tensor,
    model: TranslationModel,
    loss: Callable[[Tensor, slice], tuple[Tensor, ...]],
    *,
    scale: float = 1.0,
    auxiliary: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Compute the loss of all positions and, if ``hidden`` requires a gradient, its backward pass.

    The projection to the vocabulary goes forward and backward chunk by chunk, so that no
    ``(positions, vocabulary)`` tensor exists.  Then one backward pass runs through the rest.

    Args:
        hidden: ``(positions, ..., d_model)``, without padding.
        model: the loss uses its :meth:`~dragoman.models.interface.TranslationModel.logits`.
        loss: from a chunk of ``hidden`` and its slice to its summed loss and further sums.
        scale: factor of the gradients, but not of the sums.
        auxiliary: added to the loss of each position, from ``TranslationModel.auxiliary_loss``.

    Returns:
        The results of ``loss``, summed over all chunks and without gradient; the first includes
        ``auxiliary``.
    """
    training = hidden.requires_grad
    leaf = hidden.detach().requires_grad_(training)
    sums: tuple[Tensor, ...] | None = None
    for rows in _chunks(leaf, model):
        losses = loss(leaf[rows], rows)
        if training:
            (losses[0] * scale).backward()
        parts = tuple(part.detach() for part in losses)
        sums = parts if sums is None else tuple(map(torch.add, sums, parts))
    assert sums is not None, "a batch has at least one position"
    others = []
    # An encoder that is cut off or frozen contributes to the loss without learning from it.
    if auxiliary is not None and auxiliary.requires_grad:
        others = [auxiliary * (scale * len(hidden))]
    if training:
        torch.autograd.backward([hidden, *others], [leaf.grad, *(None for _ in others)])
    if auxiliary is not None:
        sums = (sums[0] + auxiliary.detach() * len(hidden), *sums[1:])
    return sums


def _chunks(leaf: Tensor, model: TranslationModel) -> list[slice]:
    """Slices of positions whose scores fit into memory."""
    with torch.no_grad():
        scores_of_one = model.logits(leaf[:1]).numel()
    return slices(len(leaf), scores_of_one, leaf.device)


def slices(positions: int, scores_of_one: int, device: torch.device) -> list[slice]:
    """Slices of ``positions`` whose scores fit into the memory of ``device``."""
    at_once = CHUNK_SCORES if device.type == "cpu" else GPU_CHUNK_SCORES
    size = max(1, at_once // scores_of_one)
    return [slice(start, start + size) for start in range(0, positions, size)]


def cached_parts(scores: Tensor) -> list[slice]:
    """Slices of the positions whose scores, ``(positions, ..., vocabulary)``, a CPU's cache holds.

    On a GPU, a single slice.
    """
    at_once = CACHED_SCORES if scores.device.type == "cpu" else scores.numel()
    rows = max(1, at_once // scores.shape[1:].numel())
    return [slice(start, start + rows) for start in range(0, len(scores), rows)]
