"""Trained models that another one is composed of: whether they fit, and their weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_model import LINES, TINY_LM, save_tiny_model

from dragoman.core.errors import ConfigError, SavedError
from dragoman.models import DeepFusionConfig, TransformerConfig
from dragoman.models.registry import NamedModelConfig
from dragoman.recipe.reading import component_paths, relocated
from dragoman.saved.model import build_model, load_model
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.components import (
    TakenComponent,
    check_components,
    described,
    digests_of,
    named_components,
    story_of_components,
    take_components,
    unfit_components,
)

OTHER = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=9, heads=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    save_tiny_model(folder / "translator", seed=2)
    save_tiny_model(folder / "lm", seed=3, config=TINY_LM)
    save_tiny_model(folder / "wide", seed=4, config=OTHER)
    save_tiny_model(folder / "strange", [f"{line} f" for line in LINES], config=TINY_LM)
    return folder


def taken(folder: Path, translation: str = "translator", lm: str = "lm") -> dict[str, Any]:
    names = {"translation": translation, "language_model": lm}
    return {key: TakenComponent(model=str(folder / name)) for key, name in names.items()}


def composed(folder: Path) -> DeepFusionConfig:
    return DeepFusionConfig(
        translation=described(str(folder / "translator")),
        language_model=described(str(folder / "lm")),
    )


def test_a_composed_model_gets_the_weights_of_both(folder: Path) -> None:
    config, components = composed(folder), taken(folder)
    pieces = Vocabularies.load(folder / "translator")
    check_components(components, config, pieces)
    torch.manual_seed(9)
    model = build_model(config, pieces)
    take_components(components, model, pieces)
    for part, name in (("translation", "translator"), ("language_model", "lm")):
        own = dict(load_model(folder / name).model.named_parameters())
        found = dict(getattr(model, part).named_parameters())
        shared = own.keys() & found.keys()
        assert len(shared) > 5
        for key in shared:
            torch.testing.assert_close(found[key], own[key], rtol=0, atol=0)


def test_another_kind_of_model_and_another_vocabulary_are_refused(folder: Path) -> None:
    config, pieces = composed(folder), Vocabularies.load(folder / "translator")
    with pytest.raises(ConfigError, match=r"^training.components.translation: .*wide.*d_ff"):
        check_components(taken(folder, translation="wide"), config, pieces)
    strange = taken(folder, lm="strange")
    with pytest.raises(SavedError, match=r"strange: its vocabulary is not the target vocabulary"):
        check_components(strange, config, pieces)
    check_components(strange, config, None)  # the vocabulary is not known yet
    with pytest.raises(SavedError, match="nowhere"):
        check_components(taken(folder, lm="nowhere"), config, pieces)


def test_other_weights_than_at_the_beginning_are_refused(folder: Path) -> None:
    first = digests_of(taken(folder))
    assert first.keys() == {"translation", "language_model"}
    wrong = {"language_model": TakenComponent(model=str(folder / "lm"), digest="0" * 64)}
    with pytest.raises(SavedError, match=r"training\.components\.language_model\.digest"):
        digests_of(wrong)
    right = {name: one.model_copy(update={"digest": first[name]}) for name, one in
             taken(folder).items()}  # fmt: skip
    assert digests_of(right) == first


def test_what_needs_weights_and_has_none(folder: Path) -> None:
    config = composed(folder)
    assert not list(unfit_components(taken(folder), config))
    lacking = list(unfit_components({}, config))
    assert [one.split()[0] for one in lacking] == ["model.translation", "model.language_model"]
    (stranger,) = unfit_components({"decoder": TakenComponent(model="x")}, OTHER)
    assert stranger.startswith("training.components: decoder is no component of model.family")


def test_components_are_named_until_they_are_read(folder: Path) -> None:
    config = DeepFusionConfig(translation="runs/a", language_model="runs/lm")
    assert isinstance(config.translation, NamedModelConfig)
    assert named_components(config) == {"translation": "runs/a", "language_model": "runs/lm"}
    assert not list(unfit_components({}, config))
    assert named_components(composed(folder)) == {}


def test_the_model_card_names_them_without_folders(folder: Path) -> None:
    assert story_of_components({}) == ""
    told = story_of_components(taken(folder))
    assert told.startswith("Training began with the translation translator (weights ")
    assert " and the language model lm (weights " in told
    assert str(folder) not in told


def test_paths_of_models_become_absolute(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "model": {"family": "deep_fusion", "translation": "a", "language_model": {"family": "x"}},
        "vocabulary": {"of": "a", "size": 9},
        "training": {
            "start_from": "b",
            "components": {"translation": {"model": "a"}, "language_model": 3},
        },
    }
    found = relocated(values, tmp_path)
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    assert found["model"] == {**values["model"], "translation": a}
    assert found["vocabulary"] == {"of": a, "size": 9}
    assert found["training"] == {
        "start_from": b,
        "components": {"translation": {"model": a}, "language_model": 3},
    }
    section = {"training": {"start_from": {"model": "b", "parts": ["encoder"]}}}
    moved = relocated(section, tmp_path)["training"]["start_from"]
    assert moved == {"model": b, "parts": ["encoder"]}
    assert relocated({"training": 1, "model": 2}, tmp_path) == {"training": 1, "model": 2}
    assert component_paths(None) == component_paths({"family": "nothing"}) == {}
