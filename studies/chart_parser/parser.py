"""A treebank becomes a parser: binarisation, grammar, lexicon and chart together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.constituency import Leaf, Tree, cleaned, read_trees
from dragoman.core.errors import DataError
from dragoman.text.lines import read_lines
from studies.chart_parser.binarisation import Markovisation, restored
from studies.chart_parser.chart import ChartParser
from studies.chart_parser.grammar import Grammar
from studies.chart_parser.lexicon import Lexicon


def read_treebank(path: Path) -> list[Tree]:
    """The trees of a file as parsers learn them.

    Raises:
        DataError: a tree is none, or there are none.
    """
    found = (tree for _, tree in read_trees(read_lines(path), str(path)) if tree is not None)
    trees = [tree for one in found if (tree := cleaned(one)) is not None]
    if not trees:
        raise DataError(f"{path}: no tree; give a file of trees in brackets")
    return trees


@dataclass(frozen=True)
class Parser:
    """A trained parser."""

    chart: ChartParser
    lexicon: Lexicon

    @classmethod
    def trained(cls, trees: Sequence[Tree], markovisation: Markovisation) -> Parser:
        """The parser of a treebank."""
        binarised = [markovisation.binarised(tree) for tree in trees]
        return cls(ChartParser(Grammar.estimated(binarised)), Lexicon.estimated(binarised))

    def size(self) -> dict[str, int]:
        """Symbols and rules."""
        grammar = self.chart.grammar
        return {
            "symbols": len(grammar.symbols),
            "binary_rules": len(grammar.binary_scores),
            "unary_rules": len(grammar.unary_scores),
        }

    def parse(self, words: Sequence[str]) -> Tree | None:
        """The most probable tree over ``words``; None if the grammar has none."""
        scores = [self.lexicon.scores(word, place == 0) for place, word in enumerate(words)]
        found = self.chart.best(words, scores)
        return None if found is None else restored(found[0])

    def flat(self, words: Sequence[str]) -> Tree:
        """A sentence of its words' most probable tags, for one that the grammar has no tree for."""
        leaves = []
        for place, word in enumerate(words):
            scores = self.lexicon.scores(word, place == 0)
            share = {tag: score + self.lexicon.log_share(tag) for tag, score in scores.items()}
            best = max(share, key=lambda tag: share[tag])
            leaves.append(Leaf(best.split()[0], word))
        return Tree("S", tuple(leaves))
