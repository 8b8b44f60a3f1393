"""The best tree of a sentence under a grammar: Cocke, Kasami and Younger's algorithm.

All spans of one length are filled at once, and all rules are applied to them at once.  Nothing but
scores is kept: how the best tree came about is found again along that tree alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dragoman.core.constituency import Leaf, Tree
from studies.chart_parser.binarisation import ROOT
from studies.chart_parser.grammar import Floats, Grammar, Ints


@dataclass(frozen=True)
class ChartParser:
    """Finds best trees.

    Args:
        grammar: its rules.
    """

    grammar: Grammar
    _groups: tuple[tuple[Ints, Ints], tuple[Ints, Ints]] = field(init=False)
    """Of binary and unary rules: their parents, and where the rules of each begin."""
    _numbers: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        grammar = self.grammar
        groups = tuple(
            np.unique(p, return_index=True) for p in (grammar.binary[0], grammar.unary[0])
        )
        object.__setattr__(self, "_groups", groups)
        numbers = {name: place for place, name in enumerate(grammar.symbols)}
        object.__setattr__(self, "_numbers", numbers)

    def best(
        self, words: Sequence[str], tags: Sequence[dict[str, float]]
    ) -> tuple[Tree, float] | None:
        """The most probable tree over ``words`` and its log-probability; None if there is none.

        Args:
            words: the sentence.
            tags: for each word, the log-probability of writing it from a tag.
        """
        chart = self._filled(tags)
        root = self._numbers[ROOT]
        score = float(chart[len(words)][root, 0]) if words else -np.inf
        if score == -np.inf:
            return None
        found = _Backtrace(self.grammar, words, chart).tree(root, 0, len(words))
        assert isinstance(found, Tree)
        return found, score

    def _filled(self, tags: Sequence[dict[str, float]]) -> list[Floats]:
        """Scores ``(symbols, spans)`` of each length of span; a span is numbered by its start."""
        size, length = len(self.grammar.symbols), len(tags)
        chart = [np.full((size, 0), -np.inf, dtype=np.float32)]
        for span in range(1, length + 1):
            cells = np.full((size, length - span + 1), -np.inf, dtype=np.float32)
            if span == 1:
                for place, scores in enumerate(tags):
                    for tag, score in scores.items():
                        if tag in self._numbers:
                            cells[self._numbers[tag], place] = score
            elif len(self.grammar.binary_scores):
                self._join(chart, span, cells)
            self._climb(cells)
            chart.append(cells)
        return chart

    def _join(self, chart: list[Floats], span: int, cells: Floats) -> None:
        """Constituents of two children, over all places where the first can end."""
        _, left, right = self.grammar.binary
        count = cells.shape[1]
        best = np.full((len(left), count), -np.inf, dtype=np.float32)
        for split in range(1, span):
            firsts = chart[split][:, :count]
            seconds = chart[span - split][:, split : split + count]
            # Most symbols span few lengths, so that only some rules can apply.
            alive = firsts.max(1)[left] + seconds.max(1)[right] > -np.inf
            (rules,) = alive.nonzero()
            joined = firsts[left[rules]]
            joined += seconds[right[rules]]
            best[rules] = np.maximum(best[rules], joined)
        best += self.grammar.binary_scores[:, None]
        parents, begins = self._groups[0]
        cells[parents] = np.maximum.reduceat(best, begins, axis=0)

    def _climb(self, cells: Floats) -> None:
        """Chains of constituents over the same words, until none is better."""
        if not len(self.grammar.unary_scores):
            return
        _, child = self.grammar.unary
        parents, begins = self._groups[1]
        while True:
            scores = cells[child]
            scores += self.grammar.unary_scores[:, None]
            above = np.maximum.reduceat(scores, begins, axis=0)
            if not (above > cells[parents]).any():
                return
            cells[parents] = np.maximum(cells[parents], above)


@dataclass(frozen=True)
class _Backtrace:
    """Finds again how a cell got its score."""

    grammar: Grammar
    words: Sequence[str]
    chart: list[Floats]

    def tree(self, symbol: int, start: int, span: int) -> Tree | Leaf:
        """The best tree of a symbol over ``span`` words from ``start`` on."""
        label = self.grammar.symbols[symbol]
        score = self.chart[span][symbol, start]
        one, below = self._unary(symbol, start, span)
        if one == score:
            return Tree(label, (self.tree(below, start, span),))
        if span == 1:
            return Leaf(label, self.words[start])
        split, left, right = self._binary(symbol, start, span)
        children = (
            self.tree(left, start, split),
            self.tree(right, start + split, span - split),
        )
        return Tree(label, children)

    def _rules(self, parents: Ints, symbol: int) -> slice:
        begin, end = np.searchsorted(parents, [symbol, symbol + 1])
        return slice(int(begin), int(end))

    def _unary(self, symbol: int, start: int, span: int) -> tuple[float, int]:
        parents, children = self.grammar.unary
        rules = self._rules(parents, symbol)
        if rules.start == rules.stop:
            return np.nan, 0
        scores = self.chart[span][children[rules], start] + self.grammar.unary_scores[rules]
        best = int(scores.argmax())
        return scores[best], int(children[rules][best])

    def _binary(self, symbol: int, start: int, span: int) -> tuple[int, int, int]:
        parents, lefts, rights = self.grammar.binary
        rules = self._rules(parents, symbol)
        found = (-np.inf, 0, 0)
        for split in range(1, span):
            scores = self.chart[split][lefts[rules], start]
            scores = scores + self.chart[span - split][rights[rules], start + split]
            scores += self.grammar.binary_scores[rules]
            best = int(scores.argmax())
            found = max(found, (float(scores[best]), split, best))
        _, split, best = found
        return split, int(lefts[rules][best]), int(rights[rules][best])
