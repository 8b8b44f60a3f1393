"""The description of a run: one YAML file, read into typed parts without contradictions."""

from __future__ import annotations

from dragoman.recipe.reading import (
    ExperimentConfig,
    read_experiment,
    read_values,
    relocated,
    with_train_parts,
)

__all__ = [
    "ExperimentConfig",
    "read_experiment",
    "read_values",
    "relocated",
    "with_train_parts",
]
