"""Beam search with the paper's length penalty and early end (Vaswani et al. 2017, section 6.1).

A sentence keeps ``beam`` unfinished hypotheses.  One that takes the end symbol is finished if it
is among the ``beam`` best continuations of that step, so that a beam of one is greedy search.
A sentence has its result when

* it has finished ``beam`` hypotheses, or
* it has finished ``nbest``, and the best unfinished one cannot beat the worst of these any more:
  its log-probability only falls, and no more than the length limit can be made up by the
  penalty (Wu et al. 2016, section 7), while coverage can only lower its score; or
* nothing unfinished is left: at the length limit only the end symbol may follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from dragoman.models.interface import select
from dragoman.search.constraints import Progress, Rules
from dragoman.search.hypothesis import Hypothesis, rank
from dragoman.search.judge import Judge
from dragoman.search.penalties import Penalties, length_penalty
from dragoman.search.ranking import best
from dragoman.search.scorer import Scorer
from dragoman.text.vocabulary import BOS, EOS

_IMPOSSIBLE = float("-inf")


def beam_search(
    scorer: Scorer,
    source: Tensor,
    source_mask: Tensor,
    rules: Rules,
    *,
    beam: int,
    nbest: int,
    penalties: Penalties,
) -> list[list[Hypothesis]]:
    """The ``nbest`` best finished hypotheses of each sentence, distinct, best first.

    Args:
        scorer: gives log-probabilities.
        source: ids ``(batch, source)``.
        source_mask: ``(batch, source)``, True is a real token.
        rules: what may be generated.
        beam: unfinished hypotheses a sentence.
        nbest: hypotheses wanted, at most ``beam``; fewer are returned where fewer are possible.
        penalties: of length and coverage, which hypotheses are ranked by.
    """
    memory = scorer.encode(source, source_mask)
    state = scorer.start(memory, beam)
    judge = Judge(scorer, source_mask, penalties)
    finished = _Finished(rules.limits.tolist(), beam, nbest, judge)
    beams: _Beams | None = None
    sentences = torch.arange(len(source), device=source.device)
    bounds = _best_divisors(rules.limits, penalties.length)
    while len(sentences):
        previous = beams.history[:, -1:] if beams else source.new_full((len(source) * beam, 1), BOS)
        log_probabilities, state = scorer.step(previous, memory, state)
        scores = log_probabilities[:, 0]
        beams = beams or _Beams.first(len(source), beam, scores)
        rules.apply(scores, Progress(beams.history, sentences.repeat_interleave(beam)))
        candidates = _continuations(beams, scores)
        finished.add(sentences, memory, beams.history, candidates)
        kept = candidates.unfinished(beam)

        done = finished.settled(sentences, kept.scores[:, 0] / bounds[sentences])
        staying = (~done).nonzero().flatten()
        rows = (staying.unsqueeze(1) * beam + kept.parents[staying]).flatten()
        if len(staying) < len(sentences):
            sentences, memory = sentences[staying], select(memory, staying)
        state = select(state, rows)
        history = torch.cat([beams.history[rows], kept.pieces[staying].view(-1, 1)], dim=1)
        beams = _Beams(kept.scores[staying], history)
    return finished.results()


@dataclass(frozen=True)
class _Beams:
    """The unfinished hypotheses of every sentence in the batch, best first."""

    scores: Tensor  # (sentences, beam): log-probabilities; -inf where there is no hypothesis
    history: Tensor  # (sentences * beam, length)

    @classmethod
    def first(cls, sentences: int, beam: int, like: Tensor) -> _Beams:
        """One empty hypothesis a sentence: copies of it would all go the same way."""
        scores = like.new_full((sentences, beam), _IMPOSSIBLE)
        scores[:, 0] = 0.0
        empty = torch.empty((sentences * beam, 0), dtype=torch.int64, device=like.device)
        return cls(scores, empty)


@dataclass(frozen=True)
class _Candidates:
    """Continuations of every sentence's hypotheses, best first."""

    scores: Tensor  # (sentences, candidates)
    parents: Tensor  # the beam that each continues
    pieces: Tensor  # the piece that each adds

    def unfinished(self, beam: int) -> _Candidates:
        """The ``beam`` best that go on."""
        ending = self.pieces == EOS
        scores = self.scores.masked_fill(ending, _IMPOSSIBLE)
        order = ending.to(torch.uint8).sort(dim=1, stable=True).indices[:, :beam]
        return _Candidates(
            scores.gather(1, order), self.parents.gather(1, order), self.pieces.gather(1, order)
        )


