"""Metrics that count items: terms, placeholders and numbers of sources, or properties of lines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.evaluation.evaluation_config import EvaluationConfig
from dragoman.evaluation.metric import SourceSide, Statistics, SummedMetric


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
