"""Recipes agree with their JSON Schema, and mistakes do not; the one in the package is current."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from command_line import call, one_error
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from test_recipes import RECIPES, ROOT

from dragoman.core.config import read_yaml
from dragoman.recipe.schema import recipe_schema, schema_file, schema_text

COMMAND = f"python -m dragoman.recipe.schema > {schema_file().relative_to(ROOT)}"


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = recipe_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def problem(validator: Draft202012Validator, values: dict[str, Any]) -> str | None:
    error = best_match(validator.iter_errors(values))
    return error and f"{error.json_path}: {error.message}"


def test_the_file_in_the_package_is_up_to_date() -> None:
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    if f"\npydantic=={version('pydantic')}\n" not in pinned:
        pytest.skip("another pydantic may word the same schema in another way")
    current = schema_file().read_text(encoding="utf-8") == schema_text()
    assert current, f"the schema does not match the code; run: {COMMAND}"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_agrees(validator: Draft202012Validator, recipe: Path) -> None:
    assert problem(validator, read_yaml(recipe)) is None


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"modle": {}}, "$: "),
        ({"training": {"max_step": 3}}, "$.training: "),
        ({"training": {"max_steps": "many"}}, "$.training.max_steps: "),
        ({"training": {"objective": {"kind": "r_drop", "alpah": 1}}}, "$.training.objective: "),
        ({"training": {"optimizer": {"kind": "adm"}}}, "$.training.optimizer.kind: "),
        ({"data": {"train": [{"pth": "a.tsv"}]}}, "$.data.train[0]: "),
        ({"data": {"dev": {"news": {"pth": "a.tsv"}}}}, "$.data.dev.news: "),
        ({"model": {"family": "transfomer"}}, "$.model.family: "),
        ({"model": {"family": "recurrent", "heads": 4}}, "$.model: "),
        ({"model": {"dropuot": 0.1}}, "$.model: "),
        ({"model": {"dropout": 2}}, "$.model: "),
        ({"search": {"beam": 0}}, "$.search.beam: "),
        ({"evaluation": {"metrics": ["blue"]}}, "$.evaluation.metrics[0]: "),
    ],
    ids=str,
)
def test_a_mistake_does_not(
    validator: Draft202012Validator, values: dict[str, Any], place: str
) -> None:
    assert str(problem(validator, values)).startswith(place)


def test_what_a_recipe_has_from_its_base_may_be_missing(validator: Draft202012Validator) -> None:
    values = {"base": "other.yaml", "model": {"cell": "gru"}, "training": {"max_steps": 1}}
    assert problem(validator, values) is None


def test_keys_are_explained_and_flat_sections_have_none() -> None:
    schema = recipe_schema()
    transformer = schema["$defs"]["TransformerConfig"]["properties"]
    assert "dropout" in transformer
    assert "residual" not in transformer
    kinds = schema["$defs"].values()
    properties = [each for kind in kinds for each in kind.get("properties", {}).values()]
    assert len(properties) > 300
    assert all(each.get("description") for each in properties)


def test_the_command_prints_it() -> None:
    assert json.loads(call("recipes", "--schema").out) == recipe_schema()
    outcome = call("recipes", "--schema", "transformer-base")
    assert "leave NAME out" in one_error(outcome, 2)
