"""Linear layers whose weights are packed once for search, in the order that oneDNN reads them in.

A matrix product first brings the weights into blocks that suit the processor.  In training the
weights change with every step; in search they stay the same for thousands of steps.  PyTorch
computes float32 products by MKL and bfloat16 products by oneDNN, and both pack at every call
(decision 115 has how much packing once saves).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

_LEAST_WEIGHTS = {torch.float32: 1 << 17, torch.bfloat16: 1}
"""Elements of the smallest matrix that is packed.  A call of oneDNN takes some microseconds more
than a call of MKL, which small products do not earn back.  In bfloat16 all calls are oneDNN's
anyway."""


def packs_weights(device: torch.device) -> bool:
    """Whether weights on this device are packed: on x86 processors with AVX-512, by oneDNN.

    With AVX2 alone, packing gained nothing.
    """
    if device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return False
    is_enabled = bool(torch.backends.mkldnn.enabled)
    return is_enabled and torch.backends.cpu.get_cpu_capability() == "AVX512"


def _packed(weight: Tensor) -> Tensor:
    """A matrix in the order that oneDNN reads it in."""
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), None)
    return packed


def _product(x: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")
    return product


@cache
def computes_packed(dtype: torch.dtype) -> bool:
    """Whether this PyTorch multiplies by packed weights, tried once with a small product.

    Its operations for that are not documented: a release may lack them, or take other arguments.
    """
    with torch.no_grad():
        x, weight = torch.ones(1, 2, dtype=dtype), torch.eye(2, dtype=dtype)
        try:
            return torch.equal(_product(x, _packed(weight), None), x)
        except (AttributeError, TypeError, RuntimeError):
            return False


class PreparedLinear(nn.Linear):
    """A linear layer that keeps a copy of its weights, prepared for fast products.

    It shares its parameters with ``linear``.  The original weights are still saved, exchanged or
    shared with embeddings.  The copy is made at first use, and again after the weights have
    changed.
    """

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self.train(linear.training)
        self._prepared: Any = None
        self._prepared_from: object = None
        self._is_released = False

    def prepare(self, weight: Tensor) -> Any:
        """Prepare the weights ``(outputs, inputs)``."""
        raise NotImplementedError

    def multiply(self, x: Tensor, prepared: Any) -> Tensor:
        """The product of ``(..., in_features)`` and the prepared weights, plus the bias."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """``(..., in_features)`` to ``(..., out_features)``; with gradients, by plain weights."""
        if torch.is_grad_enabled() and not self._is_released:
            return functional.linear(x, self.weight, self.bias)
        return self.multiply(x, self._current())

    def release(self) -> None:
        """Keep the prepared copy alone, for good: the layer then has no weights to share or save.

        It can no longer be copied, and passes no gradients on.
        """
        self._current()
        del self.weight
        self._is_released = True

    def replace(self, weight: Tensor) -> None:
        """Take other weights ``(outputs, inputs)``."""
        if self._is_released:
            self._prepared = self.prepare(weight)
        else:
            self.weight.copy_(weight)

    def _current(self) -> Any:
        """The prepared copy of the current weights."""
        if self._is_released:
            return self._prepared
        weight = self.weight
        version = 0 if weight.is_inference() else weight._version
        now = weight.data_ptr(), version, weight.dtype
        if self._prepared is None or self._prepared_from != now:
            self._prepared = self.prepare(weight.detach())
            self._prepared_from = now
        return self._prepared

    def __getstate__(self) -> dict[str, object]:
        """The state without the prepared copy, which cannot be copied or written."""
        return {**self.__dict__, "_prepared": None, "_prepared_from": None}


class PackedLinear(PreparedLinear):
    """A linear layer that keeps its weights packed."""

    @override
    def prepare(self, weight: Tensor) -> Tensor:
        return _packed(weight)

    @override
    def multiply(self, x: Tensor, prepared: Tensor) -> Tensor:
        return _product(x, prepared, self.bias)


def pack_weights(model: nn.Module) -> None:
    """Make the linear layers of a model for search pack their weights, if that saves time.

    The model has its final precision, and is on its device.
    """
    for parent in list(model.modules()):
        for name, module in list(parent.named_children()):
            if type(module) is nn.Linear and _gains(module.weight):
                setattr(parent, name, PackedLinear(module))


def _gains(weight: Tensor) -> bool:
    least = _LEAST_WEIGHTS.get(weight.dtype)
    if least is None or weight.numel() < least or not packs_weights(weight.device):
        return False
    return computes_packed(weight.dtype)


def put_weight(model: nn.Module, name: str, weight: Tensor) -> None:
    """Replace the parameter ``name`` of a model, which may have been prepared for search."""
    module = model.get_submodule(name.rpartition(".")[0])
    if isinstance(module, PreparedLinear) and name.endswith(".weight"):
        module.replace(weight)
    else:
        model.get_parameter(name).copy_(weight)
