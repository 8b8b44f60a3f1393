"""Beam search with the paper's length penalty (Vaswani et al. 2017, section 6.1).

A sentence keeps up to ``beam`` unfinished hypotheses.  One that takes the end symbol is finished
if it is among the ``beam`` best continuations of that step.  At the length limit only the end
symbol may follow, so there search ends at the latest.

**The exact end** follows the paper's own program and uses a bound (Wu et al. 2016, section 7).  A
log-probability ``s`` is never above 0 and can only fall, so the largest divisor is the most
favourable, and that is the one at the sentence's length limit: an unfinished hypothesis can score
at best ``s / lp(limit + 1)``, and coverage can only lower that.  All unfinished hypotheses of a
sentence are equally long, so the bound of the likeliest holds for all of them and for every
continuation of them.  If it is below the score of the ``nbest``-th best finished hypothesis, no
later hypothesis can enter the n-best list, and the sentence is done.

No exact rule ends sooner: a scorer that is certain of every later piece, up to the limit, reaches
the bound, and only running it shows whether it is.  The larger ``alpha``, the later the bound is
met.

**The quick end** also comes as soon as ``beam`` hypotheses are finished, as in many toolkits.  A
longer hypothesis that would have won under the length penalty is then lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from dragoman.models.interface import select
from dragoman.search.constraints import PartialOutputs, SearchTask, close_dead_ends
from dragoman.search.hypothesis import Hypothesis, rank, steps
from dragoman.search.penalties import HypothesisScorer, length_penalty
from dragoman.search.ranking import best
from dragoman.text.vocabularies import BOS, EOS

EarlyEnd = Literal["exact", "quick"]

_IMPOSSIBLE = float("-inf")


def beam_search(
    task: SearchTask, *, beam: int, nbest: int, early_end: EarlyEnd = "exact"
) -> list[list[Hypothesis]]:
    """The ``nbest`` best finished hypotheses of each sentence, distinct, best first.

    Args:
        task: the batch.
        beam: maximum unfinished hypotheses per sentence.
        nbest: hypotheses wanted, at most ``beam``; fewer are returned where fewer are possible.
        early_end: when search for a sentence may end before the length limit; ``quick`` with a
            beam of one is greedy search.
    """
    scorer, source, rules = task.scorer, task.source, task.rules
    memory = scorer.encode(source, task.source_mask)
    state = scorer.start(memory)
    finished = Finished.of(task, beam, nbest, early_end)
    beams: Beams | None = None
    sentences = torch.arange(len(source), device=source.device)
    while len(sentences):
        previous = beams.history[:, -1:] if beams else source.new_full((len(source), 1), BOS)
        log_probabilities, state = scorer.step(previous, memory, state)
        scores = log_probabilities[:, 0]  # (sentences * width, vocabulary)
        # One empty hypothesis per sentence: copies of it would all grow in the same way.
        beams = beams or Beams.first(len(source), 1, scores)
        width = beams.scores.size(1)
        rules.apply(scores, PartialOutputs(beams.history, sentences.repeat_interleave(width)))
        candidates = _continuations(beams, scores, beam)
        finished.add(sentences, memory, beams, candidates)
        kept = candidates.unfinished(beam)  # (sentences, beam), or fewer of a small vocabulary

        staying = finished.unsettled(sentences, kept.scores[:, 0]).nonzero().flatten()
        rows = (staying.unsqueeze(1) * width + kept.parents[staying]).flatten()
        if len(staying) < len(sentences):
            sentences, memory = sentences[staying], select(memory, staying)
        state = select(state, rows)
        beams = beams.extended(rows, kept.scores[staying], kept.pieces[staying])
    return finished.hypotheses


@dataclass(frozen=True)
class Beams:
    """The unfinished hypotheses of every sentence in the batch, best first."""

    scores: Tensor  # (sentences, width): log-probabilities; -inf where there is no hypothesis
    history: Tensor  # (sentences * width, length)
    running: Tensor  # (sentences * width, length): the log-probability up to each piece

    @classmethod
    def first(cls, sentences: int, beam: int, like: Tensor) -> Beams:
        """The state before the first step: one possible hypothesis for each sentence."""
        scores = like.new_full((sentences, beam), _IMPOSSIBLE)
        scores[:, 0] = 0.0
        empty = torch.empty((sentences * beam, 0), dtype=torch.int64, device=like.device)
        return cls(scores, empty, scores.new_empty(empty.shape))

    def extended(self, rows: Tensor, scores: Tensor, pieces: Tensor) -> Beams:
        """Hypotheses one piece further.

        Args:
            rows: the hypotheses that go on, ``(sentences * width,)``.
            scores: of the continuations, ``(sentences, width)``.
            pieces: the pieces to add, ``(sentences, width)``.
        """
        history = torch.cat([self.history[rows], pieces.view(-1, 1)], dim=1)
        return Beams(scores, history, torch.cat([self.running[rows], scores.view(-1, 1)], dim=1))


@dataclass(frozen=True)
class Candidates:
    """Continuations of every sentence's hypotheses, best first."""

    scores: Tensor  # (sentences, candidates)
    parents: Tensor  # (sentences, candidates): the beam that each continues
    pieces: Tensor  # (sentences, candidates): the piece that each adds

    def unfinished(self, beam: int) -> Candidates:
        """The ``beam`` best that do not end."""
        ending = self.pieces == EOS
        scores = self.scores.masked_fill(ending, _IMPOSSIBLE)
        # Those that do not end come first, in their order: (sentences, beam)
        order = ending.to(torch.uint8).sort(dim=1, stable=True).indices[:, :beam]
        return Candidates(
            scores.gather(1, order), self.parents.gather(1, order), self.pieces.gather(1, order)
        )


