"""The cost of a model: parameters by part, floating-point operations per token.

Operations are counted by running the model without data (PyTorch's "meta" device) under PyTorch's
own counter, so every family is counted the same way.  A multiplication and an addition are two
operations.  Only matrix products count: not sums, softmax, normalisation and table look-ups, nor
depthwise convolutions, channel by channel, nor the noise of a mixture's gates, which exists only in
training.  A recurrent layer's products are visible only on this device, because a CPU's fused LSTM
hides them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from dragoman.models import ModelConfig
from dragoman.models.size import meta_model

_SENTENCES = 8


@dataclass(frozen=True)
class Cost:
    """Size and work of a model."""

    parameters: dict[str, int]
    """Number of parameters by part; a matrix shared by several parts is counted once."""
    forward_flops_per_target_token: float
    """Operations of one pass over source and target, per target token."""
    flops_per_target_token: float
    """The same including the backward pass: the cost of training."""
    frozen_parameters: int = 0
    """Number of the parameters that do not learn; they are also in :attr:`parameters`."""

    @property
    def learned_parameters(self) -> int:
        """Number of parameters that learn."""
        return self.total_parameters - self.frozen_parameters

    @property
    def total_parameters(self) -> int:
        """Number of all parameters."""
        return sum(self.parameters.values())

    def training_flops(self, target_tokens: int) -> float:
        """Operations for training on this many target tokens."""
        return self.flops_per_target_token * target_tokens


def cost(
    config: ModelConfig,
    source_vocabulary: int,
    target_vocabulary: int,
    source_length: int = 25,
    target_length: int = 25,
) -> Cost:
    """Count parameters and operations without training or data.

    Lengths are in pieces of a typical sentence, including the end symbol.
    """
    model = meta_model(config, source_vocabulary, target_vocabulary).eval()
    parameters: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        part = name.split(".")[0]
        parameters[part] = parameters.get(part, 0) + parameter.numel()
    frozen = sum(p.numel() for p in model.parameters() if not p.requires_grad)
    _forget_normalisation(model)
    with torch.device("meta"):
        source = torch.zeros(_SENTENCES, source_length, dtype=torch.int64)
        target = torch.zeros(_SENTENCES, target_length, dtype=torch.int64)
        mask = torch.ones(_SENTENCES, source_length, dtype=torch.bool)
    with flop_counter() as counter:
        memory = model.encode(source, mask)
        hidden, _ = model.decode(target, memory, model.start(memory))
        scores = model.logits(hidden)
        forward = counter.get_total_flops()
        scores.sum().backward()
    tokens = _SENTENCES * target_length
    return Cost(parameters, forward / tokens, counter.get_total_flops() / tokens, frozen)


def _forget_normalisation(model: nn.Module) -> None:
    """Replace weight normalisation by plain weights: norms are not counted.

    They also lack a gradient on the "meta" device of PyTorch 2.6.
    """
    for module in model.modules():
        if is_parametrized(module, "weight"):
            remove_parametrizations(module, "weight", leave_parametrized=True)


@contextmanager
def flop_counter() -> Iterator[FlopCounterMode]:
    """PyTorch's counter of operations, corrected for grouped convolutions.

    Its own formula (as of PyTorch 2.13) ignores the groups in the weight gradient of a grouped
    convolution, and so counts ``groups`` times too much.
    """
    mended = {torch.ops.aten.convolution_backward: _convolution_backward}
    counter = FlopCounterMode(display=False, custom_mapping=mended)
    with counter, _ShapesAlone():  # type: ignore[no-untyped-call]
        yield counter


_aten = torch.ops.aten
_IN_PLACE = {_aten.sigmoid_.default, _aten.tanh_.default}
_ELEMENTWISE = {
    *(_aten.sigmoid.default, _aten.sigmoid_backward.default),
    *(_aten.tanh.default, _aten.tanh_backward.default),
    *(_aten.add.Tensor, _aten.mul.Tensor),
}


class _ShapesAlone(TorchDispatchMode):
    """Returns empty results of uncounted operations that preserve the shape of their arguments.

    PyTorch decomposes such operations in Python on the "meta" device, which takes half of the time
    of counting a recurrent model.
    """

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        first = args[0] if args else None
        if isinstance(first, Tensor) and first.is_meta:
            if func in _IN_PLACE:
                return first
            if func in _ELEMENTWISE and all(_alike(first, other) for other in args[1:]):
                return torch.empty_like(first)
        return func(*args, **(kwargs or {}))


def _alike(one: Tensor, other: object) -> bool:
    return isinstance(other, Tensor) and (one.shape, one.dtype) == (other.shape, other.dtype)


def _convolution_backward(
    gradient: Sequence[int],
    x: Sequence[int],
    weight: Sequence[int],
    _bias: object,
    _stride: object,
    _padding: object,
    _dilation: object,
    transposed: bool,
    _output_padding: object,
    _groups: int,
    wanted: Sequence[bool],
    **_: object,
) -> int:
    """The operations of the forward pass, once for each of input and weight gradient."""
    windows = prod(x if transposed else gradient)  # weight is (_, channels of a group, *kernel)
    return 2 * windows * prod(weight[1:]) * sum(wanted[:2])
