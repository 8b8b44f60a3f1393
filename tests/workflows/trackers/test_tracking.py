"""How runs are shown in trackers: by a tracker of another package, on the command line."""

from __future__ import annotations

import csv
import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, one_error
from installed_package import installed_package

from dragoman.core.errors import ConfigError
from dragoman.validation import Rendered
from dragoman.workflows.trackers import TRACKERS, TrackedRun, tracking
from dragoman.workflows.trackers.tracking import (
    STATE_FILE,
    Tracking,
    _State,
    _Tracked,
    read_state,
)

SOURCE = """
import json
import time

from dragoman.workflows.trackers import Tracker


class Diary(Tracker):
    name = "diary"

    def __init__(self, run):
        super().__init__(run)
        self.write("begin", run.name, run.group, run.step, dict(run.kept), run.config["seed"])

    def write(self, *words):
        with (self.run.directory / "diary.jsonl").open("a") as stream:
            stream.write(json.dumps(words) + "\\n")

    def keep(self):
        return {"id": self.run.kept.get("id", "first")}

    def figures(self, values, step):
        if values.get("training/loss") == 13.0:
            raise OSError("no route to host")
        if values.get("training/loss") == 14.0:
            time.sleep(6)
        self.write("figures", step, values)

    def table(self, name, columns, rows, step):
        self.write("table", name, step, columns, rows)

    def card(self, path):
        self.write("card", path.read_text(encoding="utf-8"))

    def rewind(self, step):
        self.write("rewind", step)

    def close(self):
        self.write("close")


class Other(Diary):
    name = "diary-too"
"""


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    entries = {
        "diary": "diary_package:Diary",
        "csv": "diary_package:Diary",
        "misnamed": "diary_package:Other",
        "broken": "diary_package:Missing",
    }
    site = tmp_path_factory.mktemp("site")
    with installed_package(site, "diary_package", SOURCE, "dragoman.trackers", entries):
        yield


