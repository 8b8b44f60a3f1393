"""How many translations have the strings of programs and the numbers of their sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from dragoman.text.normalization import normalize
from dragoman.translation.checking.protected_strings import protected_findings, protected_kinds


@dataclass
class StringFigures:
    """Counts of lines."""

    lines: int = 0
    with_strings: int = 0
    """Lines whose source has placeholders, tags, addresses or numbers."""
    right: int = 0
    """Those whose translation has the same, and no others."""
    invented: int = 0
    """Other lines whose translation has placeholders, tags or addresses."""

    def add(self, source: str, translation: str) -> None:
        """Count a line."""
        source, translation = normalize(source), normalize(translation)
        found = list(protected_findings(source, translation))
        self.lines += 1
        if protected_kinds(source):
            self.with_strings += 1
            self.right += not found
        else:
            self.invented += any(one.kind != "numbers" for one in found)

    @property
    def share(self) -> float:
        """Right lines, in per cent of those with strings."""
        return 100 * self.right / max(1, self.with_strings)

    def to_json(self) -> dict[str, float]:
        """Plain values."""
        return {**asdict(self), "share": self.share}


def figures_of(pairs: Iterable[tuple[str, str]]) -> StringFigures:
    """Count the lines of a text and its translation."""
    figures = StringFigures()
    for source, translation in pairs:
        figures.add(source, translation)
    return figures
