"""Bytes against sums by hand."""

from __future__ import annotations

import torch

from studies.layers.peak import peak_bytes

NUMBER = 4  # bytes of a float32


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
