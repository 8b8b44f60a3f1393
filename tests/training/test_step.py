"""Bytes against sums by hand."""

from __future__ import annotations

import torch

from dragoman.training.step import activation_bytes

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
