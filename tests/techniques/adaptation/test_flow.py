"""What an adaptation begins with, and what it does when it is repeated."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import CommandLine, one_error

from dragoman.experiment import Experiment
from dragoman.text.corpus import evaluation_pairs, read_pairs
from dragoman.text.corpus_part import CorpusPart


@pytest.fixture(autouse=True)
def general_dev_of_a_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validation takes longer than all else here."""
    monkeypatch.setattr("dragoman.techniques.adaptation.general.GENERAL_DEV_PAIRS", 20)


def corrections(folder: Path, *lines: str) -> Path:
    path = folder / "corrections.tsv"
    path.write_text("\n".join(["en\tde", *lines, ""]), encoding="utf-8")
    return path


@pytest.mark.usefixtures("stopped")
def test_what_is_refused_once_its_text_is_known_can_be_corrected(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    """Not even the vocabulary of the first command is left."""
    command = ["adapt", trained, corrections(tmp_path, "BA\tсвет"), "--run", tmp_path / "run"]
    one_error(dragoman(*command, "--set", "model.d_model=32"), 2)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"adaptation.json", "vocabulary.model"} <= names, "as where a process was killed"
    assert "repeat" in one_error(dragoman(*command, "--vocabulary", "keep"), 130)
    assert not (tmp_path / "run" / "vocabulary.model").exists()
    message = one_error(dragoman(*command), 2)
    assert "begun with other settings (vocabulary)" in message


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize("given", [True, False], ids=["with a dev set", "without"])
def test_a_correction_of_a_line_of_the_general_dev_set_is_learned(
    dragoman: CommandLine, trained: Path, text: Path, tmp_path: Path, given: bool
) -> None:
    (line, other, *_) = read_pairs(CorpusPart(path=str(text / "dev.tsv"), source="en", target="de"))
    assert line.source != other.source
    given_text = corrections(tmp_path, f"{line.source}\tnein nein", "BA\tqq")
    command = ["adapt", trained, given_text, "--run", tmp_path / "run", "--vocabulary", "keep"]
    if given:
        (tmp_path / "dev.tsv").write_text("en\tde\nfive\tfünf\n", encoding="utf-8")
        command += ["--dev", tmp_path / "dev.tsv"]
    outcome = dragoman(*command)
    assert "repeat" in one_error(outcome, 130)
    assert "general dev set general: 1 of 20 lines left out of it, as an in-domain" in outcome.err
    experiment = Experiment.open(tmp_path / "run")
    domain, general = experiment.prepare().store.parts
    assert domain.stop - domain.start == 2
    assert general.stop > general.start
    watched = read_pairs(experiment.config.dev_sets()["dev_general"])
    assert line.source not in [pair.source for pair in watched]


@pytest.mark.usefixtures("stopped")
def test_corrections_of_most_of_the_general_dev_set_are_learned(
    dragoman: CommandLine, trained: Path, text: Path, tmp_path: Path
) -> None:
    lines = list(read_pairs(CorpusPart(path=str(text / "dev.tsv"), source="en", target="de")))
    given = corrections(tmp_path, *(f"{pair.source}\tnein {pair.target}" for pair in lines[:15]))
    (tmp_path / "dev.tsv").write_text("en\tde\nfive\tfünf\n", encoding="utf-8")
    command = ["adapt", trained, given, "--dev", tmp_path / "dev.tsv", "--run", tmp_path / "run"]
    outcome = dragoman(*command, "--vocabulary", "keep", "--any-language")
    assert "repeat" in one_error(outcome, 130)
    assert "of 20 lines kept, as few others are there, although an in-domain pair" in outcome.err
    domain, _ = Experiment.open(tmp_path / "run").prepare().store.parts
    assert domain.stop - domain.start == 15


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize("pairs", [2, 200], ids=["repeated", "split off"])
def test_a_part_that_is_changed_at_random_has_a_dev_set_without_that(
    dragoman: CommandLine, trained: Path, tmp_path: Path, pairs: int
) -> None:
    lines = [f"A {n}\tB {n}" for n in range(pairs)]
    transforms: list[dict[str, Any]] = [
        {"kind": "noise", "window": 0, "drop": 0.5},
        {"kind": "case", "to": "upper", "share": 0.5},
        {"kind": "tag", "tags": ["<ui>"], "share": 0.5},
    ]
    part = {"path": str(corrections(tmp_path, *lines)), "source": "en", "target": "de"}
    values = {"data": {"train": [{**part, "transforms": transforms}]}}
    (tmp_path / "domain.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    run = tmp_path / "run"
    command = ["adapt", trained, tmp_path / "domain.yaml", "--run", run, "--any-language"]
    assert "repeat" in one_error(dragoman(*command), 130)
    experiment = Experiment.open(run)
    assert [one.kind for one in experiment.config.data.train[0].transforms] == [
        "noise",
        "case",
        "tag",
    ]
    read = {pair.source for pair in evaluation_pairs(experiment.config.dev_sets()["dev_domain"])}
    assert read <= {f"<ui> A {n}" for n in range(pairs)}
    assert len(read) == min(20, pairs)


def test_a_model_that_was_trained_further_is_measured_again(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    command = ["adapt", trained, corrections(tmp_path, "BA\tqq", "BA\tqq"), "--run", run]
    command += ["--may-lose", 90, "--json", "--vocabulary", "keep"]
    command += ["--set", "training.max_steps=2", "--set", "training.validation_steps=2"]

    def report() -> dict[str, Any]:
        outcome = dragoman(*command)
        assert outcome.code == 0, outcome.err
        found: dict[str, Any] = json.loads(outcome.out)["adaptation"]
        outcome_told = (run / "adaptation.md").read_text("utf-8")
        assert re.search(rf"(of|in) {found['steps']}\b", outcome_told)
        return found

    first = report()
    assert first["steps"] == 2
    assert any("1 of 2 in-domain pairs were not learned from" in n for n in first["notes"])
    assert dragoman("resume", run, "--set", "training.max_steps=4").code == 0
    again = report()
    assert again["steps"] == 4
    assert again["notes"] == first["notes"]
    stamp = (run / "adaptation.json").stat().st_mtime_ns
    assert report() == again
    assert (run / "adaptation.json").stat().st_mtime_ns == stamp, "measured once"
