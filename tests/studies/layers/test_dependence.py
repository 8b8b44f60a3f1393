"""Paths and chains against theory that is written down independently of the layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile

import pytest
import torch

from studies.layers.dependence import longest_chain, shortest_paths, trace
from studies.layers.layer_types import LAYER_TYPES, Convolutional, LayerType, Sizes

TYPES = {kind.name: kind for kind in LAYER_TYPES}
LENGTHS = (2, 3, 7, 8, 9, 10, 17, 31)

every_type = pytest.mark.parametrize("kind", LAYER_TYPES, ids=TYPES.keys())


def layers_of_reach(n: int, reach: int) -> int:
    """Layers that together reach n - 1 positions, each by so many."""
    return -(-(n - 1) // reach)


def dilated_layers(n: int, kernel: int) -> int:
    """Layers of a stack whose dilations grow by (k + 1) / 2: after l they reach that to the l."""
    base = (kernel + 1) // 2
    return len(list(takewhile(lambda power: base**power < n, range(n))))


PATHS: dict[str, Callable[[int, Sizes], int]] = {
    "self-attention": lambda n, sizes: 1,
    "self-attention, bare": lambda n, sizes: 1,
    "restricted": lambda n, sizes: layers_of_reach(n, sizes.window // 2),
    "restricted, bare": lambda n, sizes: layers_of_reach(n, sizes.window // 2),
    "recurrent": lambda n, sizes: n,
    "convolution": lambda n, sizes: layers_of_reach(n, sizes.kernel_width // 2),
    "convolution, dilated": lambda n, sizes: dilated_layers(n, sizes.kernel_width),
    "separable convolution": lambda n, sizes: layers_of_reach(n, sizes.kernel_width // 2),
}


@every_type
@pytest.mark.parametrize(("window", "kernel"), [(3, 5), (7, 3)])
def test_paths_are_as_long_as_theory_says(kind: LayerType, window: int, kernel: int) -> None:
    sizes = Sizes(4, 2, window, kernel)
    for n in LENGTHS:
        paths = shortest_paths(kind, sizes, n)
        assert paths.maximum == PATHS[kind.name](n, sizes), n
        share = (n + 1) / (2 * n) if kind.name == "recurrent" else 1
        assert paths.connected == pytest.approx(share), n


def test_dilations_that_grow_by_the_kernel_leave_pairs_apart() -> None:
    greedy = replace(
        TYPES["convolution, dilated"],
        build=lambda sizes, place: Convolutional(sizes, sizes.kernel_width**place),
    )
    # Two positions to the right is 3 - 1, but one to the left of the first there is nothing.
    assert shortest_paths(greedy, Sizes(4, 2, 5, 3), 3).connected == pytest.approx(7 / 9)


@every_type
def test_chains_do_not_grow_where_positions_are_computed_at_once(kind: LayerType) -> None:
    sizes = Sizes(4, 2, 5, 3)
    chains = [longest_chain(kind, sizes, n) for n in (8, 16, 32, 64)]
    if kind.name != "recurrent":
        assert len(set(chains)) == 1
        return
    a_position = (chains[1] - chains[0]) / 8
    assert a_position >= 4  # two products, a gate and the cell at the least
    assert chains == [chains[0] + a_position * (n - 8) for n in (8, 16, 32, 64)]


def test_what_a_window_sees_is_a_band() -> None:
    (call,) = trace(TYPES["restricted"].build(Sizes(4, 2, 5, 3), 0).double(), Sizes(4, 2, 5, 3), 11)
    position = torch.arange(11)
    assert torch.equal(call.depends, (position - position.unsqueeze(1)).abs() <= 2)


def test_a_step_depends_on_its_position_and_the_state() -> None:
    sizes = Sizes(4, 2, 5, 3)
    calls = trace(TYPES["recurrent"].build(sizes, 0).double(), sizes, 5)
    assert [call.positions for call in calls] == [1] * 5
    assert all(call.depends.shape == (3, 3) and call.depends.all() for call in calls)


def test_a_chain_counts_operations_one_after_another() -> None:
    class Powers(Convolutional):
        def call(
            self, x: torch.Tensor, state: list[torch.Tensor], shared: torch.Tensor | None
        ) -> tuple[torch.Tensor, list[torch.Tensor]]:
            return x.exp().sin() * (x.exp() + x).cos().tanh(), state

    kind = replace(TYPES["convolution"], build=lambda sizes, place: Powers(sizes))
    # exp, sum, cos, tanh, product; then the parts are split off and joined
    plain = longest_chain(replace(kind, build=lambda s, p: _Same(s)), Sizes(4, 2, 5, 3), 3)
    assert longest_chain(kind, Sizes(4, 2, 5, 3), 3) == plain + 5


class _Same(Convolutional):
    def call(
        self, x: torch.Tensor, state: list[torch.Tensor], shared: torch.Tensor | None
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        return x, state
