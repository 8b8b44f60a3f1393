"""A model is adapted in a run of its own: what it began with stays as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from command_line import CommandLine, one_error
from project_trees import STRINGS, keyed, layouts, write_tree
from tiny_model import TINY_LM, save_tiny_model

from dragoman.core.errors import InterruptedRunError
from dragoman.core.files import content_digest
from dragoman.models.classifier import ClassifierConfig
from dragoman.models.families.transformer import TransformerConfig
from dragoman.recipe import read_experiment
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart

CORRECTION = "en\tde\nBA\tqq\n"
FEW_STEPS = ["--set", "training.max_steps=4", "--set", "training.validation_steps=2"]


@pytest.fixture(autouse=True)
def general_dev_of_a_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validation takes longer than all else here."""
    monkeypatch.setattr("dragoman.techniques.adaptation.general.GENERAL_DEV_PAIRS", 20)


def digests(folder: Path) -> dict[str, str]:
    """Of all files of a run or model."""
    return {
        str(path.relative_to(folder)): content_digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def corrections(folder: Path, text: str = CORRECTION) -> Path:
    path = folder / "corrections.tsv"
    path.write_text(text, encoding="utf-8")
    return path


class TestOneCorrection:
    def test_interrupted_and_repeated(
        self,
        dragoman: CommandLine,
        trained: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        before, run = digests(trained), tmp_path / "run"
        command = ["adapt", trained, corrections(tmp_path), "--run", run, *FEW_STEPS]
        command += ["--may-lose", 90]

        def stopped(*_: object, **__: object) -> None:
            raise InterruptedRunError("saved")

        with monkeypatch.context() as patch:
            patch.setattr("dragoman.workflows.runs.CommandLineHost.train", stopped)
            assert "repeat the command" in one_error(dragoman(*command), 130)
        outcome = dragoman(*command, "--json")
        assert outcome.code == 0, outcome.err
        found = json.loads(outcome.out)
        (note,) = found["adaptation"]["notes"]
        assert "too few in-domain pairs to set some apart (1)" in note
        assert digests(trained) == before, "the original is untouched"
        self.check_the_recipe(run, trained)
        self.check_the_report(run, found)
        self.check_a_repetition(dragoman, command, run, tmp_path)

    def check_the_recipe(self, run: Path, parent: Path) -> None:
        config = read_experiment(run / "config.yaml")
        assert config.training.start_from is not None
        assert config.training.start_from.model == str(parent)
        own, *replay = config.data.train
        assert (own.task, {part.task for part in replay}) == ("translation", {"replay"})
        assert config.training.bounds["general"].may_lose == 90
        assert config.training.patience is None, "the chrF of a few pairs says little"
        assert (run / "model" / "model.safetensors").is_file()
        assert "Training began with" in (run / "model" / "README.md").read_text(encoding="utf-8")

    def check_the_report(self, run: Path, found: dict[str, Any]) -> None:
        report = found["adaptation"]
        sets = [(row["set"], row["kind"], row["pairs"]) for row in report["scores"]]
        assert sets[::2] == [("dev_domain", "domain", 1), ("dev_general", "general", 20)]
        for row in report["scores"]:
            assert row["difference"] == row["after"] - row["before"]
            assert (row["interval"] is None) == (row["pairs"] < 10)
        metric = found["scores"]["dev_general"]["chrf"]["value"]
        (after,) = [row["after"] for row in report["scores"] if row["set"] == "dev_general"][:1]
        assert after == pytest.approx(metric), "the run's own score of the same model"
        assert "| dev_general | en-de | 20 |" in (run / "adaptation.md").read_text("utf-8")

    def check_a_repetition(
        self, dragoman: CommandLine, command: list[Any], run: Path, folder: Path
    ) -> None:
        files = digests(run)
        again = dragoman(*command)
        assert again.code == 0, again.err
        assert "dev_general" in again.out
        assert digests(run) == files, "nothing is trained or scored again"
        message = one_error(dragoman(*command, "--ratio", 2), 2)
        assert "begun with other settings (ratio)" in message
        corrections(folder, CORRECTION + "AB\trr\n")
        assert "other settings (files)" in one_error(dragoman(*command), 2)


def test_a_bound_that_cannot_be_met_leaves_the_model_as_it_was(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    before, run = digests(trained), tmp_path / "run"
    command = ["adapt", trained, corrections(tmp_path), "--may-lose", 0.1, *FEW_STEPS]
    command += ["--set", "training.schedule.peak_learning_rate=1", "--ratio", 0]
    command += ["--set", "training.bounds.general.metric=loss"]  # its chrF is nearly 0
    command += ["--set", "training.bounds.general.patience=0"]
    outcome = dragoman(*command, "--run", run, "--json")
    assert outcome.code == 0, outcome.err
    assert "the best within is step 0" in (run / "metrics.jsonl").read_text("utf-8")
    found = json.loads(outcome.out)["adaptation"]
    assert (found["adapted"], found["kept_step"]) == (False, 0)
    assert found["ended_by"] == "training.bounds"
    assert digests(trained) == before, "the original is untouched"
    own, kept = (read_tensors(one / "model" / WEIGHTS_FILE) for one in (trained, run))
    assert own.keys() == kept.keys()
    assert all(torch.equal(kept[name], own[name]) for name in own)


def test_a_pair_that_contradicts_the_model_is_learned_within_the_bound(
    dragoman: CommandLine, trained: Path, text: Path, tmp_path: Path
) -> None:
    """Nothing that the model learned from says otherwise while it learns the pair."""
    (learned, *_) = read_pairs(CorpusPart(path=str(text / "train.tsv"), source="en", target="de"))
    correction = corrections(tmp_path, f"en\tde\n{learned.source}\tnein nein\n")
    before, run = digests(trained), tmp_path / "run"
    command = ["adapt", trained, correction, "--run", run, "--json", "--may-lose", 0.2]
    command += ["--set", "training.bounds.general.metric=loss"]  # its chrF is nearly 0
    command += ["--set", "training.best_metric=loss", *FEW_STEPS]
    command += ["--set", "training.schedule.peak_learning_rate=0.1"]
    outcome = dragoman(*command)
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)["adaptation"]
    assert "too few in-domain pairs" in report["notes"][0]
    records = map(json.loads, (run / "metrics.jsonl").read_text("utf-8").splitlines())
    losses = {one["step"]: one for one in records if one["kind"] == "validation"}
    first, kept = losses[0], losses[report["kept_step"]]
    assert kept["loss/dev_domain"] < first["loss/dev_domain"] - 0.1
    assert kept["loss/dev_general"] <= first["loss/dev_general"] + 0.2
    mixed = (run / "text" / "general.jsonl").read_text("utf-8")
    assert mixed and json.dumps(learned.source) not in mixed
    assert digests(trained) == before, "the original is untouched"


@pytest.mark.usefixtures("stopped")
def test_text_in_the_wrong_language_is_refused_unless_confirmed(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    pytest.importorskip("py3langid", reason="needs NumPy 2", exc_type=ImportError)
    line = "The house is on the other side of the street, behind the old trees."
    before, run = digests(trained), tmp_path / "run"
    text = corrections(tmp_path, "en\tde\n" + f"{line}\t{line}\n" * 25)
    command = ["adapt", trained, text, "--run", run]
    message = one_error(dragoman(*command), 3)
    assert "100% of the target lines seem to be in another language than de" in message
    assert "confirm with --any-language" in message
    assert not (run / "adaptation.json").exists(), "the run can begin otherwise"
    confirmed = dragoman(*command, "--any-language")
    assert "repeat the command" in one_error(confirmed, 130), "training begins"
    assert "note: text/domain.jsonl: 100% of the target lines" in confirmed.err
    assert digests(trained) == before, "the original is untouched"


@pytest.mark.usefixtures("stopped")
def test_the_translations_of_a_project(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    """Its languages are those of the model; each layout is a part."""
    files = layouts()
    folder = write_tree(tmp_path / "project", files["po-files"] | files["json-files"])
    run = tmp_path / "run"
    outcome = dragoman("adapt", trained, folder, "--run", run, "--any-language")
    assert "repeat the command" in one_error(outcome, 130)
    for number in (1, 2):
        lines = (run / "text" / f"domain-{number}.jsonl").read_text("utf-8").splitlines()
        assert [tuple(json.loads(line).values())[:2] for line in lines] == list(STRINGS.items())
    several = dragoman("adapt", trained, folder, "--source", "en", "--target", "de,fr")
    assert "from 'en' into 'fr'" in one_error(several, 3)
    write_tree(folder, {"locales/fr/app.json": keyed(STRINGS)})
    several = dragoman("adapt", trained, folder, "--source", "en", "--target", "de,fr")
    assert "--target: an adaptation is for one language" in one_error(several, 2)


def test_from_a_recipe_with_data_alone(
    dragoman: CommandLine, trained: Path, text: Path, tmp_path: Path
) -> None:
    values = {
        "data": {
            "train": [{"path": str(text / "test.tsv"), "source": "en", "target": "de"}],
            "dev": {"path": str(text / "dev.tsv"), "source": "en", "target": "de"},
        },
        "training": {"max_steps": 2, "validation_steps": 2, "label_smoothing": 0.3},
    }
    recipe = tmp_path / "domain.yaml"
    recipe.write_text(yaml.safe_dump(values), encoding="utf-8")
    run = tmp_path / "run"
    command = ["adapt", trained, recipe, "--run", run, "--may-lose", 90, "--method", "lora"]
    outcome = dragoman(*command)
    assert outcome.code == 0, outcome.err
    config = read_experiment(run / "config.yaml")
    assert config.training.label_smoothing == 0.3
    assert config.training.adapter is not None
    assert list(config.data.dev_sets) == ["dev_domain", "dev_general"]


PART = {"path": "corrections.tsv", "source": "en", "target": "de"}


@pytest.mark.parametrize(
    ("data", "others", "message"),
    [
        ({"test": [PART]}, {}, "data.test: give each set a name, as in test: {ui: {path: ui.tsv"),
        ({"test": "ui.tsv"}, {}, "data.test: give each set a name"),
        ({"test": PART}, {}, "data.test: give each set a name"),
        ({"dev": "ui.tsv"}, {}, "data.dev.domain: should be a section of keys, found 'ui.tsv'"),
        ({"train": ["ui.tsv"]}, {}, "data.train.0: should be a section of keys, found 'ui.tsv'"),
        ({}, {"target_language": False}, "target_language: should be a text, found False; put it"),
        ({"dev": {"general": PART}}, {}, "data.dev.general: a dev set of general text has this"),
    ],
)
def test_a_recipe_that_is_refused(
    dragoman: CommandLine,
    trained: Path,
    tmp_path: Path,
    data: dict[str, Any],
    others: dict[str, Any],
    message: str,
) -> None:
    corrections(tmp_path)
    recipe = tmp_path / "domain.yaml"
    values = {"data": {"train": [PART], **data}, **others}
    recipe.write_text(yaml.safe_dump(values), encoding="utf-8")
    run = tmp_path / "run"
    assert message in one_error(dragoman("adapt", trained, recipe, "--run", run), 2)
    assert not (run / "adaptation.json").exists(), "the run can begin otherwise"


def test_options_of_files_are_refused_beside_a_recipe(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    recipe = tmp_path / "domain.yaml"
    recipe.write_text(yaml.safe_dump({"data": {"train": [PART]}}), encoding="utf-8")
    for option, value in (("--format", "tsv"), ("--source", "en")):
        outcome = dragoman("adapt", trained, recipe, "--run", tmp_path / "run", option, value)
        assert f"leave out {option}" in one_error(outcome, 2)


@pytest.mark.usefixtures("stopped")
def test_the_same_files_for_another_use_are_another_adaptation(
    dragoman: CommandLine, trained: Path, text: Path, tmp_path: Path
) -> None:
    command = ["adapt", trained, corrections(tmp_path), "--run", tmp_path / "run"]
    for _ in range(2):  # begun, then continued
        assert "repeat" in one_error(dragoman(*command, "--dev", text / "dev.tsv"), 130)
    message = one_error(dragoman(*command, "--test", text / "dev.tsv"), 2)
    assert "begun with other settings (uses)" in message


def test_pairs_that_share_a_side_are_all_learned_from(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    """Apart from any dev set, none of them would be left."""
    lines = "".join(f"{'AB'[n % 2]} {n}\tdie gleiche\n" for n in range(201))
    text = corrections(tmp_path, f"en\tde\n{lines}")
    steps = ["--set", "training.max_steps=1", "--set", "training.validation_steps=1"]
    outcome = dragoman("adapt", trained, text, "--run", tmp_path / "run", *steps, "--json")
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)["adaptation"]
    assert any("too similar in-domain pairs to set some apart (201)" in n for n in report["notes"])
    assert report["scores"][0]["pairs"] == 201


def test_numbers_as_keys_are_the_same_settings_when_repeated(
    dragoman: CommandLine, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise InterruptedRunError("saved")

    monkeypatch.setattr("dragoman.workflows.runs.CommandLineHost.train", stopped)
    part = {"path": str(corrections(tmp_path)), "source": "en", "target": "de"}
    weight = {0: 1, 2: 0.5}
    recipe = tmp_path / "domain.yaml"
    values = {"data": {"train": [part]}, "training": {"tasks": {"replay": {"weight": weight}}}}
    recipe.write_text(yaml.safe_dump(values), encoding="utf-8")
    command = ["adapt", trained, recipe, "--run", tmp_path / "run"]
    for _ in range(2):  # begun, then continued
        assert "repeat the command" in one_error(dragoman(*command), 130)
    other = one_error(
        dragoman(*command, "--set", "training.tasks.replay.weight={0: 2020-01-01}"), 2
    )
    assert "begun with other settings (overrides)" in other


def test_files_that_settings_name_are_found_from_wherever_the_run_is_read(
    dragoman: CommandLine, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise InterruptedRunError("saved")

    monkeypatch.setattr("dragoman.workflows.runs.CommandLineHost.train", stopped)
    monkeypatch.chdir(tmp_path)
    held_out = "data.held_out=[{path: other.tsv, source: en, target: de}]"
    command = ["adapt", trained, corrections(tmp_path), "--run", "run", "--set", held_out]
    command += ["--set", "evaluation.metrics=[chrf, terms]"]
    command += ["--set", "evaluation.glossary=terms.tsv"]
    assert "repeat the command" in one_error(dragoman(*command), 130)
    found = yaml.safe_load(Path("run/config.yaml").read_text(encoding="utf-8"))
    assert found["evaluation"]["glossary"] == str(tmp_path / "terms.tsv")
    assert found["data"]["held_out"][0]["path"] == str(tmp_path / "other.tsv")


@pytest.mark.parametrize(
    ("model", "files", "arguments", "code", "message"),
    [
        ("lm", CORRECTION, [], 2, "lm: a language model; adapt adapts models that translate"),
        ("parser", CORRECTION, [], 2, "parser: a parser; adapt adapts"),
        ("labels", CORRECTION, [], 2, "labels: a classifier; adapt adapts"),
        ("absent", CORRECTION, [], 4, "absent: no such model or run"),
        ("plain", CORRECTION, [], 2, "plain: the text it was trained on is not here"),
        ("plain", "en\tde\nA\t\n", [], 3, "no pair with both sides filled"),
        ("plain", "", [], 3, "corrections.tsv"),
        ("plain", CORRECTION, ["--replay", "absent"], 3, "--replay absent: no such file"),
        ("plain", CORRECTION, ["--replay", "x", "--general", "y"], 2, "from one of them"),
    ],
)
def test_what_is_refused(
    dragoman: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    files: str,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2)
    if model == "lm":
        save_tiny_model(Path("lm"), config=TINY_LM)
    elif model == "labels":
        save_tiny_model(Path("labels"), config=ClassifierConfig(backbone=tiny))
    elif model == "parser":
        save_tiny_model(Path("parser"), grammar="trees")
    elif model == "plain":
        save_tiny_model(Path("plain"))
    outcome = dragoman("adapt", model, corrections(tmp_path, files), "--run", "run", *arguments)
    assert message in one_error(outcome, code)
    assert not Path("run/config.yaml").exists()


def test_an_adapter_cannot_learn_another_script(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    text = corrections(tmp_path, "en\tde\nBA\tсвет\n")
    command = ["adapt", trained, text, "--method", "lora", "--run", tmp_path / "run"]
    message = one_error(dragoman(*command), 2)
    assert "--method lora: the text needs pieces" in message
    assert "choose --method full, or --vocabulary keep" in message
    assert not (tmp_path / "run" / "adaptation.json").exists(), "the run can begin otherwise"


def test_by_default_the_run_is_beside_that_of_the_model(
    dragoman: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = corrections(tmp_path)
    save_tiny_model(tmp_path / "general")
    save_tiny_model(tmp_path / "run" / "model")
    (tmp_path / "run" / "config.yaml").write_text("{}\n", encoding="utf-8")
    for model, run in ((".", "general-corrections"), ("../run/model", "run-corrections")):
        monkeypatch.chdir(tmp_path / "general")
        assert "was trained on is not here" in one_error(dragoman("adapt", model, text), 2)
        assert (tmp_path / run).is_dir()
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["config.yaml", "model"]


def test_unequal_files(dragoman: CommandLine, trained: Path, tmp_path: Path) -> None:
    for name, lines in (("x.en", "A\nB\n"), ("x.de", "C\n")):
        (tmp_path / name).write_text(lines, encoding="utf-8")
    command = ["adapt", trained, tmp_path / "x.en", tmp_path / "x.de", "--run", tmp_path / "run"]
    assert "x.en" in one_error(dragoman(*command), 3)


def test_another_run_is_not_overwritten(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    before = digests(trained)
    command = ["adapt", trained, corrections(tmp_path), "--run", trained]
    assert "holds another run" in one_error(dragoman(*command), 2)
    assert digests(trained) == before
