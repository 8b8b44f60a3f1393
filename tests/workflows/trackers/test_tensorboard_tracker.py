"""TensorBoard's events, as TensorBoard reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from dragoman.workflows.trackers import TrackedRun
from dragoman.workflows.trackers.tensorboard_tracker import TensorBoard


def tracker(folder: Path, step: int) -> TensorBoard:
    return TensorBoard(TrackedRun(folder, "my", None, {}, step))


def read(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    return events


def shown(folder: Path) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in read(folder).Scalars("training/loss")]


def record(events: TensorBoard, losses: dict[int, float]) -> None:
    for step, loss in losses.items():
        events.figures({"training/loss": loss}, step)


def test_each_step_is_shown_once(tmp_path: Path) -> None:
    events = tracker(tmp_path, 0)
    record(events, {1: 5.0, 2: 4.0, 3: 9.0})
    events.rewind(2)  # a rollback
    record(events, {3: 3.0, 4: 8.0})
    events.close()
    assert shown(tmp_path) == [(1, 5.0), (2, 4.0), (3, 3.0), (4, 8.0)]
    resumed = tracker(tmp_path, 3)
    record(resumed, {4: 2.0})
    resumed.close()
    assert shown(tmp_path) == [(1, 5.0), (2, 4.0), (3, 3.0), (4, 2.0)]


def test_tables_and_the_card_are_markdown(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# My model\n", encoding="utf-8")
    events = tracker(tmp_path, 0)
    events.table("translations/dev", ("line", "translation"), [[3, "Tür | auf"]], 7)
    events.card(tmp_path / "README.md")
    events.close()
    found = read(tmp_path).Tensors("translations/dev/text_summary")
    (text,) = found[0].tensor_proto.string_val
    assert found[0].step == 7
    assert text.decode() == "| line | translation |\n|---|---|\n| 3 | Tür \\| auf |"
    (card,) = read(tmp_path).Tensors("model card/text_summary")
    assert card.tensor_proto.string_val == [b"# My model\n"]
