"""Streams whose batches the model in training completes, step by step.

On-line back-translation: a batch has targets alone.  The current model translates them into the
other language, and then learns to translate them back (Artetxe et al. 2018, arXiv:1710.11041,
section 3.2; Lample et al. 2018, arXiv:1711.00043, section 2.4).

Candidates on line: the current model makes several outputs of each sentence, by sampling or beam
search, and each is compared with the reference.

No gradient passes through translation or search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch

from dragoman.data.batch import Outputs, RatedCandidates
from dragoman.data.batches import Batch, pad_sources, real_ids
from dragoman.evaluation.rewards import Reward
from dragoman.models.interface import TranslationModel
from dragoman.search import SearchConfig
from dragoman.text.transforms import SourceByModelConfig
from dragoman.training.tasks import CompletedStream, Stream

_SEEDS = 1 << 31


@dataclass(frozen=True)
class WantedSources:
    """Settings for making the sources of one part of the corpus."""

    settings: SourceByModelConfig
    tags: tuple[int, ...]
    """Ids in front of a target that request its translation."""
    never: tuple[int, ...] = ()
    """Ids that no translation contains."""


class TranslateIds(Protocol):
    """Translates with a model in training, and restores it and all random states."""

    def __call__(
        self,
        model: TranslationModel,
        sentences: Sequence[list[int]],
        settings: SourceByModelConfig,
        *,
        numbers: Sequence[int],
        seed: int,
        never: Sequence[int],
    ) -> list[list[int]]:
        """The translation of each sentence, given as ids with tags in front, without end symbol.

        The numbers of the sentences in the corpus and the seed of the step determine the sampling.
        Translations contain none of the ids in ``never``.
        """


class BackTranslated(CompletedStream):
    """A stream some of whose sources are made just before use.

    Args:
        stream: the stream, in which these sources are tags alone.
        wanted: how sources are made, by the number of the part of the corpus.
        translate: makes the sources; passed in because training may not import search.
        longest: maximum number of pieces of a source.
    """

    def __init__(
        self,
        stream: Stream,
        wanted: Mapping[int, WantedSources],
        translate: TranslateIds,
        longest: int,
    ) -> None:
        super().__init__(stream)
        self._wanted, self._translate = wanted, translate
        self._longest = longest

    def completed(self, batch: Batch, model: TranslationModel) -> Batch:
        """The batch with all its sources."""
        batch = self._stream.completed(batch, model)
        assert batch.parts is not None, "rows come from a store"
        numbers = batch.parts.tolist()
        sources = [real_ids(row) for row in batch.source.tolist()]
        targets = batch.target_output.tolist()
        rows = batch.rows.tolist()
        fitting = None if model.position_limit is None else model.position_limit - 1
        limit = self._longest if fitting is None else min(self._longest, fitting)
        for part, wanted in self._wanted.items():
            places = [place for place, number in enumerate(numbers) if number == part]
            if not places:
                continue
            made = self._translate(
                model,
                # A target may fill all positions, leaving none for tags in front.
                [[*wanted.tags, *real_ids(targets[place])][:fitting] for place in places],
                wanted.settings,
                numbers=[rows[place] for place in places],
                seed=torch.initial_seed(),  # the trainer sets it from the step
                never=wanted.never,
            )
            for place, ids in zip(places, made, strict=True):
                sources[place] = [*sources[place], *ids][:limit]
        source, mask = (tensor.to(batch.source.device) for tensor in pad_sources(sources))
        return replace(batch, source=source, source_mask=mask)


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
        """The outputs, which may be equal, for each sentence, given as ids without end symbol.

        The numbers of the sentences in the corpus and the seed determine the sampling.
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
        made = self._search(
            model,
            [real_ids(row) for row in batch.source.tolist()],
            self._seeded(),
            numbers=batch.rows.tolist(),
        )
        references = [real_ids(row) for row in batch.target_output.tolist()]
        outputs = [self._outputs(*pair) for pair in zip(made, references, strict=True)]
        return replace(batch, candidates=RatedCandidates.of(outputs, batch.source.device))

    def _seeded(self) -> SearchConfig:
        search = self._wanted.search
        if search.sampling is None:
            return search
        seed = torch.initial_seed() % _SEEDS  # the trainer sets it from the step
        sampling = search.sampling.model_copy(update={"seed": seed})
        return search.model_copy(update={"sampling": sampling})

    def _outputs(self, made: list[list[int]], reference: list[int]) -> Outputs:
        """The reference and the distinct candidates of a sentence, with their rewards."""
        times = Counter(map(tuple, made))
        first = times.pop(tuple(reference), 0)
        if self._wanted.reference:
            first = max(first, 1)
        ids = [reference, *map(list, times)]
        rewards = self._rate(ids, reference)
        return Outputs(ids, rewards, [float(first), *map(float, times.values())])
