"""Metrics of programs in other environments: the protocol, what is kept, and what goes wrong."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import CommandLine, one_error

from dragoman.core.errors import ConfigError, DataError, WorkerError
from dragoman.evaluation.metric_names import added_metrics, metric_names
from dragoman.evaluation.metrics import (
    EvaluationConfig,
    SourceSide,
    higher_is_better,
    metric_named,
    score_corpus,
)
from dragoman.evaluation.significance import compare_systems

WORDS = """
import json, os, sys
assert "PYTHONPATH" not in os.environ
for text in sys.stdin:
    line = json.loads(text)
    with open("asked.jsonl", "a") as asked:
        asked.write(text)
    words = set(line["hypothesis"].split())
    best = max(len(words & set(one.split())) for one in [*line["references"], line["source"]])
    print(best / max(1, len(words)), flush=True)
"""
HYPOTHESES = ["ein Haus", "der Hund schläft", "ein Haus", ""]
REFERENCES = [["ein Haus", "eine Katze", "ein Haus", "nichts"], ["x", "der Hund", "x", "z"]]
SOURCE = SourceSide(["a house", "the dog sleeps", "a house", "nothing"])
CONFIG = {"metrics": ("words",)}
Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Make a script the program of the metric ``words``; returns the script."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("DRAGOMAN_METRICS", str(tmp_path / "metrics.yaml"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def put(script: str = WORDS, **settings: object) -> Path:
        path = tmp_path / "words.py"
        path.write_text(script, encoding="utf-8")
        values = {"command": [sys.executable, "./words.py"], "factor": 100, **settings}
        file = tmp_path / "metrics.yaml"
        file.write_text(json.dumps({"words": values}), encoding="utf-8")
        os.utime(file, ns=(0, time.monotonic_ns()))  # another time, however quick the test is
        return path

    return put


def score(hypotheses: list[str] = HYPOTHESES) -> float:
    return score_corpus(hypotheses, REFERENCES, EvaluationConfig(**CONFIG), SOURCE)[0].value


def asked() -> list[dict[str, object]]:
    return [json.loads(line) for line in Path("asked.jsonl").read_text().splitlines()]


def test_the_mean_of_its_scores_is_the_metric(install: Install) -> None:
    install(title="Words", signature="small")
    assert score() == pytest.approx(100 * (1 + 2 / 3 + 1 + 0) / 4)
    assert asked()[1] == {
        "hypothesis": "der Hund schläft",
        "source": "the dog sleeps",
        "references": ["eine Katze", "der Hund"],
    }
    config = EvaluationConfig(metrics=("words",), confidence_samples=20)
    (found,) = score_corpus(HYPOTHESES, REFERENCES, config, SOURCE)
    assert found.name == "Words"
    assert "model:small" in found.signature
    assert "nrefs:2" in found.signature
    assert found.confidence is not None
    (comparison,) = compare_systems(
        HYPOTHESES, {"b": ["q"] * 4}, REFERENCES, EvaluationConfig(**CONFIG), source=SOURCE
    )
    assert comparison.value == 0.0


def test_each_line_is_asked_once_until_the_program_changes(install: Install) -> None:
    script = install()
    score()
    assert len(asked()) == 3  # two of the four lines are the same
    score(["ein Haus", "neu", "ein Haus", ""])
    assert [line["hypothesis"] for line in asked()[3:]] == ["neu"]
    script.write_text(WORDS.replace("best / max", "2 * best / max"), encoding="utf-8")
    assert score() == pytest.approx(200 * (1 + 2 / 3 + 1 + 0) / 4)
    install(WORDS, signature="another model")
    before = len(asked())
    score()
    assert len(asked()) > before


def test_scores_before_a_failure_are_kept(install: Install) -> None:
    failing = WORDS.replace(
        "    words = set", "    assert line['source'] != 'nothing'\n    words = set"
    )
    install(failing)
    with pytest.raises(WorkerError) as error:
        score()
    assert "metric words: its program ended with exit code 1 after 2 of 3 scores" in str(
        error.value
    )
    assert str(error.value).endswith("AssertionError")
    before = len(asked())
    with pytest.raises(WorkerError, match="after 0 of 1 scores"):
        score()
    assert len(asked()) == before + 1


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import sys; sys.stdin.read(); print(1); print(2)", "ended after 2 of 3 scores"),
        ("import sys; sys.stdin.read(); print('1\\n' * 9)", "prints more than the 3 scores"),
        ("print('loading the model')", "line 1 of .* is no finite number: b'loading the model'"),
        ("print('nan')", "line 1 of .* is no finite number: b'nan'"),
        ("import sys; sys.exit('no GPU')", "exit code 1 after 0 of 3 scores: no GPU"),
        ("import time; time.sleep(600)", "printed nothing for 0.5 seconds, after 0 of 3"),
    ],
)
def test_what_a_program_does_wrong_is_told(install: Install, script: str, message: str) -> None:
    install(script, silence_seconds=0.5 if "sleep" in script else 30)
    begin = time.monotonic()
    with pytest.raises(WorkerError, match=message):
        score()
    assert time.monotonic() - begin < 60


def test_a_program_that_is_not_there_is_told(install: Install) -> None:
    install(command=["/no/such/python", "x.py"])
    with pytest.raises(ConfigError, match=r"/no/such/python cannot be started .*metrics\.yaml"):
        score()


def test_an_estimate_of_quality_reads_no_references(install: Install) -> None:
    install(
        WORDS.replace('[*line["references"], line["source"]]', '[line["source"]]'), references=False
    )
    score()
    assert all("references" not in line for line in asked())


def test_a_metric_that_reads_no_source_needs_none(install: Install) -> None:
    install(WORDS.replace(', line["source"]]', "]"), source=False)
    (found,) = score_corpus(["ein Haus"], [["ein Haus"]], EvaluationConfig(**CONFIG))
    assert found.value == 100.0


def test_it_is_named_where_metrics_are_named(
    install: Install, dragoman: CommandLine, tmp_path: Path
) -> None:
    install(higher_is_better=False)
    assert "words" in added_metrics()
    assert metric_names()[0] == "bleu"
    assert not higher_is_better("words")
    assert metric_named("words").label == "words"
    for name, lines in {"out": HYPOTHESES, "ref": REFERENCES[0], "src": SOURCE.lines}.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ("evaluate", "out", "ref", "--metric", "words")
    found = json.loads(dragoman(*command, "--source", "src", "--json").out)
    assert found["scores"][0]["value"] == pytest.approx(100 * (1 + 0 + 1 + 0) / 4)
    assert "words: translations are compared with their sources" in one_error(dragoman(*command), 2)
    with pytest.raises(ConfigError, match="words: name the source text"):
        score_corpus(HYPOTHESES, REFERENCES, EvaluationConfig(**CONFIG))
    with pytest.raises(DataError):
        score_corpus(["a"], [["a"]], EvaluationConfig(**CONFIG), SOURCE)


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("words: {command: [a], sorce: true}", "did you mean 'source'"),
        ("words: x", "words: expected settings"),
        ("Words!: {command: [a]}", "has small letters, digits and _"),
        ("words: {command: []}", "command"),
        ("[", "metrics.yaml"),
    ],
)
def test_a_file_that_cannot_be_used_is_warned_of(
    install: Install, text: str, warning: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    install()
    path = tmp_path / "metrics.yaml"
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(0, time.monotonic_ns()))
    assert added_metrics() == []
    assert warning in caplog.text
    with pytest.raises(ConfigError, match="no metric 'words'"):
        metric_named("words")


def test_a_missing_file_that_is_named_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv("DRAGOMAN_METRICS", str(tmp_path / "none.yaml"))
    assert added_metrics() == []
    assert "none.yaml: no such file, though DRAGOMAN_METRICS names it" in caplog.text
