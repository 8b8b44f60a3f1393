"""A classifier from text to labels, through the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line import CommandLine, call, experiment, one_error, write_experiment

from dragoman.saved.model import load_model

WORDS = {"de": "ein haus und der hund", "en": "a house and the dog", "fr": "une maison et le"}


def sentence(language: str, rng: Random) -> str:
    return " ".join(rng.choices(WORDS[language].split(), k=rng.randint(2, 5)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences of three languages: one table with a column each, and one of texts and labels."""
    directory, rng = tmp_path_factory.mktemp("labelled"), Random(1)
    for name, count in (("train", 60), ("dev", 9)):
        rows = ["\t".join(sentence(one, rng) for one in WORDS) for _ in range(count)]
        text = "\n".join(["\t".join(WORDS), *rows, ""])
        (directory / f"{name}.tsv").write_text(text, encoding="utf-8")
    with (directory / "train.tsv").open("a", encoding="utf-8") as table:  # far longer than labels
        table.write(
            "\t".join(f"{words} {words} {words} {words}" for words in WORDS.values()) + "\n"
        )
    rows = [f"{sentence(one, rng)}\t{one}" for one in WORDS for _ in range(5)]
    (directory / "test.tsv").write_text("\n".join(["text\tlabel", *rows, ""]), encoding="utf-8")
    return directory


def classifier(folder: Path) -> dict[str, Any]:
    values = experiment()
    values["source_language"], values["target_language"] = "source", "label"
    columns = {"label_columns": list(WORDS)}
    values["data"] = {
        "train": [{"path": str(folder / "train.tsv"), **columns}],
        "dev": {"path": str(folder / "dev.tsv"), **columns},
        "test": {"mixed": {"path": str(folder / "test.tsv"), "source": "text", "target": "label"}},
    }
    values["vocabulary"] = {"size": 40}
    values["model"] = {"family": "classifier", "backbone": values["model"], "pooling": "attention"}
    values["training"] |= {"best_metric": "accuracy", "label_smoothing": 0.0, "max_steps": 30}
    values["training"]["schedule"] = {"peak_learning_rate": 0.01, "warmup_steps": 5}
    values["evaluation"] = {"metrics": ["accuracy", "macro_f1"]}
    return values


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs") / "languages"
    outcome = call("train", write_experiment(folder, classifier(folder)), "--run", directory)
    assert outcome.code == 0, outcome.err
    assert f"Use it: dragoman classify {directory} < input.txt" in outcome.out
    assert "constant" not in outcome.err
    assert "length ratio" not in outcome.err + outcome.out
    return directory


def test_it_learns(run: Path, folder: Path) -> None:
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    assert scores["mixed"]["accuracy"]["value"] > 90
    assert scores["mixed"]["macro_f1"]["value"] > 90
    assert "dragoman classify" in (run / "model" / "README.md").read_text(encoding="utf-8")
    text = (folder / "test.tsv").read_text(encoding="utf-8").splitlines()[1].partition("\t")[0]
    assert text in (run / "report.html").read_text(encoding="utf-8")


def test_lines_with_their_labels(run: Path, dragoman: CommandLine) -> None:
    text = b"the house and the dog\n\nder hund\n"
    first, empty, last = dragoman("classify", run, stdin=text).out.splitlines()
    assert first.startswith("en\t") and last.startswith("de\t") and not empty
    several = dragoman("classify", run, "--nbest", 3, stdin=text).out.splitlines()[0].split("\t")
    assert set(several[::2]) == set(WORDS)
    assert math.fsum(map(float, several[1::2])) == pytest.approx(1, abs=1e-3)
    assert dragoman("classify", run, "--labels", stdin=text).out == "en\n\nde\n"
    objects = dragoman("classify", run, "--json", stdin=text).out.splitlines()
    found = [json.loads(line) for line in objects]
    assert [one["line"] for one in found] == [1, 2, 3]
    assert found[0]["source"] == "the house and the dog"
    assert found[0]["labels"][0]["label"] == "en"
    assert found[1] == {"line": 2, "source": "", "labels": [], "refused": None}


def test_files_and_lines_that_are_too_long(
    run: Path, tmp_path: Path, dragoman: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "in").write_text("the dog\n" + "the " * 2000 + "\nder hund\n", encoding="utf-8")
    files = ("--input", tmp_path / "in", "--output", tmp_path / "out")
    line = one_error(dragoman("classify", run, "--labels", *files), 3)
    assert "1 lines cannot be labelled and are left empty; the first is line 2" in line
    assert "line 2: 8000 pieces" in caplog.text
    assert (tmp_path / "out").read_text(encoding="utf-8") == "en\n\nde\n"


