"""Beam search for outputs that contain given phrases: dynamic beam allocation.

Post and Vilar 2018, "Fast Lexically Constrained Decoding with Dynamic Beam Allocation for Neural
Machine Translation" (arXiv:1804.06609), section 3; vectorised over sentences and hypotheses, as in
Hu et al. 2019 (:mod:`dragoman.search.phrases`).

Hypotheses with more pieces of the phrases are less likely, and a plain beam would drop them all.
So the beam is divided among banks by the number of phrase pieces in a hypothesis.  Each bank keeps
its likeliest hypotheses, and passes unneeded places to other banks.  Each hypothesis is continued
by its likeliest pieces and by the next pieces of phrases.  Only a hypothesis with all phrases may
end.

If the length limit comes first, the hypothesis with most pieces of phrases is returned.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dragoman.models.interface import select
from dragoman.search.beam import Beams, Candidates, EarlyEnd, Finished
from dragoman.search.constraints import (
    PartialOutputs,
    Rules,
    SearchTask,
    close_dead_ends,
    some_probability,
)
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.phrases import NONE, PhraseProgress, PhraseTable
from dragoman.search.ranking import best
from dragoman.text.vocabularies import BOS, EOS

_IMPOSSIBLE = float("-inf")


def constrained_search(
    task: SearchTask,
    table: PhraseTable,
    *,
    beam: int,
    nbest: int,
    early_end: EarlyEnd = "exact",
) -> list[list[Hypothesis]]:
    """The ``nbest`` best hypotheses of each sentence that contain its phrases.

    Phrases override the prohibitions of the rules, but not their requirements, such as a prefix, or
    whole characters.

    The beam is at least 2 wide.
    """
    scorer, source = task.scorer, task.source
    memory = scorer.encode(source, task.source_mask)
    state = scorer.start(memory, beam)
    finished = Finished.of(task, beam, nbest, early_end)
    beams: Beams | None = None
    sentences = torch.arange(len(source), device=source.device)
    progress = table.start(sentences.repeat_interleave(beam))
    while len(sentences):
        previous = beams.history[:, -1:] if beams else source.new_full((len(source) * beam, 1), BOS)
        log_probabilities, state = scorer.step(previous, memory, state)
        scores = log_probabilities[:, 0]  # (sentences * beam, vocabulary)
        beams = beams or Beams.first(len(source), beam, scores)
        step = _Step(table, task.rules, beams, scores, progress)
        finished.add(sentences, memory, beams, step.ending(finished.found(sentences)))
        kept, order = step.unfinished()

        staying = finished.unsettled(sentences, kept.scores.amax(1)).nonzero().flatten()
        rows = (staying.unsqueeze(1) * beam + kept.parents[staying]).flatten()  # (staying * beam,)
        progress = step.after.select(order[staying].flatten())
        if len(staying) < len(sentences):
            sentences, memory = sentences[staying], select(memory, staying)
        state = select(state, rows)
        beams = beams.extended(rows, kept.scores[staying], kept.pieces[staying])
    return finished.hypotheses


class _Step:
    """The continuations of every hypothesis at one step.

    ``scores`` are log-probabilities of the next piece, ``(sentences * beam, vocabulary)``.
    """

    def __init__(
        self,
        table: PhraseTable,
        rules: Rules,
        beams: Beams,
        scores: Tensor,
        progress: PhraseProgress,
    ) -> None:
        self._sentences, self._beam = beams.scores.shape
        self._table = table
        wanted = table.wanted(progress)  # (rows, edges)
        demanded = some_probability(scores.gather(1, wanted.clamp(min=0)))  # before it is forbidden
        partial = PartialOutputs(beams.history, progress.sentences)
        bound = rules.apply(scores, partial)
        early = ~progress.complete & ~bound  # rows that may not end yet
        scores[:, EOS] = scores[:, EOS].masked_fill(early, _IMPOSSIBLE)
        within = (table.bound(progress) & early).nonzero().flatten()  # only the phrase may go on
        scores.index_fill_(0, within, _IMPOSSIBLE)
        if table.signed:
            scores.masked_fill_(table.spoils(progress) & ~bound.unsqueeze(1), _IMPOSSIBLE)

        each = min(self._beam + 1, scores.size(1))
        values, pieces = close_dead_ends(scores, *best(scores, each))  # (rows, each)
        dead_ends = beams.scores + values[:, 0].view_as(beams.scores)
        values = values.masked_fill((pieces == EOS) & early.unsqueeze(1), _IMPOSSIBLE)
        # A word that a phrase ended with must have a continuation that does not spoil it.
        free, free_score = _likeliest_apart(table, progress, scores)  # (rows, 1) each
        wanted, demanded = torch.cat([wanted, free], 1), torch.cat([demanded, free_score], 1)
        known = (wanted.unsqueeze(2) == pieces.unsqueeze(1)) & values.isfinite().unsqueeze(1)
        unusable = (wanted < 0) | known.any(2) | bound.unsqueeze(1)  # (rows, edges + 1)
        if rules.unbroken is not None:
            unusable |= rules.unbroken.breaks(wanted.clamp(min=0), partial)
        demanded = demanded.masked_fill(unusable, _IMPOSSIBLE)

        values, pieces = torch.cat([values, demanded], 1), torch.cat([pieces, wanted], 1)
        pieces = pieces.clamp(min=0)  # (rows, candidates of each)
        parents = torch.arange(len(scores), device=scores.device).repeat_interleave(pieces.size(1))
        before = progress.select(parents)  # (rows * candidates of each,)
        self.after = table.advance(before, pieces.flatten())
        """Progress of every candidate; those of a sentence are adjacent."""
        useful = table.furthers(before, self.after).view_as(values)
        useful[:, :each] = True
        useful[:, -1] = True
        values = values.masked_fill(~useful, _IMPOSSIBLE)

        totals = beams.scores.unsqueeze(2) + values.view(self._sentences, self._beam, -1)
        # (sentences, candidates) each
        self._totals = _or_ended(totals, dead_ends)
        self._pieces = pieces.view(self._sentences, -1)
        self._parents = (parents % self._beam).view(self._sentences, -1)
        ends = pieces == EOS
        # A hypothesis that ends is where it was: the end symbol is in no phrase.
        met = torch.where(ends.flatten(), table.pieces_met(before), table.pieces_met(self.after))
        self._met = met.view(self._sentences, -1)
        self._complete = before.complete.view(self._sentences, -1)
        self._needed = table.pieces[progress.sentences[:: self._beam]].unsqueeze(1)

    def ending(self, found: Tensor) -> Candidates:
        """The best hypotheses that end; without all phrases only at the limit, as a last resort.

        ``found`` marks the sentences that have a finished hypothesis, ``(sentences,)``.
        """
        possible = (self._pieces == EOS) & self._totals.isfinite()
        # As in a plain beam, an end counts if it is among the best continuations of its bank.
        allowed = self._complete & self._totals.isfinite()
        most = self._met.masked_fill(~possible, -1).amax(1, keepdim=True)
        nothing = ~found.unsqueeze(1) & ~allowed.any(1, keepdim=True)
        allowed |= possible & nothing & (self._met == most)
        totals = self._totals.masked_fill(~allowed, _IMPOSSIBLE)
        order = totals.sort(dim=1, descending=True, stable=True).indices[:, : self._beam]
        return self._chosen(totals, order)

    def unfinished(self) -> tuple[Candidates, Tensor]:
        """The hypotheses to continue, and the places of their progress in :attr:`after`.

        Each bank gets its best before any gets its second best, and so on; of equal ranks, the
        likelier go first.  If phrases have more pieces than there are hypotheses, those with most
        pieces go first instead, so that all phrases are met in time.
        """
        totals = self._totals.masked_fill(self._pieces == EOS, _IMPOSSIBLE)
        totals, order = totals.sort(dim=1, descending=True, stable=True)
        bank = self._met.gather(1, order)  # (sentences, candidates)
        banks, size = self._table.most_pieces + 1, order.size(1)
        member = torch.nn.functional.one_hot(bank, banks)  # (sentences, candidates, banks)
        rank = (member.cumsum(1) * member).sum(2)  # of each in its bank, from 1
        behind = torch.where(self._needed < self._beam, 0, self._needed - bank)
        key = (rank * banks + behind) * size + torch.arange(size, device=rank.device)
        key = key.masked_fill(~totals.isfinite(), (size + 1) * banks * size)
        first = key.sort(dim=1, stable=True).indices[:, : self._beam]
        order = order.gather(1, first)
        kept = self._chosen(self._totals.masked_fill(self._pieces == EOS, _IMPOSSIBLE), order)
        start = torch.arange(self._sentences, device=order.device).unsqueeze(1) * size
        return kept, start + order

    def _chosen(self, totals: Tensor, order: Tensor) -> Candidates:
        return Candidates(
            totals.gather(1, order), self._parents.gather(1, order), self._pieces.gather(1, order)
        )


def _or_ended(totals: Tensor, dead_ends: Tensor) -> Tensor:
    """Totals ``(sentences, candidates)``, with an end for sentences that cannot continue.

    Args:
        totals: of each hypothesis, ``(sentences, beam, candidates of each)``; for a sentence
            without possible candidates, the first are used as ends.
        dead_ends: scores of ending without the phrases, where allowed, ``(sentences, beam)``.
    """
    stuck = ~totals.flatten(1).isfinite().any(1, keepdim=True)
    totals[:, :, 0] = torch.where(stuck, dead_ends, totals[:, :, 0])
    return totals.flatten(1)


def _likeliest_apart(
    table: PhraseTable, progress: PhraseProgress, scores: Tensor
) -> tuple[Tensor, Tensor]:
    """The likeliest piece that does not continue a word and its score, ``(rows, 1)`` each.

    Only for rows whose last word must not be continued; ``NONE`` for others.
    """
    pieces = torch.full_like(progress.nodes, NONE).unsqueeze(1)
    values = scores.new_full((len(scores), 1), _IMPOSSIBLE)
    rows = (progress.open_end != NONE).nonzero().flatten()
    if len(rows):
        apart = scores[rows]
        # NaN would rank first without being a hypothesis, and so leave none.
        unusable = table.edges.continues_word | ~apart.isfinite()
        values[rows], pieces[rows] = best(apart.masked_fill(unusable, _IMPOSSIBLE), 1)
    return pieces, values
