"""``python -m studies.memory_network``: after seconds, answers are better than chance."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from studies.memory_network.__main__ import memory_network
from studies.memory_network.stories import CHANCE, TASKS


def test_one_fact_is_found_better_than_by_chance(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    options = [
        "--sentences",
        "2",
        "--hops",
        "1",
        "--steps",
        "150",
        "--rate",
        "0.02",
        "--questions",
        "60",
        "-q",
    ]
    said = CliRunner().invoke(memory_network, [*options, "--output", str(output)])
    assert said.exit_code == 0, said.output
    assert "sentences   one fact" in said.stdout
    errors = json.loads(output.read_text(encoding="utf-8"))["errors"]
    assert [(one["task"], one["sentences"]) for one in errors] == [
        (task, sentences) for sentences in (2, 4, 8) for task in TASKS
    ]
    # Two sentences leave at most two places: one who is asked about any has half of them right.
    assert errors[0]["wrong"] < 100 * (1 - CHANCE["one fact"]) / 3


def test_the_transformer_runs() -> None:
    options = [
        "--model",
        "transformer",
        "--sentences",
        "2",
        "--steps",
        "2",
        "--questions",
        "3",
        "--json",
        "-q",
    ]
    said = CliRunner().invoke(memory_network, options)
    assert said.exit_code == 0, said.output
    assert all(0 <= one["wrong"] <= 100 for one in json.loads(said.stdout)["errors"])


@pytest.mark.parametrize("wrong", [["--hops", "0"], ["--linear", "2"], ["--sentences", "1"]])
def test_bad_options_are_refused(wrong: list[str]) -> None:
    said = CliRunner().invoke(memory_network, wrong)
    assert said.exit_code == 2
    assert wrong[0] in said.output
