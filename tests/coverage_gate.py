"""Coverage of whole rooms against floors: what ``make coverage`` ends with.

    coverage_gate.py REPORT        the JSON report of coverage.py

A room's coverage is that of coverage.py with branches: lines and branches that tests ran, of all
lines and branches.  A floor is what was measured when it was set, and goes up only.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

FLOORS = {"data": 98.0, "models": 99.0, "search": 99.0, "text": 98.0, "training": 96.0}
"""Per cent by room of ``src/dragoman``, from ``make coverage``, rounded down to a half: processors
differ in a few branches."""

SLACK = 1.0
"""Points above its floor from which on a room is told to have it raised."""


class Share(NamedTuple):
    """Lines and branches: how many there are, and how many of them ran."""

    covered: int = 0
    total: int = 0

    def plus(self, other: Share) -> Share:
        """Of both together."""
        return Share(self.covered + other.covered, self.total + other.total)

    @property
    def missing(self) -> int:
        """Those that did not run."""
        return self.total - self.covered

    @property
    def percent(self) -> float:
        """What ran, in per cent."""
        return 100 * self.covered / self.total if self.total else 0.0


def shares(report: dict[str, Any]) -> dict[str, dict[str, Share]]:
    """By room, the share of each of its files.

    Raises:
        ValueError: branches were not measured.
    """
    if not report["meta"]["branch_coverage"]:
        raise ValueError("the report has no branches; run coverage with branch = true")
    rooms: dict[str, dict[str, Share]] = defaultdict(dict)
    for name, file in report["files"].items():
        _, inside, path = name.replace("\\", "/").rpartition("src/dragoman/")
        if inside:
            summary = file["summary"]
            rooms[path.split("/")[0]][path] = Share(
                summary["covered_lines"] + summary["covered_branches"],
                summary["num_statements"] + summary["num_branches"],
            )
    return rooms


def problems(report: dict[str, Any], floors: dict[str, float]) -> list[str]:
    """A line for each room below its floor: by how much, and where most is missing."""
    rooms, found = shares(report), []
    for room, floor in floors.items():
        files = rooms.get(room, {})
        share = sum_of(files)
        if not share.total:
            found.append(f"{room}: not in the report; has the room another name?")
        elif round(share.percent, 2) < floor:
            worst = sorted(files, key=lambda path: -files[path].missing)[:3]
            places = ", ".join(f"{path} ({files[path].missing})" for path in worst)
            found.append(
                f"{room}: {share.percent:.2f} %, {floor - share.percent:.2f} points below its "
                f"floor of {floor} %; most lines and branches are missing in {places}"
            )
    return found


def sum_of(files: dict[str, Share]) -> Share:
    """Of all files together."""
    total = Share()
    for share in files.values():
        total = total.plus(share)
    return total


def table(report: dict[str, Any], floors: dict[str, float]) -> str:
    """Each room's coverage beside its floor."""
    lines = []
    for room, files in sorted(shares(report).items()):
        percent, floor = sum_of(files).percent, floors.get(room)
        line = f"{room:<10}{percent:7.2f} %"
        if floor is not None:
            line += f"   floor {floor:5.1f} %"
            line += "   (raise it)" if percent >= floor + SLACK else ""
        lines.append(line)
    return "\n".join(lines)


def main(path: str) -> int:
    """Print the table; problems are an exit code of 1."""
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    print(table(report, FLOORS))
    found = problems(report, FLOORS)
    for problem in found:
        print(f"coverage: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
