"""The commands in the comments that recipes begin with: what a person would copy into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.main import commands
from dragoman.recipe.reading import read_values
from studies.tables.plan import read_table
from studies.tables.workplace import Workplace

ROOT = Path(__file__).parents[1]
TABLES = sorted((ROOT / "recipes").glob("*/table.yaml"))
RECIPES = sorted({one for table in TABLES for one in table.parent.glob("*.yaml")} - {*TABLES})

every_recipe = pytest.mark.parametrize(
    "recipe", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}"
)


def comments(recipe: Path) -> str:
    """The comments that a recipe begins with, and those further down."""
    lines = recipe.read_text(encoding="utf-8").splitlines()
    return "\n".join(line[1:].strip() for line in lines if line.startswith("#"))


def header_commands(recipe: Path) -> Iterator[list[str]]:
    """Commands of Dragoman in them, split into words without the first, as a shell would."""
    for line in comments(recipe).replace("\\\n", " ").splitlines():
        if line.startswith("dragoman "):
            yield shlex.split(line)[1:]


def values(recipe: Path, command: Sequence[str]) -> dict[str, Any]:
    """Those of a recipe with what a command sets."""
    return read_values(recipe, [value for one, value in pairwise(command) if one == "--set"])


@every_recipe
def test_no_line_begins_with_an_option_of_the_line_above(recipe: Path) -> None:
    lines = comments(recipe).splitlines()
    for above, line in pairwise(lines):
        assert not line.startswith("--") or above.endswith("\\"), line


@every_recipe
def test_commands_can_be_read(recipe: Path) -> None:
    for name, *arguments in header_commands(recipe):
        if "recipes/parsing/mine.yaml" in arguments:  # the reader's own
            continue
        given = arguments[: arguments.index("<")] if "<" in arguments else arguments
        commands.commands[name].make_context(name, given).close()


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.parent.name)
def test_a_run_where_a_table_looks_is_the_tables(table: Path) -> None:
    """Otherwise the table refuses the run of who followed the header, as made by another recipe."""
    place = Workplace(read_table(table), table, Path("runs") / table.parent.name)
    for recipe in (one for one in RECIPES if one.parent == table.parent):
        for command in header_commands(recipe):
            run = Path(command[command.index("--run") + 1]) if "--run" in command else Path()
            if command[0] != "train" or run.parent != place.output:
                continue
            assert run.name in place.table.stages, command
            wanted = place.command(run.name)
            assert wanted[:2] == ["train", str(recipe)], command
            assert values(recipe, command) == values(recipe, wanted), command
