"""Somebody's own format, one class in a package of theirs, is written, read and prepared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import CommandLine, experiment, one_error, write_experiment
from installed_package import installed_package

from dragoman.text.corpus import CorpusPart, read_pairs

MINE = '''
from contextlib import contextmanager
from dragoman.text.formats import Format, Pair
from dragoman.text.lines import read_lines, write_text

class Mine(Format):
    """Source and target on a line, separated by an arrow."""

    name = "mine"
    suffixes = (".mine",)

    def read(self, files, sides):
        for number, line in enumerate(read_lines(files[0]), 1):
            yield Pair(*line.split(" -> "), number)

    @contextmanager
    def write(self, files, sides):
        with write_text(files[0]) as stream:
            yield lambda pair: stream.write(f"{pair.source} -> {pair.target}\\n")
'''


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[None]:
    entries = {"mine": "package_of_mine:Mine"}
    site = tmp_path / "site"
    with installed_package(site, "package_of_mine", MINE, "dragoman.formats", entries):
        yield


@pytest.mark.usefixtures("mine")
def test_it_is_written_and_read(text: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    sides = ("--source", "en", "--target", "de")
    for name, output in (("train", "train.mine.gz"), ("dev", "dev.mine"), ("test", "test.txt")):
        outcome = dragoman(
            *("convert", text / f"{name}.tsv", tmp_path / output, *sides),
            *("--output-format", "mine"),
        )
        assert outcome.code == 0, outcome.err
    test = {"path": "test.txt", "format": "mine"}
    data = {"train": [{"path": "train.mine.gz"}], "dev": {"path": "dev.mine"}, "test": {"x": test}}
    values = experiment() | {"data": data}
    config = write_experiment(tmp_path, values)
    outcome = dragoman("prepare", config, "--run", tmp_path / "run", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["parts"][f"{tmp_path.name}/train.mine.gz"]["kept"] == 300
    same = CorpusPart(path=str(text / "train.tsv"), source="en", target="de")
    mine = CorpusPart(path=str(tmp_path / "train.mine.gz"))
    assert [pair[:2] for pair in read_pairs(mine)] == [pair[:2] for pair in read_pairs(same)]


def test_without_the_package_it_is_unknown(tmp_path: Path, dragoman: CommandLine) -> None:
    values = experiment()
    values["data"]["train"] = [{"path": "a.mine", "format": "mine"}, {"path": "b.mine"}]
    config = write_experiment(tmp_path, values)
    line = one_error(dragoman("prepare", config, "--run", tmp_path / "run"), 2)
    assert "data.train.0.format: no format 'mine'" in line
    assert "formats there: plain, tsv, jsonl, tmx, po" in line
    assert "the suffix of b.mine does not tell its format" in line
