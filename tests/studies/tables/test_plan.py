"""Files of tables: what they may say, and that those beside the recipes can be carried out."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from dragoman.cli.main import commands
from dragoman.core.errors import ConfigError
from dragoman.recipe import read_experiment
from dragoman.training.warm_start import check_kind
from studies.tables.plan import HERE, TableConfig, expanded, named_places, read_table
from studies.tables.work import cells, text_of, translation_command
from studies.tables.workplace import Workplace, is_study

ROOT = Path(__file__).parents[3]
TABLES = sorted((ROOT / "recipes").rglob("table.yaml"))


def values() -> dict[str, Any]:
    """A table with one row of one stage."""
    return {
        "title": "Numbers",
        "tests": {"news": {"path": "news.tsv", "source": "en", "target": "de"}},
        "stages": {"one": {"train": "tiny.yaml"}},
        "sections": [
            {
                "title": "All",
                "tests": ["news"],
                "rows": {"first": {"label": "First", "translate": "{one}"}},
            }
        ],
    }


def written(folder: Path, content: dict[str, Any]) -> Path:
    path = folder / "table.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


every_table = pytest.mark.parametrize("path", TABLES, ids=lambda path: path.parent.name)


@every_table
def test_recipes_of_a_table_are_there(path: Path, tmp_path: Path) -> None:
    """And the settings that stages change are ones that they have."""
    place = Workplace(read_table(path), path, tmp_path / "out")
    for name, stage in place.table.stages.items():
        if stage.train is not None and not named_places(stage.train):
            assert (path.parent / stage.train).is_file()
            assert place.recipe(stage).seed
        for one in place.command(name):
            if one.startswith(f"{path.parent}/") and one.endswith(".yaml"):
                assert read_experiment(one).seed


@every_table
def test_stages_start_from_models_of_their_kind(path: Path, tmp_path: Path) -> None:
    place = Workplace(read_table(path), path, tmp_path / "out")
    recipes = {
        str(place.places[name]): place.recipe(stage)
        for name, stage in place.table.stages.items()
        if stage.train is not None and not named_places(stage.train)
    }
    for recipe in recipes.values():
        start = recipe.training.start_from
        if start is not None and start.model in recipes:
            check_kind(start, recipes[start.model].model, recipe.model, "its recipe")


def read(arguments: Sequence[str]) -> None:
    """Read the arguments of ``dragoman`` or a study as it does, and carry out nothing."""
    command: click.Command = commands
    rest = [*arguments]
    if is_study(arguments):
        study, rest = rest[2], rest[3:]
        command = getattr(import_module(f"{study}.__main__"), study.removeprefix("studies."))
    while isinstance(command, click.Group):
        command = command.commands[rest.pop(0)]
    command.make_context(command.name, rest).close()


@every_table
def test_commands_of_a_table_can_be_read(path: Path, tmp_path: Path) -> None:
    """Those of its stages, and those that translate the tests of its rows."""
    place = Workplace(read_table(path), path, tmp_path / "out")
    for name in place.table.stages:
        read(place.command(name))
    for cell in (cell for row in place.table.rows() for cell in cells(place, row)):
        read(translation_command(place, cell, text_of(place, cell.test)))


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("backtranslate x.yaml --monolingual y --methd beam", click.NoSuchOption),
        ("backtranslate x.yaml --monolingual y --method bean", click.BadParameter),
        ("embed translate", click.MissingParameter),
        ("python -m studies.noise caught pairs", click.MissingParameter),
    ],
)
def test_commands_that_cannot_be_read_are_noticed(
    command: str, error: type[click.UsageError]
) -> None:
    with pytest.raises(error):
        read(command.split())


def test_some_tables_are_there() -> None:
    assert {path.parent.name for path in TABLES} >= {"multilingual", "monolingual", "terms"}


@pytest.mark.parametrize(
    ("place", "change", "problem"),
    [
        ("stages", {"two": {"train": "tiny.yaml"}}, "stages.two: no row needs it"),
        ("stages", {"one": {}}, "either train or command"),
        ("stages", {"one": {"train": "a", "command": "b"}}, "either train or command"),
        ("stages", {"one": {"command": "average x"}}, "must name its own directory, {one}"),
        ("stages", {"one": {"command": "average '{one}"}}, "no closing quotation"),
        ("stages", {"one": {"command": "x {one}", "settings": {"seed": 1}}}, "settings are read"),
        ("stages", {"one": {"train": "a", "done": "b"}}, "a training writes scores.json last"),
        ("stages", {"one": {"train": "a", "needs": ["two"]}}, "there is no stage two"),
        ("stages", {"o ne": {"train": "a"}}, "'o ne' is not made of letters"),
        ("stages", {"text": {"train": "a"}}, "stages.text: this name is taken"),
        ("tests", {"a.b": {"source": "a", "target": "b"}}, "'a.b' is not made of letters"),
        ("tests", {"news": {"target": "b"}}, "a test has two sides"),
        ("rows", {"first": {"label": "F", "translate": "{two}"}}, "there is no stage two"),
        ("rows", {"first": {"label": "F"}}, "translate, or at least published"),
        ("rows", {"first": {"label": "F", "translate": "'{one}"}}, "no closing quotation"),
        ("rows", {"first": {"label": "F", "translate": {"old": "{one}"}}}, "old is not among the"),
        ("rows", {"first": {"label": "F", "translate": "{one}", "baseline": "x"}}, "is no row x"),
        ("section", {"baseline": "second"}, "there is no row second"),
        ("section", {"tests": ["old"]}, "there is no test old"),
        (
            "section",
            {"tests_beside": True, "rows": {"a": {"label": "A", "translate": "x", "group": "g"}}},
            "rows.a: a section with tests_beside shows no means",
        ),
        ("top", {"evaluation": {"metrics": []}}, "name at least one"),
        ("top", {"titel": "x"}, "did you mean 'title'?"),
        ("top", {"data": {}}, "a recipe, not a table"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(
    place: str, change: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    content = values()
    section = content["sections"][0]
    changed = {"section": section, "rows": section["rows"], "top": content}
    changed.get(place, content.get(place, {})).update(change)
    with pytest.raises(ConfigError, match=r"^[^\n]+$") as raised:
        read_table(written(tmp_path, content))
    assert problem in str(raised.value)


def test_stages_in_a_circle_are_refused(tmp_path: Path) -> None:
    content = values()
    content["stages"] = {
        "one": {"train": "a", "needs": ["two"]},
        "two": {"command": "average {one} --output {two}"},
    }
    with pytest.raises(ConfigError, match=r"stages\.one: needs itself; break the circle"):
        read_table(written(tmp_path, content))


def test_a_row_has_one_name_in_all_sections(tmp_path: Path) -> None:
    content = values()
    content["sections"] *= 2
    with pytest.raises(ConfigError, match="rows: first is there twice"):
        read_table(written(tmp_path, content))


def test_a_section_has_a_title_of_its_own(tmp_path: Path) -> None:
    """Else one would be shown with the rows of the other."""
    content = values()
    second = {**content["sections"][0], "rows": {"second": {"label": "S", "translate": "{one}"}}}
    content["sections"].append(second)
    with pytest.raises(ConfigError, match="sections: the title 'All' is there twice"):
        read_table(written(tmp_path, content))


def test_needs_follow_from_what_is_named() -> None:
    content = values()
    content["stages"] = {
        "one": {"train": "a", "settings": {"vocabulary": {"of": "{two}"}, "x": ["{three}"]}},
        "two": {"command": "prepare {here}/b.yaml --run {two}"},
        "three": {"train": "c", "needs": ["four"]},
        "four": {"train": "{two}/config.yaml"},
    }
    table = TableConfig.model_validate(content)
    assert table.closure(["one"]) == {"one", "two", "three", "four"}
    assert table.closure(["three"]) == {"three", "four", "two"}
    place = Workplace(table, Path("recipes/table.yaml"), Path("out"))
    assert place.stages_of("{one}") == ["two", "four", "three", "one"]


def test_places_are_filled_in_wherever_they_are_named() -> None:
    places = {"one": Path("out/one"), HERE: Path("recipes")}
    assert expanded({"a": ["{one}", 7], "b": "{here}/x"}, places) == {
        "a": ["out/one", 7],
        "b": "recipes/x",
    }
    assert named_places("{one} --lm {two} {one}") == ["one", "two"]


def test_commands_are_those_that_a_person_would_type(tmp_path: Path) -> None:
    content = values()
    content["stages"] = {
        "one": {"train": "tiny.yaml", "settings": {"seed": 2, "vocabulary": {"of": "{two}"}}},
        "two": {"command": "prepare '{here}/b c.yaml' --run {two}", "done": "vocabulary.model"},
        "three": {
            "train": "{two}/config.yaml",
            "settings": {"training.start_from": "{one}", "source_language": "no"},
        },
    }
    content["sections"][0]["rows"]["first"]["translate"] = "{three}"
    path = written(tmp_path, content)
    place = Workplace(read_table(path), path, Path("out"))
    here = str(tmp_path)
    assert place.command("two") == ["prepare", f"{here}/b c.yaml", "--run", "out/two"]
    assert place.command("one") == [
        *("train", f"{here}/tiny.yaml", "--run", "out/one"),
        *("--set", "seed=2", "--set", 'vocabulary={"of": "out/two"}'),
    ]
    # YAML would read a bare "no" as false.
    assert place.command("three")[3:] == [
        *("out/three", "--set", "training.start_from=out/one", "--set", 'source_language="no"'),
    ]
