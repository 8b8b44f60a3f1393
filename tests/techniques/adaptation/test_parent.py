"""The model that is adapted is found, with its text, whatever names it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_line import CommandLine, one_error

from dragoman.recipe import read_experiment
from dragoman.training.checkpoint import checkpoints


@pytest.mark.usefixtures("stopped")
def test_a_checkpoint_is_in_a_run(dragoman: CommandLine, trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "general")
    (tmp_path / "ui.tsv").write_text("en\tde\nBA\tqq\n", encoding="utf-8")
    before = checkpoints(tmp_path / "general")
    outcome = dragoman("adapt", before[0], tmp_path / "ui.tsv")
    assert "repeat the command" in one_error(outcome, 130)
    assert sorted((tmp_path / "general" / "checkpoints").iterdir()) == sorted(before)
    config = read_experiment(tmp_path / "general-ui" / "config.yaml")
    assert config.training.start_from is not None
    assert config.training.start_from.model == str(before[0])
    assert [part.task for part in config.data.train] == ["translation", "replay"]
