from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
import sacrebleu
from command_line import CommandLine, one_error

from dragoman.apps.evaluation_commands import METRICS, TESTS, TOKENIZERS
from dragoman.evaluation.metrics import EvaluationConfig, MetricName
from dragoman.evaluation.significance import SignificanceConfig

REFERENCES = [f"der {n}te Hund sieht die Katze im Haus {n}" for n in range(40)]
GOOD = [line.replace("Haus", "Hause") for line in REFERENCES]
BAD = [line.replace("Hund sieht", "Mann sah") for line in GOOD]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    paths = {}
    for name, lines in {"reference": REFERENCES, "good": GOOD, "bad": BAD}.items():
        paths[name] = tmp_path / name
        paths[name].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


def test_choices_are_those_of_the_library() -> None:
    assert get_args(MetricName) == METRICS
    assert get_args(EvaluationConfig.model_fields["bleu_tokenize"].annotation) == TOKENIZERS
    assert get_args(SignificanceConfig.model_fields["test"].annotation) == TESTS


def test_scores_are_sacrebleus(files: dict[str, Path], dragoman: CommandLine) -> None:
    outcome = dragoman("evaluate", files["good"], files["reference"], "--json")
    found = json.loads(outcome.out)
    bleu, chrf = found["scores"]
    assert bleu["value"] == pytest.approx(sacrebleu.corpus_bleu(GOOD, [REFERENCES]).score)
    assert chrf["value"] == pytest.approx(sacrebleu.corpus_chrf(GOOD, [REFERENCES]).score)
    assert "tok:13a" in bleu["signature"]
    assert found["exact_match"] == 0
    text = dragoman("evaluate", files["good"], files["reference"]).out
    assert f"BLEU = {bleu['value']:.2f} [{bleu['signature']}]" in text


def test_options_reach_the_metric(files: dict[str, Path], dragoman: CommandLine) -> None:
    outcome = dragoman(
        "evaluate",
        files["good"],
        files["reference"],
        files["reference"],
        *("--metric", "bleu", "--tokenize", "none", "--lowercase", "--confidence", "20", "--json"),
    )
    (score,) = json.loads(outcome.out)["scores"]
    for part in ("nrefs:2", "case:lc", "tok:none", "bs:20"):
        assert part in score["signature"]
    assert score["confidence"]["margin"] >= 0


def test_hypotheses_from_standard_input(files: dict[str, Path], dragoman: CommandLine) -> None:
    piped = dragoman("evaluate", "-", files["reference"], stdin=files["good"].read_bytes())
    assert piped.out == dragoman("evaluate", files["good"], files["reference"]).out


def test_a_clear_difference_is_more_than_chance(
    files: dict[str, Path], dragoman: CommandLine
) -> None:
    options = ("--baseline", files["bad"], "--metric", "chrf")
    outcome = dragoman("evaluate", files["good"], files["reference"], *options)
    assert "more than chance" in outcome.out
    assert "no more" not in outcome.out
    same = dragoman("evaluate", files["bad"], files["reference"], *options, "--json")
    (comparison,) = json.loads(same.out)["comparisons"]
    assert comparison["difference"] == 0
    assert comparison["p_value"] == 1


def test_unequal_lengths(files: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    short = tmp_path / "short"
    short.write_text("eins\n", encoding="utf-8")
    line = one_error(dragoman("evaluate", short, files["reference"]), 3)
    assert "1" in line
    assert "40" in line


def test_missing_file(files: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    line = one_error(dragoman("evaluate", tmp_path / "none", files["reference"]), 3)
    assert "none" in line
