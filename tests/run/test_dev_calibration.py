"""The calibration at the end of a run is that of ``dragoman calibrate`` on the same lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_model import save_tiny_model
from worlds import ALONE

from dragoman.core.config import parse
from dragoman.evaluation.criterion import Criterion
from dragoman.recipe import ExperimentConfig
from dragoman.run.dev_calibration import dev_calibration
from dragoman.run.set_scoring import validation_of
from dragoman.saved.calibration import write_calibration
from dragoman.saved.model import load_model
from dragoman.saved.saved_config import SavedModel
from dragoman.saved.system import TranslationSystem
from dragoman.saved.weights import WEIGHTS_FILE, digest_of_tensors, read_tensors, weights_digest
from dragoman.techniques.calibrating import calibrate
from dragoman.translation.translator import Translator
from dragoman.validation import Evaluated

SOURCES = [
    " ".join(letters) for letters in np.random.default_rng(1).choice([*"abcde"], (110, 5)).tolist()
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> SavedModel:
    folder = tmp_path_factory.mktemp("calibrated")
    return load_model(save_tiny_model(folder / "model", batch_tokens=400), "cpu")


@pytest.fixture(scope="module")
def references(saved: SavedModel) -> list[str]:
    """Every third line is as the model translates it."""
    found = Translator([saved.model], saved.vocabularies).translate(SOURCES)
    return [text if number % 3 == 0 else "e d c" for number, text in enumerate(found)]


def run_on(folder: Path, references: list[str], **values: Any) -> ExperimentConfig:
    pairs = zip(SOURCES, references, strict=False)
    lines = "".join(f"{source}\t{target}\n" for source, target in pairs)
    (folder / "dev.tsv").write_text(f"x\ty\n{lines}", encoding="utf-8")
    part = {"path": str(folder / "dev.tsv"), "source": "x", "target": "y"}
    return parse(ExperimentConfig, {"data": {"train": [part], "dev": part}, **values}, "test")


def evaluated(config: ExperimentConfig, saved: SavedModel) -> dict[str, Evaluated]:
    return {
        name: validation_of(config, part, saved.vocabularies, ALONE).evaluate(saved.model)
        for name, part in config.dev_sets().items()
    }


def test_it_is_that_of_the_command(
    saved: SavedModel, references: list[str], tmp_path: Path
) -> None:
    config = run_on(tmp_path, references, search=saved.config.search)
    digest = digest_of_tensors(read_tensors(saved.path / WEIGHTS_FILE))
    assert digest == weights_digest(saved.path)
    found = dev_calibration(config, evaluated(config, saved), digest)
    assert not isinstance(found, str)
    assert found.calibration.right == Criterion(above=60)
    system = TranslationSystem(models=(saved.path,), device="cpu")
    name = config.dev_sets()["dev"].name
    expected = calibrate(system, SOURCES, references, Criterion(), name=name)
    assert found.calibration.conditions == expected.calibration.conditions
    assert found.calibration.weights == pytest.approx(expected.calibration.weights, rel=1e-3)
    assert found.calibration.intercept == pytest.approx(expected.calibration.intercept, rel=1e-3)
    assert found.reliability.right == expected.reliability.right

    path = tmp_path / "c.json"
    write_calibration(path, found.calibration)
    with Translator.of(system.model_copy(update={"confidence": path})) as translator:
        ((best, *_),) = translator.translate_nbest(SOURCES[:1])
    assert best.confidence is not None and 0 < best.confidence < 1


def test_another_bound_where_too_few_lines_are_right(
    saved: SavedModel, references: list[str], tmp_path: Path
) -> None:
    """All lines have nearly the same chrF, which is above one bound and below another."""
    config = run_on(tmp_path, references, search=saved.config.search)
    lines = evaluated(config, saved)["dev"].translations
    assert lines is not None
    near = [
        one._replace(text="abcdefghij", reference="abcdefxxxx" if number % 2 else "zzzzzzzzzz")
        for number, one in enumerate(lines)
    ]
    found = dev_calibration(config, {"dev": Evaluated({}, near)}, "0" * 64)
    assert not isinstance(found, str)
    assert found.calibration.right.above < 60
    assert found.calibration.share == 0.5


@pytest.mark.parametrize(
    ("lines", "values", "reason"),
    [
        (99, {}, "99 lines that can be translated"),
        (110, {"finish": {"calibrate": False}}, "finish.calibrate is false"),
        (
            110,
            {"evaluation": {"metrics": []}, "training": {"best_metric": "loss"}},
            "does not translate its dev sets",
        ),
        (110, {"search": {"sampling": {}}}, "draws samples"),
        (110, {"data": {"context": {"sentences": 1}}}, "reads context"),
    ],
)
def test_runs_without_a_calibration(
    lines: int,
    values: dict[str, Any],
    reason: str,
    saved: SavedModel,
    references: list[str],
    tmp_path: Path,
) -> None:
    config = run_on(tmp_path, references[:lines], search=saved.config.search)
    found = evaluated(config, saved)
    if "data" in values:
        context: Any = values["data"]["context"]
        config = config.model_copy(
            update={"data": config.data.model_copy(update={"context": context})}
        )
    else:
        config = run_on(tmp_path, references[:lines], **values)
    assert reason in str(dev_calibration(config, found, "0" * 64))


def test_several_target_languages_are_calibrated_together(
    tmp_path: Path,
    saved: SavedModel,
    references: list[str],
) -> None:
    """Each of their tags is among the conditions, as are lines with tags of their own."""
    config = run_on(tmp_path, references, search=saved.config.search)
    found = evaluated(config, saved)
    (dev,) = config.dev_sets().values()
    dev = dev.model_copy(update={"tags": ("<2y>",)})
    other = dev.model_copy(update={"target_language": "z", "tags": ("<2z>",)})
    data = config.data.model_copy(update={"train": (dev, other), "dev": {"one": dev, "two": other}})
    several = config.model_copy(update={"data": data})
    both = dict.fromkeys(several.dev_sets(), next(iter(found.values())))
    measured = dev_calibration(several, both, "0" * 64)
    assert not isinstance(measured, str)
    conditions = measured.calibration.conditions
    assert conditions.several_tags and measured.calibration.lines == 2 * len(SOURCES)
    for tags, differs in ((["<2y>"], False), (["<2z>"], False), ([], False), (["<2x>"], True)):
        used = conditions.model_copy(update={"system": {"tags": tags} if tags else {}})
        assert bool(conditions.differences(used)) is differs
    alone = dev_calibration(config, found, "0" * 64)
    assert not isinstance(alone, str) and not alone.calibration.conditions.several_tags
