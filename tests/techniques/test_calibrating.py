"""Calibrating on lines whose right translations are known, because they were planted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_model import TINY_LM, save_tiny_model

from dragoman.core.errors import ConfigError, DataError
from dragoman.evaluation.criterion import Criterion
from dragoman.saved.calibration import write_calibration
from dragoman.saved.system import TranslationSystem
from dragoman.techniques.calibrating import calibrate, measure_reliability
from dragoman.translation.translator import Translator

EXACT = Criterion(kind="exact")
LINES = [
    " ".join(letters) for letters in np.random.default_rng(1).choice([*"abcde"], (110, 5)).tolist()
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("calibration") / "model", batch_tokens=400)


@pytest.fixture(scope="module")
def system(model: Path) -> TranslationSystem:
    return TranslationSystem(models=(model,), device="cpu", search={"beam": 2})


@pytest.fixture(scope="module")
def references(system: TranslationSystem) -> list[str]:
    """Those of the likelier half of translations are right, and a few others."""
    with Translator.of(system) as translator:
        found = [best for (best, *_) in translator.translate_nbest(LINES)]
    likely = sorted(one.log_probability / (len(one.pieces) + 1) for one in found)[len(found) // 2]
    return [
        one.text
        if number % 10 == 0 or one.log_probability / (len(one.pieces) + 1) > likely
        else "nothing like it"
        for number, one in enumerate(found)
    ]


def test_it_finds_what_is_right(
    system: TranslationSystem, references: list[str], tmp_path: Path
) -> None:
    seen: list[int] = []
    found = calibrate(system, LINES, references, EXACT, name="dev", progress=seen.append)
    assert seen[-1] == len(LINES)
    assert found.left_out == 0
    judged = found.reliability
    assert judged.auc is not None
    assert judged.auc > 0.85
    assert judged.lines == found.calibration.lines == len(LINES)
    assert found.calibration.share == judged.right
    assert found.calibration.weights["mean_log_probability"] > 0
    assert found.calibration.text == "dev"

    path = tmp_path / "c.json"
    write_calibration(path, found.calibration)
    with_it = system.model_copy(update={"confidence": path})
    measured = measure_reliability(with_it, LINES, references)
    assert measured.calibration == found.calibration
    own = measured.reliability
    # On its own lines a regression is right on average; batches round differently.
    assert own.confidence == pytest.approx(own.right, abs=1e-3)
    assert own.brier < judged.brier


def test_what_cannot_be_translated_is_left_out(
    system: TranslationSystem, references: list[str], tmp_path: Path
) -> None:
    long = " ".join("abcde" * 500)
    sources, wanted = [*LINES, long], [*references, "nothing"]
    found = calibrate(system, sources, wanted, EXACT, name="dev")
    assert (found.left_out, found.calibration.lines) == (1, len(LINES))
    path = tmp_path / "c.json"
    write_calibration(path, found.calibration)
    with_it = system.model_copy(update={"confidence": path})
    measured = measure_reliability(with_it, [*LINES[:3], long], [*references[:3], "nothing"])
    assert (measured.left_out, measured.reliability.lines) == (1, 3)
    with pytest.raises(DataError, match="no line can be translated"):
        measure_reliability(with_it, [long], ["nothing"])


@pytest.mark.parametrize(
    ("lines", "wanted", "criterion", "message"),
    [
        (99, "nothing", EXACT, "dev: 99 lines that can be translated, .* at least 100"),
        (110, "nothing", EXACT, r"0 of 110 .* right \(equal to the reference\).*\(--above\)"),
        (110, "same", EXACT, "110 of 110 .*; give more lines"),
        (110, "same", Criterion(), "of 110 .*chrF above 60.*higher bound with --above"),
        (110, "nothing", Criterion(above=90), "0 of 110 .*chrF above 90.*lower bound"),
    ],
)
def test_text_that_calibrates_nothing(
    lines: int,
    wanted: str,
    criterion: Criterion,
    message: str,
    system: TranslationSystem,
) -> None:
    references = ["zzzzzz"] * lines
    if wanted == "same":
        with Translator.of(system) as translator:
            references = translator.translate(LINES[:lines])
    with pytest.raises(DataError, match=message):
        calibrate(system, LINES[:lines], references, criterion, name="dev")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"search": {"sampling": {}}}, "samples .* have none"),
        # The measurements would be those of the first sample, whichever is chosen.
        ({"search": {"mbr": {"samples": 3}}}, r"samples \(of mbr, too\) have none"),
        ({"adapters": {"ui": "ui.safetensors"}}, "these change by domain"),
        ({"pivot": {"language": "en"}, "target_language": "de"}, "this system has several"),
        ({"source_language": "auto", "routes": {"de": {}}}, "this system has several"),
    ],
)
def test_systems_without_confidence(values: dict[str, Any], message: str, model: Path) -> None:
    system = TranslationSystem(models=(model,), device="cpu", **values)
    with pytest.raises(ConfigError, match=message):
        calibrate(system, LINES, LINES, EXACT, name="dev")


def test_a_language_model_has_none(tmp_path: Path) -> None:
    path = save_tiny_model(tmp_path / "lm", config=TINY_LM)
    system = TranslationSystem(models=(path,), device="cpu")
    with pytest.raises(ConfigError, match="lm is a language model"):
        calibrate(system, LINES, LINES, EXACT, name="dev")
