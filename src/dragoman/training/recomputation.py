"""Layers whose inner results the backward pass recomputes instead of keeping them.

Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost" (arXiv:1604.06174): of each layer
only the input is kept, and its forward pass is repeated when its gradient is due.  Dropout draws
the same masks again, so gradients are the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from dragoman.models.interface import TranslationModel
from dragoman.models.layers.dropout import dropout_from, dropout_state


def recompute_layers(model: TranslationModel) -> None:
    """Make the backward pass recompute the separate layers of ``model``."""
    for layer in model.separate_layers():
        layer.forward = _recomputed(layer.forward)


def _recomputed(forward: Callable[..., Any]) -> Callable[..., Any]:
    def run(*inputs: Any, **options: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*inputs, **options)
        return checkpoint(
            forward, *inputs, use_reentrant=False, context_fn=_with_the_same_masks, **options
        )

    return run


def _with_the_same_masks() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """The contexts of a forward pass that is about to begin, and of its repetition."""
    return nullcontext(), dropout_from(dropout_state())
