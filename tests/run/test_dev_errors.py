"""The errors of a model on the dev sets of its run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.core.config import parse
from dragoman.recipe import ExperimentConfig
from dragoman.run import dev_errors as module
from dragoman.run.dev_errors import dev_errors
from dragoman.validation import Evaluated, Rendered

TRAIN = "en\tde\nSettings\tEinstellungen\nOpen the door\tMach die Tür auf\n"
LINES = [
    ("Open the settings", "Die Einstellungen öffnen", "Die Optionen öffnen"),
    ("Keep 5 of {n}", "Behalte 5 von {n}", "Behalte 5"),
    ("Keep it", "Behalte es", "Behalte es"),
]


def run_of(folder: Path, **values: Any) -> ExperimentConfig:
    (folder / "train.tsv").write_text(TRAIN, encoding="utf-8")
    train, dev = (
        {"path": str(folder / f"{name}.tsv"), "source": "en", "target": "de"}
        for name in ("train", "dev")
    )
    languages = {"source_language": "en", "target_language": "de"}
    data = {"data": {"train": [train], "dev": dev}}
    return parse(ExperimentConfig, {**languages, **data, **values}, "test")


def translated(lines: list[tuple[str, str, str]]) -> dict[str, Evaluated]:
    rendered = [Rendered(number, *line, -1.0, 3, 3) for number, line in enumerate(lines, 1)]
    return {"dev": Evaluated({}, rendered)}


def found(config: ExperimentConfig, lines: list[tuple[str, str, str]]) -> dict[str, list[int]]:
    """Lines of the examples by kind."""
    summary = dev_errors(config, translated(lines))["dev"]
    return {one.kind: [example.checked.line for example in one.examples] for one in summary.counts}


def test_terms_are_those_that_training_text_translates_alone(tmp_path: Path) -> None:
    config = run_of(tmp_path)
    assert found(config, LINES) == {"terms": [1], "placeholders": [2]}
    (tmp_path / "train.tsv").unlink()
    assert found(config, LINES) == {"placeholders": [2]}


def test_a_glossary_of_the_recipe_has_the_terms(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("keep\tbehalte\n", encoding="utf-8")
    config = run_of(tmp_path, evaluation={"glossary": str(tmp_path / "terms.tsv")})
    lines = [*LINES, ("Keep them", "Behalte sie", "Nimm sie")]
    assert found(config, lines) == {"placeholders": [2], "terms": [4]}


def test_lines_of_a_large_set_are_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINES", 5)
    summary = dev_errors(run_of(tmp_path), translated(LINES * 10))["dev"]
    assert summary.lines == 5
    (terms,) = (one for one in summary.counts if one.kind == "terms")
    assert [one.checked.line for one in terms.examples] == [1, 7, 13, 19, 25]


@pytest.mark.parametrize(
    "values",
    [
        {"training": {"objective": {"kind": "masked_lm"}, "best_metric": "loss"}},
        {"search": {"grammar": "trees"}},
    ],
)
def test_what_is_no_translation_is_not_checked(values: dict[str, Any], tmp_path: Path) -> None:
    config = run_of(tmp_path).model_copy(update={})
    for section, changes in values.items():
        update = dict(changes)
        if "objective" in update:
            objective = type("None", (), {"translates": False})
            update["objective"] = objective
        changed = getattr(config, section).model_copy(update=update)
        config = config.model_copy(update={section: changed})
    assert dev_errors(config, translated(LINES)) == {}
    assert dev_errors(run_of(tmp_path), {"dev": Evaluated({}, None)}) == {}
