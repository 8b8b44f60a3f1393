from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.models.layers.dropout import Dropout, keep_mask, seed_dropout


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_rate_and_scale(rate: float) -> None:
    seed_dropout(7)
    count = 2_000_000
    mask = keep_mask(torch.Size([count]), rate, torch.float64)
    dropped = (mask == 0).double().mean().item()
    assert dropped == pytest.approx(rate, abs=5 * (rate * (1 - rate) / count) ** 0.5)
    assert mask.max().item() == pytest.approx(1 / (1 - rate), rel=1e-4)
    assert mask.unique().numel() == 2
    neighbours = torch.corrcoef(torch.stack([mask[:-1], mask[1:]]))[0, 1]
    assert abs(neighbours) < 5 / count**0.5


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None)
def test_any_shape(shape: list[int]) -> None:
    assert keep_mask(torch.Size(shape), 0.3, torch.float32).shape == tuple(shape)


def test_a_rate_that_rounds_to_one_still_keeps_something() -> None:
    seed_dropout(7)
    mask = keep_mask(torch.Size([2**20]), 1 - 1e-14, torch.float32)
    assert mask.unique().tolist() == [0, 2**16]


def test_a_function_of_its_seed() -> None:
    def draw(*entropy: int) -> torch.Tensor:
        seed_dropout(*entropy)
        return keep_mask(torch.Size([64]), 0.5, torch.float32)

    assert torch.equal(draw(1, 2), draw(1, 2))
    assert not torch.equal(draw(1, 2), draw(1, 3))


def test_gradient_is_the_mask_and_evaluation_does_nothing() -> None:
    layer = Dropout(0.4)
    x = torch.ones(1000, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, y.detach())
    assert layer.eval()(x) is x


@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_types_of_two_bytes_drop_the_same(dtype: torch.dtype, rate: float) -> None:
    """Their masks are made from bits, without a conversion."""
    masks = []
    for kind in (dtype, torch.float64):
        seed_dropout(7)
        masks.append(keep_mask(torch.Size([3, 1001]), rate, kind))
    assert masks[0].dtype == dtype
    assert torch.equal(masks[0], masks[1].to(dtype))


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_adding_is_dropout_and_a_sum(rate: float) -> None:
    layer = Dropout(rate)
    x, y = torch.randn(2, 5, 7, dtype=torch.float64).requires_grad_()
    results = []
    for at_once in (True, False):
        seed_dropout(3)
        total = layer(y, onto=x) if at_once else x + layer(y)
        results.append((total, *torch.autograd.grad(total.square().sum(), (x, y))))
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)
    assert layer.eval()(y, onto=x).equal(x + y)


def test_the_operator_of_compiled_code_draws_the_same_masks() -> None:
    x = torch.randn(5, 7)
    seed_dropout(3)
    expected = keep_mask(x.shape, 0.3, x.dtype)
    seed_dropout(3)
    assert torch.equal(torch.ops.dragoman.dropout_mask(x, 0.3), expected)
    torch.library.opcheck(  # masks differ from call to call, so results cannot be compared
        torch.ops.dragoman.dropout_mask.default, (x, 0.3), test_utils="test_schema"
    )
    torch.library.opcheck(
        torch.ops.dragoman.dropout_mask.default, (x, 0.3), test_utils="test_faketensor"
    )
