"""The report of cleaning a corpus: counts and example lines, as a table and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Reason = Literal[
    "empty",
    "too long",
    "length ratio",
    "identical sides",
    "wrong script",
    "held out",
    "duplicate",
    "filtered",
]
"""Why a pair was dropped."""

Note = Literal["control characters removed", "invisible characters removed", "held out, kept"]
"""A remark about a pair that was kept."""

EXAMPLES = 5


@dataclass
class CountedLines:
    """The number of pairs of some sort, and the lines of the first few."""

    count: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        """Counts one more pair."""
        self.count += 1
        if len(self.lines) < EXAMPLES:
            self.lines.append(line)

    def merge(self, later: CountedLines) -> None:
        """Adds the counts of later pairs."""
        self.count += later.count
        self.lines = (self.lines + later.lines)[:EXAMPLES]


@dataclass
class PartReport:
    """The results of cleaning one part of a corpus."""

    read: int = 0
    kept: int = 0
    dropped: dict[str, CountedLines] = field(default_factory=dict)
    noted: dict[str, CountedLines] = field(default_factory=dict)

    def drop(self, reason: Reason, line: int) -> None:
        """Counts a pair that was dropped."""
        self.dropped.setdefault(reason, CountedLines()).add(line)

    def note(self, note: Note, line: int) -> None:
        """Records a remark about a pair that is kept."""
        self.noted.setdefault(note, CountedLines()).add(line)

    def merge(self, later: PartReport) -> None:
        """Adds the results of later pairs."""
        self.read += later.read
        self.kept += later.kept
        for findings, others in ((self.dropped, later.dropped), (self.noted, later.noted)):
            for name, finding in others.items():
                findings.setdefault(name, CountedLines()).merge(finding)


@dataclass
class CleaningReport:
    """The results of cleaning a corpus, part by part in the order of reading."""

    parts: dict[str, PartReport] = field(default_factory=dict)

    def part(self, name: str) -> PartReport:
        """The report of one part, created if it does not exist."""
        return self.parts.setdefault(name, PartReport())

    @property
    def read(self) -> int:
        """Pairs that were read."""
        return sum(part.read for part in self.parts.values())

    @property
    def kept(self) -> int:
        """Pairs that were kept."""
        return sum(part.kept for part in self.parts.values())

    def dropped(self, reason: Reason) -> int:
        """Number of pairs dropped for a reason."""
        findings = (part.dropped.get(reason) for part in self.parts.values())
        return sum(finding.count for finding in findings if finding is not None)

    def to_json(self) -> dict[str, Any]:
        """The report as plain values, for a JSON file."""
        return {name: asdict(part) for name, part in self.parts.items()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> CleaningReport:
        """The inverse of :meth:`to_json`."""

        def findings(plain: dict[str, Any]) -> dict[str, CountedLines]:
            return {name: CountedLines(**finding) for name, finding in plain.items()}

        return cls(
            {
                name: PartReport(
                    part["read"], part["kept"], findings(part["dropped"]), findings(part["noted"])
                )
                for name, part in values.items()
            }
        )

    def table(self) -> str:
        """The report for a terminal: a line per part, and below it a line per remark."""
        lines: list[str] = []
        for name, part in self.parts.items():
            lines.append(f"{name}: {part.read:,} pairs read, {part.kept:,} kept")
            for said, findings in (("dropped", part.dropped), ("", part.noted)):
                for reason, finding in findings.items():
                    more = ", ..." if finding.count > len(finding.lines) else ""
                    where = ", ".join(map(str, finding.lines)) + more
                    label = f"{said}, {reason}" if said else reason
                    lines.append(f"  {finding.count:>9,}  {label:<26}  lines {where}")
        return "\n".join(lines)