def test_the_text_is_never_overwritten(tmp_path: Path, dragoman: CommandLine) -> None:
    """Whoever labels it, so this needs no model."""
    text = tmp_path / "in.txt"
    text.write_text("the dog\n", encoding="utf-8")
    refused = dragoman("classify", "--py3langid", "de,en", "--input", text, "--output", text)
    assert f"--output {text}: this is an input" in one_error(refused, 2)
    assert text.read_text(encoding="utf-8") == "the dog\n"


def test_scores_of_its_labels(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    (tmp_path / "found").write_text("en\nde\nde\n", encoding="utf-8")
    (tmp_path / "right").write_text("en\nde\nfr\n", encoding="utf-8")
    options = ("--metric", "accuracy", "--metric", "macro_f1", "--json")
    found = json.loads(dragoman("evaluate", tmp_path / "found", tmp_path / "right", *options).out)
    assert [one["value"] for one in found["scores"]] == pytest.approx([200 / 3, 500 / 9])


def test_a_device_is_of_a_model(dragoman: CommandLine) -> None:
    outcome = dragoman("classify", "--py3langid", "de,en", "--device", "cpu", stdin=b"Haus\n")
    assert "--device is of a MODEL" in one_error(outcome, 2)


def test_it_does_not_translate_and_a_translator_does_not_classify(
    run: Path, dragoman: CommandLine
) -> None:
    line = one_error(dragoman("translate", run, stdin=b"a\n"), 2)
    assert "a classifier, which labels text and cannot translate; use 'dragoman classify" in line
    assert "name a MODEL, or languages" in one_error(dragoman("classify"), 2)
    assert "at least two" in one_error(dragoman("classify", "--py3langid", "de"), 2)
    assert "leave out --labels" in one_error(dragoman("classify", run, "--json", "--labels"), 2)


@pytest.mark.parametrize("train", ["head", "all"])
def test_an_encoder_that_was_trained_before(
    folder: Path, run: Path, tmp_path: Path, train: str, dragoman: CommandLine
) -> None:
    """A translator's; frozen or not, it has its vocabulary and begins with its weights."""
    values = experiment()
    values["data"] = {
        "train": [{"path": str(folder / "train.tsv"), "source": "de", "target": "en"}],
        "dev": {"path": str(folder / "dev.tsv"), "source": "de", "target": "en"},
    }
    values["vocabulary"] = {"size": 40}
    values["training"]["max_steps"] = 2
    values["evaluation"] = {"metrics": []}
    (tmp_path / "translator").mkdir()
    recipe = write_experiment(tmp_path / "translator", values)
    translator = tmp_path / "translator" / "run"
    assert dragoman("train", recipe, "--run", translator).code == 0
    values = classifier(folder)
    del values["vocabulary"]
    values["model"] |= {"backbone": str(translator), "train": train}
    values["training"] |= {"max_steps": 2, "best_metric": "loss"}
    outcome = dragoman("train", write_experiment(tmp_path, values), "--run", tmp_path / "run")
    assert outcome.code == 0, outcome.err
    before, after = load_model(translator, "cpu"), load_model(tmp_path / "run", "cpu")
    assert after.vocabularies.source.fingerprint == before.vocabularies.source.fingerprint
    own = dict(after.model.get_submodule("backbone").named_parameters())
    old = dict(before.model.named_parameters(remove_duplicate=False))
    assert {name.partition(".")[0] for name in own} == {"encoder", "source_embedding"}
    changed = {name for name, weight in own.items() if not weight.equal(old[name])}
    assert bool(changed) == (train == "all")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data.test.mixed.target": "text"}, "line 2: the label"),
        ({"data.train.0.label_columns": ["de"]}, "at least two labels, and there is only 'de'"),
        ({"evaluation.metrics": ["bleu"]}, "bleu are of text, and a classifier writes labels"),
        ({"data.context": {}}, "data.context is for models that translate"),
        (
            {"data.train.0.transforms": [{"kind": "pass_through", "share": 0.5}]},
            "data.train.0.transforms.0: pass_through may change the target, which is a label",
        ),
        ({"model": {"d_model": 16}}, "label_columns is for model.family: classifier"),
        ({"model.backbone": {"family": "recurrent_lm"}}, "recurrent_lm has no encoder"),
    ],
)
def test_what_cannot_be_classified(
    folder: Path,
    tmp_path: Path,
    changes: dict[str, Any],
    message: str,
    dragoman: CommandLine,
) -> None:
    values = classifier(folder)
    for key, value in changes.items():
        *path, last = key.split(".")
        place: Any = values
        for name in path:
            place = place[int(name)] if isinstance(place, list) else place[name]
        place[last] = value
    outcome = dragoman("train", write_experiment(tmp_path, values), "--run", tmp_path / "run")
    assert message in one_error(outcome, outcome.code), outcome.err
    assert outcome.code in {2, 3}
