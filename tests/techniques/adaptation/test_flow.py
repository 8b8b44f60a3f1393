"""What an adaptation begins with, and what it does when it is repeated."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import CommandLine, one_error

from dragoman.evaluation.metrics import EvaluationConfig, score_corpus
from dragoman.experiment import Experiment
from dragoman.text.corpora.corpus import evaluation_pairs, read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.translation.translator import Translator


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


def test_a_text_of_which_nothing_is_left_can_be_corrected(
    dragoman: CommandLine, trained: Path, text: Path, tmp_path: Path
) -> None:
    command = ["adapt", trained, corrections(tmp_path, "BA\tqq"), "--run", tmp_path / "run"]
    command += ["--dev", corrections(tmp_path, "BA\tqq"), "--vocabulary", "keep"]
    message = one_error(dragoman(*command), 3)
    assert "domain.jsonl is left after cleaning (1 of 1 dropped: held out)" in message
    corrections(tmp_path, "BA\tqq", "AB\trr")
    assert "domain.jsonl is left" in one_error(dragoman(*command), 3), "it begins again"


@pytest.mark.usefixtures("stopped")
def test_pairs_of_a_test_set_are_not_learned(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    test = tmp_path / "test.tsv"
    test.write_text("en\tde\nBA\tother\nC\tD\n", encoding="utf-8")
    given = corrections(tmp_path, "BA\tqq", "AB\trr")
    command = ["adapt", trained, given, "--run", tmp_path / "run", "--vocabulary", "keep"]
    outcome = dragoman(*command, "--test", test)
    assert "repeat" in one_error(outcome, 130)
    assert "1 of 2 in-domain pairs left out: a side of them is in a test set" in outcome.err
    config = Experiment.open(tmp_path / "run").config
    assert [pair.source for pair in read_pairs(config.data.train[0])] == ["AB"]
    command[command.index(tmp_path / "run")] = tmp_path / "all"
    refused = one_error(dragoman(*command, "--test", given), 3)
    assert "no pair is left to learn from" in refused


@pytest.mark.usefixtures("stopped")
def test_the_run_has_its_own_copy_of_every_text(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    sets = {name: tmp_path / f"{name}.tsv" for name in ("dev", "test")}
    for name, path in sets.items():
        path.write_text(f"en\tde\n{name} A\t{name} B\n", encoding="utf-8")
    command = ["adapt", trained, corrections(tmp_path, "BA\tqq"), "--run", tmp_path / "run"]
    command += ["--dev", sets["dev"], "--test", sets["test"], "--vocabulary", "keep"]
    assert "repeat" in one_error(dragoman(*command), 130)
    config = Experiment.open(tmp_path / "run").config
    own = [*config.data.train, *config.dev_sets().values(), *config.test_sets().values()]
    for part in own:
        assert all(path.is_relative_to(tmp_path / "run" / "text") for path in part.inputs())
    (tested,) = config.test_sets().values()
    assert [(pair.source, pair.target) for pair in read_pairs(tested)] == [("test A", "test B")]


@pytest.mark.usefixtures("stopped")
def test_a_long_correction_is_learned(dragoman: CommandLine, trained: Path, tmp_path: Path) -> None:
    """It is longer than cleaning and the recipe of the model allow."""
    given = corrections(tmp_path, "\t".join([" ".join(["word"] * 500), " ".join(["Wort"] * 500)]))
    command = ["adapt", trained, given, "--run", tmp_path / "run", "--vocabulary", "keep"]
    assert "repeat" in one_error(dragoman(*command, "--any-language"), 130)
    domain, _ = Experiment.open(tmp_path / "run").prepare().store.parts
    assert domain.stop - domain.start == 1


@pytest.mark.usefixtures("stopped")
def test_with_an_extended_vocabulary_a_loss_counts_from_the_model_without(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    command = ["adapt", trained, corrections(tmp_path, "BA\tсвет"), "--run", tmp_path / "run"]
    outcome = dragoman(*command)
    assert "repeat" in one_error(outcome, 130)
    config = Experiment.open(tmp_path / "run").config
    (bound,) = config.training.bounds.values()
    pairs = list(evaluation_pairs(config.dev_sets()["dev_general"]))
    with Translator.load(trained) as translator:
        hypotheses = translator.translate([pair.source for pair in pairs])
    chrf = EvaluationConfig(metrics=("chrf",))
    (score,) = score_corpus(hypotheses, [[pair.target for pair in pairs]], chrf)
    assert bound.before == pytest.approx(score.value)


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
