"""What a model costs: parameters by part, floating-point operations a token.

Operations are counted by running the model without data (PyTorch's "meta" device) under its own
counter, so every family is counted the same way; a multiplication and an addition are two.  It
counts matrix products; sums, softmax, normalisation and look-ups in tables count nothing, nor do
a depthwise convolution, channel by channel, and the noise of a mixture's gates, which training
alone has.  A recurrent layer's products are seen on this device alone: a CPU's fused LSTM hides
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import nn
from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations
from torch.utils.flop_counter import FlopCounterMode

from dragoman.models import ModelConfig
from dragoman.models.size import meta_model

_SENTENCES = 8


@dataclass(frozen=True)
class Cost:
    """Size and work of a model."""

    parameters: dict[str, int]
    """By part; a matrix that several parts share is counted once."""
    forward_flops_per_target_token: float
    """One pass over source and target, per target token."""
    flops_per_target_token: float
    """The same with the backward pass: what training costs."""

    @property
    def total_parameters(self) -> int:
        """All of them."""
        return sum(self.parameters.values())

    def training_flops(self, target_tokens: int) -> float:
        """Operations that training on so many target tokens takes."""
        return self.flops_per_target_token * target_tokens


def cost(
    config: ModelConfig,
    source_vocabulary: int,
    target_vocabulary: int,
    source_length: int = 25,
    target_length: int = 25,
) -> Cost:
    """Count without training or data.

    Args:
        config: of any family.
        source_vocabulary: pieces.
        target_vocabulary: pieces.
        source_length: pieces of a typical source sentence, with the end symbol.
        target_length: pieces of a typical target sentence, with the end symbol.

    Raises:
        ConfigError: a size is beyond what PyTorch can address.
    """
    model = meta_model(config, source_vocabulary, target_vocabulary).eval()
    parameters: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        part = name.split(".")[0]
        parameters[part] = parameters.get(part, 0) + parameter.numel()
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
    return Cost(parameters, forward / tokens, counter.get_total_flops() / tokens)


def _forget_normalisation(model: nn.Module) -> None:
    """Take normalised weights as they are: norms are not counted, and have no gradient here.

    PyTorch 2.6 lacks that gradient on its "meta" device.
    """
    for module in model.modules():
        if is_parametrized(module, "weight"):
            remove_parametrizations(module, "weight", leave_parametrized=True)


def flop_counter() -> FlopCounterMode:
    """PyTorch's counter of operations, right for convolutions in groups as well.

    Its own formula (as of PyTorch 2.13) takes the gradient of a grouped convolution's weight for
    that of a whole one, ``groups`` times too much.
    """
    mended = {torch.ops.aten.convolution_backward: _convolution_backward}
    return FlopCounterMode(display=False, custom_mapping=mended)


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
    """As many operations as forward, for the input's and for the weight's gradient each."""
    windows = prod(x if transposed else gradient)  # weight is (_, channels of a group, *kernel)
    return 2 * windows * prod(weight[1:]) * sum(wanted[:2])
