"""Reports on the selection of text and synthetic pairs, written beside the files they describe.

A report is written after its file, so it shows that the file is complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

from dragoman.core.errors import SavedError
from dragoman.core.files import read_json, write_json


@dataclass
class TextReport:
    """Figures on the selection of lines."""

    name: str
    read: int = 0
    """Lines read."""
    fit: int = 0
    """Lines after cleaning."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Dropped lines, by reason."""
    chosen: int = 0
    """Lines to translate."""
    wrong_language: float | None = None
    """Share of the lines in another language; None if unknown."""

    @property
    def reasons(self) -> str:
        """Why lines were dropped, in parentheses."""
        return _reasons(self.dropped)

    def __str__(self) -> str:
        taken = "all" if self.chosen == self.fit else f"{self.chosen:,}"
        return (
            f"{self.name}: {self.fit:,} of {self.read:,} lines are fit{self.reasons}; {taken} of "
            "them are translated"
        )


@dataclass
class PairReport:
    """Figures on the selection of synthetic pairs."""

    read: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    """Dropped pairs, by reason."""

    def __str__(self) -> str:
        reasons = _reasons(self.dropped)
        return f"{self.kept:,} of {self.read:,} synthetic pairs are kept{reasons}"


Report = TypeVar("Report", TextReport, PairReport)


def write_report(file: Path, report: TextReport | PairReport) -> None:
    """Write the report of a file beside it."""
    write_json(_beside(file), asdict(report))


def read_report(file: Path, kind: type[Report]) -> Report | None:
    """The report of a file; None if the file is not complete."""
    beside = _beside(file)
    if not (beside.exists() and file.exists()):
        return None
    try:
        return kind(**read_json(beside))
    except (OSError, ValueError, TypeError) as error:
        raise SavedError(f"{beside}: damaged; remove it, and {file.name} is made again") from error


def _beside(file: Path) -> Path:
    return file.with_name(file.name.split(".")[0] + ".json")


def _reasons(dropped: Mapping[str, int]) -> str:
    if not dropped:
        return ""
    return f" (dropped: {', '.join(f'{reason} {count:,}' for reason, count in dropped.items())})"
