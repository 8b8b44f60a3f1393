"""Beam search with the paper's length penalty (Vaswani et al. 2017, section 6.1).

A sentence keeps up to ``beam`` unfinished hypotheses.  One that takes the end symbol is finished
if it is among the ``beam`` best continuations of that step.  At the length limit only the end
symbol may follow, so there search ends at the latest.

**The exact end** is the paper's own program's, by a bound (Wu et al. 2016, section 7).  A
log-probability ``s`` is never above 0 and only falls, so of all divisors the largest is the
kindest, which is that of the sentence's own length limit: an unfinished hypothesis can score at
best ``s / lp(limit + 1)``, and coverage can only lower that.  All unfinished hypotheses of a
sentence are equally long, so the bound of the likeliest holds for all of them and for whatever
grows from them.  If it is below the score of the ``nbest``-th best finished hypothesis, nothing
that is still to come enters the n-best list, and the sentence is done.

No exact rule ends sooner: a scorer that is certain of all that follows, up to the limit, reaches
the bound, and only asking it tells whether it is.  The larger ``alpha``, the later the bound is
met.

**The quick end** comes as soon as ``beam`` hypotheses are finished, too, as in many toolkits.  A
longer one that would have won under the length penalty is lost then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from dragoman.models.interface import select
from dragoman.search.constraints import PartialOutputs, Rules, close_dead_ends
from dragoman.search.hypothesis import Hypothesis, rank
from dragoman.search.hypothesis_scorer import HypothesisScorer
from dragoman.search.penalties import Penalties, length_penalty
from dragoman.search.ranking import best
from dragoman.search.scorer import Scorer
from dragoman.text.vocabulary import BOS, EOS

EarlyEnd = Literal["exact", "quick"]

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
    early_end: EarlyEnd = "exact",
) -> list[list[Hypothesis]]:
    """The ``nbest`` best finished hypotheses of each sentence, distinct, best first.

    Args:
        scorer: gives log-probabilities.
        source: ids ``(batch, source)``.
        source_mask: ``(batch, source)``, True is a real token.
        rules: what may be generated.
        beam: maximum unfinished hypotheses per sentence.
        nbest: hypotheses wanted, at most ``beam``; fewer are returned where fewer are possible.
        penalties: of length and coverage, which hypotheses are ranked by.
        early_end: when search for a sentence may end before the length limit; ``quick`` with a
            beam of one is greedy search.
    """
    memory = scorer.encode(source, source_mask)
    state = scorer.start(memory, beam)
    ranker = HypothesisScorer(scorer, source_mask, penalties)
    finished = _Finished(rules.limits, ranker, beam, nbest, quick=early_end == "quick")
    beams: _Beams | None = None
    sentences = torch.arange(len(source), device=source.device)
    while len(sentences):
        previous = beams.history[:, -1:] if beams else source.new_full((len(source) * beam, 1), BOS)
        log_probabilities, state = scorer.step(previous, memory, state)
        scores = log_probabilities[:, 0]
        beams = beams or _Beams.first(len(source), beam, scores)
        rules.apply(scores, PartialOutputs(beams.history, sentences.repeat_interleave(beam)))
        candidates = _continuations(beams, scores)
        finished.add(sentences, memory, beams.history, candidates)
        kept = candidates.unfinished(beam)

        staying = finished.unsettled(sentences, kept.scores[:, 0]).nonzero().flatten()
        rows = (staying.unsqueeze(1) * beam + kept.parents[staying]).flatten()
        if len(staying) < len(sentences):
            sentences, memory = sentences[staying], select(memory, staying)
        state = select(state, rows)
        history = torch.cat([beams.history[rows], kept.pieces[staying].view(-1, 1)], dim=1)
        beams = _Beams(kept.scores[staying], history)
    return finished.hypotheses


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
    values, pieces = close_dead_ends(scores, *best(scores, each))
    totals = (beams.scores.unsqueeze(2) + values.reshape(sentences, beam, each)).flatten(1)
    totals, order = totals.sort(dim=1, descending=True, stable=True)
    totals, order = totals[:, : 2 * beam], order[:, : 2 * beam]
    return _Candidates(totals, order // each, pieces.flatten().view(sentences, -1).gather(1, order))


class _Finished:
    """The ``nbest`` finished hypotheses of every sentence, numbered as when search began.

    Args:
        limits: pieces that each output may have at most, ``(sentences,)``.
        ranker: scores hypotheses.
        beam: how many of a step's best continuations may finish.
        nbest: hypotheses wanted per sentence.
        quick: a sentence is done when ``beam`` hypotheses are finished.
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
        # The lowest score of a full n-best list; an equal one may still enter it, by lower ids.
        self._thresholds = torch.full_like(self._kindest, _IMPOSSIBLE)

    def add(self, sentences: Tensor, memory: Any, history: Tensor, candidates: _Candidates) -> None:
        """Keep those of the ``beam`` best candidates that took the end symbol and may be listed."""
        scores = candidates.scores[:, : self._beam]
        ending = (candidates.pieces[:, : self._beam] == EOS) & scores.isfinite()
        self._counts[sentences] += ending.sum(1)
        divisor = length_penalty(history.size(1) + 1, self._ranker.penalties.length)
        promising = scores.double() / divisor >= self._thresholds[sentences].unsqueeze(1)
        places, ranks = (ending & promising).nonzero(as_tuple=True)
        rows = places * self._beam + candidates.parents[places, ranks]
        numbers, outputs = sentences[places], history[rows].tolist()
        totals = scores[places, ranks].tolist()
        ranked = self._ranker.scores(outputs, totals, numbers, memory, places)
        for number, ids, log_probability, score in zip(
            numbers.tolist(), outputs, totals, ranked, strict=True
        ):
            found = Hypothesis(ids, score, log_probability, ended=len(ids) < self._limits[number])
            self.hypotheses[number] = rank([*self.hypotheses[number], found])[: self._nbest]
        lowest = [self._lowest(number) for number in numbers.tolist()]
        self._thresholds[numbers] = self._thresholds.new_tensor(lowest)

    def _lowest(self, number: int) -> float:
        found = self.hypotheses[number]
        return found[-1].score if len(found) == self._nbest else _IMPOSSIBLE

    def unsettled(self, sentences: Tensor, scores: Tensor) -> Tensor:
        """Which sentences need more search, ``(sentences,)``.

        Args:
            sentences: their numbers.
            scores: the log-probability of the likeliest unfinished hypothesis of each; -inf where
                there is none.
        """
        bounds = scores.double() / self._kindest[sentences]
        needed = (bounds >= self._thresholds[sentences]) & scores.isfinite()
        return needed & (self._counts[sentences] < self._beam) if self._quick else needed
