"""What was found in a text: its files and pairs, and sources that are translated differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats.projects.project_folder import ProjectFolder, ProjectString, warn_once
from dragoman.text.normalization import normalize

_MOST_SOURCES = 500_000
"""Sources that are compared; those of a larger text would fill the memory."""


@dataclass(frozen=True)
class FoundPart:
    """A part of the text, and what is in it."""

    part: CorpusPart
    files: int
    """Files with pairs, each counted once."""
    pairs: int
    unreviewed: int
    """Pairs that are left out because they are marked as not reviewed."""

    @property
    def title(self) -> str:
        """Its files for people."""
        form = self.part.file_format
        if isinstance(form, ProjectFolder):
            return f"{form.title} in {self.part.name}"
        return self.part.name

    def __str__(self) -> str:
        files = "1 file" if self.files == 1 else f"{self.files:,} files"
        pairs = "1 pair" if self.pairs == 1 else f"{self.pairs:,} pairs"
        left = f" ({self.unreviewed:,} unreviewed left out)" if self.unreviewed else ""
        return f"{self.part.direction.name}, {self.title}: {files}, {pairs}{left}"

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        names = "path", "source", "target", "format"
        return {
            **{name: getattr(self.part, name) for name in names},
            "target_language": self.part.target_language,
            "files": self.files,
            "pairs": self.pairs,
            "unreviewed_left_out": self.unreviewed,
        }


@dataclass(frozen=True)
class Contradiction:
    """A source with several translations."""

    source: str
    translations: list[tuple[str, int, str]]
    """Each with the number of its pairs and a file, the most frequent first."""

    @property
    def pairs(self) -> int:
        """Pairs of this source."""
        return sum(count for _, count, _ in self.translations)

    def __str__(self) -> str:
        shown = [f"{text!r:.60} ({count}, {place})" for text, count, place in self.translations[:3]]
        more = len(self.translations) - len(shown)
        return f"{self.source!r:.60}: {', '.join(shown)}" + f" and {more} more" * bool(more)


@dataclass
class Survey:
    """What was found in a text."""

    parts: list[FoundPart] = field(default_factory=list)
    contradictions: list[Contradiction] = field(default_factory=list)
    """Sources of one direction with different translations, the most frequent first."""

    def pairs_by_target(self) -> dict[str, int]:
        """The number of pairs of each target language."""
        sizes: Counter[str] = Counter()
        for found in self.parts:
            sizes[found.part.direction.target_language] += found.pairs
        return dict(sizes)

    @classmethod
    def of(cls, parts: Sequence[CorpusPart]) -> Survey:
        """Read all parts once."""
        survey, kept = cls(), _Translations()
        for part in parts:
            files: set[Path] = set()
            pairs = unreviewed = 0
            for one in _strings(part):
                if one.is_unreviewed and not part.unreviewed:
                    unreviewed += 1
                    continue
                pairs += 1
                files.add(one.file)
                kept.add(part, one)
            survey.parts.append(FoundPart(part, len(files), pairs, unreviewed))
        survey.contradictions = kept.contradictions()
        return survey


def _strings(part: CorpusPart) -> Iterator[ProjectString]:
    form = part.file_format
    if isinstance(form, ProjectFolder):
        assert part.path is not None
        sides = part.source or "", part.target or ""
        yield from form.units(Path(part.path), sides, warn_once)
        return
    file = part.paths()[-1]
    for pair in read_pairs(part):
        if pair.source.strip() and pair.target.strip():
            yield ProjectString(pair.source, pair.target, file)


class _Translations:
    """The translations of each source, each with its number and the first file that has it."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], dict[str, list[Any]]] = {}

    def add(self, part: CorpusPart, one: ProjectString) -> None:
        key = part.direction.name, normalize(one.source)
        if key not in self._found and len(self._found) >= _MOST_SOURCES:
            return
        counted = self._found.setdefault(key, {}).setdefault(
            normalize(one.target), [0, _place(part, one.file)]
        )
        counted[0] += 1

    def contradictions(self) -> list[Contradiction]:
        found = [
            Contradiction(
                source,
                sorted(
                    ((text, *counted) for text, counted in translations.items()),
                    key=lambda one: -one[1],
                ),
            )
            for (_, source), translations in self._found.items()
            if len(translations) > 1
        ]
        return sorted(found, key=lambda one: -one.pairs)


def _place(part: CorpusPart, file: Path) -> str:
    """A file for people, with the folders below that of its part."""
    folder = Path(part.path or file).parent
    return str(file.relative_to(folder)) if file.is_relative_to(folder) else file.name
