"""How well trees are parsed: PARSEVAL's measures as the program EVALB computes them.

EVALB is by Satoshi Sekine and Michael Collins (1997); its parameters are those of its file
``COLLINS.prm``, with which results on the Penn Treebank are reported: the label ``TOP`` and words
tagged as ``, : `` '' .`` do not count, nor do constituents of nothing else, and ``ADVP`` and
``PRT`` are the same label.

Two things differ, so that no system gains by them.  A tree that is malformed, or is over other
words than its reference, has no constituents; EVALB leaves the sentence out.  And the reference's
tags alone decide which words count, so that a system may write none; EVALB leaves a sentence out
if the tags of the two disagree on that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from dragoman.core.constituency import Leaf, Tree, TreeError, cleaned
from dragoman.core.linear_trees import read_either

Status = Literal["valid", "malformed", "missing"]
"""Whether a hypothesis is a tree over the words of its reference; missing if it is empty."""


@dataclass(frozen=True)
class Parameters:
    """The contents of a parameter file of EVALB."""

    name: str
    deleted: frozenset[str] = frozenset()
    """Labels and tags that do not count; a word with such a tag is left out."""
    equal: tuple[tuple[str, str], ...] = ()
    """Labels that are the same: the second, and what it counts as."""

    def label(self, label: str) -> str:
        """The label that stands for all labels equal to this one."""
        return next((one for other, one in self.equal if other == label), label)


COLLINS = Parameters("COLLINS", frozenset(["TOP", ",", ":", "``", "''", "."]), (("PRT", "ADVP"),))
PLAIN = Parameters("plain")
"""Everything counts, as in PYEVALB."""


class Bracket(NamedTuple):
    """A constituent: a label over the words from ``start`` up to ``end``."""

    label: str
    start: int
    end: int

    def crosses(self, other: Bracket) -> bool:
        """Whether the two overlap, and neither is within the other."""
        first, second = sorted((self[1:], other[1:]))
        return first[0] < second[0] < first[1] < second[1]


@dataclass(frozen=True)
class TreeComparison:
    """EVALB's counts for one sentence, or for several together."""

    length: int
    """Words of the reference, with punctuation."""
    gold: int
    """Constituents of the reference."""
    test: int = 0
    """Constituents of the hypothesis."""
    matched: int = 0
    """Constituents that both have."""
    crossing: int = 0
    """Constituents of the hypothesis that cross one of the reference."""
    words: int = 0
    """Words that count."""
    tags: int = 0
    """Of these, those with the same tag in both."""
    status: Status = "valid"

    @property
    def complete(self) -> bool:
        """Whether all constituents match."""
        return self.status == "valid" and self.gold == self.test == self.matched


def compare(hypothesis: str, reference: str, parameters: Parameters = COLLINS) -> TreeComparison:
    """Compare a tree with its reference; each is in brackets or a sequence of symbols.

    Raises:
        TreeError: the reference is no tree.
    """
    return compare_with(hypothesis, read_reference(reference), parameters)


def read_reference(reference: str) -> Tree | None:
    """A tree to compare with; None for a blank line, and for a tree of empty elements.

    Raises:
        TreeError: it is none.
    """
    return cleaned(read_either(reference)) if reference.strip() else None


def compare_with(
    hypothesis: str, gold: Tree | None, parameters: Parameters = COLLINS
) -> TreeComparison:
    """:func:`compare` with a reference that was read; without one there is nothing to compare.

    Raises:
        TreeError: there is a hypothesis without a reference.
    """
    if gold is None:
        if hypothesis.strip():
            raise TreeError("there is no tree, or one of empty elements")
        return TreeComparison(0, 0, status="missing")
    leaves = list(gold.leaves())
    counts = [leaf.tag not in parameters.deleted for leaf in leaves]
    expected = Counter(_brackets(gold, counts, parameters))
    total = TreeComparison(len(leaves), expected.total(), words=sum(counts))
    if not hypothesis.strip():
        return _changed(total, status="missing")
    try:
        test = cleaned(read_either(hypothesis))
    except TreeError:
        test = None
    found = [] if test is None else list(test.leaves())
    if test is None or not _same_words(found, leaves):
        return _changed(total, status="malformed")
    brackets = Counter(_brackets(test, counts, parameters))
    crossing = (one for one in brackets.elements() if any(one.crosses(two) for two in expected))
    pairs = zip(leaves, found, counts, strict=True)
    return _changed(
        total,
        test=brackets.total(),
        matched=(expected & brackets).total(),
        crossing=sum(1 for _ in crossing),
        tags=sum(one.tag == two.tag for one, two, wanted in pairs if wanted),
    )


def _changed(one: TreeComparison, **changes: int | Status) -> TreeComparison:
    return TreeComparison(**{**one.__dict__, **changes})


def _same_words(found: Sequence[Leaf], expected: Sequence[Leaf]) -> bool:
    """Whether two sentences are the same; a sequence of symbols has no words to compare."""
    pairs = zip(found, expected, strict=False)
    return len(found) == len(expected) and all(
        one.word == two.word for one, two in pairs if one.word and two.word
    )


def _brackets(tree: Tree, counts: Sequence[bool], parameters: Parameters) -> Iterator[Bracket]:
    """The constituents that count, numbered by the words that count."""
    places = [0]
    for counted in counts:
        places.append(places[-1] + counted)

    def within(tree: Tree, begin: int) -> tuple[int, list[Bracket]]:
        end, below = begin, []
        for child in tree.children:
            if isinstance(child, Leaf):
                end += 1
            else:
                end, more = within(child, end)
                below += more
        label = parameters.label(tree.label)
        if places[begin] < places[end] and label not in parameters.deleted:
            below.append(Bracket(label, places[begin], places[end]))
        return end, below

    yield from within(tree, 0)[1]
