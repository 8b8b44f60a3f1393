"""The gate falls when coverage does, says where, and cannot be passed by measuring nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from coverage_gate import FLOORS, Share, main, problems, shares, table

PACKAGE = Path(__file__).parents[1] / "src" / "dragoman"


def report(*, branches: bool = True, **files: Any) -> dict[str, Any]:
    """As coverage.py writes it; of each file covered and all lines, covered and all branches."""
    names = ("covered_lines", "num_statements", "covered_branches", "num_branches")
    return {
        "meta": {"branch_coverage": branches},
        "files": {
            f"src/dragoman/{name.replace('__', '/')}.py": {
                "summary": dict(zip(names, counts, strict=True))
            }
            for name, counts in files.items()
        },
    }


WELL = report(
    search__beam=(90, 100, 9, 10), search__greedy__fast=(10, 10, 0, 0), text__a=(1, 2, 0, 0)
)
"""109 of 120 in search, that is 90.83 %."""


def test_a_room_is_all_of_its_files_lines_and_branches_together() -> None:
    found = shares(WELL)
    assert found["search"] == {
        "search/beam.py": Share(99, 110),
        "search/greedy/fast.py": Share(10, 10),
    }
    assert "search" in table(WELL, {"search": 90.8})
    assert "90.83 %" in table(WELL, {"search": 90.8})


@pytest.mark.parametrize(("floor", "passes"), [(90.8, True), (90.83, True), (90.9, False)])
def test_it_falls_below_the_floor_alone(floor: float, passes: bool) -> None:
    assert (problems(WELL, {"search": floor}) == []) is passes


def test_the_message_says_which_room_by_how_much_and_where() -> None:
    (problem,) = problems(WELL, {"search": 95.0, "text": 50.0})
    assert problem.startswith("search: 90.83 %, 4.17 points below its floor of 95.0 %")
    assert "missing in search/beam.py (11), search/greedy/fast.py (0)" in problem


def test_a_floor_that_could_go_up_is_pointed_out() -> None:
    assert "(raise it)" in table(WELL, {"search": 89.0})
    assert "(raise it)" not in table(WELL, {"search": 90.0})


def test_a_room_that_was_not_measured_does_not_pass() -> None:
    (problem,) = problems(WELL, {"training": 0.0})
    assert problem == "training: not in the report; has the room another name?"


def test_lines_alone_are_not_enough() -> None:
    with pytest.raises(ValueError, match="no branches"):
        shares(report(branches=False, text__a=(1, 1, 0, 0)))


def test_every_floor_is_a_room_and_all_that_matter_have_one() -> None:
    assert {"training", "search", "data", "text"} <= set(FLOORS)
    assert all((PACKAGE / room).is_dir() and 50 < floor <= 100 for room, floor in FLOORS.items())


def test_the_exit_code_is_for_make(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.json"
    full: dict[str, Any] = {f"{room}__all": (10, 10, 2, 2) for room in FLOORS}
    path.write_text(json.dumps(report(**full)), encoding="utf-8")
    assert main(str(path)) == 0
    path.write_text(json.dumps(report(**{**full, "search__all": (1, 10, 0, 2)})), encoding="utf-8")
    assert main(str(path)) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("coverage: search: 8.33 %, ")
    assert captured.err.count("\n") == 1
