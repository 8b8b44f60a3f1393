"""Phrases that outputs must contain, and the progress of each hypothesis through them.

The spellings of a sentence's phrases form one trie (Hu et al. 2019, "Improved Lexically Constrained
Decoding for Translation and Monolingual Rewriting", section 3.2), with the failure links of Aho and
Corasick (1975): when a phrase breaks off, the pieces so far may already be the beginning of
another.  All tries of a batch are rows of the same tables, so that one lookup moves every
hypothesis.

A phrase is met where one of its spellings ends.  It is no longer met if the next piece continues
the word, or if a longer phrase grows out of it: ``Haus`` is not met by ``Haushalt`` and, if both
must occur, not by ``Haus und Hof`` either.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import repeat
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

NONE = -1


class Spelling(NamedTuple):
    """One way to spell a phrase in pieces."""

    ids: tuple[int, ...]
    after_word: bool = True
    """Whether this spelling may follow a piece that ends in the middle of a word."""
    within_word: bool = True
    """Whether the next piece may continue its last word."""


Phrase = Sequence[Spelling]
"""The spellings of a phrase; an output needs any of them."""


class WordEdges(NamedTuple):
    """Pieces of a vocabulary that join to their neighbours, each ``(vocabulary,)``, on the CPU."""

    ends_in_word: Tensor
    """True if the last character belongs to a word, so that a piece without a space joins to it."""
    continues_word: Tensor
    """True if the first character joins to a word in front."""


@dataclass(frozen=True)
class PhraseProgress:
    """The progress of each row through its phrases."""

    sentences: Tensor  # (rows,): numbered as when search began
    nodes: Tensor  # (rows,): the longest beginning of a phrase that the row ends in
    met: Tensor  # (rows, phrases): True also where the sentence has fewer
    inside: Tensor  # (rows,): phrase that was met on the way to the node, or NONE
    ended: Tensor  # (rows,): whether the last piece ended a phrase
    open_end: Tensor  # (rows,): phrase that the last piece ended and the next may spoil, or NONE

    def select(self, rows: Tensor) -> PhraseProgress:
        """The given rows, in their order."""
        return PhraseProgress(*(getattr(self, one.name)[rows] for one in fields(self)))

    def replaced(self, where: Tensor, other: PhraseProgress) -> PhraseProgress:
        """Rows of another where ``where`` ``(rows,)`` is True."""
        both = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return PhraseProgress(
            *(
                torch.where(where if mine.dim() == 1 else where.unsqueeze(1), theirs, mine)
                for mine, theirs in both
            )
        )

    @property
    def complete(self) -> Tensor:
        """Rows with all of their phrases, ``(rows,)``."""
        return self.met.all(1)


class PhraseTable:
    """The phrases of each sentence of a batch.

    A phrase has at least one spelling, none of them empty.  At the id ``restart``, counting of
    phrases starts anew.  An output that has begun a phrase by one of its sentence's ``signed``
    pieces must complete it, and then end the word.
    """

    def __init__(
        self,
        phrases: Sequence[Sequence[Phrase]],
        edges: WordEdges,
        device: torch.device,
        restart: int | None = None,
        signed: Sequence[frozenset[int]] | None = None,
    ) -> None:
        self._restart, self.signed = restart, signed is not None and any(signed)
        self.edges = WordEdges(*(tensor.to(device) for tensor in edges))
        width = max(1, *map(len, phrases))
        tries = [
            _Trie(one, width, edges.ends_in_word, pieces)
            for one, pieces in zip(phrases, signed or repeat(frozenset()), strict=False)
        ]
        starts, rows = [0], list[_Row]()
        for trie in tries:
            rows += trie.rows(starts[-1])
            starts.append(len(rows))

        def padded(lists: list[list[int]], empty: int) -> Tensor:
            tensors = [torch.tensor(one or [empty], dtype=torch.int64) for one in lists]
            return pad_sequence(tensors, batch_first=True, padding_value=empty).to(device)

        self._roots = torch.tensor(starts[:-1], device=device)  # (sentences,)
        self._labels = padded([row.labels for row in rows], NONE)  # (nodes, edges)
        self._next = padded([row.targets for row in rows], 0)
        self._next_apart = padded([row.apart for row in rows], 0)
        self._own = padded([row.own for row in rows], 0).bool()
        self._ends = padded([row.ends for row in rows], NONE)  # (nodes, ends)
        self._strict = padded([row.strict for row in rows], 0).bool()
        self._bound = torch.tensor([row.is_bound for row in rows], device=device)  # (nodes,)
        self._gains = padded([row.gains for row in rows], 0)
        self._own_gains = padded([row.own_gains for row in rows], 0)  # (nodes, phrases) both
        needs = [trie.needs for trie in tries]
        self._needs = torch.tensor(needs, dtype=torch.int64, device=device).view(-1, width)
        self.pieces = self._needs.sum(1)
        """The minimum total pieces of each sentence's phrases, ``(sentences,)``."""
        self.most_pieces = max(map(sum, needs), default=0)

    def start(self, sentences: Tensor) -> PhraseProgress:
        """The progress before the first piece; ``sentences`` are those of the rows, ``(rows,)``."""
        none = torch.full_like(sentences, NONE)
        met = self._needs[sentences] == 0
        return PhraseProgress(sentences, self._roots[sentences], met, none, none == 0, none)

    def wanted(self, progress: PhraseProgress) -> Tensor:
        """Pieces that begin or continue phrases, ``(rows, edges)``; ``NONE`` fills rows up."""
        leaves = self.bound(progress).unsqueeze(1) & ~self._own[progress.nodes]
        return self._labels[progress.nodes].masked_fill(leaves, NONE)

    def bound(self, progress: PhraseProgress) -> Tensor:
        """Rows that must complete the phrase that they have begun, ``(rows,)``."""
        return self._bound[progress.nodes] & ~progress.ended

    def spoils(self, progress: PhraseProgress) -> Tensor:
        """Pieces that would continue a word that a signed piece began, ``(rows, vocabulary)``."""
        closed = self._bound[progress.nodes] & (progress.open_end != NONE)
        return closed.unsqueeze(1) & self.edges.continues_word

    def pieces_met(self, progress: PhraseProgress) -> Tensor:
        """Pieces of phrases so far, ``(rows,)``: all but the fewest that must still come."""
        apart = progress.ended.unsqueeze(1)  # pieces of a met phrase begin no other
        gains = torch.where(apart, self._own_gains[progress.nodes], self._gains[progress.nodes])
        begun = gains.masked_fill(progress.met, 0)  # (rows, phrases)
        return self._pieces_of_met(progress) + begun.amax(1)

    def furthers(self, before: PhraseProgress, after: PhraseProgress) -> Tensor:
        """Whether the last piece of ``after`` began, continued or ended a phrase, ``(rows,)``."""
        return self.pieces_met(after) > self._pieces_of_met(before)

    def advance(self, progress: PhraseProgress, pieces: Tensor) -> PhraseProgress:
        """The progress of every row after one more piece; ``pieces`` are ``(rows,)``."""
        known = self._labels[progress.nodes] == pieces.unsqueeze(1)  # (rows, edges)
        edge, found = known.to(torch.uint8).argmax(1, keepdim=True), known.any(1)
        apart = progress.ended.unsqueeze(1)  # pieces of a met phrase begin no other
        onward = torch.where(apart, self._next_apart[progress.nodes], self._next[progress.nodes])
        target = onward.gather(1, edge).squeeze(1)
        # The second root of a sentence is where a word has not ended.
        root = self._roots[progress.sentences] + self.edges.ends_in_word[pieces]
        nodes = torch.where(found, target, root)
        own = found & self._own[progress.nodes].gather(1, edge).squeeze(1)

        spoilt = self.edges.continues_word[pieces] & (progress.open_end != NONE)
        met = _marked(progress.met, torch.where(spoilt, progress.open_end, NONE), value=False)
        inside = progress.inside.masked_fill(~own | spoilt, NONE)

        ends = self._ends[nodes]  # (rows, ends)
        # A longer phrase may replace one that was met on the way.
        free = _marked(met, inside, value=False)
        unmet = (ends != NONE) & ~free.gather(1, ends.clamp(min=0))
        place, ended = unmet.to(torch.uint8).argmax(1, keepdim=True), unmet.any(1)
        phrase = torch.where(ended, ends.gather(1, place).squeeze(1), NONE)
        strict = ended & self._strict[nodes].gather(1, place).squeeze(1)
        met = torch.where(ended.unsqueeze(1), free, met)
        after = PhraseProgress(
            progress.sentences,
            nodes,
            _marked(met, phrase, value=True),
            torch.where(ended, phrase, inside),
            ended,
            torch.where(strict, phrase, NONE),
        )
        if self._restart is None:
            return after
        return after.replaced(pieces == self._restart, self.start(progress.sentences))

    def _pieces_of_met(self, progress: PhraseProgress) -> Tensor:
        return (self._needs[progress.sentences] * progress.met).sum(1)


