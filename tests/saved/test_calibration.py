"""The file of a calibration: written whole, read strictly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError, SavedError
from dragoman.evaluation.criterion import Criterion
from dragoman.saved.calibration import (
    Calibration,
    Conditions,
    calibration_path,
    check_weights,
    default_output,
    read_calibration,
    write_calibration,
)
from dragoman.saved.system import TranslationSystem

CALIBRATION = Calibration(
    right=Criterion(above=70),
    intercept=-0.1,
    weights={"one": 0.1 + 0.2, "two": -1e-17},
    text="dev.en + dev.de",
    lines=500,
    share=0.4,
    conditions=Conditions(weights=("abc",), system={"tags": ["<2de>"]}, search={"beam": 4}),
)


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_calibration(tmp_path / "c.json", CALIBRATION)
    assert read_calibration(tmp_path / "c.json") == CALIBRATION


def test_a_missing_one_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no such file, .*'dragoman calibrate MODEL SOURCE"):
        read_calibration(tmp_path / "confidence.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "damaged .*; calibrate again"),
        ("[1]", "no object"),
        ("\x00\udcff", "damaged"),
        ({"format": 2}, "format 2, and this Dragoman reads formats up to 1"),
        ({"intercept": "high"}, "intercept: .*; calibrate again"),
        ({"share": 1}, "share: .*less than 1"),
        ({"slope": 1}, "unknown key 'slope'"),
    ],
)
def test_damage_is_found(content: str | dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "confidence.json"
    if isinstance(content, dict):
        content = json.dumps(CALIBRATION.model_dump(mode="json") | content)
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(SavedError, match=message):
        read_calibration(path)


def test_a_folder_in_its_place_is_no_calibration(tmp_path: Path) -> None:
    with pytest.raises(SavedError, match="cannot be read"):
        read_calibration(tmp_path)


def test_differences_are_named() -> None:
    used = Conditions(
        weights=("abc",),
        system={"tags": [], "language_model": {"weights": "d", "weight": 0.2}},
        search={"beam": 8},
    )
    assert CALIBRATION.conditions.differences(CALIBRATION.conditions) == []
    assert CALIBRATION.conditions.differences(used) == [
        "tags none instead of <2de>",
        "language_model weights d, weight 0.2 instead of none",
        "beam 8 instead of 4",
    ]


def test_differences_can_be_read() -> None:
    """Nobody reads a whole digest, or knows what the default is."""
    used = Conditions(weights=("abc",), system={"engine": "ctranslate2", "adapter": "0f" * 32})
    plain = Conditions(weights=("abc",))
    assert plain.differences(used) == [
        "engine ctranslate2 instead of pytorch",
        "adapter 0f0f0f0f instead of none",
    ]


def test_other_weights_are_refused() -> None:
    conditions = CALIBRATION.conditions
    check_weights(CALIBRATION, conditions, Path("c.json"))
    adapted = {**conditions.system, "adapter": "0f" * 32}
    for other in ({"weights": ("x",)}, {"system": adapted}):
        with pytest.raises(SavedError, match=r"c.json: this calibration is of other weights"):
            check_weights(CALIBRATION, conditions.model_copy(update=other), Path("c.json"))


def test_it_is_beside_the_weights_unless_a_file_is_named(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "run" / "model")
    system = TranslationSystem(models=(tmp_path / "run",), confidence=True)
    assert calibration_path(system) == default_output(system) == model / "confidence.json"
    named = system.model_copy(update={"confidence": Path("my.json")})
    assert calibration_path(named) == Path("my.json")
    with pytest.raises(ConfigError, match=r"an ensemble .* name a file with --output"):
        default_output(TranslationSystem(models=(model, model)))
    with pytest.raises(ConfigError, match=r"without an adapter; name a file .* with --output"):
        default_output(TranslationSystem(models=(model,), adapter=tmp_path / "a.safetensors"))
    checkpoint = tmp_path / "run" / "checkpoints" / "step-1"
    checkpoint.mkdir(parents=True)
    (model / "model.safetensors").rename(checkpoint / "model.safetensors")
    (model / "config.yaml").rename(tmp_path / "run" / "config.yaml")
    with pytest.raises(ConfigError, match=r"checkpoint .*--output, or average"):
        default_output(TranslationSystem(models=(checkpoint,)))


def test_a_new_model_takes_the_place_of_a_calibrated_one(tmp_path: Path) -> None:
    """Whose calibration goes with it."""
    model = save_tiny_model(tmp_path / "model")
    write_calibration(model / "confidence.json", CALIBRATION)
    save_tiny_model(model, seed=2)
    assert not (model / "confidence.json").exists()
