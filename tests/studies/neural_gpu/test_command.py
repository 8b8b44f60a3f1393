"""``python -m studies.neural_gpu``: one-bit addition is learned in seconds, and said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from studies.neural_gpu.__main__ import neural_gpu

TINY = [
    "--bits",
    "1",
    "--maps",
    "8",
    "--width",
    "2",
    "--batch",
    "16",
    "--rate",
    "0.02",
    "--questions",
    "60",
    "-q",
]


def test_one_bit_addition_is_learned_the_same_way_twice(tmp_path: Path) -> None:
    results = []
    for name in ("one", "two"):
        output = tmp_path / f"{name}.json"
        said = CliRunner().invoke(neural_gpu, [*TINY, "--steps", "120", "--output", str(output)])
        assert said.exit_code == 0, said.output
        assert "bits  answers" in said.stdout
        results.append(json.loads(output.read_text(encoding="utf-8")))
    accuracy = results[0]["accuracy"]
    assert [one["bits"] for one in accuracy] == [1, 2, 4]
    assert accuracy[0]["whole"] == 100.0
    assert results[0]["accuracy"] == results[1]["accuracy"]


@pytest.mark.parametrize("model", ["extended", "transformer", "neural-gpu"])
def test_every_model_runs(model: str) -> None:
    options = ["--model", model, "--steps", "4", "--relaxed", "2", "--noise", "0.1", "--json"]
    said = CliRunner().invoke(neural_gpu, [*TINY, *options, "--task", "multiplication"])
    assert said.exit_code == 0, said.output
    result = json.loads(said.stdout)
    assert result["trial"]["model"] == model
    assert result["parameters"] > 0
    assert all(0 <= one["digits"] <= 100 for one in result["accuracy"])


@pytest.mark.parametrize("wrong", [["--model", "rnn"], ["--bits", "0"], ["--rate", "nan"]])
def test_bad_options_are_refused(wrong: list[str]) -> None:
    said = CliRunner().invoke(neural_gpu, wrong)
    assert said.exit_code == 2
    assert wrong[0] in said.output
