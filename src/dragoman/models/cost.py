"""The cost of a model: parameters by part, floating-point operations per token.

Operations are counted by running the model without data (PyTorch's "meta" device) under PyTorch's
own counter, so every family is counted the same way.  A multiplication and an addition are two
operations.  Only matrix products count: not sums, softmax, normalisation and table look-ups, nor
depthwise convolutions, channel by channel, nor the noise of a mixture's gates, which exists only in
training.  A recurrent layer's products are visible only on this device, because a CPU's fused LSTM
hides them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode
from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.models import ModelConfig
from dragoman.models.layers.low_rank import AdapterConfig, add_adapters
from dragoman.models.size import meta_model, needs_values

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
    *,
    adapter: AdapterConfig | None = None,
) -> Cost:
    """Count parameters and operations without training or data.

    Lengths are in pieces of a typical sentence, including the end symbol.  With an adapter, only
    its factors learn.
    """
    model = meta_model(config, source_vocabulary, target_vocabulary).eval()
    if adapter is not None:
        add_adapters(model, adapter, seed=0)
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
    try:
        with flop_counter() as counter:
            memory = model.encode(source, mask)
            hidden, _ = model.decode(target, memory, model.start(memory))
            scores = model.logits(hidden)
            forward = counter.get_total_flops()
            scores.sum().backward()
    except RuntimeError as error:
        if not needs_values(error):
            raise
        raise ConfigError(
            f"model.family: {config.family} reads values while it encodes or decodes ({error}), "
            "but operations are counted without values; correct its package"
        ) from error
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
def flop_counter() -> Iterator[FlopCounter]:
    """Count the operations of PyTorch that run meanwhile."""
    counter = FlopCounter()
    with counter:
        yield counter


_IN_PLACE = {torch.ops.aten.sigmoid_.default, torch.ops.aten.tanh_.default}


class FlopCounter(TorchDispatchMode):
    """Counts operations by PyTorch's formulas.

    PyTorch computes most shapes on the "meta" device in Python, which takes most of the time.  Here
    an operation returns an empty result at once if it had arguments of the same shapes before.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._total = 0
        self._layouts: dict[Hashable, _Layout | tuple[_Layout | None, ...] | None] = {}

    def get_total_flops(self) -> int:
        """The operations until now."""
        return self._total

    @override
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = self._result(func, args, kwargs)
        if (formula := _FORMULAS.get(func._overloadpacket)) is not None:
            self._total += formula(*args, **kwargs, out_val=result)
        return result

    def _result(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if func in _IN_PLACE and args[0].is_meta:
            return args[0]
        if any(returned.alias_info is not None for returned in func._schema.returns):
            return func(*args, **kwargs)  # a view, or an argument that is changed
        key = _signature((func, args, *kwargs.items()))
        if key in self._layouts:
            return _empty(self._layouts[key])
        result = func(*args, **kwargs)
        parts = result if isinstance(result, tuple) else (result,)
        if all(part is None or (isinstance(part, Tensor) and part.is_meta) for part in parts):
            layouts = tuple(None if part is None else _Layout.of(part) for part in parts)
            self._layouts[key] = layouts if isinstance(result, tuple) else layouts[0]
        return result


class _Layout(NamedTuple):
    """All that a tensor on the "meta" device has."""

    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype
    is_meta: bool

    @classmethod
    def of(cls, tensor: Tensor) -> _Layout:
        return cls(tensor.shape, tensor.stride(), tensor.dtype, tensor.is_meta)


def _signature(value: object) -> Hashable:
    """All of the arguments of an operation that the layout of its result depends on."""
    if isinstance(value, Tensor):
        return _Layout.of(value)
    if isinstance(value, (tuple, list)):
        return tuple(map(_signature, value))
    return type(value), value  # since 1, 1.0 and True are equal


def _empty(layout: Any) -> Any:
    """New tensors of these layouts."""
    if isinstance(layout, _Layout):
        return torch.empty_strided(layout.shape, layout.stride, dtype=layout.dtype, device="meta")
    return None if layout is None else tuple(map(_empty, layout))


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


# PyTorch's own formula (as of 2.13) ignores the groups in the weight gradient of a grouped
# convolution, and so counts ``groups`` times too much.
_FORMULAS = FlopCounterMode(
    display=False, custom_mapping={torch.ops.aten.convolution_backward: _convolution_backward}
).flop_registry
