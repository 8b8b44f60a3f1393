"""TensorBoard's events, as TensorBoard reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from dragoman.workflows.tensorboard import TensorBoard


def shown(folder: Path) -> list[tuple[int, float]]:
    events = EventAccumulator(str(folder))
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars("training/loss")]


def record(events: TensorBoard, losses: dict[int, float]) -> None:
    for step, loss in losses.items():
        events.record({"kind": "training", "step": step, "loss": loss})


def test_each_step_is_shown_once(tmp_path: Path) -> None:
    events = TensorBoard(tmp_path, 0)
    record(events, {1: 5.0, 2: 4.0, 3: 9.0})
    events.rewind(2)  # a rollback
    record(events, {3: 3.0, 4: 8.0})
    events.close()
    assert shown(tmp_path) == [(1, 5.0), (2, 4.0), (3, 3.0), (4, 8.0)]
    resumed = TensorBoard(tmp_path, 3)
    record(resumed, {4: 2.0})
    resumed.close()
    assert shown(tmp_path) == [(1, 5.0), (2, 4.0), (3, 3.0), (4, 2.0)]
