"""The fused step without PyTorch's optimizer classes is that of those classes, bit for bit."""

from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.optimizers.interface import Parameter

SHAPES = (31, 7)
NAMES = {"first_moment": "exp_avg", "second_moment": "exp_avg_sq"}


def parts() -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(size, generator=generator) for size in SHAPES]


def set_gradients(parameters: list[Tensor], step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape, generator=generator)


@pytest.mark.parametrize(
    ("kind", "theirs"), [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW)]
)
def test_it_is_the_step_of_pytorchs_classes(kind: Literal["adam", "adamw"], theirs: Any) -> None:
    ours, reference = parts(), [nn.Parameter(part) for part in parts()]
    config = AdamConfig(kind=kind, weight_decay=0.1)
    adam = config.build([Parameter(ours[0], True), Parameter(ours[1], False)])
    groups = [
        {"params": [part], "weight_decay": decay}
        for part, decay in zip(reference, (0.1, 0.0), strict=True)
    ]
    expected = theirs(groups, lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    for step, rate in enumerate((0.01, 0.02, 0.005, 0.1), start=1):
        for group in expected.param_groups:
            group["lr"] = rate
        set_gradients(ours, step)
        set_gradients(list(reference), step)
        adam.step(rate)
        expected.step()
        assert adam.steps == step
        for own, state, other in zip(ours, adam.state, reference, strict=True):
            assert torch.equal(own, other)
            assert state.keys() == NAMES.keys()
            theirs_state = expected.state[other]
            assert all(torch.equal(state[name], theirs_state[NAMES[name]]) for name in NAMES)
            assert theirs_state["step"] == step


def test_a_parameter_without_a_gradient_stays() -> None:
    first, second = parts()
    adam = AdamConfig().build([Parameter(first, False), Parameter(second, False)])
    first.grad = torch.ones_like(first)
    before = second.clone()
    adam.step(0.1)
    assert torch.equal(second, before)
    assert not adam.state[1]["first_moment"].any()


def test_reset_it_begins_anew() -> None:
    first, _ = parts()
    adam = AdamConfig().build([Parameter(first, False)])
    first.grad = torch.ones_like(first)
    adam.step(0.1)
    adam.reset()
    assert adam.steps == 0
    assert not any(tensor.any() for tensor in adam.state[0].values())
