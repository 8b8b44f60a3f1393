"""Stages and rows of several seeds: what they stand for, and how they are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.core.errors import ConfigError
from studies.tables.page import page
from studies.tables.plan import TableConfig, read_table
from studies.tables.scoring import Cost, Line
from studies.tables.spread import grouped, mean_of
from studies.tables.workplace import Workplace

SEEDS = [1, 5]


def values() -> dict[str, Any]:
    """A table of two systems with two seeds, and one without."""
    return {
        "title": "Seeds",
        "tests": {"news": {"path": "news.tsv", "source": "en", "target": "de"}},
        "stages": {
            "plain": {"train": "tiny.yaml", "seeds": SEEDS},
            "better": {"train": "tiny.yaml", "settings": {"model.dropout": 0.5}, "seeds": SEEDS},
            "mean": {
                "command": "average {better} --output {mean}",
                "done": "x",
                "needs": ["plain"],
                "seeds": SEEDS,
            },
        },
        "sections": [
            {
                "title": "All",
                "tests": ["news"],
                "baseline": "none",
                "rows": {
                    "none": {"label": "None", "translate": "{plain}", "seeds": SEEDS},
                    "some": {"label": "Some", "translate": {"news": "{mean}"}, "seeds": SEEDS},
                    "both": {"label": "Ensemble", "translate": "{plain-1} {better-5}"},
                },
            }
        ],
    }


def read(folder: Path, content: dict[str, Any]) -> TableConfig:
    path = folder / "table.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return read_table(path)


def test_each_seed_has_its_own_stages_rows_and_baseline(tmp_path: Path) -> None:
    table = read(tmp_path, values())
    assert list(table.stages) == ["plain-1", "plain-5", "better-1", "better-5", "mean-1", "mean-5"]
    assert table.stages["plain-5"].settings == {"seed": 5}
    assert table.stages["better-1"].settings == {"model.dropout": 0.5, "seed": 1}
    assert table.stages["mean-5"].command == "average {better-5} --output {mean-5}"
    assert table.stages["mean-5"].needs == ("plain-5",)
    rows = table.rows()
    assert list(rows) == ["none-1", "none-5", "some-1", "some-5", "both"]
    assert [row.group for row in rows.values()] == ["none", "none", "some", "some", ""]
    assert rows["some-5"].translate == {"news": "{mean-5}"}
    assert rows["some-5"].baseline == "none-5"
    assert rows["both"].baseline is None
    assert table.sections[0].baseline == "none-1"
    place = Workplace(table, tmp_path / "table.yaml", tmp_path / "out")
    assert place.command("plain-5")[-1] == "seed=5"


@pytest.mark.parametrize("seeds", [[1, 1], ["x"], [-1], 3, [True, 1.5]])
@pytest.mark.parametrize("place", ["stages", "rows"])
def test_seeds_that_are_none_are_refused(place: str, seeds: object, tmp_path: Path) -> None:
    content = values()
    rows = content["sections"][0]["rows"]
    (content["stages"]["plain"] if place == "stages" else rows["none"])["seeds"] = seeds
    with pytest.raises(ConfigError, match="seeds"):
        read(tmp_path, content)


@pytest.mark.parametrize("place", ["stages", "rows"])
def test_a_seed_takes_no_name_that_is_there(place: str, tmp_path: Path) -> None:
    content = values()
    rows = content["sections"][0]["rows"]
    if place == "stages":
        content["stages"]["plain-1"] = {"train": "other.yaml"}
    else:
        rows["some-5"] = {"label": "Other", "translate": "{plain-1}"}
    name = "plain-1" if place == "stages" else "some-5"
    with pytest.raises(ConfigError, match=f"^{place}: {name} is there twice"):
        read(tmp_path, content)


def test_a_seed_that_the_baseline_has_not_is_compared_with_no_other(tmp_path: Path) -> None:
    content = values()
    content["sections"][0]["rows"]["none"]["seeds"] = [1]
    rows = read(tmp_path, content).rows()
    assert rows["some-1"].baseline == "none-1"
    assert rows["some-5"].baseline == "some-5"  # itself, so with none


def test_a_row_without_seeds_is_compared_with_the_first_of_its_own_baseline(tmp_path: Path) -> None:
    content = values()
    content["sections"][0]["rows"]["both"]["baseline"] = "some"
    assert read(tmp_path, content).rows()["both"].baseline == "some-1"


def test_what_is_no_table_at_all_is_refused_as_ever(tmp_path: Path) -> None:
    for name, wrong in (("stages", [1]), ("sections", 3), ("sections", [3])):
        with pytest.raises(ConfigError, match=name):
            read(tmp_path, {**values(), name: wrong})


@pytest.mark.parametrize("wrong", [["plain"], {"plain": 1}], ids=["list", "section"])
def test_a_name_that_is_none_is_told_by_its_key(wrong: object, tmp_path: Path) -> None:
    content = values()
    content["stages"]["mean"]["needs"] = [wrong]
    with pytest.raises(ConfigError, match=r"stages\.mean-1\.needs"):
        read(tmp_path, content)
    content = values()
    content["sections"][0]["baseline"] = wrong
    with pytest.raises(ConfigError, match=r"sections\.0\.baseline"):
        read(tmp_path, content)
    content = values()
    content["sections"][0]["rows"]["some"]["baseline"] = wrong
    with pytest.raises(ConfigError, match=r"rows\.some-1\.baseline"):
        read(tmp_path, content)


def line(row: str, value: float, difference: float | None, **more: Any) -> Line:
    """A line of the group that its name begins with, if that ends in a number."""
    group, _, seed = row.rpartition("-")
    compared = None
    if difference is not None:
        compared = {"difference": difference, "p_value": 0.01 * float(seed)}
    scores = [{"name": "BLEU", "value": value, "signature": "s"}]
    cost = Cost(10, 2_000_000, 60.0, 120.0)
    return Line(
        *(row, group.title(), "news", ""),
        **{"scores": scores, "difference": compared, "cost": cost, "group": group, **more},
    )


def test_seeds_are_shown_by_mean_and_spread(tmp_path: Path) -> None:
    table = read(tmp_path, {**values(), "show_seconds": True})
    lines = [
        line("none-1", 20.0, None, translation_seconds=2.0),
        line("none-5", 22.0, None, translation_seconds=4.0),
        line("some-1", 21.0, 1.0),
        line("some-5", 25.0, 3.0, cost=Cost(30, 4_000_000, 180.0, 360.0)),
        line("alone", 30.0, None),
    ]
    shown = page(table, {"All": lines})
    assert "| news | None | 21.00 (1.41, 2 seeds) |  | 3.0 | 10 | 2.00 M | 1.0 | 2.0 |" in shown
    some = "| news | Some | 23.00 (2.83, 2 seeds) | +2.00 (0.0100, 0.0500) |  | 20 | 3.00 M |"
    assert some in shown, "one p of two is not below 0.05"
    assert "| 30.00 |" in shown
    assert "standard deviation over seeds" in shown
    found = mean_of(lines[2:4])
    assert found is not None
    assert found.difference is not None
    assert found.difference.mean == 2.0
    assert found.to_json()["rows"] == ["some-1", "some-5"]


def test_the_baseline_of_a_mean_is_that_of_the_seeds_that_have_one(tmp_path: Path) -> None:
    table = read(tmp_path, values())
    alone = line("some-1", 21.0, None, other_baseline="Some")
    shown = page(table, {"All": [alone, line("some-5", 25.0, 3.0)]})
    assert "| +3.00 (0.0500) |" in shown
    shown = page(table, {"All": [alone, line("some-5", 25.0, 3.0, other_baseline="Best")]})
    assert "| +3.00 (0.0500) to Best |" in shown


def test_seeds_that_are_missing_are_said(tmp_path: Path) -> None:
    table = read(tmp_path, values())
    missing = line("none-5", 0, None, scores=(), missing="not yet run")
    shown = page(table, {"All": [line("none-1", 20.0, None), missing]})
    assert "| 20.00 (0.00, 1 of 2 seeds) |" in shown
    assert mean_of([missing]) is None
    assert "not yet run" in page(table, {"All": [missing]})


def test_lines_of_a_group_are_together_where_the_first_is() -> None:
    lines = [line(name, 1.0, None) for name in ("a-1", "b-1", "a-2", "c")]
    assert [[one.row for one in group] for group in grouped(lines)] == [
        ["a-1", "a-2"],
        ["b-1"],
        ["c"],
    ]
