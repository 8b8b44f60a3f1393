"""Text from a label: two invented vocabularies, each with its symbol."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from command_line import experiment
from worlds import ALONE

from dragoman.core.config import to_yaml
from dragoman.experiment import Experiment
from dragoman.recipe import read_experiment
from studies.labelled_text.__main__ import labelled_text

WORDS = {"fruit": ["apple", "grape", "lemon"], "number": ["six", "two", "five"]}
SIZES = {"d_model": 16, "d_ff": 32, "heads": 2, "norm": "pre", "dropout": 0.0}


def train(run: Path, parts: Callable[[str], dict[str, Any]], model: dict[str, Any]) -> None:
    values = experiment()
    del values["source_language"], values["target_language"]
    values |= {"model": model, "evaluation": {"metrics": []}, "search": {"extra_length": 10}}
    values["data"] = {"train": [*parts("train").values()], "dev": parts("dev"), "processes": 1}
    values["vocabulary"] = {"size": 40}
    schedule = {"peak_learning_rate": 0.03, "warmup_steps": 5}
    values["training"] |= {"max_steps": 100, "validation_steps": 100, "schedule": schedule}
    values["training"] |= {"average_checkpoints": 1, "checkpoint_steps": 100}
    path = run.with_suffix(".yaml")
    path.write_text(to_yaml(values), encoding="utf-8")
    trained = Experiment.create(read_experiment(path), run)
    trained.train(trained.prepare(), ALONE, lambda step: [])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that writes either kind of text, a classifier of both, and real text."""
    folder = tmp_path_factory.mktemp("kinds")
    random.seed(1)
    for kind, words in WORDS.items():
        for name, count in (("train", 80), ("dev", 4)):
            lines = [" ".join(random.choices(words, k=random.randint(2, 5))) for _ in range(count)]
            (folder / f"{name}.{kind}").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def made(name: str) -> dict[str, Any]:
        symbols = {kind: {"kind": "dummy_source", "symbol": f"<{kind}>"} for kind in WORDS}
        return {
            kind: {"target": f"{name}.{kind}", "transforms": [one]} for kind, one in symbols.items()
        }

    def labelled(name: str) -> dict[str, Any]:
        return {kind: {"source": f"{name}.{kind}", "label": kind} for kind in WORDS}

    writer = {"family": "transformer_lm", "source": "causal", "layers": 1, **SIZES}
    train(folder / "writer", made, writer)
    encoder = {"family": "transformer", "encoder_layers": 1, **SIZES}
    train(folder / "classifier", labelled, {"family": "classifier", "backbone": encoder})
    return folder


def call(folder: Path, *arguments: object) -> Result:
    models = [folder / "writer", folder / "classifier"]
    return CliRunner().invoke(labelled_text, [str(one) for one in (*models, *arguments)])


@pytest.mark.parametrize("kind", WORDS)
def test_samples_have_the_vocabulary_of_their_symbol(folder: Path, kind: str) -> None:
    labels, texts = folder / f"{kind}.labels", folder / f"{kind}.texts"
    asked = ("--symbol", f"<{kind}>", "--input", folder / f"train.{kind}")
    done = call(folder, *asked, "--output", labels, "--texts", texts)
    assert done.exit_code == 0, done.output
    written = texts.read_text("utf-8").splitlines()
    assert len(written) == 80
    words = [word for line in written for word in line.split()]
    assert sum(word in WORDS[kind] for word in words) > 0.9 * len(words)
    assert len({*written}) > 20
    found = labels.read_text("utf-8").splitlines()
    assert len(found) == 80
    assert found.count(kind) > 70
    assert f"{kind:<20} {100 * found.count(kind) / 80:6.2f}" in done.output


def test_what_is_refused(folder: Path) -> None:
    real = folder / "train.fruit"
    asked = ("--symbol", "<fruit>", "--input", real)
    overwritten = call(folder, *asked, "--output", real)
    assert (overwritten.exit_code, "this is an input" in overwritten.output) == (2, True)
    other = folder / "other"
    twice = call(folder, *asked, "--output", other, "--texts", other)
    assert "--texts" in twice.output and not other.exists()
