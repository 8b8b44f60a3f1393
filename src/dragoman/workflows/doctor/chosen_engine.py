"""The engine that translates with a run's model, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dragoman.core.errors import DragomanError
from dragoman.saved.model import has_model
from dragoman.translation.building import build_engine
from dragoman.translation.opening import open_system, system_of
from dragoman.workflows.doctor import Diagnosis, ok, warning


def check_engine(run: Path) -> Iterator[Diagnosis]:
    """Tell the engine of a run's model, if the run has a model already."""
    if not has_model(run):
        return
    try:
        opened = open_system(system_of([run], None, {}))
        engine = build_engine(opened)
    except DragomanError as problem:
        yield warning("engine", f"the model of {run} cannot be opened: {problem}")
        return
    outlook = engine.outlook(opened.search)
    engine.close()
    if outlook is not None:
        yield ok("engine", f"the model of {run} is searched by {outlook}")
