"""Results as tables: for notebooks, and for pandas."""

from __future__ import annotations

from pathlib import Path

import torch
from tiny_model import save_tiny_model

import dragoman
from dragoman.api import TrainedRun
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.evaluation.significance import SignificanceConfig, compare_systems
from dragoman.translation.outputs import Attention


def test_translations_and_attention_are_tables(tmp_path: Path) -> None:
    with dragoman.load(save_tiny_model(tmp_path / "model"), device="cpu") as translator:
        found = translator.translate_nbest(["a b", ""], nbest=2)
    assert found == [list(several) for several in found]
    rows = found.rows()
    assert [(row["line"], row["rank"]) for row in rows] == [(1, 1), (1, 2), (2, 1)]
    assert [row["text"] for row in rows] == [one.text for several in found for one in several]
    table = found._repr_html_()
    assert table.count("<tr>") == 4
    assert "<th>score</th>" in table
    assert "<th>refused</th>" not in table
    weights = torch.tensor([[[[0.0, 1.0]], [[0.5, 0.5]]]])
    attention = Attention(weights, ["x"], ["a", "b"], "x")
    assert 'title="0.250"' in attention._repr_html_()
    assert 'title="0.750"' in attention._repr_html_()


def test_comparisons_and_runs_are_tables() -> None:
    lines = [f"line {number}" for number in range(8)]
    found = compare_systems(
        lines,
        {"other": [*lines[1:], "x"]},
        [lines],
        EvaluationConfig(metrics=("chrf",)),
        SignificanceConfig(samples=20),
    )
    assert [one.system for one in found] == ["other"]
    assert "<th>p value</th>" in found._repr_html_()
    report = {"loss": 1.5, "chrf": {"value": 50.0, "signature": "s"}}
    run = TrainedRun(Path("run"), {"dev": report})
    assert run.rows() == [{"set": "dev", "loss": 1.5, "chrf": 50.0}]
    assert "<td" in run._repr_html_()
