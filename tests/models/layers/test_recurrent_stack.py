"""Residual connections of recurrent layers, beside the formula."""

from __future__ import annotations

import torch
from torch import nn

from dragoman.models.layers.recurrence import CellConfig, RecurrentStack

WIDTH = 3


def test_the_residual_is_the_input_of_a_layer_before_dropout() -> None:
    """Layers without weights give constants, so that only the residual could show a mask."""
    stack = RecurrentStack(CellConfig(), WIDTH, ["forward"] * 3, 0.5, residual=True)
    for number, layer in enumerate(stack.layers):
        for name, parameter in layer.named_parameters():
            nn.init.constant_(parameter, 0.1 * (number + 1) if "bias" in name else 0.0)
    mask = torch.ones(2, 4, dtype=torch.bool)
    x = torch.randn(2, 4, WIDTH, generator=torch.Generator().manual_seed(1))
    outputs = []
    for training in (True, False):
        stack.train(training)
        outputs.append(stack(x, mask)[0])
    assert outputs[0].abs().min() > 0.01
    torch.testing.assert_close(outputs[0], outputs[1])
