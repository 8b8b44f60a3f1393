"""Outputs that are trees: brackets balance, over exactly the words of the source.

A tree is a sequence of symbols (:mod:`dragoman.core.linear_trees`).  The output so far determines
the symbols that may come next: by the label of the innermost open bracket, and the numbers of open
brackets and of remaining words.  At least one symbol is always possible, and the end symbol once
the tree is complete.  So every finished hypothesis is a tree, and search with an unlimited beam
finds the best of all trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.core.linear_trees import closed, opened
from dragoman.search.constraints import Constraint, PartialOutputs
from dragoman.text.tags import SPACE_SIGN
from dragoman.text.vocabularies import EOS, Vocabularies

LONGEST_CHAIN = 10
"""Maximum brackets opened without a word between; the Penn Treebank's sample has at most 6."""
SMALLEST = 2
"""Symbols of a tree beyond one per word: a root is opened and closed."""

_OTHER, _OPENING, _CLOSING, _LEAF = range(4)


class SentenceTrees(NamedTuple):
    """The symbols of trees, and the number of words in each sentence."""

    symbols: TreeSymbols
    words: Tensor  # (sentences,)


@dataclass(frozen=True)
class TreeSymbols:
    """The pieces of the vocabularies that make a tree."""

    openings: Tensor  # (labels,): ids
    leaves: Tensor  # (tags,): ids
    kinds: Tensor  # (target vocabulary,): kind of each piece
    closing: Tensor  # (target vocabulary,): of an opening bracket, the id that closes it
    begins: Tensor  # (source vocabulary,): words that a piece begins; -1 for a tag

    @classmethod
    def of(cls, vocabularies: Vocabularies) -> TreeSymbols:
        """The symbols that the target vocabulary has.

        Raises:
            ConfigError: they make no tree, so no model with this vocabulary is a parser.
        """
        source, target = vocabularies
        pieces = target.pieces(range(len(target)))
        names = {i: piece[1:] for i, piece in enumerate(pieces) if piece.startswith(SPACE_SIGN)}
        closings = {closed(name): i for i, name in names.items()}
        openings = {
            i: closings[label]
            for i, name in names.items()
            if (label := opened(name)) is not None and label in closings
        }
        brackets = {i for i, name in names.items() if opened(name) or closed(name)}
        leaves = sorted(names.keys() - brackets)
        words = [i for i in range(EOS + 1, len(target)) if i not in target.tags]
        if not openings or not leaves or not names.keys() >= set(words):
            raise ConfigError(
                "search.grammar: trees is for a model that writes trees, and this one's target "
                "vocabulary has no symbols for words and brackets; use one that was trained on "
                "trees with vocabulary.target_kind: word, or set search.grammar: any"
            )
        kinds = torch.full((len(target),), _OTHER, dtype=torch.int8)
        kinds[list(openings)], kinds[list(openings.values())] = _OPENING, _CLOSING
        kinds[leaves] = _LEAF
        closing = torch.zeros(len(target), dtype=torch.int64)
        closing[list(openings)] = torch.tensor(list(openings.values()))
        starts = [piece.startswith(SPACE_SIGN) for piece in source.pieces(range(len(source)))]
        begins = torch.tensor(starts, dtype=torch.int64)
        if not source.tags_alone:
            begins[source.tags] = -1  # each comes after a piece that is a space, and is not a word
        return cls(torch.tensor(list(openings)), torch.tensor(leaves), kinds, closing, begins)

    def to(self, device: torch.device) -> TreeSymbols:
        """A copy on another device."""
        return TreeSymbols(*(tensor.to(device) for tensor in self.__dict__.values()))

    def count_words(self, source: Tensor) -> Tensor:
        """Words of each sentence: ids ``(batch, source)``, padded, to ``(batch,)``."""
        return self.begins[source].sum(1)


class TreeGrammar(Constraint):
    """Every output is a tree over the words of its sentence.

    ``limits`` are maximum output lengths of sentences, ``(sentences,)``.  A sentence of ``n`` words
    has no tree of fewer than ``n + 2`` symbols.
    """

    def __init__(self, trees: SentenceTrees, limits: Tensor) -> None:
        self._symbols, self._words = trees
        self._limits = limits

    @override
    def forbid(self, scores: Tensor, partial: PartialOutputs) -> None:
        symbols, history, length = self._symbols, partial.history, partial.length
        kinds = symbols.kinds[history]  # (rows, length)
        opening = kinds == _OPENING
        steps = opening.long() - (kinds == _CLOSING).long()
        depths = steps.cumsum(1)
        depth = steps.sum(1)  # (rows,), like all that follow
        left = self._words[partial.sentences] - (kinds == _LEAF).sum(1)
        # The innermost open bracket is the last that opened at this depth.
        places = torch.arange(1, length + 1, device=history.device)
        innermost = _last(places * (opening & (depths == depth.unsqueeze(1))))
        chain = length - _last(places * ~opening)
        # The symbols that must follow: the remaining words, and the closing brackets.
        room = self._limits[partial.sentences] - length - left - depth

        may_open = (left > 0) & (room >= SMALLEST) & (chain < LONGEST_CHAIN)
        # The root stays open while words are left, so nothing comes after it.
        may_close = (innermost > 0) & (chain == 0) & ((depth > 1) | (left == 0))
        allowed = torch.zeros_like(scores, dtype=torch.bool)
        allowed[:, symbols.openings] = may_open.unsqueeze(1)
        allowed[:, symbols.leaves] = ((left > 0) & (depth > 0)).unsqueeze(1)
        allowed[:, EOS] = (depth == 0) & (left == 0)
        if length:
            last = history.gather(1, (innermost - 1).clamp(min=0).unsqueeze(1))
            closing = symbols.closing[last]  # (rows, 1)
            allowed.scatter_(1, closing, may_close.unsqueeze(1))
        scores.masked_fill_(~allowed, float("-inf"))


def _last(places: Tensor) -> Tensor:
    """The last place from 1 that is marked, 0 if none is: ``(rows, length)`` to ``(rows,)``."""
    return places.amax(1) if places.size(1) else places.new_zeros(len(places))
