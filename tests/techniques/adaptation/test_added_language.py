"""A language is added to a multilingual model; the others are mixed in and bounded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import CommandLine, experiment, one_error

from dragoman.core.errors import InterruptedRunError
from dragoman.recipe import read_experiment
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import Vocabularies


def parts(
    text: Path, name: str, languages: list[str], last_line: int = 300
) -> list[dict[str, Any]]:
    """Of a corpus in which all languages have the same sources."""
    return [
        {
            "path": str(text / f"{name}.tsv"),
            "source": "en",
            "target": language,
            "source_language": "en",
            "target_language": language,
            "transforms": [{"kind": "filter", "last_line": last_line}, {"kind": "tag"}],
        }
        for language in languages
    ]


@pytest.fixture(scope="module")
def multilingual(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a model from English into German and French."""
    from command_line import call

    folder = tmp_path_factory.mktemp("multilingual")
    values = experiment()
    values["data"] = {
        "train": parts(text, "train", ["de", "fr"]),
        "dev": dict(zip(["de", "fr"], parts(text, "dev", ["de", "fr"], 4), strict=True)),
    }
    values["training"] |= {"max_steps": 4, "validation_steps": 4, "average_checkpoints": 1}
    (folder / "many.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    outcome = call("train", folder / "many.yaml", "--run", folder / "run")
    assert outcome.code == 0, outcome.err
    return folder / "run"


def test_a_language_is_added(
    dragoman: CommandLine, multilingual: Path, text: Path, tmp_path: Path
) -> None:
    (dev,) = parts(text, "dev", ["ko"], 4)
    values = {"data": {"train": parts(text, "train", ["ko"]), "dev": dev}}
    recipe, run = tmp_path / "korean.yaml", tmp_path / "run"
    recipe.write_text(yaml.safe_dump(values), encoding="utf-8")
    command = ["adapt", multilingual, recipe, "--run", run, "--may-lose", 90, "--json"]
    command += ["--set", "training.max_steps=3", "--set", "training.validation_steps=3"]
    command += ["--set", "training.best_metric=loss"]  # its chrF is 0
    outcome = dragoman(*command)
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)["adaptation"]
    found = [(row["set"], row["direction"], row["kind"]) for row in report["scores"][::2]]
    assert found == [
        ("dev_domain", "en-ko", "domain"),
        ("dev_general_de", "en-de", "general"),
        ("dev_general_fr", "en-fr", "general"),
    ]
    assert [row["before"] is None for row in report["scores"][::2]] == [True, False, False]
    assert report["kept_step"] == 3
    config = read_experiment(run / "config.yaml")
    replayed = [part.target_language for part in config.data.train if part.task == "replay"]
    assert replayed == ["de", "fr"], "although all have the sources of the new text"
    check_the_languages(dragoman, multilingual, run, text)


def test_consolidation_holds_what_every_direction_depends_on(
    dragoman: CommandLine, multilingual: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured on one of them, the others would be unlearned."""

    def stopped(*_: object, **__: object) -> None:
        raise InterruptedRunError("saved")

    monkeypatch.setattr("dragoman.workflows.runs.CommandLineHost.train", stopped)
    correction, run = tmp_path / "correction.tsv", tmp_path / "run"
    correction.write_text("en\tde\neight\tacht\n", encoding="utf-8")
    outcome = dragoman("adapt", multilingual, correction, "--method", "ewc", "--run", run)
    assert "repeat the command" in one_error(outcome, 130)
    held = read_experiment(run / "config.yaml").training.consolidation
    assert held is not None
    assert [part.target_language for part in held.text] == ["de", "fr"]


def check_the_languages(dragoman: CommandLine, before: Path, run: Path, text: Path) -> None:
    """The new one has a tag and can be spelt; the others are still there."""
    command = ["translate", run, "--to"]
    for language in ("ko", "de", "fr"):
        translated = dragoman(*command, language, stdin=b"eight\nten\n")
        assert translated.code == 0, translated.err
        assert len(translated.out.splitlines()) == 2
    old, new = (Vocabularies.load(one / "model") for one in (before, run))
    assert new.source.pieces(new.source.tags) == [*old.source.pieces(old.source.tags), "<2ko>"]
    for model, there in ((before, "de, fr"), (run, "ko, de, fr")):
        outcome = dragoman("translate", model, "--to", "es", stdin=b"eight\n")
        assert f"does not translate into es; languages there: {there}" in one_error(outcome, 2)
    (part,) = (CorpusPart(**one) for one in parts(text, "train", ["ko"]))
    korean = [pair.target for pair in read_pairs(part)]
    for vocabularies, can_spell in ((old, False), (new, True)):
        target = vocabularies.target
        spelt = [
            target.decode(ids) == line
            for line, ids in zip(korean, target.encode_batch(korean), strict=True)
        ]
        assert all(spelt) if can_spell else not any(spelt)
