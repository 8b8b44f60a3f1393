"""Experiment trackers: a class for each, and the table of all.

Another package adds one by an entry point of the group ``dragoman.trackers`` (see
:mod:`dragoman.core.plugins`), which leads to a subclass of :class:`Tracker`.
"""

from __future__ import annotations

from dragoman.core.plugins import Registry
from dragoman.workflows.trackers.interface import Cell, TrackedRun, Tracker

__all__ = ["TRACKERS", "Cell", "TrackedRun", "Tracker"]

_PLACE = "dragoman.workflows.trackers"

TRACKERS: Registry[Tracker] = Registry(
    "dragoman.trackers",
    f"{_PLACE}.interface:Tracker",
    {
        "tensorboard": f"{_PLACE}.tensorboard_tracker:TensorBoard",
        "wandb": f"{_PLACE}.wandb_tracker:Wandb",
        "mlflow": f"{_PLACE}.mlflow_tracker:Mlflow",
        "csv": f"{_PLACE}.csv_tracker:CsvFiles",
    },
    "tracker",
    named=True,
)
"""All trackers by name; each is imported when it is chosen."""
