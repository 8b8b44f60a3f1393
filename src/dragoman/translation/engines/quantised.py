"""Linear layers that multiply 8-bit integers in search.

A row ``x`` of the input becomes the integers ``round(x / a)`` with ``a = max |x| / 127``, and each
row of the weights becomes integers in the same way, once.  Sums of their products are exact.
Multiplied by ``a`` and the factor of the output, they are ``x W^T`` except for rounding.  As each
row has a separate factor, its product is independent of its neighbours in a batch.

The product is oneDNN's, which packs the weights once.  Decision 115 compares it with those of other
number types.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.models.interface import TranslationModel
from dragoman.translation.engines.packing import PreparedLinear

LEAST_WEIGHTS = 1 << 17
"""Elements of the smallest matrix that is quantised.  For smaller matrices, the factors of the rows
take longer than the product."""
_LARGEST = 127
_ROWS_AT_ONCE = 4096
_TINY = 1e-30
"""Minimum for the maximum of a row, so that a row of zeros can be divided by it."""


class QuantisedWeights(NamedTuple):
    """A matrix ``(outputs, inputs)``."""

    packed: Tensor
    """Its integers, in the order that oneDNN reads them in."""
    factors: Tensor
    """The value of integer 1 for each output, ``(outputs,)``."""
    zeros: Tensor
    """The integer that represents zero for each output: 0, ``(outputs,)``."""

    @classmethod
    def of(cls, weight: Tensor) -> QuantisedWeights:
        """Quantise a matrix of numbers, some rows at a time: some have a row for each piece."""
        largest = torch.maximum(weight.amax(1), -weight.amin(1))
        factors = largest.clamp_min(_TINY) / _LARGEST
        integers = torch.empty(weight.shape, dtype=torch.int8)
        for start in range(0, len(weight), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            integers[rows] = (weight[rows] / factors[rows].unsqueeze(1)).round_()
        packed = torch.ops.onednn.qlinear_prepack(integers, None)
        return cls(packed, factors, torch.zeros(len(weight), dtype=torch.int64))


def _product(
    x: Tensor, weights: QuantisedWeights, bias: Tensor | None, levels: int = _LARGEST
) -> Tensor:
    """``x W^T + bias`` for ``(..., inputs)``, in integers from ``-levels`` to ``levels``."""
    factors = x.abs().amax(-1, keepdim=True).clamp_min_(_TINY).div_(levels)  # (..., 1)
    integers = (x / factors).round_().to(torch.int8)
    if levels == _LARGEST:  # adds 128, which does not fit into signed 8 bits
        moved = integers.bitwise_xor_(-128).view(torch.uint8)
    else:
        moved = integers.add_(levels + 1).view(torch.uint8)
    product: Tensor = torch.ops.onednn.qlinear_pointwise(
        moved,
        1.0,
        levels + 1,
        weights.packed,
        weights.factors,
        weights.zeros,
        None,
        1.0,
        0,
        torch.float32,
        "none",
        [],
        "",
    )  # (..., outputs)
    return product.mul_(factors) if bias is None else torch.addcmul(bias, product, factors)


@cache
def input_levels() -> int:
    """The largest input integer with correct products here, tested once; 0 if there is none.

    Some processors add up two products in 16 bits first, which overflow unless inputs have 7 bits.
    The operations are not documented, and a release of PyTorch may lack or change them.
    """
    x, largest = torch.ones(2, 64), torch.ones(3, 64)
    with torch.inference_mode():
        try:
            weights = QuantisedWeights.of(largest)
            for levels in (_LARGEST, _LARGEST // 2):
                product = _product(x, weights, torch.ones(3), levels)
                if torch.allclose(product, torch.tensor(65.0)):
                    return levels
        except (AttributeError, TypeError, RuntimeError):
            pass
    return 0


def check_int8(device: torch.device) -> None:
    """Check that a device can multiply 8-bit integers.

    Raises:
        ConfigError: the device, or this PyTorch, cannot.
    """
    if device.type != "cpu":
        raise ConfigError(
            f"precision int8 is for the cpu, not for {device}; choose bfloat16 there, or device cpu"
        )
    if not input_levels():
        raise ConfigError(
            "precision int8: this PyTorch has no products of 8-bit integers on this processor; "
            "choose another precision, or engine ctranslate2"
        )


class QuantisedLinear(PreparedLinear):
    """A linear layer with its weights as 8-bit integers; it may release the others."""

    @override
    def prepare(self, weight: Tensor) -> QuantisedWeights:
        return QuantisedWeights.of(weight)

    @override
    def multiply(self, x: Tensor, prepared: QuantisedWeights) -> Tensor:
        return _product(x, prepared, self.bias, input_levels())


def quantise_weights(model: nn.Module) -> None:
    """Make the larger linear layers of a model for search multiply 8-bit integers.

    The model is in float32, on the CPU.
    """
    for parent in list(model.modules()):
        for name, module in list(parent.named_children()):
            if type(module) is nn.Linear and module.weight.numel() >= LEAST_WEIGHTS:
                setattr(parent, name, QuantisedLinear(module))


def release_weights(model: TranslationModel) -> None:
    """Free the float32 weights of the quantised layers of a model that is for search alone.

    An output projection keeps them: it may share them with embeddings, and shortlists take rows.
    """
    layers = [module for module in model.modules() if isinstance(module, QuantisedLinear)]
    uses = Counter(id(parameter) for _, parameter in model.named_parameters(remove_duplicate=False))
    kept = None if model.projection is None else id(model.projection.weight)
    for layer in layers:
        if uses[id(layer.weight)] == 1 and id(layer.weight) != kept:
            layer.release()
