"""Several runs in one table and one picture."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from command_line import CommandLine, one_error

from dragoman.workflows.reports.training_curves import RunCurves, read_curves


def write_run(directory: Path, *records: dict[str, object]) -> Path:
    directory.mkdir(parents=True)
    lines = [json.dumps(record) for record in records]
    (directory / "metrics.jsonl").write_text("\n".join(lines) + "\n{cut", encoding="utf-8")
    return directory


def training(step: int, tokens: int, seconds: float) -> dict[str, object]:
    return {
        "kind": "training",
        "step": step,
        "nll": 9 - step / 10,
        "tokens_per_second": 100.0,
        "target_tokens": tokens,
        "seconds": seconds,
    }


def validation(step: int, **figures: float) -> dict[str, object]:
    return {"kind": "validation", "step": step, **figures}


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [
        write_run(
            tmp_path / "one",
            training(10, 1000, 60),
            validation(10, loss=5.0, bleu=3.0),
            training(20, 2000, 120),
            validation(25, loss=4.0, bleu=2.5, ter=80.0),
            validation(30, loss=4.5, bleu=2.0, ter=90.0),
        ),
        write_run(tmp_path / "two", training(10, 500, 30), validation(10, loss=6.0)),
    ]


def test_best_values_are_the_lowest_or_highest(runs: list[Path]) -> None:
    found = read_curves(runs)[0].to_json()
    assert found["best"] == {
        "loss": {"step": 25, "value": 4.0},
        "bleu": {"step": 10, "value": 3.0},
        "ter": {"step": 25, "value": 80.0},
    }
    assert (found["steps"], found["target_tokens"], found["seconds"]) == (20, 2000, 120)


def test_a_best_value_is_a_number_and_every_metric_is_known(tmp_path: Path) -> None:
    run = write_run(
        tmp_path / "run",
        training(10, 1000, 60),
        validation(10, loss=math.nan, degenerate=4.0),
        validation(20, loss=5.0, degenerate=9.0),
        validation(30, loss=4.0, degenerate=2.0),
    )
    (found,) = read_curves([run])
    assert found.best("loss") == (30, 4.0)
    assert found.best("degenerate") == (30, 2.0)


@pytest.mark.parametrize("line", ['{"kind": "training", "step": "x"}', "5", '{"kind": "training"}'])
def test_lines_of_another_kind_are_passed_over(line: str, runs: list[Path]) -> None:
    before = read_curves(runs)[0].to_json()
    file = runs[0] / "metrics.jsonl"
    file.write_text(f"{line}\n{file.read_text('utf-8')}", "utf-8")
    assert read_curves(runs)[0].to_json() == before


def test_places_of_a_validation_are_those_of_the_training_before(runs: list[Path]) -> None:
    run = RunCurves.read(runs[0], "one")
    assert run.points("validation", "bleu") == [(10, 3.0), (25, 2.5), (30, 2.0)]
    assert run.points("validation", "bleu", "tokens") == [(0.001, 3.0), (0.002, 2.5), (0.002, 2.0)]
    assert run.points("training", "nll", "minutes") == [(1.0, 8.0), (2.0, 7.0)]


def test_a_table_and_a_picture(runs: list[Path], dragoman: CommandLine, tmp_path: Path) -> None:
    picture = tmp_path / "curves.svg"
    outcome = dragoman("show", "training", *runs, "--by", "minutes", "--output", picture)
    assert outcome.code == 0, outcome.err
    titles, _, one, two = outcome.out.splitlines()
    assert titles == (
        "| run | steps | target tokens | minutes | training loss | best dev loss (step) | "
        "best BLEU (step) | best TER (step) |"
    )
    assert one == "| one | 20 | 2,000 | 2.0 | 7.000 | 4.00 (25) | 3.00 (10) | 80.00 (25) |"
    assert two == "| two | 10 | 500 | 0.5 | 8.000 | 6.00 (10) |  |  |"
    assert re.search(r"<svg .*height=", picture.read_text(encoding="utf-8"))
    found = json.loads(dragoman("show", "training", *runs, "--json").out)
    assert [one["run"] for one in found["runs"]] == ["one", "two"]


def test_equal_names_become_paths(runs: list[Path], tmp_path: Path) -> None:
    other = write_run(tmp_path / "more" / "one", training(10, 500, 30))
    assert [one.name for one in read_curves([runs[0], other])] == [str(runs[0]), str(other)]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("none",), 4, "none: no figures of a training here"),
        (("one", "--output", "a.html"), 2, "expected a name that ends in one of .svg, .png"),
    ],
)
def test_what_cannot_be_shown(
    arguments: tuple[str, ...],
    code: int,
    message: str,
    dragoman: CommandLine,
    runs: list[Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(runs[0].parent)
    assert message in one_error(dragoman("show", "training", *arguments), code)
