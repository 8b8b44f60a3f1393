"""Every recipe is a valid experiment, on text that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.recipe import read_experiment

ROOT = Path(__file__).parents[1]
RECIPES = sorted((ROOT / "recipes").rglob("*.yaml"))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_it_can_be_read(recipe: Path) -> None:
    config = read_experiment(recipe)
    shared = ROOT.parent / "shared" / "data"
    files = [file for part in config.data.train for file in part.files()]
    for file in files:
        if shared.exists() and file.is_relative_to(shared):
            assert file.exists()


def test_variations_of_table_3_differ_in_one_thing() -> None:
    base = read_experiment(ROOT / "recipes" / "multi30k-ende-tiny.yaml")
    found = {path.stem: read_experiment(path) for path in (ROOT / "recipes/table3").glob("*.yaml")}
    assert len(found) >= 14
    for name, config in found.items():
        assert config != base, name
        assert config.data == base.data, name
        rest = config.model_copy(update={"model": base.model, "training": base.training})
        assert rest == base, name
