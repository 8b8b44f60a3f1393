"""Recipes are found by name, listed, and can be saved anywhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_line import call, one_error, write_experiment

from dragoman.core import recipe_library
from dragoman.core.config import read_yaml
from dragoman.core.errors import ConfigError
from dragoman.core.recipe_library import (
    found_recipe,
    known_recipe,
    recipe_names,
    recipe_summary,
    recipe_text,
    recipes_folder,
)
from dragoman.recipe import read_experiment

ROOT = Path(__file__).parents[2]
NAMES = recipe_names()


def test_all_are_listed_those_of_folders_last() -> None:
    files = {path.relative_to(ROOT / "recipes") for path in (ROOT / "recipes").rglob("*.yaml")}
    tables = {path for path in files if path.name == "table.yaml"}
    assert tables  # of results, which are no recipes
    assert {Path(f"{name}.yaml") for name in NAMES} == files - tables
    depths = [name.count("/") for name in NAMES]
    assert depths == sorted(depths)


@pytest.mark.parametrize(
    "name",
    ["table3/base", "table3/base.yaml", "recipes/table3/base.yaml", "table3/D-dropout-0.5"],
)
def test_a_name_will_do(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inner = name.removeprefix("recipes/").removesuffix(".yaml")
    file = ROOT / "recipes" / f"{inner}.yaml"
    assert found_recipe(Path(name)).samefile(file)
    assert read_experiment(name) == read_experiment(file)


def test_a_file_goes_before_a_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "transformer-base.yaml"
    mine.write_text("seed: 3", encoding="utf-8")
    assert found_recipe(Path(mine.name)) == Path(mine.name)


@pytest.mark.parametrize(
    "name", ["../setup", "/table3/base", "table3", "", "table3/../table3/base"]
)
def test_other_files_are_no_recipes(name: str) -> None:
    assert known_recipe(name) is None


def test_a_similar_name_is_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = call("cost", "recipes/multi30k-ende-tinny.yaml")
    assert "did you mean 'multi30k-ende-tiny'?" in one_error(outcome, ConfigError.exit_code)
    outcome = call("cost", "mine.yaml")
    assert "mine.yaml: no such configuration file" in one_error(outcome, ConfigError.exit_code)
    for name, said in (
        ("transformer-bse", "did you mean 'transformer-base'?"),
        ("zzz", "lists them"),
    ):
        assert said in one_error(call("recipes", name), ConfigError.exit_code)


@pytest.mark.parametrize("name", NAMES)
def test_one_that_is_saved_elsewhere_is_the_same(name: str, tmp_path: Path) -> None:
    outcome = call("recipes", name)
    (tmp_path / "mine.yaml").write_text(outcome.out, encoding="utf-8")
    assert read_yaml(tmp_path / "mine.yaml").get("base", "recipes/").startswith("recipes/")
    mine, bundled = read_experiment(tmp_path / "mine.yaml"), read_experiment(name)
    # A file that a recipe expects beside it, such as segments.tsv, is then beside the saved one.
    folders = str(tmp_path), str(found_recipe(Path(name)).parent)
    one, other = (
        config.model_dump_json().replace(folder, "FOLDER")
        for config, folder in zip((mine, bundled), folders, strict=True)
    )
    assert one == other


def test_a_base_beside_goes_before_a_recipe(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "corpora").mkdir()
    write_experiment(tmp_path).rename(tmp_path / "recipes" / "transformer-base.yaml")
    (tmp_path / "mine.yaml").write_text("base: recipes/transformer-base.yaml", encoding="utf-8")
    assert read_experiment(tmp_path / "mine.yaml").vocabulary.size == 120


def test_the_list_has_the_first_sentence_of_each() -> None:
    lines = call("recipes").out.splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    said = dict(line.split(maxsplit=1) for line in lines)
    assert said["table3/A-heads-1"] == "Row (A): one head as wide as all four together."
    assert said["multi30k-ende-tiny"].startswith("Multi30k English to German with Transformer-Tiny")
    assert all(recipe_summary(name).endswith((".", "?")) for name in NAMES)


def test_they_are_found_within_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site-packages" / "dragoman"
    shutil.copytree(ROOT / "recipes", package / "recipes")
    monkeypatch.setattr(recipe_library, "__file__", str(package / "core" / "recipe_library.py"))
    assert recipes_folder() == package / "recipes"
    assert recipe_names() == NAMES
    assert recipe_text("table3/base").startswith("# Row (base)")
