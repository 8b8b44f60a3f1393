"""Measuring layers of every type at several sizes, in turn, so that noise affects all equally."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from statistics import median

import torch
from torch import Tensor

from dragoman.models.cost import flop_counter
from dragoman.training.step import activation_bytes
from studies.layers.dependence import longest_chain, shortest_paths
from studies.layers.layer_types import Layer, LayerType, Sizes
from studies.layers.peak import peak_bytes

_PLACE = 1
"""Place in a stack where dilated convolutions begin to skip positions."""
_TRACED_WIDTH, _TRACED_HEADS = 8, 2
"""Width for tracing dependences, which are the same at any width."""
_SHORTEST = 2e-3
"""Minimum seconds of a time sample, reached by repetition."""

Advance = Callable[[], object]
"""Called after each step of the work, for a progress bar."""


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    sizes: Sizes
    lengths: tuple[int, ...]
    """Values of n at ``sizes.d_model``."""
    widths: tuple[int, ...]
    """Values of d at ``length``."""
    length: int
    path_lengths: tuple[int, ...]
    """Values of n at which dependences are traced."""
    batch: int
    """Sentences."""
    rounds: int
    """Samples of each time, after one that is discarded."""

    @property
    def points(self) -> list[tuple[int, int]]:
        """All pairs (n, d), each once."""
        over_n = [(n, self.sizes.d_model) for n in self.lengths]
        return list(dict.fromkeys(over_n + [(self.length, d) for d in self.widths]))


@dataclass(frozen=True)
class LayerCost:
    """The cost of one layer at one size, for the whole batch."""

    n: int
    d: int
    forward_seconds: float
    """Seconds of a forward pass that keeps nothing for gradients."""
    seconds: float
    """Seconds of forward and backward pass."""
    forward_flops: int
    flops: int
    """Operations of the matrix products, forward and backward; a multiply-add counts as two."""
    activation_bytes: int
    """Bytes kept by the forward pass for the backward pass, without input and weights."""
    peak_bytes: int
    """Peak bytes in forward and backward pass, with gradients."""


@dataclass(frozen=True)
class Dependence:
    """How many operations are sequential, and how far signals travel."""

    n: int
    chain: int
    """Length of the longest chain of operations of one layer that depend on each other."""
    path: int
    """Layers or steps between the two positions that are farthest apart."""
    connected: float
    """Share of pairs of positions that any number of layers connects."""


def steps(plan: Plan, kinds: Sequence[LayerType]) -> int:
    """How often :func:`trace` and :func:`measure` call ``advance`` for all these types."""
    return len(kinds) * (len(plan.path_lengths) + len(plan.points) * (plan.rounds + 1))


def trace(plan: Plan, kind: LayerType, advance: Advance) -> list[Dependence]:
    """Dependences at each of the plan's path lengths."""
    sizes = replace(plan.sizes, d_model=_TRACED_WIDTH, heads=_TRACED_HEADS)
    found = []
    for n in plan.path_lengths:
        paths = shortest_paths(kind, sizes, n)
        chain = longest_chain(kind, sizes, n)
        found.append(Dependence(n, chain, paths.maximum, paths.connected))
        advance()
    return found


def measure(
    plan: Plan, kinds: Sequence[LayerType], device: torch.device, advance: Advance
) -> dict[str, list[LayerCost]]:
    """Costs by the layer type's name, in the order of the plan's points.

    A round goes through all sizes, and at each through all types, so that other load on the machine
    affects all of them equally; times are medians over the rounds.
    """
    trials = {
        (kind.name, point): _Trial(plan, kind, point, device)
        for point in plan.points
        for kind in kinds
    }
    for trial in trials.values():
        trial.count()
        advance()
    for _ in range(plan.rounds):
        for trial in trials.values():
            trial.sample()
            advance()
    return {kind.name: [trials[kind.name, point].cost() for point in plan.points] for kind in kinds}


class _Trial:
    """One layer at one size."""

    def __init__(
        self, plan: Plan, kind: LayerType, point: tuple[int, int], device: torch.device
    ) -> None:
        self.shape = (plan.batch, *point)
        self.kind, self.sizes = kind, replace(plan.sizes, d_model=point[1])
        self.device = device
        self.layer, self.x, self.shared = self._built(device, self.shape, torch.float32)
        self.counts: tuple[int, int, int, int] = (0, 0, 0, 0)
        self.repetitions = (1, 1)
        self.times: list[tuple[float, float]] = []

    def count(self) -> None:
        """Count what does not vary, and find how often a pass must be repeated per sample."""
        given = [self.x, *self.layer.parameters()]
        if self.shared is not None:
            given.append(self.shared)
        activations = activation_bytes(self._output, given)
        self.counts = (*self._flops(), activations, peak_bytes(self._forward_backward))
        forward, both = self._seconds()
        self.repetitions = (ceil(_SHORTEST / forward), ceil(_SHORTEST / both))

    def sample(self) -> None:
        """Time both passes once more."""
        self.times.append(self._seconds())

    def cost(self) -> LayerCost:
        """Counts, and medians of the samples."""
        _, n, d = self.shape
        forward = median(forward for forward, _ in self.times)
        return LayerCost(n, d, forward, median(both for _, both in self.times), *self.counts)

    def _built(
        self, device: torch.device, shape: tuple[int, int, int], dtype: torch.dtype
    ) -> tuple[Layer, Tensor, Tensor | None]:
        with device:
            layer = self.kind.build(self.sizes, _PLACE).to(dtype)
            x = torch.randn(shape, dtype=dtype, requires_grad=True)
            return layer, x, layer.shared(x)

    def _output(self) -> Tensor:
        return self.layer(self.x, self.shared)

    def _forward(self) -> None:
        with torch.no_grad():
            self._output()

    def _forward_backward(self) -> None:
        self.layer.zero_grad()
        self.x.grad = None
        self._output().sum().backward()

    def _flops(self) -> tuple[int, int]:
        """Operations forward, and with backward, without fused kernels that hide the products.

        They are counted without data for attention (see models.cost), and in float64 for an LSTM,
        which is slow without data.  All sentences cost the same, so one is counted.
        """
        device = torch.device("meta" if self.layer.positions_per_call is None else "cpu")
        batch, n, d = self.shape
        layer, x, shared = self._built(device, (1, n, d), torch.float64)
        with flop_counter() as counter:
            output = layer(x, shared)
            forward = counter.get_total_flops()
            output.sum().backward()
        return batch * forward, batch * counter.get_total_flops()

    def _seconds(self) -> tuple[float, float]:
        forward, both = self.repetitions
        return self._timed(self._forward, forward), self._timed(self._forward_backward, both)

    def _timed(self, run: Callable[[], None], repetitions: int) -> float:
        self._wait()
        start = time.perf_counter()
        for _ in range(repetitions):
            run()
        self._wait()
        return (time.perf_counter() - start) / repetitions

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
