"""A probabilistic context-free grammar, estimated from a treebank by relative frequency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dragoman.core.constituency import Leaf, Tree
from studies.chart_parser.binarisation import ROOT

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.intp]
Rule = tuple[str, tuple[str, ...]]
"""A constituent, and its children."""


def rules_of(tree: Tree) -> Iterator[Rule]:
    """The rules that a tree uses; those that write words are the lexicon's."""
    yield tree.label, tuple(_name(child) for child in tree.children)
    for child in tree.children:
        if isinstance(child, Tree):
            yield from rules_of(child)


def _name(child: Tree | Leaf) -> str:
    return child.tag if isinstance(child, Leaf) else child.label


@dataclass(frozen=True)
class Grammar:
    """Rules as arrays, sorted by parent, which is how a chart reads them."""

    symbols: tuple[str, ...]
    """Labels of constituents and tags; a number below is a place here."""
    binary: tuple[Ints, Ints, Ints]
    """Parent, left and right child of each rule with two children; ``(rules,)`` each."""
    binary_scores: Floats
    """Their log-probabilities."""
    unary: tuple[Ints, Ints]
    """Parent and child of each rule with one child."""
    unary_scores: Floats
    """Their log-probabilities."""

    @classmethod
    def estimated(cls, trees: Iterable[Tree]) -> Grammar:
        """The grammar of binarised trees: a rule's share of its parent's rules."""
        counts = Counter(rule for tree in trees for rule in rules_of(tree))
        parents: Counter[str] = Counter()
        for (parent, _), count in counts.items():
            parents[parent] += count
        return cls.of({rule: count / parents[rule[0]] for rule, count in counts.items()})

    @classmethod
    def of(cls, probabilities: dict[Rule, float]) -> Grammar:
        """The grammar of these rules, of one or two children, with their probabilities.

        A rule that makes a constituent of itself alone is left out: no best tree uses it.
        """
        names = {ROOT, *(name for parent, right in probabilities for name in (parent, *right))}
        symbols = tuple(sorted(names))
        number = {name: place for place, name in enumerate(symbols)}
        two, one = [], []
        for (parent, right), probability in sorted(probabilities.items()):
            row = (number[parent], *(number[name] for name in right))
            if len(right) == 2:
                two.append((row, probability))
            elif right[0] != parent:
                one.append((row, probability))
        binary, binary_scores = _arrays(two, 3)
        unary, unary_scores = _arrays(one, 2)
        return cls(
            symbols,
            (binary[0], binary[1], binary[2]),
            binary_scores,
            (unary[0], unary[1]),
            unary_scores,
        )


def _arrays(rows: list[tuple[tuple[int, ...], float]], width: int) -> tuple[Ints, Floats]:
    numbers = np.array([row for row, _ in rows], dtype=np.intp).reshape(-1, width)
    scores = np.log(np.array([probability for _, probability in rows], dtype=np.float64))
    return np.ascontiguousarray(numbers.T), scores.astype(np.float32)
