"""The fused step without PyTorch's optimizer classes is that of those classes, bit for bit."""

from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from torch import nn

from dragoman.training.optimizers.adam import FusedAdam

SHAPES = (31, 7)


def parts() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(3)
    return [nn.Parameter(torch.randn(size, generator=generator)) for size in SHAPES]


def set_gradients(parameters: list[nn.Parameter], step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape, generator=generator)


@pytest.mark.parametrize(
    ("kind", "theirs"), [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW)]
)
def test_it_is_the_step_of_pytorchs_classes(kind: Literal["adam", "adamw"], theirs: Any) -> None:
    ours, reference = parts(), parts()
    adam = FusedAdam(kind, [(ours[0], 0.1), (ours[1], 0.0)], beta1=0.9, beta2=0.98, epsilon=1e-9)
    groups = [
        {"params": [part], "weight_decay": decay}
        for part, decay in zip(reference, (0.1, 0.0), strict=True)
    ]
    expected = theirs(groups, lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    for step, rate in enumerate((0.01, 0.02, 0.005, 0.1), start=1):
        adam.learning_rate = rate
        for group in expected.param_groups:
            group["lr"] = rate
        set_gradients(ours, step)
        set_gradients(reference, step)
        adam.step()
        expected.step()
        for own, other in zip(ours, reference, strict=True):
            assert torch.equal(own, other)
            state = expected.state[other]
            assert adam.state[own].keys() == state.keys()
            assert all(torch.equal(adam.state[own][name], state[name]) for name in state)
            assert adam.state[own]["step"] == step


def test_what_has_no_gradient_stays() -> None:
    first, second = parts()
    adam = FusedAdam("adam", [(first, 0.0), (second, 0.0)], beta1=0.9, beta2=0.98, epsilon=1e-9)
    adam.learning_rate = 0.1
    first.grad = torch.ones_like(first)
    before = second.detach().clone()
    adam.step()
    assert torch.equal(second, before)
    assert not adam.state[second]
