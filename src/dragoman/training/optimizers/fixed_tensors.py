"""What is saved with a model but never learned, while the model computes in another precision."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dragoman.models.interface import fixed_tensors
from dragoman.training.optimizers.flat_layout import check_shape


class FixedTensors:
    """Saved buffers and parameters without a gradient: exact ones beside those that are used.

    Args:
        model: what it does not learn is converted to ``precision``.
        precision: in which the model computes.
    """

    def __init__(self, model: nn.Module, precision: torch.dtype) -> None:
        self._used = fixed_tensors(model)
        self.exact = {name: tensor.clone() for name, tensor in self._used.items()}
        """By name, as they are saved."""
        # Position tables, which must not promote activations, and weights that do not learn.
        frozen = (p for p in model.parameters() if not p.requires_grad)
        for tensor in (*model.buffers(), *frozen):
            if tensor.is_floating_point():
                tensor.data = tensor.data.to(precision)

    def restore(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Take over those of a checkpoint; returns its other weights.

        Raises:
            SavedError: one is missing or has another shape.
        """
        for name, exact in self.exact.items():
            check_shape(name, exact.shape, weights.get(name))
            exact.copy_(weights[name])
            self._used[name].copy_(exact)
        return {name: tensor for name, tensor in weights.items() if name not in self.exact}
