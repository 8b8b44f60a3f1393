"""How probable a word is with each tag, also if the treebank does not have it.

As in Klein and Manning (2003), section 3, and the Stanford parser: the treebank's share of a tag
among the occurrences of a word is smoothed by its share among rare words of the same class, and
divided by the tag's own share, which gives P(word | tag) up to a factor that all tags have in
common.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dragoman.core.constituency import Leaf, Tree

_RARE = 3
"""Words of up to this many occurrences say how unknown words behave."""
_WEIGHT = 1.0
"""Occurrences that a class counts as beside those of a word, and a class beside a narrower one."""
_LONGEST_SUFFIX = 4
_DIGIT = re.compile(r"\d")


def classes(word: str, first: bool) -> Iterator[str]:
    """Classes of a word, the widest first: shape, then shape and longer and longer suffixes.

    Args:
        word: a word of the treebank.
        first: whether it begins the sentence, where a capital says little.
    """
    if _DIGIT.search(word):
        shape = "digits" if not any(sign.isalpha() for sign in word) else "digits and letters"
    elif not any(sign.isalpha() for sign in word):
        shape = "signs"
    elif word[:1].isupper():
        shape = "first capital" if first else "CAPITALS" if word.isupper() else "capital"
    else:
        shape = "small"
    if "-" in word[1:-1]:
        shape += ", hyphen"
    yield shape
    for length in range(1, min(_LONGEST_SUFFIX, len(word) - 1) + 1):
        yield f"{shape} -{word[-length:].lower()}"


def _read(tree: Tree) -> Iterator[tuple[Leaf, bool]]:
    for place, leaf in enumerate(tree.leaves()):
        yield leaf, place == 0


@dataclass
class Lexicon:
    """Counts of tags."""

    words: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By word."""
    rare: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By class, of rare words; the empty class is of all of them."""
    tags: Counter[str] = field(default_factory=Counter)
    """Of all words."""

    @classmethod
    def estimated(cls, trees: Iterable[Tree]) -> Lexicon:
        """The lexicon of a treebank."""
        found = cls()
        read = [one for tree in trees for one in _read(tree)]
        for leaf, _ in read:
            found.words[leaf.word][leaf.tag] += 1
            found.tags[leaf.tag] += 1
        for leaf, first in read:
            if found.words[leaf.word].total() <= _RARE:
                for name in ("", *classes(leaf.word, first)):
                    found.rare[name][leaf.tag] += 1
        return found

    def scores(self, word: str, first: bool) -> dict[str, float]:
        """``log P(tag | word) - log P(tag)`` of each tag that is possible."""
        shares = self._of_class(word, first)
        if word in self.words:
            counts = self.words[word]
            total = counts.total() + _WEIGHT
            shares = {
                tag: (counts[tag] + _WEIGHT * shares.get(tag, 0.0)) / total
                for tag in {*shares, *counts}
            }
        return {
            tag: math.log(share) - self.log_share(tag) for tag, share in shares.items() if share > 0
        }

    def log_share(self, tag: str) -> float:
        """``log P(tag)``."""
        return math.log(self.tags[tag] / self.tags.total())

    def _of_class(self, word: str, first: bool) -> dict[str, float]:
        """``P(tag | class)`` of a word, each class smoothed by the one that contains it."""
        shares = {tag: count / self.tags.total() for tag, count in self.tags.items()}
        for name in ("", *classes(word, first)):
            if name in self.rare:
                counts = self.rare[name]
                total = counts.total() + _WEIGHT
                shares = {
                    tag: (counts[tag] + _WEIGHT * share) / total for tag, share in shares.items()
                }
        return shares