def _marked(met: Tensor, phrases: Tensor, *, value: bool) -> Tensor:
    """``met`` with one phrase of each row set; ``NONE`` sets nothing."""
    columns = torch.arange(met.size(1), device=met.device)
    chosen = columns == phrases.unsqueeze(1)
    return met | chosen if value else met & ~chosen


@dataclass
class _Row:
    """A node as rows of the tables."""

    labels: list[int]
    targets: list[int]
    apart: list[int]  # the same without failure links, but for a new beginning
    own: list[int]  # whether the edge leads to a child, not over a failure link
    ends: list[int]
    strict: list[int]
    is_bound: bool
    gains: list[int]
    own_gains: list[int]  # without those of the failure


@dataclass
class _Node:
    children: dict[int, int] = field(default_factory=dict)
    after_word: bool = True  # of those right below the root: see Spelling
    is_bound: bool = False  # whether a signed piece leads here
    ends: dict[int, bool] = field(default_factory=dict)  # phrase to whether its end is strict
    left: dict[int, int] = field(default_factory=dict)  # phrase to the fewest further pieces of it
    own_left: dict[int, int] = field(default_factory=dict)  # the same without failure
    edges: dict[int, int] = field(default_factory=dict)  # children, and edges of the failure
    apart: dict[int, int] = field(default_factory=dict)  # children, and edges of the root


