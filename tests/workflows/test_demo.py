from __future__ import annotations

import copy
from pathlib import Path

import pytest
from command_line import CommandLine, experiment, one_error

from dragoman.core.config import parse
from dragoman.core.errors import StorageError
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig
from dragoman.saved.model import has_model
from dragoman.workflows import demo


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo with the tests' tiny model and text."""
    values = copy.deepcopy(demo.EXPERIMENT)
    for section in ("vocabulary", "model", "training", "search"):
        values[section] = experiment()[section]
    monkeypatch.setattr(demo, "EXPERIMENT", values)
    for name, rows in (("_ROWS", 300), ("_DEV", 20), ("_TEST", 20)):
        monkeypatch.setattr(demo, name, rows)


def test_its_configuration_is_valid() -> None:
    config = parse(ExperimentConfig, demo.EXPERIMENT, "demo")
    assert config.training.precision == "float32"  # the same everywhere


@pytest.mark.usefixtures("small")
def test_text_of_somebody_else_is_not_overwritten(dragoman: CommandLine, tmp_path: Path) -> None:
    text = tmp_path / "text" / "train.tsv"
    text.parent.mkdir()
    text.write_text("precious", encoding="utf-8")
    line = one_error(dragoman("demo", "--directory", tmp_path), 2)
    assert "holds text and is not a demo; choose a new or empty directory" in line
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [text]
    assert text.read_text(encoding="utf-8") == "precious"


@pytest.mark.usefixtures("small")
def test_from_nothing_to_a_report(
    dragoman: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "demo"
    with monkeypatch.context() as patch:

        def full(*_: object) -> None:
            raise StorageError("cannot write: the disk is full; free some space")

        patch.setattr(Experiment, "finish", full)
        one_error(dragoman("demo", "--directory", directory), 6)
    with monkeypatch.context() as patch:

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(demo, "exact_match", interrupted)
        assert dragoman("demo", "--directory", directory).code == 130
    assert has_model(directory / "run")
    outcome = dragoman("demo", "--directory", directory)
    assert outcome.code == 0, outcome.err
    assert "resuming the demo" in outcome.err
    assert "Exact match: " in outcome.out
    assert outcome.out.count("→") >= 8
    report = (directory / "run" / "report.html").read_text(encoding="utf-8")
    assert "exact match, %" in report
    assert "--directory" in one_error(dragoman("demo", "--directory", directory), 2)
    assert (directory / "demo.yaml").is_file()


def test_one_process_only(
    dragoman: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "0")
    line = one_error(dragoman("demo", "--directory", tmp_path / "demo"), 2)
    assert "without torchrun" in line
    assert not (tmp_path / "demo").exists()
