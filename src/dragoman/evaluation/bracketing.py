"""PARSEVAL's measures of parsers as the program EVALB computes them, and metrics of a corpus.

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
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

from typing_extensions import override

from dragoman.core.constituency import Leaf, Tree, TreeError, cleaned
from dragoman.core.errors import DataError
from dragoman.core.linear_trees import read_either
from dragoman.evaluation.metric import Statistics, SummedMetric
from dragoman.evaluation.metrics import check_parallel

Status = Literal["valid", "malformed", "missing"]
"""Whether a hypothesis is a tree over the words of its reference; missing if it is empty."""
_COUNTS = ("gold", "test", "matched", "words", "tags", "complete", "malformed", "sentences")
"""The statistics of a sentence."""


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

    If the reference is blank, or a tree of empty elements, there is nothing to compare.

    Raises:
        TreeError: the reference is no tree, or there is a hypothesis without a reference.
    """
    gold = cleaned(read_either(reference)) if reference.strip() else None
    if gold is None:
        if hypothesis.strip():
            raise TreeError("there is no tree, or one of empty elements")
        return TreeComparison(0, 0, status="missing")
    leaves = list(gold.leaves())
    counts = [leaf.tag not in parameters.deleted for leaf in leaves]
    expected = Counter(_brackets(gold, counts, parameters))
    total = TreeComparison(len(leaves), expected.total(), words=sum(counts))
    if not hypothesis.strip():
        return replace(total, status="missing")
    try:
        test = cleaned(read_either(hypothesis))
    except TreeError:
        test = None
    found = [] if test is None else list(test.leaves())
    if test is None or not _same_words(found, leaves):
        return replace(total, status="malformed")
    brackets = Counter(_brackets(test, counts, parameters))
    crossing = (one for one in brackets.elements() if any(one.crosses(two) for two in expected))
    pairs = zip(leaves, found, counts, strict=True)
    return replace(
        total,
        test=brackets.total(),
        matched=(expected & brackets).total(),
        crossing=sum(1 for _ in crossing),
        tags=sum(one.tag == two.tag for one, two, wanted in pairs if wanted),
    )


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


def compare_all(
    hypotheses: Sequence[str], references: Sequence[str], parameters: Parameters = COLLINS
) -> list[TreeComparison]:
    """Compare trees one by one; where both sides are blank, the sentence is missing.

    Raises:
        DataError: there are no lines, their numbers differ, or a reference is no tree; the message
            names its line.
    """
    check_parallel(hypotheses, [references])
    compared = []
    for number, (hypothesis, reference) in enumerate(zip(hypotheses, references, strict=True), 1):
        try:
            compared.append(compare(hypothesis, reference, parameters))
        except TreeError as error:
            raise DataError(
                f"references: line {number} is no tree to score against ({error}): "
                f"{reference[:60]!r}"
            ) from error
    return compared


class TreeMetric(SummedMetric):
    """A metric of trees, in brackets or as sequences of symbols, with one reference each.

    Its value is a percentage over all sentences: those without a well-formed tree count as trees
    without constituents.  Lines that are blank on both sides are no sentences.
    """

    output = "trees"
    part: ClassVar[str]
    """The count in the numerator."""
    whole: ClassVar[tuple[str, ...]]
    """The counts in the denominator; the mean of several."""

    @override
    def statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> Statistics:
        if len(references) != 1:
            raise DataError(
                f"{self.name}: a tree is scored against one reference, not {len(references)}"
            )
        return [
            self._counts(hypothesis, reference)
            for hypothesis, reference in zip(hypotheses, references[0], strict=True)
        ]

    @override
    def value(self, sums: Sequence[float]) -> float:
        counts = dict(zip(_COUNTS, map(float, sums), strict=True))
        total = sum(counts[name] for name in self.whole)
        return 100 * (len(self.whole) * counts[self.part]) / total if total else 0.0

    @override
    def details(self, references: int) -> dict[str, Any]:
        return {"parameters": COLLINS.name}

    @override
    def check_references(self, references: Sequence[str]) -> None:
        try:
            compare_all(references, references)
        except DataError as error:
            raise DataError(f"{self.name}: {error}; score text by another metric") from error

    def _counts(self, hypothesis: str, reference: str) -> list[int]:
        try:
            found = compare(hypothesis, reference)
        except TreeError as error:
            raise DataError(
                f"{self.name}: a reference is no tree ({error}): {reference[:60]!r}; score text "
                "by another metric"
            ) from error
        if not found.length:
            return [0] * len(_COUNTS)
        counts = (found.gold, found.test, found.matched, found.words, found.tags)
        return [*counts, int(found.complete), int(found.status != "valid"), 1]


class BracketingF1(TreeMetric):
    """F1 of constituents."""

    name, title, label = "bracketing_f1", "bracketing f1", "bracketing F1"
    progress = "bracketing F1 {:.2f}"
    part, whole = "matched", ("gold", "test")


class BracketingRecall(TreeMetric):
    """Recall of constituents."""

    name, title, label = "bracketing_recall", "bracketing recall", "bracketing recall"
    part, whole = "matched", ("gold",)


class BracketingPrecision(TreeMetric):
    """Precision of constituents."""

    name, title, label = "bracketing_precision", "bracketing precision", "bracketing precision"
    part, whole = "matched", ("test",)


class CompleteMatch(TreeMetric):
    """Sentences with all the constituents of the reference, and no others."""

    name, title, label = "complete_match", "complete match", "complete match, %"
    part, whole = "complete", ("sentences",)


class TaggingAccuracy(TreeMetric):
    """Words with the right part of speech."""

    name, title, label = "tagging_accuracy", "tagging accuracy", "tagging accuracy, %"
    part, whole = "tags", ("words",)


class MalformedTrees(TreeMetric):
    """Sentences without a well-formed tree."""

    name, title, label = "malformed_trees", "malformed trees", "malformed trees, %"
    progress = "malformed {:.2f} %"
    higher_is_better = False
    part, whole = "malformed", ("sentences",)
