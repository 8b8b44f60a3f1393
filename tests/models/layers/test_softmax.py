"""Softmax of short rows against the formula in float64, and against PyTorch's own kernel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dragoman.models.layers import softmax as module
from dragoman.models.layers.softmax import softmax

LONGEST = {torch.float64: 7, torch.float32: 15, torch.bfloat16: 31}
"""One number fewer than a register has."""


@pytest.fixture(autouse=True, scope="module")
def however_few() -> Iterator[None]:
    """Rows count as many however few there are, and any registers as AVX-512's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEW", 0)
        patch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
        yield


def formula(scores: Tensor) -> Tensor:
    """In float64, with the largest score of each row taken off."""
    lowered = scores.double() - scores.double().amax(-1, keepdim=True)
    return lowered.exp() / lowered.exp().sum(-1, keepdim=True)


def is_own(scores: Tensor) -> bool:
    """Whether the rows are taken together, and not by PyTorch's kernel."""
    return "_ShortSoftmax" in str(softmax(scores.detach().requires_grad_()).grad_fn)


@settings(max_examples=20, deadline=None)
@given(rows=st.integers(1, 9), data=st.data(), dtype=st.sampled_from([*LONGEST]))
def test_equals_the_formula_forward_and_backward(
    rows: int, data: st.DataObject, dtype: torch.dtype
) -> None:
    keys = data.draw(st.integers(1, LONGEST[dtype]))
    torch.manual_seed(rows * keys)
    scores = (4 * torch.randn(2, rows, keys, dtype=torch.float64)).to(dtype).requires_grad_()
    upstream = torch.randn(2, rows, keys, dtype=torch.float64).to(dtype)
    found = softmax(scores)
    found.backward(upstream)
    p = formula(scores.detach())
    gradient = p * (upstream.double() - (p * upstream.double()).sum(-1, keepdim=True))
    # Of exponential, sum, quotient and product; the formula's own in float64.
    rounding = max(4 * torch.finfo(dtype).eps, 1e-13)
    torch.testing.assert_close(found.detach().double(), p, rtol=rounding, atol=1e-30)
    assert scores.grad is not None
    bound = 2 * rounding * p * (upstream.double().abs() + upstream.double().abs().amax(-1, True))
    assert ((scores.grad.double() - gradient).abs() <= bound + 1e-12).all()


@pytest.mark.parametrize(("dtype", "longest"), LONGEST.items())
def test_a_full_register_is_left_to_pytorch(dtype: torch.dtype, longest: int) -> None:
    assert is_own(torch.zeros(3, longest, dtype=dtype))
    assert not is_own(torch.zeros(3, longest + 1, dtype=dtype))


def test_few_scores_are_left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW", 100)
    assert is_own(torch.zeros(10, 10))
    assert not is_own(torch.zeros(9, 11))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "row", [[1e4, 9e3, 0.0], [-1e4, -1e4, -9e3], [-100.0, -101.0, -200.0], [95.0, 95.0, 95.0]]
)
def test_scores_out_of_range(row: list[float], dtype: torch.dtype) -> None:
    """No overflow, and no row whose exponentials vanish, next to an ordinary one."""
    scores = torch.tensor([row, [0.5, 1.0, -3.0]], dtype=dtype)
    expected = formula(scores)
    rounding = 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(softmax(scores).double(), expected, rtol=rounding, atol=1e-30)


def test_hidden_keys_get_nothing_and_learn_nothing() -> None:
    scores = torch.tensor([[1.0, -torch.inf, 2.0], [-torch.inf, 0.0, -torch.inf]])
    scores.requires_grad_()
    weights = softmax(scores)
    weights.backward(torch.tensor([[1.0, 5.0, -1.0], [3.0, 2.0, 1.0]]))
    assert scores.grad is not None
    assert weights[0, 1] == 0
    assert weights[1].tolist() == [0, 1, 0]
    assert scores.grad[0, 1] == 0
    assert scores.grad[1].tolist() == [0, 0, 0]


def test_not_a_number_stays_one() -> None:
    scores = torch.tensor([[torch.nan, 1.0], [0.0, 1.0]])
    assert softmax(scores)[0].isnan().all()
