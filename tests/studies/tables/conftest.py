"""The table of ``small_table``: its folder, made once, and copies of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from command_line import experiment, write_experiment
from small_table import TABLE, made

from dragoman.text.synthetic import write
from studies.tables.work import Work


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The text, the recipe and the table."""
    path = tmp_path_factory.mktemp("table")
    write(path, 100, dev=20, test=20)
    values = experiment()
    del values["data"]["test"]
    write_experiment(path, values)
    (path / "table.yaml").write_text(yaml.safe_dump(TABLE, sort_keys=False), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def finished(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Work:
    return made(folder, tmp_path_factory.mktemp("results") / "numbers")


@pytest.fixture
def copied(folder: Path, finished: Work, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Table and results to change: the folders keep their names."""
    shutil.copytree(folder, tmp_path / folder.name)
    output = tmp_path / "results" / finished.place.output.name
    shutil.copytree(finished.place.output, output)
    yield tmp_path / folder.name, output
