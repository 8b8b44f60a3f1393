"""TER (Snover et al. 2006) by sacrebleu, whose time grows with the cube of a line's length.

Its search for shifts takes seconds for a line of 200 words and minutes for one of 800.  Lines of
more than :data:`MOST_WORDS` words are compared without shifts, by the edit distance of their words:
an upper bound of the edits, computed in the square of the length.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics.ter import TER

log = logging.getLogger(__name__)

MOST_WORDS = 500
"""Of a translation or a reference for which shifts are searched."""


class BoundedTER(TER):
    """TER as sacrebleu computes it, but for lines of more than :data:`MOST_WORDS` words.

    A warning counts such lines, and the signature says ``noshift``.
    """

    def __init__(self) -> None:
        super().__init__()
        self._long = 0

    def _extract_corpus_statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]] | None
    ) -> Any:
        before = self._long
        statistics = super()._extract_corpus_statistics(hypotheses, references)
        if long := self._long - before:
            log.warning(
                "ter: %s with more than %d words; their words are compared without shifts, which "
                "counts at least as many edits",
                "1 line" if long == 1 else f"{long:,} lines",
                MOST_WORDS,
            )
        return statistics

    def _compute_segment_statistics(
        self, hypothesis: str, ref_kwargs: dict[str, Any]
    ) -> list[float]:
        words, references = hypothesis.split(), ref_kwargs["ref_words"]
        lengths = [len(one) for one in references]
        if max(len(words), *lengths) <= MOST_WORDS:
            return super()._compute_segment_statistics(hypothesis, ref_kwargs)
        self._long += 1
        edits = min(edit_distance(words, one) for one in references)
        return [edits, sum(lengths) / len(lengths)]

    def _compute_score_from_stats(self, stats: list[float]) -> Any:
        """With a plain float: resamples have NumPy's or either, whose mean may fail (2.6.0)."""
        found = super()._compute_score_from_stats(stats)
        found.score = float(found.score)
        return found

    def get_signature(self) -> Any:
        """sacrebleu's, with a mark if lines were compared without shifts."""
        signature = super().get_signature()
        if self._long:
            signature.info["noshift"] = f">{MOST_WORDS}w"
        return signature


def edit_distance(words: Sequence[str], reference: Sequence[str]) -> int:
    """The fewest insertions, deletions and substitutions of words (Levenshtein 1966)."""
    numbers = {word: number for number, word in enumerate(dict.fromkeys(reference))}
    wanted = np.array([numbers[word] for word in reference], dtype=np.int64)
    places = np.arange(len(reference) + 1)
    row = places
    for count, word in enumerate(words, 1):
        replaced = row[:-1] + (wanted != numbers.get(word, -1))
        best = np.concatenate(([count], np.minimum(replaced, row[1:] + 1)))
        row = np.minimum.accumulate(best - places) + places  # insertions, all at once
    return int(row[-1])
