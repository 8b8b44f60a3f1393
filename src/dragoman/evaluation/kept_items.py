"""Metrics that count items: terms, placeholders and numbers of sources, or properties of lines.

Exact matches and degenerate translations matter for short input, where n-gram scores say little.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.core.repetition import loop
from dragoman.evaluation.metric import EvaluationConfig, SourceSide, Statistics, SummedMetric

TOO_LONG = 3
"""How many times as long as its reference a translation is far too long."""
SLACK = 10
"""Characters that any translation may have more."""
_LONG_WORD = 12
"""Characters of a word within which a part may loop."""


class CountedItems(SummedMetric):
    """The percentage of items of references that are in translations.

    Of several references for a translation, the one with the best share counts.
    """

    @abstractmethod
    def count(self, reference: str, translation: str) -> tuple[int, int]:
        """How many items of a reference its translation has, of how many."""

    @override
    def statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> Statistics:
        best = max if self.higher_is_better else min
        counts: list[tuple[int, int]] = [
            best((self.count(one, hypothesis) for one in several), key=_share)
            for hypothesis, *several in zip(hypotheses, *references, strict=True)
        ]
        return counts

    @override
    def value(self, sums: Sequence[float]) -> float:
        counted, total = map(int, sums)
        return 100 * counted / total if total else 100.0

    @override
    def details(self, references: int) -> dict[str, Any]:
        return {"nrefs": None} if references == 1 else {}


class KeptItems(CountedItems):
    """The percentage of items of sources that are in their translations."""

    reads_source = True

    def __init__(self, config: EvaluationConfig, source: SourceSide | None = None) -> None:
        super().__init__(config, source)
        assert source is not None, "a metric that reads sources has some"
        if self.name not in source.counters:
            raise ConfigError(f"{self.name}: name the glossary whose terms are counted")
        self._lines, self._count = source.lines, source.counters[self.name]

    @override
    def count(self, reference: str, translation: str) -> tuple[int, int]:
        return self._count(reference, translation)

    @override
    def statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> Statistics:
        return super().statistics(hypotheses, [self._lines])

    @override
    def details(self, references: int) -> dict[str, Any]:
        return {"nrefs": None}


class Terms(KeptItems):
    """Terms of a glossary."""

    name, title, label = "terms", "terms", "terms, %"

    @override
    def details(self, references: int) -> dict[str, Any]:
        glossary = self.config.glossary
        return {"nrefs": None} | ({} if glossary is None else {"glossary": Path(glossary).name})


class Placeholders(KeptItems):
    """Placeholders and tags."""

    name, title, label = "placeholders", "placeholders", "placeholders, %"


class Numbers(KeptItems):
    """Numbers, in any usual spelling."""

    name, title, label = "numbers", "numbers", "numbers, %"


def _share(counted: tuple[int, int]) -> float:
    kept, of = counted
    return kept / of if of else 1.0


class ExactMatch(CountedItems):
    """The percentage of translations that equal their reference."""

    name, title, label = "exact_match", "exact_match", "exact match, %"

    @override
    def count(self, reference: str, translation: str) -> tuple[int, int]:
        return int(translation.strip() == reference.strip()), 1


class Degenerate(CountedItems):
    """The percentage of translations that repeat themselves or are far too long."""

    name, title, label = "degenerate", "degenerate", "degenerate, %"
    higher_is_better = False

    @override
    def count(self, reference: str, translation: str) -> tuple[int, int]:
        return int(is_degenerate(translation, reference)), 1

    @override
    def details(self, references: int) -> dict[str, Any]:
        return super().details(references) | {"times": str(TOO_LONG)}


def is_degenerate(translation: str, reference: str) -> bool:
    """Whether a translation repeats itself as its reference does not, or is far longer.

    Repetition is of words, or of characters within a long word: most of a script without spaces.
    """
    if len(translation) > TOO_LONG * len(reference) + SLACK:
        return True
    times = repeats(translation)
    return bool(times) and times > repeats(reference)


def repeats(text: str, longer_than: int = _LONG_WORD) -> int:
    """How often the part of a text that loops most follows itself; 0 if none loops.

    Characters are looked at in words that are longer than so many.
    """
    words = text.split()
    return max([loop(words), *(loop(word) for word in words if len(word) > longer_than)], default=0)
