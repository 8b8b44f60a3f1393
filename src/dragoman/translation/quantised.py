"""Linear layers that multiply integers of eight bits in search.

A row ``x`` of the input becomes the integers ``round(x / a)`` with ``a = max |x| / 127``, and each
row of the weights becomes integers in the same way, once.  Sums of their products are exact; times
``a`` and the factor of the output they are ``x W^T`` but for what was rounded.  As each row has a
factor of its own, a translation does not depend on its neighbours in a batch.

The product is oneDNN's, which packs the weights once.  docs/performance.md compares it with those
of other number types, and with other ways to call it.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dragoman.core.errors import ConfigError
from dragoman.translation.packing import PreparedLinear

LEAST_WEIGHTS = 1 << 17
"""Elements of the smallest matrix that is quantised: the factors of the rows take longer than a
product with fewer."""
_LARGEST = 127
_TINY = 1e-30
"""The least maximum of a row, so that a row of zeros can be divided by it."""


class QuantisedWeights(NamedTuple):
    """A matrix ``(outputs, inputs)``."""

    packed: Tensor
    """Its integers, in the order that oneDNN reads them in."""
    factors: Tensor
    """What an integer of each output stands for, ``(outputs,)``."""
    zeros: Tensor
    """The integer that stands for zero, for each output: 0, ``(outputs,)``."""

    @classmethod
    def of(cls, weight: Tensor) -> QuantisedWeights:
        """A matrix of numbers in integers."""
        factors = weight.abs().amax(1).clamp_min(_TINY) / _LARGEST
        integers = (weight / factors.unsqueeze(1)).round().to(torch.int8)
        packed = torch.ops.onednn.qlinear_prepack(integers, None)
        return cls(packed, factors, torch.zeros(len(weight), dtype=torch.int64))


@cache
def _input_levels() -> int:
    """The largest integer of an input, which is given as one without sign, moved up by one more.

    Processors without instructions for such products (VNNI) add up two of them in 16 bits, which
    two of 255 and 127 overflow.
    """
    knows: bool = getattr(torch.cpu, "_is_vnni_supported", lambda: False)()
    return 127 if knows else 63


def _product(x: Tensor, weights: QuantisedWeights, bias: Tensor | None) -> Tensor:
    """``x W^T + bias`` for an input ``(..., inputs)``."""
    levels = _input_levels()
    factors = x.abs().amax(-1, keepdim=True).clamp_min_(_TINY).div_(levels)  # (..., 1)
    integers = (x / factors).round_().to(torch.int8)
    if levels == _LARGEST:  # adds 128, which 8 bits with a sign have no room for
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
def computes_int8() -> bool:
    """Whether this PyTorch multiplies integers of eight bits here, tried once.

    Its operations for that are not documented: a release may lack them, or take other arguments.
    """
    x = torch.tensor([[127.0, -63.0, 1.0], [0.0, 0.0, 0.0]])
    with torch.inference_mode():
        try:
            found = _product(x, QuantisedWeights.of(torch.eye(3)), torch.ones(3))
        except (AttributeError, TypeError, RuntimeError):
            return False
    return torch.allclose(found, x + 1, atol=2)


def check_int8(device: torch.device) -> None:
    """Whether a device can multiply integers of eight bits.

    Raises:
        ConfigError: it cannot, or this PyTorch cannot make it.
    """
    if device.type != "cpu":
        raise ConfigError(
            f"precision int8 is for the cpu, not for {device}; choose bfloat16 there, or device cpu"
        )
    if not computes_int8():
        raise ConfigError(
            "precision int8: this PyTorch has no products of 8-bit integers on this processor; "
            "choose another precision, or engine ctranslate2"
        )


class QuantisedLinear(PreparedLinear):
    """A linear layer that keeps its weights as integers of eight bits, too."""

    def prepare(self, weight: Tensor) -> QuantisedWeights:
        """The weights in integers."""
        return QuantisedWeights.of(weight)

    def multiply(self, x: Tensor, prepared: QuantisedWeights) -> Tensor:
        """See :meth:`PreparedLinear.multiply`."""
        return _product(x, prepared, self.bias)


def quantise_weights(model: nn.Module) -> None:
    """Make the larger linear layers of a model for search multiply integers of eight bits.

    Args:
        model: in float32, on the CPU.
    """
    for parent in list(model.modules()):
        for name, module in list(parent.named_children()):
            if type(module) is nn.Linear and module.weight.numel() >= LEAST_WEIGHTS:
                setattr(parent, name, QuantisedLinear(module))
