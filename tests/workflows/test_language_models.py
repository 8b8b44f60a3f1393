"""A language model from text to scores, through the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from command_line import CommandLine, call, experiment, one_error, write_experiment


@pytest.fixture(scope="module")
def german_only(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smallest experiment with the German side alone."""
    values = experiment()
    train, dev, test = (
        {"path": str(text / f"{name}.tsv"), "target": "de"} for name in ("train", "dev", "test")
    )
    values["data"] = {"train": [train], "dev": dev, "test": {"news": test}}
    values["model"] = {"family": "transformer_lm", "layers": 1, "d_model": 16, "heads": 2}
    values["evaluation"] = {"metrics": []}
    return write_experiment(tmp_path_factory.mktemp("language-model"), values)


@pytest.fixture(scope="module")
def run(german_only: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs") / "lm"
    outcome = call("train", german_only, "--run", directory)
    assert outcome.code == 0, outcome.err
    assert f"dragoman score {directory}" in outcome.out
    assert "bleu" not in outcome.out
    return directory


@pytest.fixture
def german(tmp_path: Path) -> Path:
    path = tmp_path / "text.de"
    path.write_text("einhundert Euro\n\nder dritte Tag\n", encoding="utf-8")
    return path


def test_the_report_shows_no_translations(run: Path) -> None:
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "How it learned" in page
    assert "Translations" not in page


def test_scores_of_a_text(run: Path, german: Path, dragoman: CommandLine) -> None:
    found = json.loads(dragoman("score", run, german, "--json").out)
    assert len(found["lines"]) == 3
    total = sum(line["log_probability"] for line in found["lines"])
    assert found["perplexity"] == pytest.approx(math.exp(-total / found["tokens"]))
    rows = dragoman("score", run, german).out.splitlines()
    assert [int(row.split("\t")[1]) for row in rows] == [line["tokens"] for line in found["lines"]]
    twice = json.loads(dragoman("score", run, run / "model", german, "--json").out)
    assert twice["perplexity"] == pytest.approx(found["perplexity"])


def test_a_source_is_refused_where_none_is_read_and_wanted_where_one_is(
    run: Path, trained: Path, german: Path, dragoman: CommandLine
) -> None:
    assert "reads no source" in one_error(dragoman("score", run, german, german), 2)
    assert "give sources too" in one_error(dragoman("score", trained, german), 2)
    assert "name at least one MODEL" in one_error(dragoman("score", run), 2)


@pytest.mark.usefixtures("forked_workers")
def test_lines_are_continued(run: Path, dragoman: CommandLine) -> None:
    def draw(*options: object) -> str:
        return dragoman("translate", run, "--sample", *options, stdin=b"einhundert\n\n").out

    drawn = draw("--seed", 1)
    first, second = drawn.splitlines()
    assert first.startswith("einhundert")
    assert second
    assert draw("--seed", 1) == draw("--seed", 1, "--workers", 1) == drawn != draw("--seed", 2)


def test_the_doctor_looks_at_one_side(
    german_only: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    outcome = dragoman("doctor", german_only, "--run", tmp_path / "new")
    assert outcome.code == 0, outcome.err
    assert "target: half of the sentences" in outcome.out
    assert "source" not in outcome.out


def test_its_cost_is_counted(german_only: Path, dragoman: CommandLine) -> None:
    attention, feed_forward, norms = 4 * 16**2, 2 * 16 * 2048 + 2048 + 16, 4 * 16
    found = json.loads(dragoman("cost", german_only, "--json").out)
    assert found["total_parameters"] == 120 * 16 + attention + feed_forward + norms
