"""Runs of Weights & Biases offline, read from their log by the messages of its own package."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("wandb")

from wandb.proto import wandb_internal_pb2

from dragoman.workflows.trackers import TrackedRun
from dragoman.workflows.trackers.wandb_tracker import Wandb

_BLOCK, _HEAD = 2**15, 7
_RECORD: Any = vars(wandb_internal_pb2)["Record"]  # made at import, so types do not know it


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.setenv("WANDB_PROJECT", "doors")


def whole(path: Path) -> list[Any]:
    """The records of a finished run; its service may write the last ones after ``finish``."""
    end = time.monotonic() + 60
    while True:
        records = list(logged(path))
        if records and records[-1].WhichOneof("record_type") == "exit":
            return records
        assert time.monotonic() < end, f"{path} has no end"
        time.sleep(0.05)


def logged(path: Path) -> Iterator[Any]:
    """The whole records of a log: LevelDB's format, after a head of seven bytes."""
    content = path.read_bytes()
    assert b":W&B".startswith(content[:4])
    at, parts = _HEAD, b""
    while at + _HEAD <= len(content):
        if _BLOCK - at % _BLOCK < _HEAD:
            at += _BLOCK - at % _BLOCK
            continue
        length, kind = int.from_bytes(content[at + 4 : at + 6], "little"), content[at + 6]
        if at + _HEAD + length > len(content):
            return
        parts += content[at + _HEAD : at + _HEAD + length]
        at += _HEAD + length
        if kind in {1, 4}:  # whole, or the last part
            yield _RECORD.FromString(parts)
            parts = b""


def history(records: list[Any]) -> list[dict[str, Any]]:
    rows = [one.history.item for one in records if one.WhichOneof("record_type") == "history"]
    return [
        {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in row}
        for row in rows
    ]


def test_a_run_with_its_tables_continues_after_an_interruption(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# My model\n", encoding="utf-8")
    config = {"seed": 1, "model": {"d_model": 16}}
    first = Wandb(TrackedRun(tmp_path, "my", "comparison", config, 0))
    first.figures({"training/loss": 5.0}, 100)
    first.figures({"validation/bleu": 20.0}, 100)
    first.table("translations/dev", ("line", "text"), [[3, "Tür"]], 100)
    first.close()
    kept = dict(first.keep())
    second = Wandb(TrackedRun(tmp_path, "my", "comparison", config, 100, kept))
    second.figures({"training/loss": 4.0}, 200)
    second.card(tmp_path / "README.md")
    second.close()
    assert dict(second.keep()) == kept
    logs = sorted(tmp_path.glob("wandb/offline-run-*/*.wandb"))
    before, after = map(whole, logs)
    runs = [one.run for one in (*before, *after) if one.WhichOneof("record_type") == "run"]
    assert {(one.run_id, one.project, one.display_name, one.run_group) for one in runs} == {
        (kept["id"], "doors", "my", "comparison")
    }
    settings = {one.key: one.value_json for one in runs[0].config.update}
    assert json.loads(settings["model"]) == {"d_model": 16}
    (row,) = history(before)
    assert (row["_step"], row["training/loss"], row["validation/bleu"]) == (100, 5.0, 20.0)
    (table,) = tmp_path.glob("wandb/offline-run-*/files/media/table/translations/dev*.json")
    found = json.loads(table.read_text(encoding="utf-8"))
    assert (found["columns"], found["data"]) == (["line", "text"], [[3, "Tür"]])
    (row,) = history(after)
    assert (row["_step"], row["training/loss"]) == (200, 4.0)
    cards = [one.artifact for one in after if one.WhichOneof("record_type") == "artifact"]
    assert [one.type for one in cards] == ["model-card"]
