"""Sums over training passes that the log reports, such as how often each expert was used."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

Sums = list[float] | list[list[float]]
"""A tally as plain values."""


class Tally(nn.Module):
    """Sums since they were last taken, on the device of the added values.

    It is a module, without weights, so that :func:`tallies` can find all tallies of a model.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sums: Tensor | None = None

    def add(self, values: Tensor) -> None:
        """Add values of the same shape as before; reading them here would stall a GPU."""
        self._sums = values if self._sums is None else self._sums.to(values) + values

    def take(self) -> Tensor | None:
        """Return the sums and reset them; None if nothing was added."""
        sums, self._sums = self._sums, None
        return sums

    def values(self) -> Sums | None:
        """The sums as plain values, without resetting them; None if nothing was added."""
        return None if self._sums is None else self._sums.double().tolist()

    def restore(self, values: Sums | None) -> None:
        """Continue from these sums."""
        self._sums = None if values is None else torch.tensor(values, dtype=torch.float64)


def tallies(model: nn.Module) -> dict[str, Sums]:
    """The sums of a model's tallies by name, without those to which nothing was added."""
    sums = {name: tally.values() for name, tally in _tallies(model).items()}
    return {name: values for name, values in sums.items() if values is not None}


def restore_tallies(model: nn.Module, sums: Mapping[str, Sums]) -> None:
    """Restore the sums of :func:`tallies`, and reset all other tallies of a model."""
    for name, tally in _tallies(model).items():
        tally.restore(sums.get(name))


def _tallies(model: nn.Module) -> dict[str, Tally]:
    return {name: module for name, module in model.named_modules() if isinstance(module, Tally)}
