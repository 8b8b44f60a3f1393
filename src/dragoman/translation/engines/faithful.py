"""CTranslate2, for the sentences whose translations are those of Dragoman's own search.

It differs from :class:`~dragoman.translation.engines.ctranslate2.CTranslate2Engine` in four ways:

- Probabilities are over all pieces, as nothing is left out of the search.
- Search ends later: when three times as many hypotheses as the beam are finished.  Dragoman's exact
  end nearly always comes before that.
- Sentences that CTranslate2 treats in its own way are left out: those whose hypotheses come near
  the length limit, have a forbidden piece or a broken character, or do not fit into its table of
  positions.
- Hypotheses get the log-probabilities of their pieces by forced decoding.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from typing_extensions import override

from dragoman.search import Hypothesis, SearchConfig
from dragoman.search.hypothesis import rank
from dragoman.search.penalties import length_penalty
from dragoman.translation.engines.ctranslate2 import CTranslate2Engine
from dragoman.translation.engines.ctranslate2_limits import difference
from dragoman.translation.engines.engine import SearchedBatch, SourceBatch


class FaithfulCTranslate2(CTranslate2Engine):
    """Searches for single best hypotheses; a sentence without any is for Dragoman's own search."""

    has_token_scores = True
    _patience = 3

    @override
    def refusal(self, config: SearchConfig) -> str | None:
        return difference(config)

    @override
    def _suppressed(self, config: SearchConfig) -> list[int]:
        return []

    @override
    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[SearchedBatch]:
        """Each batch with the best hypothesis of each sentence, or none.

        Two queues, so that no thread waits while the hypotheses of a batch are scored.
        """
        searching: deque[tuple[SourceBatch, list[int], list[Any]]] = deque()
        scoring: deque[tuple[SourceBatch, list[list[int] | None], list[Any]]] = deque()
        for batch in batches:
            places = self._searchable(batch)
            results = self._submit([batch.sources[place] for place in places], config)
            searching.append((batch, places, results))
            if len(searching) >= self._ahead:
                scoring.append(self._to_score(*searching.popleft(), config))
            if len(scoring) >= self._ahead:
                yield self._scored(*scoring.popleft(), config)
        while searching:
            scoring.append(self._to_score(*searching.popleft(), config))
        while scoring:
            yield self._scored(*scoring.popleft(), config)

    def _searchable(self, batch: SourceBatch) -> list[int]:
        """Places of the sentences that fit, with their end symbol, into the table of positions."""
        if batch.prefixes is not None:
            return []
        limit = self._positions
        return [
            place
            for place, source in enumerate(batch.sources)
            if limit is None or len(source) < limit
        ]

    def _to_score(
        self, batch: SourceBatch, places: list[int], results: list[Any], config: SearchConfig
    ) -> tuple[SourceBatch, list[list[int] | None], list[Any]]:
        """The best output of each sentence, or None, and the results of scoring them."""
        best: list[list[int] | None] = [None] * len(batch.sources)
        for place, result in zip(places, results, strict=True):
            limit = self._longest(len(batch.sources[place]), config)
            best[place] = self._ordinary(result.result(), limit, config)
        pairs = [
            (source, ids)
            for source, ids in zip(batch.sources, best, strict=True)
            if ids is not None
        ]
        scores: list[Any] = []
        for share in self._shares(len(pairs)):
            scores += self._translator.score_batch(
                self._named([source for source, _ in pairs[share]]),
                [[self._target[i] for i in ids] for _, ids in pairs[share]],
                max_input_length=0,
                asynchronous=True,
            )
        return batch, best, scores

    def _ordinary(self, result: Any, limit: int, config: SearchConfig) -> list[int] | None:
        """The ids of the best hypothesis; None if Dragoman's own search may find another."""
        forbidden = {self._target[i] for i in self._forbidden(config)}
        if not all(forbidden.isdisjoint(names) for names in result.hypotheses):
            return None
        if any(len(names) + 1 >= limit for names in result.hypotheses):
            return None  # cut off, or competes with hypotheses that are
        hypotheses = []
        for names, log_probability in zip(result.hypotheses, result.scores, strict=True):
            ids = [self._ids[name] for name in names]
            score = log_probability / length_penalty(len(ids) + 1, config.length_penalty)
            hypotheses.append(Hypothesis(ids, score, log_probability, ended=True))
        ids = rank(hypotheses)[0].ids
        if self._characters is not None and self._characters.without_broken(ids) != ids:
            return None
        return ids

    def _scored(
        self,
        batch: SourceBatch,
        best: list[list[int] | None],
        results: list[Any],
        config: SearchConfig,
    ) -> SearchedBatch:
        scores = iter(results)
        found = [
            [] if ids is None else [_hypothesis(ids, next(scores).result().log_probs, config)]
            for ids in best
        ]
        return SearchedBatch(batch, found)


def _hypothesis(ids: list[int], scores: list[float], config: SearchConfig) -> Hypothesis:
    """The hypothesis with these scores of its pieces and the end symbol."""
    total = sum(scores)
    score = total / length_penalty(len(ids) + 1, config.length_penalty)
    return Hypothesis(ids, score, total, ended=True, token_scores=list(scores))
