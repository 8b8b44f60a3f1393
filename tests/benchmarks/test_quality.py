"""Time to a stated quality: what is counted, and the table of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # its programs name one another like this

import bench  # noqa: E402
import quality  # noqa: E402

RECIPE = """
seed: 1
source_language: en
target_language: de
data:
  train: [{source: text.en, target: text.de}]
  dev: {source: dev.en, target: dev.de}
vocabulary: {size: 40}
model: {encoder_layers: 1, decoder_layers: 1, d_model: 8, d_ff: 8, heads: 2}
training: {step_tokens: 100, schedule: {warmup_steps: 2}, max_steps: 6, average_checkpoints: 0}
search: {beam: 1, maximum_length: 2}
"""


def point(candidate: str, seed: int, minutes: float, bleu: float) -> quality.Point:
    return {
        "candidate": candidate,
        "seed": seed,
        "cpu_minutes": minutes,
        "target_tokens": int(1e6 * minutes),
        "bleu": bleu,
    }


def test_a_score_costs_what_its_first_validation_has_cost() -> None:
    """The median of the seeds; a dash if half of them never have it."""
    points = [
        point("adam", 1, 1, 30),
        point("adam", 1, 2, 33),
        point("adam", 1, 3, 31),
        point("muon", 1, 1.5, 33),
        point("muon", 2, 2.5, 34),
        point("muon", 3, 3.5, 36),
    ]
    _, _, adam, muon = quality.table(points, "bleu", (32, 35))
    assert adam == "| adam | 1 | 2.0 | – | 2,000,000 | – | 3.0 | 3,000,000 | 31.00 | 33.00 |"
    assert muon == "| muon | 3 | 2.5 | – | 2,500,000 | – | 2.5 | 2,500,000 | 34.00 | 34.00 |"


def test_recipes_are_trained_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for side in ("en", "de"):
        text = "a dog runs\ntwo men sit\na man sits\nthe dogs run fast\n"
        (tmp_path / f"text.{side}").write_text(text * 9)
        (tmp_path / f"dev.{side}").write_text("a man runs\ntwo dogs sit\n")
    (tmp_path / "tiny.yaml").write_text(RECIPE)
    monkeypatch.setattr(bench, "prepare", lambda *_: pytest.fail("reads Multi30k"))
    results = tmp_path / "results.jsonl"
    command = ["--scratch", str(tmp_path / "scratch"), "quality", "--results", str(results)]
    more = [str(tmp_path / "tiny.yaml"), "--every", "3", "--reach", "0", "--seed", "2"]
    found = CliRunner().invoke(bench.bench, [*command, *more])
    assert found.exit_code == 0, found.output
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert [(line["candidate"], line["seed"], line["step"]) for line in lines] == [
        ("tiny", 2, 3),
        ("tiny", 2, 6),
    ]
    assert 0 < lines[0]["target_tokens"] < lines[1]["target_tokens"]
    assert 0 <= lines[0]["cpu_minutes"] <= lines[1]["cpu_minutes"] < 1
    assert "| tiny | 1 | " in results.with_suffix(".md").read_text()
    drawn = results.with_suffix(".svg").read_text()
    assert CliRunner().invoke(bench.bench, [*command, "--reach", "0"]).exit_code == 0
    assert results.with_suffix(".svg").read_text() == drawn