class _Trie:
    """The phrases of one sentence; node 0 is the root after a word, node 1 inside a word."""

    def __init__(
        self,
        phrases: Sequence[Phrase],
        width: int,
        ends_in_word: Tensor,
        signed: frozenset[int] = frozenset(),
    ) -> None:
        self._signed = signed
        self.needs = [min(len(spelling.ids) for spelling in phrase) for phrase in phrases]
        self._width = width
        self._nodes = [_Node(), _Node()]
        # Phrases with few spellings come first: they have less choice.
        for number in sorted(range(len(phrases)), key=lambda n: len(phrases[n])):
            for spelling in phrases[number]:
                self._add(number, spelling)
        self._link(ends_in_word)
        self.needs += [0] * (width - len(phrases))

    def _add(self, number: int, spelling: Spelling) -> None:
        place, length = 0, len(spelling.ids)
        for depth, piece in enumerate(spelling.ids):
            above, node = place, self._nodes[place].children.get(piece)
            if node is None:
                node = self._nodes[place].children[piece] = len(self._nodes)
                is_bound = piece in self._signed or self._nodes[place].is_bound
                self._nodes.append(_Node(after_word=spelling.after_word, is_bound=is_bound))
            place, left = node, self._nodes[node].left
            if not above:
                self._nodes[node].after_word |= spelling.after_word
            if depth + 1 < length:
                left[number] = min(left.get(number, length), length - depth - 1)
        ends = self._nodes[place].ends
        ends[number] = ends.get(number, True) and not spelling.within_word

    def _link(self, ends_in_word: Tensor) -> None:
        """Add to each node the edges of its failure: the longest beginning that it ends in."""
        root, in_word = self._nodes[:2]
        root.edges = dict(root.children)
        in_word.edges = {
            piece: place for piece, place in root.children.items() if self._nodes[place].after_word
        }
        root.apart, in_word.apart = root.edges, in_word.edges
        waiting = deque(
            (place, int(ends_in_word[piece]), piece) for piece, place in root.edges.items()
        )
        while waiting:  # from the root downwards, so that failures are complete
            place, failed, last = waiting.popleft()
            node, failure = self._nodes[place], self._nodes[failed]
            node.edges = {**failure.edges, **node.children}
            start = self._nodes[int(ends_in_word[last])].edges
            new = {piece: start.get(piece, int(ends_in_word[piece])) for piece in node.edges}
            node.apart = {**new, **node.children}
            node.ends |= {n: strict for n, strict in failure.ends.items() if n not in node.ends}
            node.own_left = dict(node.left)
            for number, left in failure.left.items():
                node.left[number] = min(left, node.left.get(number, left))
            for piece, child in node.children.items():
                other = failure.edges.get(piece, int(ends_in_word[piece]))
                waiting.append((child, other, piece))

    def rows(self, offset: int) -> Iterator[_Row]:
        """The rows of its nodes, the first of which has number ``offset``."""
        for node in self._nodes:
            yield _Row(
                list(node.edges),
                [offset + target for target in node.edges.values()],
                [offset + node.apart[piece] for piece in node.edges],
                [int(node.children.get(piece) == to) for piece, to in node.edges.items()],
                list(node.ends),
                [int(strict) for strict in node.ends.values()],
                node.is_bound,
                self._gains(node.left),
                self._gains(node.own_left),
            )

    def _gains(self, left: dict[int, int]) -> list[int]:
        """The pieces met of each phrase, given the numbers of pieces left."""
        gains = [0] * self._width
        for number, count in left.items():
            gains[number] = max(0, self.needs[number] - count)
        return gains