def diary(run: Path) -> list[list[Any]]:
    text = (run / "diary.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def shown(run: Path, step: int = 0) -> _Tracked:
    described = TrackedRun(run, "my", None, {"seed": 1}, step)
    return _Tracked(TRACKERS.find("diary"), described, _State(run, fresh=step == 0))


def learned(one: _Tracked, *steps: int, loss: float = 2.0) -> None:
    for step in steps:
        one.record({"kind": "training", "step": step, "epoch": 1, "loss": loss})


def test_a_run_and_its_resumption_on_the_command_line(
    config: Path, dragoman: CommandLine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "my run"
    steps = ("--set", "training.max_steps=8")
    told = dragoman("train", config, "--run", run, *steps, "--log", "diary", "--log", "csv")
    assert told.code == 0
    assert "csv of diary_package is not used, as a tracker that comes with" in caplog.text
    first = diary(run)
    assert first[0] == ["begin", "my run", None, 0, {}, 1]
    assert [words[1] for words in first if words[0] == "figures"] == [2, 4, 6, 6, 8, 8, 8]
    tables = {(words[1], words[2]): words for words in first if words[0] == "table"}
    assert [*tables] == [("translations/dev", 6), ("translations/dev", 8), ("scores", 8)]
    columns, rows = tables["translations/dev", 8][3:]
    assert columns == ["line", "source", "reference", "translation"]
    assert len(rows) == 20 and all(isinstance(row[0], int) and row[1] for row in rows)
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    found = {(row[0], row[1]): row[2:] for row in tables["scores", 8][4]}
    assert found["news", "chrf"] == [
        scores["news"]["chrf"]["value"],
        scores["news"]["chrf"]["signature"],
    ]
    assert first[-1] == ["close"]
    resumed = dragoman("resume", run, "--set", "training.max_steps=12", "--log-card")
    assert resumed.code == 0
    second = diary(run)[len(first) :]
    assert second[0] == ["begin", "my run", None, 8, {"id": "first"}, 1]
    assert [words[1] for words in second if words[0] == "figures"] == [10, 12, 12, 12]
    card = (run / "model" / "README.md").read_text(encoding="utf-8")
    assert ["card", card] in second
    with (run / "csv" / "figures.csv").open(encoding="utf-8", newline="") as stream:
        found_steps = [
            row["step"] for row in csv.DictReader(stream) if row["figure"] == "training/nll"
        ]
    assert found_steps == ["2", "4", "6", "8", "10", "12"]
    before = diary(run)
    assert dragoman("resume", run, "--log", "none").code == 0
    assert diary(run) == before


def test_a_tracker_that_fails_or_hangs_ends_alone_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = shown(tmp_path)
    learned(one, 1)
    learned(one, 2, loss=13.0)
    learned(one, 3)
    one.end()
    learned(one, 4)
    assert [record.getMessage() for record in caplog.records] == [
        "diary no longer shows this run: OSError: no route to host"
    ]
    assert [words[:2] for words in diary(tmp_path)[1:]] == [["figures", 1]]
    caplog.clear()
    monkeypatch.setattr(tracking, "_CLOSING_SECONDS", 0.1)
    one = shown(tmp_path)
    learned(one, 1, loss=14.0)
    one.end()
    (record,) = caplog.records
    assert "diary has not answered for 0 seconds" in record.getMessage()


def test_it_need_not_be_possible_to_write_what_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / STATE_FILE).mkdir()
    one = shown(tmp_path)
    learned(one, 1)
    one.end()
    (record,) = caplog.records
    assert "diary no longer shows this run: StorageError: " in record.getMessage()


def test_steps_are_shown_once_unless_the_tracker_forgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = shown(tmp_path)
    learned(one, 1, 2, 3)
    one.rewind(1)
    learned(one, 2, 3, 4)
    one.end()
    resumed = shown(tmp_path, step=2)
    learned(resumed, 3, 4, 5)
    resumed.end()
    steps = [words[1] for words in diary(tmp_path) if words[0] in {"figures", "rewind"}]
    assert steps == [1, 2, 3, 4, 5]
    monkeypatch.setattr(TRACKERS.find("diary"), "forgets", True)
    again = shown(tmp_path, step=5)
    learned(again, 6)
    again.rewind(5)
    learned(again, 6)
    again.end()
    assert [words[:2] for words in diary(tmp_path)[-4:-1]] == [
        ["figures", 6],
        ["rewind", 5],
        ["figures", 6],
    ]


def test_a_few_lines_at_even_distances_are_shown(tmp_path: Path) -> None:
    one = shown(tmp_path)
    lines = [Rendered(n, f"s{n}", f"r{n}", f"t{n}", -1.0, 2, 2) for n in range(1, 101)]
    one.translations("dev", lines)
    one.record({"kind": "validation", "step": 6, "loss": 2.0})
    one.end()
    (table,) = (words for words in diary(tmp_path) if words[0] == "table")
    assert [row[0] for row in table[4]] == list(range(1, 101, 5))
    assert table[4][1] == [6, "s6", "r6", "t6"]


def test_training_does_not_wait(tmp_path: Path) -> None:
    one, begun = shown(tmp_path), time.monotonic()
    learned(one, 1, loss=14.0)
    learned(one, *range(2, 50))
    assert time.monotonic() - begun < 3


def test_what_cannot_be_shown_is_said_before_training(
    config: Path, dragoman: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"

    def refused(*options: str, code: int = 2) -> str:
        line = one_error(dragoman("train", config, "--run", run, *options), code)
        assert not list(run.glob("checkpoints/*"))
        return line

    assert "'tensorboard', 'wandb', 'mlflow', 'csv', 'broken', 'diary'" in refused("--log", "x")
    assert "of diary_package) cannot be loaded: AttributeError" in refused("--log", "broken")
    assert "misnamed: its class must have the name 'misnamed'" in refused("--log", "misnamed")
    assert "--log-card needs --log" in refused("--log-card")
    assert "leave out the other --log" in refused("--log", "csv", "--log", "none")
    for module, package in (("wandb", "wandb"), ("mlflow", "mlflow-skinny sqlalchemy alembic")):
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.delitem(
            sys.modules, f"dragoman.workflows.trackers.{module}_tracker", raising=False
        )
        assert f"-m pip install {package}" in refused("--log", module, code=7)


def test_a_tracker_that_is_only_remembered_may_be_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = {"kept": {"id": "1"}, "steps": {"training": 4}}
    state = {"trackers": {"broken": one, "diary": one, "gone": one}}
    (tmp_path / STATE_FILE).write_text(json.dumps(state), encoding="utf-8")
    assert read_state(tmp_path) == state
    assert [*Tracking(resumes=True).found(tmp_path)] == ["diary"]
    assert [record.getMessage().split()[0] for record in caplog.records] == ["broken", "gone"]
    assert not Tracking().found(tmp_path)
    assert not Tracking(("none",), resumes=True).found(tmp_path)


@pytest.mark.parametrize("damage", ["", "[", "[5]", '{"trackers": 5}', '{"trackers": {"a": {}}}'])
def test_a_damaged_state_is_forgotten(damage: str, tmp_path: Path) -> None:
    (tmp_path / STATE_FILE).write_text(damage, encoding="utf-8")
    assert read_state(tmp_path) == {"trackers": {}}


def test_runs_of_one_command_are_a_group(tmp_path: Path) -> None:
    within = Tracking(("csv",), within=tmp_path / "both")
    run = within.shown(tmp_path / "both" / "one" / "forward", 0, {})
    assert (run.name, run.group) == ("one/forward", "both")
    outside = within.shown(tmp_path / "reverse", 0, {})
    assert (outside.name, outside.group) == ("reverse", None)
    with pytest.raises(ConfigError, match="leave out the other"):
        Tracking(("none", "csv"))


@pytest.mark.usefixtures("compared_soon")
def test_compared_runs_are_shown_together(
    config: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    other = config.with_name("other.yaml")
    shutil.copy(config, other)
    out = tmp_path / "both"
    steps = ("--set", "training.max_steps=4", "--log", "diary")
    assert dragoman("compare", config, other, "--output", out, *steps).code == 0
    begun = [diary(path.parent)[0][:4] for path in sorted(out.rglob("diary.jsonl"))]
    assert begun == [["begin", "other", "both", 0], ["begin", "tiny", "both", 0]]
