"""The measurements and what follows from them, as in ``layers.json``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import torch

import dragoman
from studies.layers.growth import Growth, fit
from studies.layers.layer_types import LAYER_TYPES, Claim, LayerType
from studies.layers.measurement import Advance, Dependence, LayerCost, Plan, measure, trace

QUANTITIES = tuple(one.name for one in fields(LayerCost) if one.name not in {"n", "d"})
"""Quantities of a :class:`LayerCost` whose growth is fitted."""


@dataclass(frozen=True)
class Measured:
    """One layer type."""

    name: str
    complexity: str
    """As in Table 1, like the next two."""
    sequential: str
    path: str
    over_n: list[LayerCost]
    over_d: list[LayerCost]
    dependences: list[Dependence]
    growth: dict[str, dict[str, Growth]]
    """By ``n`` and ``d``: the growth of each quantity, and of the paper's ``formula`` at the same
    sizes.  For ``sequential`` operations and the ``path``, by n: ``counted``, and ``formula``."""


@dataclass(frozen=True)
class Result:
    """The whole table, and where it was measured."""

    version: str
    torch: str
    device: str
    threads: int
    plan: Plan
    layers: list[Measured]

    def values(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def produce(plan: Plan, device: torch.device, advance: Advance) -> Result:
    """Trace, measure and fit all layer types."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # dependences are traced on many tiny tensors
    try:
        dependences = {kind.name: trace(plan, kind, advance) for kind in LAYER_TYPES}
    finally:
        torch.set_num_threads(threads)
    costs = measure(plan, LAYER_TYPES, device, advance)
    layers = [
        _measured(plan, kind, costs[kind.name], dependences[kind.name]) for kind in LAYER_TYPES
    ]
    return Result(dragoman.__version__, torch.__version__, str(device), threads, plan, layers)


def _measured(
    plan: Plan, kind: LayerType, costs: Sequence[LayerCost], dependences: list[Dependence]
) -> Measured:
    at = {(cost.n, cost.d): cost for cost in costs}
    over_n = [at[n, plan.sizes.d_model] for n in plan.lengths]
    over_d = [at[plan.length, d] for d in plan.widths]
    return Measured(
        kind.name,
        kind.complexity.text,
        kind.sequential.text,
        kind.path.text,
        over_n,
        over_d,
        dependences,
        {
            "n": _grown(plan, kind, plan.lengths, over_n),
            "d": _grown(plan, kind, plan.widths, over_d),
            "sequential": _followed(plan, kind.sequential, dependences, lambda one: one.chain),
            "path": _followed(plan, kind.path, dependences, lambda one: one.path),
        },
    )


def _grown(
    plan: Plan, kind: LayerType, sizes: Sequence[int], costs: Sequence[LayerCost]
) -> dict[str, Growth]:
    formula = kind.complexity.formula
    of_paper = [formula(cost.n, replace(plan.sizes, d_model=cost.d)) for cost in costs]
    found = {"formula": fit(sizes, of_paper)}
    for name in QUANTITIES:
        found[name] = fit(sizes, [getattr(cost, name) for cost in costs])
    return found


def _followed(
    plan: Plan,
    claim: Claim,
    dependences: Sequence[Dependence],
    counted: Callable[[Dependence], int],
) -> dict[str, Growth]:
    return {
        "formula": fit(
            plan.path_lengths, [claim.formula(n, plan.sizes) for n in plan.path_lengths]
        ),
        "counted": fit(plan.path_lengths, [counted(one) for one in dependences]),
    }
