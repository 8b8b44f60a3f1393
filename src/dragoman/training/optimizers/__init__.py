"""Optimizers: update rules, independent of sharding and the number of processes.

A package adds an optimizer by an entry point in the group ``dragoman.optimizers`` (see
:mod:`dragoman.core.plugins`).  Its name is the optimizer's ``kind``, and it refers to a subclass of
:class:`~dragoman.training.optimizers.interface.OptimizerConfig`.
"""

from __future__ import annotations

from typing import Annotated

from dragoman.core.sections import Kinds
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.optimizers.interface import OptimizerConfig
from dragoman.training.optimizers.muon import MuonConfig

GROUP = "dragoman.optimizers"
"""The group of entry points by which packages add optimizers."""

_BUILT_IN: dict[str, type[OptimizerConfig]] = {
    "adam": AdamConfig,
    "adamw": AdamConfig,
    "muon": MuonConfig,
}

KINDS = Kinds(GROUP, OptimizerConfig, _BUILT_IN, "adam")

AnyOptimizer = Annotated[OptimizerConfig, KINDS]
"""The section ``training.optimizer``; its key ``kind`` selects the class."""
