"""The nearest pairs of a translation memory, as examples for a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.errors import DataError, MissingExtraError
from dragoman.text.lines import read_lines

_LEAST_SIMILAR = 40.0  # of 100; pairs below teach little


@dataclass(frozen=True)
class NearestPairs:
    """Finds pairs by the similarity of their sources: rapidfuzz's ratio of words in any order.

    Args:
        sources: one side of the memory.
        targets: their translations, in the same order.
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> NearestPairs:
        """Read ``source<TAB>target`` lines, compressed or not.

        Raises:
            DataError: the file cannot be read, or a line has no two columns.
        """
        sources, targets = [], []
        for number, line in enumerate(read_lines(path), 1):
            source, tab, target = line.partition("\t")
            if not (tab and source.strip() and target.strip()) or "\t" in target:
                raise DataError(f"{path}:{number}: expected source<TAB>target")
            sources.append(source)
            targets.append(target)
        return cls(tuple(sources), tuple(targets))

    def of(self, texts: Sequence[str], most: int) -> list[tuple[str, str]]:
        """At most ``most`` pairs near to some of the texts, the nearest last.

        Raises:
            MissingExtraError: rapidfuzz is not installed.
        """
        try:
            from rapidfuzz import fuzz, process
        except ImportError as error:
            raise MissingExtraError.of("rapidfuzz", "rapidfuzz") from error
        best: dict[int, float] = {}
        for text in texts:
            near = process.extract(
                text, self.sources, scorer=fuzz.token_sort_ratio, limit=most,
                score_cutoff=_LEAST_SIMILAR,
            )  # fmt: skip
            for _, score, place in near:
                best[place] = max(score, best.get(place, 0.0))
        nearest = sorted(best, key=lambda place: (-best[place], place))[:most]
        return [(self.sources[place], self.targets[place]) for place in reversed(nearest)]