def _continuations(beams: _Beams, scores: Tensor) -> _Candidates:
    """The ``2 beam`` best continuations: whichever of them end, ``beam`` others remain.

    Args:
        beams: the hypotheses so far.
        scores: log-probabilities of their next pieces, ``(sentences * beam, vocabulary)``.
    """
    sentences, beam = beams.scores.shape
    each = min(beam + 1, scores.size(1))  # one hypothesis gives at most beam, and one that ends
    values, pieces = best(scores, each)
    totals = (beams.scores.unsqueeze(2) + values.reshape(sentences, beam, each)).flatten(1)
    totals, order = totals.sort(dim=1, descending=True, stable=True)
    totals, order = totals[:, : 2 * beam], order[:, : 2 * beam]
    return _Candidates(totals, order // each, pieces.flatten().view(sentences, -1).gather(1, order))


def _best_divisors(limits: Tensor, alpha: float) -> Tensor:
    """The length penalty at the longest possible output, the kindest to an unfinished one."""
    divisors = [length_penalty(limit + 1, alpha) for limit in limits.tolist()]
    return torch.tensor(divisors, dtype=torch.float64, device=limits.device)


@dataclass
class _Finished:
    """The finished hypotheses of every sentence, numbered as when search began."""

    limits: list[int]
    beam: int
    nbest: int
    judge: Judge
    hypotheses: list[list[Hypothesis]] = field(init=False)
    thresholds: list[float] = field(init=False)  # what an unfinished hypothesis must exceed

    def __post_init__(self) -> None:
        self.hypotheses = [[] for _ in self.limits]
        self.thresholds = [_IMPOSSIBLE] * len(self.limits)

    def add(self, sentences: Tensor, memory: Any, history: Tensor, candidates: _Candidates) -> None:
        """Keep those of the ``beam`` best candidates that took the end symbol."""
        scores = candidates.scores[:, : self.beam]
        ending = (candidates.pieces[:, : self.beam] == EOS) & scores.isfinite()
        places, ranks = ending.nonzero(as_tuple=True)
        rows = places * self.beam + candidates.parents[places, ranks]
        numbers, outputs = sentences[places], history[rows].tolist()
        totals = scores[places, ranks].tolist()
        judged = self.judge.scores(outputs, totals, numbers, memory, places)
        for number, ids, log_probability, score in zip(
            numbers.tolist(), outputs, totals, judged, strict=True
        ):
            ended = len(ids) < self.limits[number]
            self.hypotheses[number].append(Hypothesis(ids, score, log_probability, ended))
            self._raise_threshold(number)

    def _raise_threshold(self, number: int) -> None:
        finished = self.hypotheses[number]
        if len(finished) >= self.beam:
            self.thresholds[number] = float("inf")
        elif len(finished) >= self.nbest:
            self.thresholds[number] = rank(finished)[self.nbest - 1].score

    def settled(self, sentences: Tensor, bounds: Tensor) -> Tensor:
        """Which sentences need no more search, ``(sentences,)``.

        Args:
            sentences: their numbers.
            bounds: the best score that an unfinished hypothesis of each can still reach.
        """
        thresholds = [self.thresholds[number] for number in sentences.tolist()]
        return bounds <= torch.tensor(thresholds, dtype=bounds.dtype, device=bounds.device)

    def results(self) -> list[list[Hypothesis]]:
        """The ``nbest`` of each sentence, best first."""
        return [rank(finished)[: self.nbest] for finished in self.hypotheses]
