"""Somebody's own format, one class in a package of theirs, is written, read and prepared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import CommandLine, experiment, one_error, write_experiment
from installed_package import installed_package

from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import GROUP

MANUAL = Path(__file__).parents[2] / "docs" / "plug-ins.md"
NOTHING = """
from dragoman.text.formats import Format

class Nothing(Format):
    name = "nothing"
    suffixes = (".nothing",)

    def read(self, files, sides):
        return iter(())
"""


@pytest.fixture
def arrows(tmp_path: Path) -> Iterator[None]:
    """The example of the manual is installed."""
    page = MANUAL.read_text(encoding="utf-8")
    said = page.partition("## Formats of corpora")[2]
    (source,) = re.findall(r"^```python\n(.*?)^```$", said, re.MULTILINE | re.DOTALL)
    named = re.search(rf'entry-points\."{GROUP}"\]\n(\w+) = "doors.corpus:(\w+)"', page)
    assert named is not None
    entries = {named[1]: f"package_of_arrows:{named[2]}"}
    with installed_package(tmp_path / "site", "package_of_arrows", source, GROUP, entries):
        yield


@pytest.mark.usefixtures("arrows")
def test_it_is_written_and_read(text: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    sides = ("--source", "en", "--target", "de", "--output-format", "arrows")
    for name, output in (("train", "a.arrows.gz"), ("dev", "b.arrows"), ("test", "c.txt")):
        outcome = dragoman("convert", text / f"{name}.tsv", tmp_path / output, *sides)
        assert outcome.code == 0, outcome.err
    test = {"path": "c.txt", "format": "arrows"}
    data = {"train": [{"path": "a.arrows.gz"}], "dev": {"path": "b.arrows"}, "test": {"x": test}}
    config = write_experiment(tmp_path, experiment() | {"data": data})
    outcome = dragoman("prepare", config, "--run", tmp_path / "run", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["parts"][f"{tmp_path.name}/a.arrows.gz"]["kept"] == 300
    same = CorpusPart(path=str(text / "train.tsv"), source="en", target="de")
    mine = CorpusPart(path=str(tmp_path / "a.arrows.gz"))
    assert [pair[:2] for pair in read_pairs(mine)] == [pair[:2] for pair in read_pairs(same)]


def test_without_the_package_it_is_unknown(tmp_path: Path, dragoman: CommandLine) -> None:
    values = experiment()
    values["data"]["train"] = [{"path": "a.arrows", "format": "arrows"}, {"path": "b.arrows"}]
    config = write_experiment(tmp_path, values)
    line = one_error(dragoman("prepare", config, "--run", tmp_path / "run"), 2)
    assert "data.train.0.format: no format 'arrows'" in line
    assert "formats there: plain, tsv, jsonl, tmx, po" in line
    assert "the suffix of b.arrows does not tell its format" in line


def test_one_that_gives_no_pairs(tmp_path: Path, dragoman: CommandLine) -> None:
    (tmp_path / "a.nothing").touch()
    site, entries = tmp_path / "site", {"nothing": "package_of_nothing:Nothing"}
    with installed_package(site, "package_of_nothing", NOTHING, GROUP, entries):
        outcome = dragoman("convert", tmp_path / "a.nothing", tmp_path / "a.tsv")
        assert "a.nothing: no pairs" in one_error(outcome, 3)
    assert not (tmp_path / "a.tsv").exists()
