"""Candidates on line: a stream whose sources the model in training translates, step by step.

Several outputs of each sentence, from sampling or beam search, are each compared with the
reference.  No gradient passes through the search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch

from dragoman.data.batches import Batch, real_ids
from dragoman.data.candidates import Outputs, RatedCandidates
from dragoman.evaluation.rewards import Reward
from dragoman.models.interface import TranslationModel
from dragoman.search import SearchConfig
from dragoman.training.tasks import CompletedStream, Stream

_SEEDS = 1 << 31


@dataclass(frozen=True)
class WantedCandidates:
    """The candidates that an objective compares with the reference."""

    search: SearchConfig
    """Settings of the search; the seed of sampling is set in each step."""
    reward: Reward
    """The reward of an output."""
    reference: bool
    """Whether the reference itself is a candidate."""


class SearchIds(Protocol):
    """Searches with a model in training, and restores it and all random states."""

    def __call__(
        self,
        model: TranslationModel,
        sentences: Sequence[list[int]],
        config: SearchConfig,
        *,
        numbers: Sequence[int],
    ) -> list[list[list[int]]]:
        """The outputs for each sentence, which may be equal.

        Args:
            model: translates.
            sentences: ids of each, without end symbol.
            config: of the search.
            numbers: of the sentences in the corpus; with the seed, they determine the sampling.
        """


class Rate(Protocol):
    """Rates outputs."""

    def __call__(self, outputs: Sequence[list[int]], reference: list[int]) -> list[float]:
        """The reward of each output, from 0 to 1; ids are without end symbols."""


class WithCandidates(CompletedStream):
    """A stream whose batches get candidates just before use.

    Args:
        stream: of sentence pairs.
        wanted: settings of the candidates.
        search: makes them; passed in because training may not import engines.
        rate: compares them with the reference, as text.
    """

    def __init__(
        self, stream: Stream, wanted: WantedCandidates, search: SearchIds, rate: Rate
    ) -> None:
        super().__init__(stream)
        self._wanted, self._search, self._rate = wanted, search, rate

    def completed(self, batch: Batch, model: TranslationModel) -> Batch:
        """The batch with its candidates."""
        batch = self._stream.completed(batch, model)
        found = self._search(
            model,
            [real_ids(row) for row in batch.source.tolist()],
            self._seeded(),
            numbers=batch.rows.tolist(),
        )
        references = [real_ids(row) for row in batch.target_output.tolist()]
        outputs = [self._outputs(*pair) for pair in zip(found, references, strict=True)]
        return replace(batch, candidates=RatedCandidates.of(outputs, batch.source.device))

    def _seeded(self) -> SearchConfig:
        """The search settings of this step."""
        search = self._wanted.search
        if search.sampling is None:
            return search
        seed = torch.initial_seed() % _SEEDS  # the trainer sets it from the step
        sampling = search.sampling.model_copy(update={"seed": seed})
        return search.model_copy(update={"sampling": sampling})

    def _outputs(self, found: list[list[int]], reference: list[int]) -> Outputs:
        """The reference and the distinct candidates of a sentence, with their rewards."""
        times = Counter(map(tuple, found))
        first = times.pop(tuple(reference), 0)
        if self._wanted.reference:
            first = max(first, 1)
        ids = [reference, *map(list, times)]
        rewards = self._rate(ids, reference)
        return Outputs(ids, rewards, [float(first), *map(float, times.values())])
