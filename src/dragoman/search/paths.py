"""Following one path per row, in greedy search and sampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.models.interface import select
from dragoman.search.constraints import PartialOutputs, SearchTask, close_dead_ends
from dragoman.search.hypothesis import Hypothesis, steps
from dragoman.search.penalties import HypothesisScorer
from dragoman.text.vocabularies import BOS, EOS

Choose = Callable[[Tensor, PartialOutputs], Tensor]
"""Maps allowed log-probabilities ``(rows, vocabulary)`` and partial outputs to ids ``(rows,)``.

In a row without a finite log-probability, or with NaN or +inf, it takes a piece whose
log-probability is not finite.
"""


def follow_paths(task: SearchTask, choose: Choose, *, paths: int) -> list[list[Hypothesis]]:
    """Extend every path by the piece that ``choose`` selects, until all have ended.

    A sentence leaves the batch when its ``paths`` rows have ended.
    """
    scorer, source = task.scorer, task.source
    hypotheses: list[list[Hypothesis]] = [[] for _ in source]
    limits = task.rules.limits.tolist()
    ranker = HypothesisScorer(scorer, task.source_mask, task.penalties)
    memory = scorer.encode(source, task.source_mask)
    state = scorer.start(memory, paths)
    now = _Paths.first(len(source), paths, source.device)
    while len(now.sentences):
        scores, state = scorer.step(now.previous, memory, state)
        partial = PartialOutputs(now.history, now.sentences.repeat_interleave(paths))
        task.rules.apply(scores[:, 0], partial)
        now = now.extended(scores[:, 0], choose(scores[:, 0], partial))
        done = now.ended.view(-1, paths).all(1)
        if done.any():
            ending = now.only(done)
            places = done.nonzero().flatten().repeat_interleave(paths)
            numbers, outputs, totals = ending.numbers(), ending.outputs(), ending.total.tolist()
            ranked = ranker.scores(outputs, totals, numbers, memory, places)
            for number, ids, score, log_probability, running in zip(
                numbers.tolist(), outputs, ranked, totals, ending.running.tolist(), strict=True
            ):
                ended, each = len(ids) < limits[number], steps(running[: len(ids) + 1])
                hypothesis = Hypothesis(ids, score, log_probability, ended, token_scores=each)
                hypotheses[number].append(hypothesis)
            now = now.only(~done)
            memory = select(memory, (~done).nonzero().flatten())
            state = select(state, (~done).repeat_interleave(paths).nonzero().flatten())
    return hypotheses


@dataclass(frozen=True)
class _Paths:
    """The paths of all sentences in the batch so far."""

    sentences: Tensor  # (sentences,): numbered as when search began
    history: Tensor  # (rows, length), including the end symbol, which is repeated
    total: Tensor  # (rows,): log-probabilities
    running: Tensor  # (rows, length): the total after each piece
    ended: Tensor  # (rows,)

    @classmethod
    def first(cls, sentences: int, paths: int, device: torch.device) -> _Paths:
        """Nothing generated yet."""
        rows = sentences * paths
        return cls(
            torch.arange(sentences, device=device),
            torch.empty((rows, 0), dtype=torch.int64, device=device),
            torch.zeros(rows, device=device),
            torch.empty((rows, 0), device=device),
            torch.zeros(rows, dtype=torch.bool, device=device),
        )

    @property
    def previous(self) -> Tensor:
        """The last piece of each row, ``(rows, 1)``; the begin symbol before the first."""
        if self.history.size(1):
            return self.history[:, -1:]
        return self.history.new_full((len(self.history), 1), BOS)

    def extended(self, scores: Tensor, pieces: Tensor) -> _Paths:
        """Every path extended by one piece; paths that have ended only repeat the end symbol."""
        pieces = pieces.unsqueeze(1)
        gained, pieces = close_dead_ends(scores, scores.gather(1, pieces), pieces)  # (rows, 1)
        pieces = torch.where(self.ended.unsqueeze(1), EOS, pieces)
        total = self.total + gained.squeeze(1).masked_fill(self.ended, 0.0)
        return _Paths(
            self.sentences,
            torch.cat([self.history, pieces], dim=1),
            total,
            torch.cat([self.running, total.unsqueeze(1)], dim=1),
            self.ended | (pieces.squeeze(1) == EOS),
        )

    def only(self, wanted: Tensor) -> _Paths:
        """The sentences where ``wanted`` ``(sentences,)`` is True."""
        rows = wanted.repeat_interleave(len(self.history) // len(self.sentences))
        return _Paths(
            self.sentences[wanted],
            self.history[rows],
            self.total[rows],
            self.running[rows],
            self.ended[rows],
        )

    def numbers(self) -> Tensor:
        """The sentence of each row, ``(rows,)``."""
        return self.sentences.repeat_interleave(len(self.history) // len(self.sentences))

    def outputs(self) -> list[list[int]]:
        """The ids of each row, which has ended, without the end symbol."""
        return [ids[: ids.index(EOS)] for ids in self.history.tolist()]
