"""Outputs have the inline tags of their source: each exactly once, in the same nesting.

Hanneman and Dinu 2020 (section 5) report models that lose, double or cross tags; this constraint
prevents it.  The output so far determines the tags that may come next.  A tag may come while the
innermost open pair is the one that encloses it in the source.  A pair closes once all tags within
it have come.  The end symbol waits for the last tag, and once the remaining length only suffices
for the missing tags, tags follow.  So every output has the structure of its source, independently
of the model's scores.

A source whose tags are not well-formed (one occurs twice, is not closed, or two cross) has no
structure: its symbols then come as often as in the source, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from typing_extensions import override

from dragoman.search.constraints import (
    FREE,
    Constraint,
    PartialOutputs,
    Requirement,
    some_probability,
)
from dragoman.text.inline_tags import InlineTags, pair_symbols, point_symbol, structure
from dragoman.text.vocabularies import EOS, Vocabularies

_IMPOSSIBLE = float("-inf")


@dataclass(frozen=True)
class TagSymbols:
    """The symbols of inline tags in the vocabularies.

    A symbol has a slot: the openings of all pairs come first, then their ends, then the points.
    """

    pairs: int
    names: tuple[str, ...]  # by slot
    ids: Tensor  # (slots,): of the target vocabulary
    slots: Tensor  # (target vocabulary,): of each piece; `len(names)` if not a symbol
    sources: Tensor  # (source vocabulary,): the same there

    @classmethod
    def of(cls, vocabularies: Vocabularies, inline_tags: InlineTags) -> TagSymbols:
        """The symbols of a model trained with ``inline_tags``.

        Raises:
            ConfigError: a vocabulary lacks a symbol.
        """
        pairs = [pair_symbols(number) for number in range(1, inline_tags.pairs + 1)]
        names = (
            *(begin for begin, _ in pairs),
            *(end for _, end in pairs),
            *(point_symbol(number) for number in range(1, inline_tags.points + 1)),
        )
        ids, slots = [], []
        for vocabulary in (vocabularies.target, vocabularies.source):
            ids.append(torch.tensor([vocabulary.tag(name) for name in names]))
            table = torch.full((len(vocabulary),), len(names))
            table[ids[-1]] = torch.arange(len(names))
            slots.append(table)
        return cls(len(pairs), names, ids[0], slots[0], slots[1])

    def to(self, device: torch.device) -> TagSymbols:
        """A copy on another device."""
        if self.ids.device == device:
            return self
        tensors = (one.to(device) for one in (self.ids, self.slots, self.sources))
        return TagSymbols(self.pairs, self.names, *tensors)

    def plan(self, source: Tensor) -> TagPlan | None:
        """The tags of a batch of sources ``(batch, source)``; None if it has none."""
        slots = self.sources[source]
        if not bool((slots < len(self.names)).any()):
            return None
        rows = [[slot for slot in row if slot < len(self.names)] for row in slots.tolist()]
        return TagPlan.of(self, rows)


@dataclass(frozen=True)
class TagPlan:
    """The tags that the outputs of a batch must have."""

    symbols: TagSymbols
    needed: Tensor  # (sentences, slots): how often
    parents: Tensor  # (sentences, pairs + points): the pair it is within; `pairs` at the top
    depths: Tensor  # (sentences, pairs): from 1; 0 where the source has no such pair
    nested: Tensor  # (sentences,): whether the source is well-formed

    @classmethod
    def of(cls, symbols: TagSymbols, rows: Sequence[Sequence[int]]) -> TagPlan:
        """A plan for sentences with these slots, in the order of each."""
        pairs, slots, device = symbols.pairs, len(symbols.names), symbols.ids.device
        needed = [[0] * slots for _ in rows]
        parents = [[pairs] * (slots - pairs) for _ in rows]
        depths = [[0] * pairs for _ in rows]
        nested = []
        for number, row in enumerate(rows):
            for slot in row:
                needed[number][slot] += 1
            within = structure(symbols.names[slot] for slot in row)
            nested.append(within is not None)
            for name, parent in within or ():
                slot = symbols.names.index(name)
                node = slot if slot < pairs else slot - pairs
                parents[number][node] = pairs if parent is None else symbols.names.index(parent)
            for slot in row if within is not None else ():
                if slot < pairs:
                    above = parents[number][slot]  # which came before it
                    depths[number][slot] = 1 + (depths[number][above] if above < pairs else 0)
        return cls(
            symbols,
            *(torch.tensor(one, device=device) for one in (needed, parents, depths, nested)),
        )

    @property
    def totals(self) -> Tensor:
        """Symbols of each sentence, ``(sentences,)``."""
        return self.needed.sum(1)


class TagStructure(Constraint, Requirement):
    """A constraint and requirement: outputs have their source's tags, in the same nesting.

    ``limits`` are maximum output lengths of sentences, ``(sentences,)``, not below their tags.
    """

    def __init__(self, plan: TagPlan, limits: Tensor) -> None:
        self._plan, self._limits = plan, limits

    @override
    def forbid(self, scores: Tensor, partial: PartialOutputs) -> None:
        ids = self._plan.symbols.ids
        left = self._left(partial)  # (rows, slots)
        allowed = self._allowed(left, partial)
        missing = left.sum(1)  # (rows,)
        values = scores[:, ids]
        scores[:, ids] = values.masked_fill(~allowed, _IMPOSSIBLE)
        unfinished = missing > 0
        scores[:, EOS] = scores[:, EOS].masked_fill(unfinished, _IMPOSSIBLE)
        # If every piece is impossible, a tag gets the lowest probability.
        bound = (unfinished & ~scores.amax(1).isfinite()).nonzero().flatten()
        if len(bound):
            kept = some_probability(values[bound]).masked_fill(~allowed[bound], _IMPOSSIBLE)
            scores.index_fill_(0, bound, _IMPOSSIBLE)
            scores[bound.unsqueeze(1), ids] = kept

    @override
    def required(self, partial: PartialOutputs) -> Tensor:
        left = self._left(partial)
        missing = left.sum(1)
        allowed = self._allowed(left, partial)
        full = (missing > 0) & (missing >= self._limits[partial.sentences] - partial.length)
        full &= allowed.any(1)  # after a prefix with other tags than the source's, none may fit
        first = allowed.long().argmax(1)
        return torch.where(full, self._plan.symbols.ids[first], FREE)

    def missing(self, partial: PartialOutputs) -> Tensor:
        """The number of tags that must still come, ``(rows,)``."""
        return self._left(partial).sum(1)

    def _left(self, partial: PartialOutputs) -> Tensor:
        """The number of times that each symbol must still come, ``(rows, slots)``."""
        return (self._plan.needed[partial.sentences] - self._counts(partial)).clamp(min=0)

    def _counts(self, partial: PartialOutputs) -> Tensor:
        symbols = self._plan.symbols
        slots = symbols.slots[partial.history]  # (rows, length)
        counts = slots.new_zeros((len(slots), len(symbols.names) + 1))
        return counts.scatter_add_(1, slots, torch.ones_like(slots))[:, :-1]

    def _allowed(self, left: Tensor, partial: PartialOutputs) -> Tensor:
        """Whether each symbol may come next, ``(rows, slots)``."""
        plan, pairs = self._plan, self._plan.symbols.pairs
        rows = partial.sentences
        open_pairs = (left[:, pairs : 2 * pairs] > 0) & (left[:, :pairs] == 0)
        depth, innermost = (plan.depths[rows] * open_pairs).max(1)  # of the open pairs
        innermost = innermost.masked_fill(depth == 0, pairs)  # (rows,)
        inside = torch.cat([left[:, :pairs], left[:, 2 * pairs :]], 1) > 0  # (rows, nodes)
        inside &= plan.parents[rows] == innermost.unsqueeze(1)
        closing = torch.arange(pairs, device=left.device) == innermost.unsqueeze(1)
        closing &= ~inside.any(1, keepdim=True)
        allowed = torch.cat([inside[:, :pairs], closing, inside[:, pairs:]], 1)
        return torch.where(plan.nested[rows].unsqueeze(1), allowed, left > 0)
