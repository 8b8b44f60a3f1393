"""Path lengths and sequential operations, counted on running layers.

Vaswani et al. 2017, section 4: the "maximum path length" is the longest of the paths that signals
travel between any two positions of input and output, and "sequential operations" are those that
cannot run in parallel.  Neither is computed from a formula here.  Gradients show which values
depend on which: one that is exactly zero means no dependence (masked weights are exact zeros), and
in float64, call by call, none vanishes by underflow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from studies.layers.layer_types import Layer, LayerType, Sizes

_UNREACHED = float("inf")


@dataclass(frozen=True)
class Call:
    """How the outputs of one call of a layer depend on its inputs."""

    positions: int
    """Number of positions that it reads."""
    depends: Tensor
    """Whether an output depends on an input, ``(outputs, inputs)``; on either side the positions
    come first, then the parts of the state."""

    def distances(self, known: Tensor) -> Tensor:
        """Distances of its outputs, ``(outputs, n)``, from those of its inputs, ``(inputs, n)``."""
        unreached = known.new_full((1, known.shape[1]), _UNREACHED)
        return torch.cat([known, unreached])[self._inputs].amin(1) + 1

    @cached_property
    def _inputs(self) -> Tensor:
        """Which inputs each output depends on, padded by one beyond the last."""
        most = int(self.depends.sum(1).max())
        first, which = self.depends.to(torch.int8).sort(dim=1, descending=True)
        return which.masked_fill(first == 0, self.depends.shape[1])[:, : max(most, 1)]


@dataclass(frozen=True)
class Paths:
    """Shortest paths between all pairs of an input and an output position."""

    maximum: int
    """Number of calls on the longest; a call is a layer, or one step of a recurrent layer."""
    connected: float
    """Share of the pairs that are connected; a recurrent layer never looks ahead."""


def shortest_paths(kind: LayerType, sizes: Sizes, n: int) -> Paths:
    """Stack layers until every output depends on every input, or another layer adds no connection.

    A pair counts with the first depth that connects it, by the shortest path.

    Args:
        kind: type of all layers of the stack.
        sizes: sizes of a layer; d_model does not matter and may be small.
        n: positions.
    """
    distance = torch.full((n, n), _UNREACHED)
    distance.fill_diagonal_(0)
    shortest = distance.clone()  # of an output and an input; a position is at itself without one
    for calls in _stack(kind, sizes, n):
        distance = _through(calls, distance)
        found = torch.minimum(shortest, distance)
        if torch.equal(found, shortest):
            break
        shortest = found
        if shortest.isfinite().all():
            break
    connected = shortest.isfinite()
    return Paths(int(shortest[connected].max()), float(connected.double().mean()))


def longest_chain(kind: LayerType, sizes: Sizes, n: int) -> int:
    """The longest chain of operations of a layer that depend on each other, for n positions.

    They are the nodes of PyTorch's own graph for the backward pass, views of memory among them.
    A layer that computes positions one after another is called once per position: the loop within
    PyTorch's LSTM would hide its steps.

    Args:
        kind: type of layer.
        sizes: d_model does not matter.
        n: positions.
    """
    layer = _layer(kind, sizes, 0)
    x = _random_input(sizes, n).requires_grad_()
    shared, state, outputs = layer.shared(x), layer.start(x), []
    for part in x.split(layer.positions_per_call or n, dim=1):
        y, state = layer.call(part, state, shared)
        outputs.append(y)
    return _depth(torch.cat(outputs, dim=1))


def trace(layer: Layer, sizes: Sizes, n: int) -> list[Call]:
    """Run a layer over n positions and find, call by call, what depends on what."""
    x = _random_input(sizes, n)
    shared, state, calls = layer.shared(x), layer.start(x), []
    for part in x.split(layer.positions_per_call or n, dim=1):
        given = [one.detach().requires_grad_() for one in (part, *state)]
        y, state = layer.call(given[0], given[1:], shared)
        outputs = [*y.unbind(1), *state]
        calls.append(Call(part.shape[1], torch.stack([_depends(one, given) for one in outputs])))
    return calls


def _stack(kind: LayerType, sizes: Sizes, n: int) -> Iterator[list[Call]]:
    """The calls of one layer after another, endlessly."""
    place = 0
    calls = trace(_layer(kind, sizes, place), sizes, n)
    while True:
        yield calls
        place += 1
        if not kind.uniform:
            calls = trace(_layer(kind, sizes, place), sizes, n)


def _layer(kind: LayerType, sizes: Sizes, place: int) -> Layer:
    return kind.build(sizes, place).double().eval()


def _random_input(sizes: Sizes, n: int) -> Tensor:
    generator = torch.Generator().manual_seed(n)
    return torch.randn(1, n, sizes.d_model, dtype=torch.float64, generator=generator)


def _depends(output: Tensor, given: Sequence[Tensor]) -> Tensor:
    """Whether ``(1, d)`` depends on each position of ``(1, n, d)`` and on each ``(1, d)`` of state.

    Returns:
        ``(inputs,)``
    """
    weights = torch.linspace(1, 2, output.shape[-1], dtype=output.dtype)  # plain sums may cancel
    gradients = torch.autograd.grad(
        (output * weights).sum(), given, retain_graph=True, materialize_grads=True
    )
    # each (1, positions, d) or (1, d) -> (positions,) or (1,)
    return torch.cat([one.flatten(0, -2).ne(0).any(-1) for one in gradients])


def _through(calls: Sequence[Call], distance: Tensor) -> Tensor:
    """Distances of a layer's outputs from the stack's inputs, given those of its inputs."""
    reached = []  # each (positions, n)
    state = distance.new_empty(0, distance.shape[1])
    positions = distance.split([call.positions for call in calls])
    for call, part in zip(calls, positions, strict=True):
        if call is calls[0]:  # nothing has gone into the first state
            parts = call.depends.shape[1] - call.positions
            state = distance.new_full((parts, distance.shape[1]), _UNREACHED)
        after = call.distances(torch.cat([part, state]))
        reached.append(after[: call.positions])
        state = after[call.positions :]
    return torch.cat(reached)


def _depth(output: Tensor) -> int:
    """Nodes on the longest path from a tensor to a leaf, which is not an operation itself."""
    depths: dict[Any, int] = {}
    waiting: list[Any] = [output.grad_fn]
    while waiting:
        node = waiting[-1]
        before = [one for one, _ in node.next_functions if one is not None]
        missing = [one for one in before if one not in depths]
        if missing:
            waiting.extend(missing)
            continue
        waiting.pop()
        leaf = hasattr(node, "variable")  # AccumulateGrad
        depths[node] = 0 if leaf else 1 + max((depths[one] for one in before), default=0)
    return depths[output.grad_fn]
