"""How well words are aligned, against links that people have made (Och & Ney 2003, section 5).

Sure links are those that all agree on, possible ones others; every sure link is possible, too.
With A found, S sure and P possible links, precision is ``|A & P| / |A|``, recall
``|A & S| / |S|``, and the alignment error rate ``1 - (|A & S| + |A & P|) / (|A| + |S|)``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

Link = tuple[int, int]
"""The number of a source word and that of a target word, from 0."""


@dataclass(frozen=True)
class AlignmentScore:
    """Counts of links over a text."""

    found: int
    sure: int
    found_sure: int
    """Sure links that were found."""
    found_possible: int
    """Found links that are possible, sure ones included."""

    @property
    def precision(self) -> float:
        """Share of what was found that is possible, from 0 to 1; 1 if nothing was found."""
        return self.found_possible / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """Share of the sure links that were found, from 0 to 1; 1 if there is none."""
        return self.found_sure / self.sure if self.sure else 1.0

    @property
    def error_rate(self) -> float:
        """The alignment error rate, from 0 (best) to 1."""
        total = self.found + self.sure
        return 1 - (self.found_sure + self.found_possible) / total if total else 0.0


def alignment_score(
    found: Iterable[Collection[Link]], gold: Iterable[tuple[Collection[Link], Collection[Link]]]
) -> AlignmentScore:
    """Compare links with the sure and the other possible links that people made, pair by pair.

    Raises:
        ValueError: one of the two has more pairs.
    """
    counts = [0, 0, 0, 0]
    for links, (sure, possible) in zip(found, gold, strict=True):
        mine, certain = set(links), set(sure)
        values = (len(mine), len(certain), len(mine & certain), len(mine & (certain | {*possible})))
        counts = [one + other for one, other in zip(counts, values, strict=True)]
    return AlignmentScore(*counts)
