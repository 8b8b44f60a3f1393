"""Data of results: figures as they are written, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from dragoman.core.config import parse, to_yaml
from dragoman.core.errors import ConfigError
from studies.pages.forest_plot import forest_plot
from studies.pages.result_data import ResultTable, ResultTopic, read_topics
from studies.pages.result_page import result_page
from studies.pages.written_figures import Figure, read_figure

TABLE: dict[str, Any] = {
    "title": "Two rows",
    "head": ["system", "BLEU", "difference"],
    "align": "lrr",
    "rows": [["base", "20.9 ± 1.3", ""], ["**new**", "22.0 ± 1.4", "**+1.1** [+0.2, +2.0] (0.02)"]],
    "date": "2026-11-29",
    "machine": "B",
    "plot": {"columns": [1, 2], "names": ["BLEU", "difference, BLEU"]},
    "findings": ["It gains."],
}


@pytest.mark.parametrize(
    ("cell", "figure"),
    [
        ("20.94 ± 1.5", Figure(20.94, 19.44, 22.44)),
        ("**+1.30** [+0.4, +2.2] (0.006)", Figure(1.3, 0.4, 2.2, 0.006)),
        ("-10.96 (<0.001)", Figure(-10.96, p=0.001)),
        ("28.86 ± 1 (+5.2, p 0.3)", Figure(28.86, 27.86, 29.86)),
        ("2,952", Figure(2952.0)),
        ("29.6 %", Figure(29.6)),
        ("pairs only", None),
        ("", None),
    ],
)
def test_a_figure_is_read_as_it_is_written(cell: str, figure: Figure | None) -> None:
    assert read_figure(cell) == figure


def test_chance_is_judged_by_p_and_else_by_the_interval() -> None:
    assert Figure(1.0, -0.1, 2.0, 0.04).beyond_chance
    assert not Figure(1.0, 0.1, 2.0, 0.06).beyond_chance
    assert Figure(1.0, 0.1, 2.0).beyond_chance
    assert not Figure(1.0, -0.1, 2.0).beyond_chance
    assert not Figure(1.0).beyond_chance


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": [["base", "20.9"]]}, "row 1 has 2 cells instead of 3: base"),
        ({"align": "lr"}, "lr is not l or r for each of 3 columns"),
        ({"plot": {"columns": [3], "names": ["x"]}}, "there is no column 3"),
        ({"plot": {"columns": [0], "names": ["x"]}}, "column 0 has no figure"),
        ({"plot": {"columns": [1, 2], "names": ["x"]}}, "2 columns and 1 names"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(ResultTable, {**TABLE, **change}, "results.yaml")


def test_a_picture_has_a_mark_for_each_figure_and_a_line_for_each_interval() -> None:
    picture = forest_plot(parse(ResultTable, TABLE, "results.yaml"))
    root = ElementTree.fromstring(picture)
    names = [element.tag.rpartition("}")[2] for element in root]
    assert names.count("circle") == 3
    assert len(root.findall(".//*[@stroke-width='2']")) == 3
    base, new, _ = (float(one.attrib["cx"]) for one in root if "cx" in one.attrib)
    assert base < new


def test_an_unknown_machine_is_refused_and_a_known_one_shown(tmp_path: Path) -> None:
    topic = {
        "title": "Results: a",
        "about": ["adaptation.md"],
        "lead": "It gains.",
        "tables": [TABLE],
    }
    (tmp_path / "a.yaml").write_text(to_yaml(topic), encoding="utf-8")
    (tmp_path / "machines.yaml").write_text("A: two cores\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"a.yaml: Two rows: machine B is none of machines.yaml"):
        read_topics(tmp_path)
    (tmp_path / "machines.yaml").write_text("B: two cores\n", encoding="utf-8")
    page = result_page("a", read_topics(tmp_path)["a"])
    assert "| **new** | 22.0\u00a0±\u00a01.4 | **+1.1** [+0.2, +2.0] (0.02) |" in page
    assert "](images/a-1.svg)" in page
    condition = "This table: date 2026-11-29, [machine](machines.md) B, seeds 1, beside other work."
    assert f"\n{condition}\n" in page


def test_what_holds_for_all_tables_is_said_once() -> None:
    """Columns of the same cell in each row would hide those that differ."""
    topic = {
        "title": "Results: a",
        "lead": "It gains.",
        "tables": [TABLE, {**TABLE, "title": "Two more", "seeds": "1, 2", "command": "make more"}],
    }
    page = result_page("a", parse(ResultTopic, topic, "a.yaml"))
    assert "\nAll tables: date 2026-11-29, [machine](machines.md) B, beside other work.\n" in page
    assert "| table | seeds | command |\n" in page
    assert "| Two rows | 1 |  |\n| Two more | 1, 2 | `make more` |" in page
