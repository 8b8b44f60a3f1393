"""The list of metrics, and a metric of another package: one file and an entry point."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import CommandLine, one_error
from installed_package import installed_package

import dragoman as api
from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.evaluation.metric_names import GROUP, metric_names
from dragoman.evaluation.metrics import (
    EvaluationConfig,
    SourceSide,
    check_installed,
    higher_is_better,
    is_better,
    metric_named,
    score_corpus,
)
from dragoman.evaluation.significance import compare_systems
from dragoman.training.settings import TrainingConfig
from dragoman.workflows.reports.training_curves import dev_figures, figure_label

OVERLAP = '''
"""As COMET would run in an environment of its own: a program reads lines and writes scores."""

import json
import os
import subprocess
import sys

from dragoman.core.errors import MissingExtraError
from dragoman.evaluation.metric import SummedMetric

PROGRAM = """
import json, sys
for row in json.load(sys.stdin):
    words = set(row["mt"].split())
    print(len(words & {*row["ref"].split(), *row["src"].split()}) / max(1, len(words)))
"""


class Overlap(SummedMetric):
    """The mean of what the program says of each sentence."""

    name, title, label = "overlap", "Overlap", "overlap, %"
    progress = "overlap {:.1f}"
    reads_source = True

    @classmethod
    def check(cls, config):
        if "NO_OVERLAP" in os.environ:
            raise MissingExtraError("overlap: its program is missing; install it")

    def statistics(self, hypotheses, references):
        rows = [
            {"src": source, "mt": hypothesis, "ref": reference}
            for source, hypothesis, reference in zip(self.source.lines, hypotheses, references[0])
        ]
        done = subprocess.run(
            [sys.executable, "-S", "-c", PROGRAM],
            input=json.dumps(rows), capture_output=True, text=True, check=True,
        )
        return [(float(score), 1) for score in done.stdout.split()]

    def value(self, sums):
        total, sentences = sums
        return 100 * total / sentences

    def details(self, references):
        return {"program": "overlap-1"}
'''

SOURCES = ["a b", "c d", "e f"]
GOOD, BAD = ["a x", "y d", "e f"], ["a q", "q q", "q"]
REFERENCES = ["x y", "y y", "x x"]
CONFIG = EvaluationConfig().model_copy(update={"metrics": ("chrf", "overlap")})


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    entries = {
        "overlap": "overlap_package:Overlap",
        "other": "overlap_package:Overlap",
        "bleu": "overlap_package:Overlap",
        "broken": "overlap_package:Missing",
    }
    folder = tmp_path_factory.mktemp("site")
    with installed_package(folder, "overlap_package", OVERLAP, GROUP, entries):
        yield


def overlap(text: list[str]) -> float:
    rows = zip(SOURCES, text, REFERENCES, strict=True)
    shares = [
        len(words & {*reference.split(), *source.split()}) / len(words)
        for source, line, reference in rows
        for words in [set(line.split())]
    ]
    return 100 * sum(shares) / len(shares)


def test_each_has_a_class_of_its_name() -> None:
    built_in = metric_names()[:-3]
    assert all(metric_named(name).name == name for name in built_in)
    labels = [metric_named(name).label for name in built_in]
    assert len(set(labels)) == len(labels) == 19


def test_it_sees_sources_translations_and_references() -> None:
    scores = {}
    for name, text in {"good": GOOD, "bad": BAD}.items():
        chrf, score = score_corpus(text, [REFERENCES], CONFIG, SourceSide(SOURCES))
        assert score.value == pytest.approx(overlap(text))
        assert score.name == "Overlap" and "program:overlap-1" in score.signature
        assert chrf.signature.startswith("nrefs:1")
        scores[name] = score.value
    assert is_better("overlap", scores["good"], scores["bad"])
    compared = compare_systems(
        BAD, {"good": GOOD}, [REFERENCES], CONFIG, source=SourceSide(SOURCES)
    )
    assert [one.metric for one in compared] == ["chrF2", "Overlap"]
    assert compared[1].difference == pytest.approx(scores["good"] - scores["bad"])
    interval = CONFIG.model_copy(update={"confidence_samples": 50})
    _, score = score_corpus(BAD, [REFERENCES], interval, SourceSide(SOURCES))
    assert score.confidence is not None and score.confidence.margin > 0
    assert api.evaluate(GOOD, REFERENCES, "overlap", sources=SOURCES)["overlap"].value > 0


def test_settings_reports_and_the_check_before_training_know_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert parse(EvaluationConfig, {"metrics": ["overlap"]}, "here").metrics == ("overlap",)
    assert parse(TrainingConfig, {"best_metric": "overlap"}, "here").best_metric == "overlap"
    assert "overlap" in dev_figures() and figure_label("overlap") == "overlap, %"
    assert higher_is_better("overlap")
    check_installed(CONFIG)
    monkeypatch.setenv("NO_OVERLAP", "")
    with pytest.raises(MissingExtraError, match="its program is missing"):
        check_installed(CONFIG)


def test_the_command_line_knows_it(tmp_path: Path, dragoman: CommandLine) -> None:
    files = {"sources": SOURCES, "good": GOOD, "references": REFERENCES}
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["evaluate", tmp_path / "good", tmp_path / "references", "--metric", "overlap"]
    found = json.loads(dragoman(*command, "--source", tmp_path / "sources", "--json").out)
    assert found["scores"][0]["value"] == pytest.approx(overlap(GOOD))
    assert "overlap: translations are compared with their sources" in one_error(
        dragoman(*command), 2
    )
    assert "|malformed_trees|broken|other|overlap]" in dragoman("evaluate", "--help").out
    assert "'overlap'" in one_error(dragoman(*command[:-1], "none"), 2)


def test_a_built_in_metric_cannot_be_replaced_and_broken_ones_are_named() -> None:
    assert metric_named("bleu").title == "BLEU"
    with pytest.raises(ConfigError, match=r"broken .* cannot be loaded"):
        metric_named("broken")
    with pytest.raises(ConfigError, match="other: its class must have the name 'other'"):
        metric_named("other")
    with pytest.raises(ConfigError, match="no metric 'absent'; choose one of: bleu"):
        metric_named("absent")
    with pytest.raises(ConfigError, match="overlap: name the source text"):
        score_corpus(GOOD, [REFERENCES], CONFIG)
