"""Bytes against sums by hand."""

from __future__ import annotations

import torch

from dragoman.models.footprint import activation_bytes, peak_bytes

NUMBER = 4  # bytes of a float32


def test_activations_are_what_backward_needs() -> None:
    x = torch.ones(5, 7, requires_grad=True)
    weight = torch.ones(7, 11, requires_grad=True)

    def forward() -> torch.Tensor:
        hidden = (x @ weight).sigmoid()  # keeps its own result
        return (hidden + 1).exp()  # keeps its own result as well; the sum is forgotten

    assert activation_bytes(forward, [x, weight]) == 2 * 5 * 11 * NUMBER
    assert activation_bytes(forward, []) == (2 * 5 * 11 + 5 * 7 + 7 * 11) * NUMBER


def test_views_of_one_block_count_once() -> None:
    x = torch.ones(6, requires_grad=True)

    def forward() -> torch.Tensor:
        y = x.exp()
        return y.view(2, 3).sigmoid().sum() + (y[:3] * y[3:]).sum()

    assert activation_bytes(forward, [x]) == 2 * 6 * NUMBER


def test_the_peak_is_of_what_lives_at_the_same_time() -> None:
    def run() -> None:
        a = torch.ones(1000)
        b = a + 1
        del a
        c = b.view(10, 100) + 1  # b and c
        del b
        torch.ones(500)  # c and this
        del c

    assert peak_bytes(run) == 2 * 1000 * NUMBER


def test_the_peak_repeats_and_sees_the_backward_pass() -> None:
    x = torch.ones(1000, requires_grad=True)

    def run() -> None:
        x.grad = None
        x.exp().exp().sum().backward()

    # Both results, the gradient of the sum (one number, spread without a copy) and two gradients:
    # while the second is made, the first and what exp has kept are still there.
    forward = peak_bytes(lambda: x.exp().exp())
    assert forward == 2 * 1000 * NUMBER
    first = peak_bytes(run)
    assert first == peak_bytes(run)
    assert 3 * 1000 * NUMBER < first <= 4 * 1000 * NUMBER + 4 * NUMBER
