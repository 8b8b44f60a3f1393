"""Several seeds of a comparison in one table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import CommandLine, one_error

from dragoman.evaluation.metrics import Score
from dragoman.workflows.compare import Comparison, Contest
from dragoman.workflows.compare.comparison import ComparisonRow
from dragoman.workflows.compare.seeds import over_seeds, seed_table
from dragoman.workflows.compare.speed import Machine, Speed

SCORES = {"base": {1: 30.0, 2: 31.0, 3: 30.5}, "variant": {1: 32.0, 2: 32.5, 3: 32.0}}


def comparison(seed: int) -> Comparison:
    rows = [
        ComparisonRow(
            name, [name], 1000, 10, 100, 1e6, 1e6, Speed(None, 1.0), 2.0,
            [Score("BLEU", values[seed], "nrefs:1")],
        )
        for name, values in SCORES.items()
    ]  # fmt: skip
    return Comparison("each recipe's own limits", "news", 20, Machine("a CPU", 1, {}), rows)


def test_mean_deviation_and_the_difference_seed_by_seed() -> None:
    found = over_seeds({seed: comparison(seed) for seed in (1, 2, 3)})
    (base,), (variant,) = found.systems["base"], found.systems["variant"]
    assert base.difference is None
    assert (base.values, base.mean, base.deviation) == ([30.0, 31.0, 30.5], 30.5, 0.5)
    assert variant.difference is not None
    assert variant.difference.mean == pytest.approx(5 / 3)
    # differences 2, 1.5, 1.5: t = 5/3 / (0.28868 / sqrt 3) = 10, and p = 0.00985 by tables
    assert variant.difference.p_value == pytest.approx(0.00985, abs=1e-5)
    table = seed_table(found)
    assert "3 seeds, whose BLEU is in the last columns" in table
    assert "| base | 30.50 ± 0.50 |  | 30.00 | 31.00 | 30.50 |" in table
    assert "| variant | 32.17 ± 0.29 | +1.67* [+0.95, +2.38] (0.010) | 32.00" in table


@pytest.fixture
def recipes(config: Path, tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "base.yaml", tmp_path / "variant.yaml"]
    for path in paths:
        path.write_text(f"base: {config}\n", encoding="utf-8")
    return paths


def test_one_command_compares_all_seeds(
    recipes: list[Path], dragoman: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "all"
    arguments = ["compare", *recipes, "--output", output]
    planned = dragoman(*arguments, "--seeds", "1,2", "--plan", "--json")
    assert planned.code == 0, planned.err
    runs = [one["run"] for one in json.loads(planned.out)["left"]]
    assert runs == [
        str(output / f"seed-{seed}" / name) for seed in (1, 2) for name in ("base", "variant")
    ]
    for run in map(Path, runs):
        assert f"seed: {run.parent.name[-1]}\n" in (run / "config.yaml").read_text("utf-8")
    line = one_error(dragoman(*arguments), 2)
    assert "holds seed-1 and is not a comparison" in line

    def carry_out(contest: Contest, _: object) -> Comparison:
        return comparison(int(contest.output.name[-1]))

    monkeypatch.setattr(Contest, "carry_out", carry_out)
    outcome = dragoman(*arguments, "--seeds", "1,2")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith((output / "seeds.md").read_text(encoding="utf-8"))
    assert (output / "seed-2" / "comparison.md").is_file()
    written = json.loads((output / "seeds.json").read_text(encoding="utf-8"))
    assert written["systems"]["variant"][0]["values"] == [32.0, 32.5]
    line = one_error(dragoman("compare", *recipes, "--output", output / "seed-1", "--seeds=1,2"), 2)
    assert "a comparison with one seed was begun here" in line


@pytest.mark.parametrize("seeds", ["1", "1,x", "1,01"])
def test_seeds_that_are_none(
    seeds: str, recipes: list[Path], dragoman: CommandLine, tmp_path: Path
) -> None:
    line = one_error(dragoman("compare", *recipes, "--output", tmp_path / "x", "--seeds", seeds), 2)
    assert "give two or more different whole numbers" in line
