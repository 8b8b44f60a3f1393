"""The errors of a set of translations by kind, with examples: what to look at first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dragoman.text.normalization import normalize
from dragoman.translation.checking.findings import KIND_TITLES, CheckFinding, FindingKind
from dragoman.translation.checking.line_checks import TranslationChecks
from dragoman.translation.checking.protected_strings import protected_kinds

_EXAMPLES = 5


class CheckedLine(NamedTuple):
    """A line to check, with its reference."""

    line: int
    """Its line or entry in the file."""
    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class ErrorExample:
    """A line with an error."""

    checked: CheckedLine
    finding: CheckFinding

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**self.checked._asdict(), **self.finding.to_json()}


@dataclass(frozen=True)
class ErrorCount:
    """The lines with errors of one kind."""

    kind: FindingKind
    lines: int
    """Lines with such an error."""
    of: int
    """Lines that might have one: for protected strings, those whose source or translation has
    some."""
    examples: tuple[ErrorExample, ...]

    @property
    def share(self) -> float:
        """Share of the lines that might have such an error."""
        return self.lines / self.of

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "kind": self.kind,
            "title": KIND_TITLES[self.kind],
            "lines": self.lines,
            "of": self.of,
            "examples": [example.to_json() for example in self.examples],
        }


@dataclass(frozen=True)
class ErrorSummary:
    """The errors that a set of translations has and its references have not."""

    lines: int
    """Lines that were checked."""
    wrong: int
    """Lines with any error."""
    counts: tuple[ErrorCount, ...]
    """Kinds of errors that there are, the one with the most lines first."""
    unchecked: dict[FindingKind, str]
    """Kinds that were not checked, with the reason."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "lines": self.lines,
            "wrong": self.wrong,
            "kinds": [count.to_json() for count in self.counts],
            "unchecked": self.unchecked,
        }


def summarise_errors(checks: TranslationChecks, lines: Iterable[CheckedLine]) -> ErrorSummary:
    """Check lines, and count each kind of error once for a line."""
    examples: dict[FindingKind, list[ErrorExample]] = defaultdict(list)
    found, possible, checked, wrong = Counter[FindingKind](), Counter[FindingKind](), 0, 0
    for line in lines:
        checked += 1
        first = {
            one.kind: one
            for one in reversed(checks.findings(line.source, line.translation, line.reference))
        }
        wrong += bool(first)
        found.update(first.keys())
        possible.update(protected_kinds(normalize(line.source)) | first.keys())
        for kind, finding in first.items():
            if len(examples[kind]) < _EXAMPLES:
                examples[kind].append(ErrorExample(line, finding))
    by_items = {"placeholders", "tags", "urls", "numbers"}
    counts = tuple(
        ErrorCount(kind, count, possible[kind] if kind in by_items else checked, (*examples[kind],))
        for kind, count in sorted(found.items(), key=lambda one: -one[1])
    )
    return ErrorSummary(checked, wrong, counts, checks.unchecked)