def _continuations(beams: Beams, scores: Tensor, beam: int) -> Candidates:
    """The ``2 * beam`` best continuations: at most ``beam`` of them end, and ``beam`` remain.

    ``scores`` are log-probabilities of next pieces, ``(sentences * width, vocabulary)``.
    """
    sentences, width = beams.scores.shape
    each = min(beam + 1, scores.size(1))  # one hypothesis gives at most beam, and one that ends
    values, pieces = close_dead_ends(scores, *best(scores, each))  # (sentences * width, each)
    # (sentences, width, 1) + (sentences, width, each), then (sentences, width * each)
    totals = (beams.scores.unsqueeze(2) + values.reshape(sentences, width, each)).flatten(1)
    totals, order = totals.sort(dim=1, descending=True, stable=True)
    totals, order = totals[:, : 2 * beam], order[:, : 2 * beam]  # (sentences, candidates)
    return Candidates(totals, order // each, pieces.flatten().view(sentences, -1).gather(1, order))


class Finished:
    """The ``nbest`` best finished hypotheses of every sentence, numbered as when search began.

    Args:
        limits: maximum output length of each sentence in pieces, ``(sentences,)``.
        ranker: scores hypotheses.
        beam: how many of a step's best continuations may finish.
        nbest: hypotheses wanted per sentence.
        quick: whether a sentence is also done when ``beam`` hypotheses are finished.
    """

    def __init__(
        self, limits: Tensor, ranker: HypothesisScorer, beam: int, nbest: int, *, quick: bool
    ) -> None:
        self._limits: list[int] = limits.tolist()
        self._ranker, self._beam, self._nbest, self._quick = ranker, beam, nbest, quick
        self.hypotheses: list[list[Hypothesis]] = [[] for _ in self._limits]
        self._counts = torch.zeros_like(limits)
        divisors = [length_penalty(limit + 1, ranker.penalties.length) for limit in self._limits]
        self._kindest = torch.tensor(divisors, dtype=torch.float64, device=limits.device)
        # The lowest score of a full n-best list. An equal score may still enter, by lower ids.
        self._thresholds = torch.full_like(self._kindest, _IMPOSSIBLE)

    @classmethod
    def of(cls, task: SearchTask, beam: int, nbest: int, early_end: EarlyEnd) -> Finished:
        """No hypotheses yet of a batch."""
        ranker = HypothesisScorer(task.scorer, task.source_mask, task.penalties)
        return cls(task.rules.limits, ranker, beam, nbest, quick=early_end == "quick")

    def found(self, sentences: Tensor) -> Tensor:
        """Whether sentences have a finished hypothesis, ``(sentences,)``."""
        return self._counts[sentences] > 0

    def add(self, sentences: Tensor, memory: Any, beams: Beams, candidates: Candidates) -> None:
        """Keep those of the ``beam`` best candidates that end and may enter the n-best list."""
        scores = candidates.scores[:, : self._beam]  # (sentences, beam)
        ending = (candidates.pieces[:, : self._beam] == EOS) & scores.isfinite()
        self._counts[sentences] += ending.sum(1)
        history, width = beams.history, beams.scores.size(1)
        divisor = length_penalty(history.size(1) + 1, self._ranker.penalties.length)
        promising = scores.double() / divisor >= self._thresholds[sentences].unsqueeze(1)
        places, ranks = (ending & promising).nonzero(as_tuple=True)  # (new hypotheses,) each
        rows = places * width + candidates.parents[places, ranks]  # of history
        numbers, outputs = sentences[places], history[rows].tolist()
        totals, running = scores[places, ranks].tolist(), beams.running[rows].tolist()
        ranked = self._ranker.scores(outputs, totals, numbers, memory, places)
        for number, ids, log_probability, score, before in zip(
            numbers.tolist(), outputs, totals, ranked, running, strict=True
        ):
            ended, each = len(ids) < self._limits[number], steps([*before, log_probability])
            new = Hypothesis(ids, score, log_probability, ended, token_scores=each)
            self.hypotheses[number] = rank([*self.hypotheses[number], new])[: self._nbest]
        lowest = [self._lowest(number) for number in numbers.tolist()]
        self._thresholds[numbers] = self._thresholds.new_tensor(lowest)

    def _lowest(self, number: int) -> float:
        ranked = self.hypotheses[number]
        return ranked[-1].score if len(ranked) == self._nbest else _IMPOSSIBLE

    def unsettled(self, sentences: Tensor, scores: Tensor) -> Tensor:
        """Sentences that need more search, ``(sentences,)``.

        ``scores`` has the log-probability of each sentence's likeliest unfinished hypothesis, -inf
        if it has none.
        """
        bounds = scores.double() / self._kindest[sentences]
        needed = (bounds >= self._thresholds[sentences]) & scores.isfinite()
        return needed & (self._counts[sentences] < self._beam) if self._quick else needed
