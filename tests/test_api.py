"""What ``import dragoman`` gives: light, declared, and told apart from what may change."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import experiment

import dragoman
from dragoman import errors
from dragoman.core import errors as core_errors
from dragoman.core.errors import ConfigError, DataError, DragomanError, UsageError
from dragoman.evaluation.metrics import EvaluationConfig, score_corpus
from dragoman.recipe import read_experiment
from dragoman.run.scores_file import read_scores
from dragoman.text import synthetic


def test_a_name_is_imported_when_it_is_used() -> None:
    script = (
        "import sys, dragoman\n"
        "assert set(dragoman.__all__) <= set(dir(dragoman))\n"
        "assert dragoman.errors.ConfigError('x').exit_code == 2 and dragoman.load\n"
        "print(sorted({'torch', 'numpy', 'pydantic', 'yaml'} & set(sys.modules)))\n"
        "dragoman.Lode\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]"
    assert done.stderr.rstrip().endswith("module 'dragoman' has no attribute 'Lode'")


def test_every_declared_name_is_there_and_is_what_it_is_said_to_be() -> None:
    for name, home in dragoman._HOMES.items():
        assert getattr(dragoman, name) is getattr(import_module(home), name)
    assert {*dragoman._HOMES, "errors", "__version__"} == set(dragoman.__all__)
    assert "Any" not in dir(dragoman)


def test_the_errors_are_all_of_them() -> None:
    theirs = {
        name: value
        for name, value in vars(core_errors).items()
        if isinstance(value, type) and issubclass(value, DragomanError)
    }
    assert {name: getattr(errors, name) for name in errors.__all__} == theirs


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    synthetic.write(folder, 60, dev=5, test=5)
    path = folder / "my.yaml"
    path.write_text(yaml.safe_dump(experiment()), encoding="utf-8")
    return path


def test_training_gives_a_run_with_its_scores(recipe: Path, tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    settings = ["training.max_steps=4", "training.validation_steps=4"]
    trained = dragoman.train(
        recipe, tmp_path / "run", settings, observe=seen.append, log=["csv", "csv"]
    )
    assert trained.path == tmp_path / "run"
    assert trained.scores == read_scores(tmp_path / "run")
    assert list(trained.scores) == ["dev", "news"]
    assert [record["step"] for record in seen if record["kind"] == "validation"] == [4]
    assert len(trained.load(device="cpu").translate(["one euro"])) == 1
    logged = (tmp_path / "run" / "csv" / "figures.csv").read_text(encoding="utf-8")
    assert "scores/dev/" in logged
    assert (tmp_path / "run" / "csv" / "translations-dev.csv").is_file()
    with pytest.raises(ConfigError, match="contains a run with checkpoints"):
        dragoman.train(recipe, str(tmp_path / "run"))
    with pytest.raises(ConfigError, match="no tracker 'cvs'"):
        dragoman.train(recipe, tmp_path / "other", log=["cvs"])
    assert not (tmp_path / "other").exists()
    with pytest.raises(UsageError, match="not one string, 'csv'"):
        dragoman.train(recipe, tmp_path / "other", log="csv")


def test_a_recipe_is_read_as_the_command_line_reads_it(recipe: Path, tmp_path: Path) -> None:
    read = dragoman.read_recipe(str(recipe), ["model.dropout=0.25"])
    assert read == read_experiment(recipe, ["model.dropout=0.25"])
    with pytest.raises(UsageError, match="has been read already; give settings to read_recipe"):
        dragoman.train(read, tmp_path / "run", ["model.dropout=0.3"])
    with pytest.raises(UsageError, match=r"not one string, 'seed=3'"):
        dragoman.read_recipe(recipe, "seed=3")
    with pytest.raises(UsageError, match="expected the path of a recipe"):
        dragoman.read_recipe(None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="expected the path of a run directory"):
        dragoman.train(recipe, None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"observe: expected a function, found 3 \(int\)"):
        dragoman.train(recipe, tmp_path / "run", observe=3)  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


HYPOTHESES = ["the cat sat on the mat", "a house"]
REFERENCES = ["the cat is on the mat", "the house"]
OTHERS = ["the cat sat on a mat", "a home"]


def test_scores_are_those_of_the_command_line_by_metric() -> None:
    found = dragoman.evaluate(HYPOTHESES, REFERENCES, ["ter", "bleu"], lowercase=True)
    config = EvaluationConfig(metrics=("ter", "bleu"), lowercase=True)
    expected = score_corpus(HYPOTHESES, [REFERENCES], config)
    assert found == dict(zip(["ter", "bleu"], expected, strict=True))
    assert found["bleu"].signature.startswith("nrefs:1|case:lc")
    several = dragoman.evaluate(HYPOTHESES, [REFERENCES, OTHERS], "chrf")
    assert several["chrf"] == score_corpus(HYPOTHESES, [REFERENCES, OTHERS])[1]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (("one", ["one"]), UsageError, "not one string, 'one'"),
        ((["one"], "one"), UsageError, "not one string, 'one'"),
        ((["one"], None), UsageError, "found None"),
        ((["one"], [["one"], 3]), UsageError, r"found 3 \(int\)"),
        ((["one"], ["one", None]), UsageError, "reference 2: expected a string, found None"),
        ((["one"], []), DataError, "reference 1 has 0"),
        (([], []), DataError, "nothing to score"),
        ((["one"], ["one"], None), UsageError, "metrics: expected a list of names, found None"),
        ((["one"], ["one"], 3), UsageError, r"metrics: expected .*, found 3 \(int\)"),
        ((["one"], ["one"], ["blue"]), ConfigError, "metrics.0: Input should be 'bleu', 'chrf'"),
    ],
)
def test_what_cannot_be_scored_is_told(
    arguments: tuple[Any, ...], kind: type[DragomanError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        dragoman.evaluate(*arguments)


@pytest.mark.parametrize("languages", ["en-de", "en", ("en",), ("en", "de", "fr"), ("en", 3), 3])
def test_languages_are_two(tmp_path: Path, languages: Any) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("en\tde\ncat\tKatze\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"languages: expected .* such as \('en', 'de'\), found"):
        dragoman.evaluate(
            ["Katze"],
            ["Katze"],
            "terms",
            sources=["cat"],
            glossary=str(glossary),
            languages=languages,
        )


def test_an_option_that_does_not_exist_is_told() -> None:
    with pytest.raises(ConfigError, match="unknown key 'lowercas'; did you mean 'lowercase'"):
        dragoman.evaluate(HYPOTHESES, REFERENCES, lowercas=True)
