"""The averaging encoder against its formula with plain loops."""

from __future__ import annotations

import numpy as np
import torch

from dragoman.models.layers.averaging_encoder import AveragingEncoder


def test_keys_are_means_and_values_are_not() -> None:
    torch.manual_seed(0)
    embedded = torch.randn(2, 7, 3, dtype=torch.float64)
    lengths = [7, 4]
    mask = torch.arange(7) < torch.tensor(lengths)[:, None]
    keys, values = AveragingEncoder(5)(embedded, mask)
    for row, length in enumerate(lengths):
        e = embedded[row, :length].numpy()
        for j in range(length):
            near = [e[j + t] for t in range(-2, 3) if 0 <= j + t < length]
            np.testing.assert_allclose(keys[row, j].numpy(), np.sum(near, axis=0) / 5)
        np.testing.assert_array_equal(values[row, :length].numpy(), e)


def test_a_window_of_one_smooths_nothing() -> None:
    embedded = torch.randn(1, 4, 3)
    keys, values = AveragingEncoder(1)(embedded, torch.ones(1, 4, dtype=torch.bool))
    assert torch.equal(keys, values)
