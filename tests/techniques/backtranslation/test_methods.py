"""Every method of back-translation from text to a model, with a tiny reverse model given."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tiny_model import save_tiny_model

from dragoman.recipe import read_experiment
from dragoman.techniques.backtranslation.directory import opened
from dragoman.techniques.backtranslation.rounds import carry_out
from dragoman.text.examples import Direction
from dragoman.translation.translator import Translator
from dragoman.workflows.runs import CommandLineHost

QUICK = ["training.max_steps=1", "training.validation_steps=1", "evaluation.metrics=[]"]
QUICK += ["data.processes=1", "training.average_checkpoints=1"]
LINES = [f"{one} {two} {three}" for one in "abc" for two in "de" for three in "abcde"]
SEARCH: dict[str, Any] = {"minimum_length": 2, "beam": 2}


@pytest.fixture(scope="module")
def mono(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty lines of letters."""
    path = tmp_path_factory.mktemp("mono") / "mono.de"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def reverse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Translates German letters into others."""
    directions = (Direction(source_language="de", target_language="en", tags=()),)
    folder = tmp_path_factory.mktemp("reverse") / "model"
    return save_tiny_model(folder, directions=directions, **SEARCH)


def carried_out(
    config: Path, directory: Path, mono: Path, **given: Any
) -> tuple[Path, list[dict[str, Any]]]:
    """One round's forward run and its synthetic pairs."""
    settings = {"monolingual": mono, "ratio": 0.05, "choice": "first", **given}
    with opened(directory, read_experiment(config, QUICK), settings) as plan:
        (one,) = carry_out(plan, CommandLineHost()).rounds
    with gzip.open(directory / "round-1/synthetic/pairs.jsonl.gz", "rt", encoding="utf-8") as file:
        return one.forward, [json.loads(line) for line in file]


@pytest.mark.parametrize(
    ("method", "written", "transforms"),
    [
        ("beam", "beam 3", []),
        ("sampling", "sampling, seed 3", []),
        ("noised-beam", "beam 3", ["noise"]),
    ],
)
def test_a_method_from_text_to_a_model(
    method: str,
    written: str,
    transforms: list[str],
    config: Path,
    mono: Path,
    reverse: Path,
    tmp_path: Path,
) -> None:
    beam = {} if method == "sampling" else {"beam": 3}
    given = {"reverse_model": reverse, "method": method, **beam}
    forward, rows = carried_out(config, tmp_path / "work", mono, **given)
    assert rows
    assert {row["method"] for row in rows} == {written}
    assert {row["target"] for row in rows} <= {*LINES}
    made = read_experiment(forward / "config.yaml").data.train[1]
    assert [one.kind for one in made.transforms] == transforms
    assert (forward / "scores.json").is_file()
    if not transforms:
        plain = Translator.load(reverse, device="cpu", search={"beam": 3})
        best = plain.translate([row["target"] for row in rows])
        assert ([row["source"] for row in rows] == best) == (method == "beam")


def test_a_reverse_model_of_several_languages_is_asked_for_the_source_language(
    config: Path, mono: Path, tmp_path: Path
) -> None:
    directions = tuple(
        Direction(source_language=source, target_language=target, tags=(f"<2{target}>",))
        for source, target in (("de", "en"), ("en", "de"))
    )
    model = tmp_path / "both"
    save_tiny_model(model, directions=directions, tags=("<2en>", "<2de>"), **SEARCH)
    _, rows = carried_out(config, tmp_path / "work", mono, reverse_model=model, method="greedy")
    lines = [row["target"] for row in rows]
    asked, other = (
        Translator.load(model, device="cpu", search={"beam": 1}, target_language=language)
        for language in ("en", "de")
    )
    assert [row["source"] for row in rows] == asked.translate(lines) != other.translate(lines)
