"""What a table says of what was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import call
from small_table import TABLE, change, made, one_is_right

from dragoman.core.errors import ConfigError
from studies.tables.plan import read_table
from studies.tables.result import write_result
from studies.tables.work import Work
from studies.tables.workplace import TRANSLATIONS, Workplace


def test_the_table_says_what_was_found_and_what_not(copied: tuple[Path, Path]) -> None:
    work = made(*copied)
    output = work.place.output
    one_is_right(work)
    write_result(work)
    page = (output / "table.md").read_text(encoding="utf-8")
    assert "**3 of 5 figures are there**" in page
    (section,) = json.loads((output / "table.json").read_text(encoding="utf-8"))["sections"]
    lines = {(line["row"], line["test"]): line for line in section["lines"]}
    assert list(lines) == [
        *(("broken-row", "news"), ("single", "news"), ("averaged", "news")),
        *(("broken-row", "dev"), ("single", "dev"), ("known", "dev")),
    ]
    single, averaged = lines["single", "news"], lines["averaged", "news"]
    assert [score["name"] for score in single["scores"]] == ["chrF2", "BLEU"]
    assert single["difference"] is None
    assert averaged["scores"][0]["value"] == pytest.approx(100)
    value = single["scores"][0]["value"]
    assert averaged["difference"]["difference"] == pytest.approx(100 - value)
    assert averaged["difference"]["p_value"] < 0.05
    assert f"| news | Mean | 100.00 ± 0.00 | +{100 - value:.2f}* (" in page
    assert (single["cost"]["steps"], averaged["cost"]["steps"]) == (4, 0)
    assert averaged["cost"]["seconds_in_all"] > single["cost"]["seconds_in_all"] > 0
    assert lines["broken-row", "dev"]["missing"] == work.failures["broken"]
    assert not lines["known", "dev"]["missing"]
    assert "| dev | Elsewhere |" in page
    assert "45.6 (A 2001)" in page
    found = call(
        *("evaluate", output / "translations/single.news", output / "text/news.reference"),
        *("--json", "--metric", "chrf"),
    )
    assert json.loads(found.out)["scores"][0]["value"] == pytest.approx(value)
    # Scores are computed once.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("studies.tables.scoring.score_corpus", None)
        write_result(work)
    assert (output / "table.md").read_text(encoding="utf-8") == page


def test_a_difference_from_another_baseline_names_it(copied: tuple[Path, Path]) -> None:
    """What the page says of all others would be wrong of this one."""
    folder, output = copied
    rows: list[dict[str, Any]] = json.loads(json.dumps(TABLE["sections"]))
    rows[0]["rows"]["third"] = {
        **rows[0]["rows"]["averaged"],
        "label": "Third",
        "baseline": "averaged",
    }
    change(folder, sections=rows)
    work = made(folder, output)
    write_result(work)
    page = (output / "table.md").read_text(encoding="utf-8")
    (second,) = [line for line in page.splitlines() if line.startswith("| news | Mean |")]
    (third,) = [line for line in page.splitlines() if line.startswith("| news | Third |")]
    assert " to " not in second
    assert "| +0.00 (1.0000) to Mean |" in third
    assert "Differences are to the section's baseline or the system that they name, with p" in page


def test_figures_of_another_recipe_are_not_shown_whatever_was_made_now(
    copied: tuple[Path, Path],
) -> None:
    """Nor is anything compared with them: neither before its turn comes, nor without it."""
    folder, output = copied
    rows: list[dict[str, Any]] = json.loads(json.dumps(TABLE["sections"]))
    rows[0]["rows"]["by-hand"] = {
        "label": "Other",
        "translate": {"news": "embed translate {here}/a {here}/b"},
    }
    for name, word in (("a", "one"), ("b", "eins")):
        (folder / name).write_text(f"1 2\n{word} 0.6 0.8\n", encoding="utf-8")
    change(folder, sections=rows)
    work = made(folder, output, ["by-hand"])
    shown = {(one.row, one.test): one for one in write_result(work)["All"]}
    assert shown["single", "news"].scores
    assert shown["by-hand", "news"].baseline == "single"
    change(folder, stages__one__settings={"training.max_steps": 5})
    work = made(folder, output, ["by-hand"])
    shown = {(one.row, one.test): one for one in write_result(work)["All"]}
    assert not work.failures
    assert not shown["single", "news"].scores
    assert "was made otherwise than the table says now" in shown["single", "news"].missing
    assert shown["by-hand", "news"].scores
    assert shown["by-hand", "news"].difference is None


def test_a_damaged_record_spoils_its_own_figure_alone(copied: tuple[Path, Path]) -> None:
    folder, output = copied
    (output / f"records/{TRANSLATIONS}/single.news.json").write_text("{", encoding="utf-8")
    work = made(folder, output, ["averaged"])
    shown = {(one.row, one.test): one for one in write_result(work)["All"]}
    assert "single.news.json: damaged" in shown["single", "news"].missing
    assert shown["averaged", "news"].scores
    assert shown["averaged", "news"].difference is None


def test_tests_can_be_beside_one_another(copied: tuple[Path, Path]) -> None:
    """Each row is a line, with the figures of all tests, or why there are none."""
    folder, output = copied
    content = yaml.safe_load((folder / "table.yaml").read_text(encoding="utf-8"))
    content["sections"][0]["tests_beside"] = True
    (folder / "table.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    work = made(*copied)
    one_is_right(work)
    write_result(work)
    lines = (output / "table.md").read_text(encoding="utf-8").split("## All\n\n")[1].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[: 2 + 4]]
    head = rows[0]
    assert head == [
        "system",
        *(f"news: {name}" for name in ("chrF2 (95 %)", "difference (p)", "BLEU")),
        *(f"dev: {name}" for name in ("chrF2 (95 %)", "difference (p)", "BLEU")),
        *("steps", "target tokens", "minutes", "minutes in all", "published"),
    ]
    assert {len(row) for row in rows} == {len(head)}
    broken, single, averaged, known = (dict(zip(head, row, strict=True)) for row in rows[2:])
    assert "neither a run" in broken["news: chrF2 (95 %)"]
    assert averaged["news: chrF2 (95 %)"] == "100.00 ± 0.00"
    assert averaged["news: difference (p)"].startswith("+")
    assert averaged["dev: chrF2 (95 %)"] == ""
    assert single["dev: chrF2 (95 %)"] and single["steps"] == "4"
    assert single["news: chrF2 (95 %)"] != single["dev: chrF2 (95 %)"]
    assert single["published"] == "12.3" and known["published"] == "45.6 (A 2001)"


def test_intervals_seconds_and_rates_of_terms_are_columns_where_asked_for(
    copied: tuple[Path, Path],
) -> None:
    folder, _ = copied
    (folder / "terms.tsv").write_text("one\teins\n", encoding="utf-8")
    metrics = ["chrf", "terms"]
    change(folder, evaluation__metrics=metrics, difference_samples=50, show_seconds=True)
    with pytest.raises(ConfigError, match="the metric terms needs a glossary"):
        made(*copied)
    change(folder, tests__news__glossary="terms.tsv", evaluation__glossary="terms.tsv")
    work = made(*copied)
    output = work.place.output
    one_is_right(work)
    write_result(work)
    page = (output / "table.md").read_text(encoding="utf-8")
    assert "| difference (p) | terms | seconds | steps |" in page
    (section,) = json.loads((output / "table.json").read_text(encoding="utf-8"))["sections"]
    lines = {(line["row"], line["test"]): line for line in section["lines"]}
    low, high = lines["averaged", "news"]["interval"]
    assert 0 < low < lines["averaged", "news"]["difference"]["difference"] < high
    assert f" [{low:+.2f}, {high:+.2f}] (" in page
    assert lines["single", "news"]["translation_seconds"] == 1.0
    assert lines["single", "news"]["scores"][1]["name"] == "terms"
    change(folder, difference_samples=0)
    place = Workplace(read_table(folder / "table.yaml"), folder / "table.yaml", output)
    shown = write_result(Work(place, work.runner, print))["All"]
    assert all(one.interval is None for one in shown), "they are not asked for any more"
    # Another glossary is another score.
    before = page
    (folder / "terms.tsv").write_text("two\tzwei\nthree\tnie\n", encoding="utf-8")
    write_result(work)
    assert (output / "table.md").read_text(encoding="utf-8") != before
