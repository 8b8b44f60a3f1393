"""Every recipe is a valid experiment, on text that is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.models.transformer import TransformerConfig
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


def leaves(section: dict[str, Any], name: str = "") -> dict[str, Any]:
    """Settings by their whole names, such as ``training.schedule.decay``."""
    found = {}
    for key, value in section.items():
        found |= leaves(value, f"{name}{key}.") if isinstance(value, dict) else {name + key: value}
    return found


def differences(recipe: str, base: str) -> dict[str, Any]:
    """What the first recipe sets otherwise than the second."""
    ours, theirs = (
        leaves(read_experiment(ROOT / "recipes" / f"{name}.yaml").model_dump(mode="json"))
        for name in (recipe, base)
    )
    return {key: ours.get(key) for key in {*ours, *theirs} if ours.get(key) != theirs.get(key)}


def names(folder: str, *, besides: str) -> list[str]:
    """Recipes of a folder without the one that the others are compared with."""
    return sorted(
        path.stem for path in (ROOT / "recipes" / folder).glob("*.yaml") if path.stem != besides
    )


@pytest.mark.parametrize("name", names("table3", besides="base"))
def test_a_row_of_table_3_varies_one_thing(name: str) -> None:
    one_thing = (
        {"model.heads"},
        {"model.d_k"},
        {"model.encoder_layers", "model.decoder_layers"},
        {"model.d_model"},
        {"model.dropout"},
        {"training.label_smoothing"},
        {"model.positions", "model.max_positions"},
    )
    assert set(differences(f"table3/{name}", "table3/base")) in one_thing


def test_table_3_averages_no_checkpoints_as_in_the_paper() -> None:
    base = read_experiment(ROOT / "recipes/table3/base.yaml")
    assert base.training.average_checkpoints == 1


def test_gnmt_searches_with_its_papers_penalties() -> None:
    """Alpha and beta of 0.2 (Wu et al. 2016, section 7)."""
    search = read_experiment(ROOT / "recipes/multi30k-ende-gnmt.yaml").search
    assert (search.length_penalty, search.coverage_penalty) == (0.2, 0.2)


def test_attention_varies_in_scoring_and_width_of_keys_alone() -> None:
    found = {
        name: differences(f"attention/{name}", "attention/scaled-32")
        for name in names("attention", besides="scaled-32")
    }
    scorings = {"scaled": "scaled_dot", "unscaled": "dot", "additive": "additive"}
    assert len(found) == 8
    for name, changed in found.items():
        scoring, d_k = name.split("-")
        assert changed.pop("model.d_k", 32) == int(d_k)
        assert changed.pop("model.attention", "scaled_dot") == scorings[scoring]
        assert not changed


@pytest.mark.parametrize("name", names("positions", besides="sinusoidal"))
def test_positions_vary_alone(name: str) -> None:
    changed = differences(f"positions/{name}", "positions/sinusoidal")
    assert changed.pop("model.positions") == name
    assert set(changed) <= {"model.max_positions", "model.relative_distance"}


def test_positions_are_trained_on_short_sentences_alone() -> None:
    assert set(differences("positions/sinusoidal", "table3/base")) == {
        "data.max_pieces",
        "training.batches.batch_tokens",
        "training.max_steps",
    }
    relative = read_experiment(ROOT / "recipes/positions/relative.yaml")
    assert isinstance(relative.model, TransformerConfig)
    # every distance that is told apart occurs in training, the end symbol counted
    assert relative.model.relative_distance <= relative.data.max_pieces
