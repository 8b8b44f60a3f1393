"""Sampling: pieces drawn by their probability, from the whole vocabulary or a filtered part of it.

A filter is a class and a field of :class:`SamplingConfig` whose annotation names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from dragoman.core.config import Config
from dragoman.search.constraints import PartialOutputs, SearchTask
from dragoman.search.hypothesis import Hypothesis, rank
from dragoman.search.paths import follow_paths
from dragoman.search.ranking import best


class Filter:
    """Restricts which pieces may be drawn, by the value of its field in :class:`SamplingConfig`.

    It always keeps the likeliest.
    """

    ranked: ClassVar[bool] = False
    """Whether it needs the pieces best first, equal scores by lowest id."""

    def __init__(self, value: float) -> None:
        self.value = value

    def count(self, vocabulary: int) -> int:
        """Number of likeliest pieces to keep before probabilities are computed."""
        return vocabulary

    def keeps(self, probabilities: Tensor) -> Tensor:
        """True for a piece that may be drawn, ``(rows, pieces)``.

        Args:
            probabilities: of the pieces that :meth:`count` keeps, after temperature, ``(rows,
                pieces)``, float64; each row sums to one.
        """
        return torch.ones_like(probabilities, dtype=torch.bool)


class TopK(Filter):
    """The likeliest pieces (Fan et al. 2018, arXiv:1805.04833)."""

    ranked = True

    @override
    def count(self, vocabulary: int) -> int:
        return min(int(self.value), vocabulary)


class Nucleus(Filter):
    """The fewest likeliest pieces of this probability (Holtzman et al. 2020, arXiv:1904.09751)."""

    ranked = True

    @override
    def keeps(self, probabilities: Tensor) -> Tensor:
        likelier = probabilities.cumsum(1) - probabilities  # of all likelier pieces together
        return likelier < self.value


class MinP(Filter):
    """Pieces with this share of the highest probability (Nguyen et al. 2024, arXiv:2407.01082)."""

    @override
    def keeps(self, probabilities: Tensor) -> Tensor:
        return probabilities >= self.value * probabilities.amax(1, keepdim=True)


class Epsilon(Filter):
    """Pieces with at least this probability (Hewitt et al. 2022, arXiv:2210.15191)."""

    @override
    def keeps(self, probabilities: Tensor) -> Tensor:
        return probabilities >= probabilities.amax(1, keepdim=True).clamp(max=self.value)


class SamplingConfig(Config):
    """Sampling instead of the search for the best output."""

    temperature: float = Field(1.0, gt=0)
    """Divisor of log-probabilities: below 1 favours likely pieces, above 1 flattens the
    distribution."""
    top_k: Annotated[int | None, TopK] = Field(None, ge=1)
    """Number of likeliest pieces to draw from; all if not given."""
    top_p: Annotated[float, Nucleus] = Field(1.0, gt=0, le=1)
    """Draw from the fewest likeliest pieces that together have at least this probability (nucleus),
    after temperature and top_k; 1 disables this."""
    min_p: Annotated[float, MinP] = Field(0.0, ge=0, le=1)
    """Do not draw pieces whose probability is below this share of the likeliest's, after
    temperature; 0 disables this."""
    epsilon: Annotated[float | None, Epsilon] = Field(None, ge=0, lt=1)
    """Do not draw pieces below this probability, after temperature and top_k; the likeliest can
    always be drawn. 0 disables this. By default 0; for `mbr` 0.02, unless top_k, top_p or min_p is
    given."""
    seed: int = Field(1, ge=0)
    """Seed of the random numbers; each input line has its own, in any batch."""

    def filters(self) -> list[Filter]:
        """The filters that are set, even to a value that keeps every piece."""
        return [
            kind(value)
            for name, field in type(self).model_fields.items()
            for kind in field.metadata
            if isinstance(kind, type) and issubclass(kind, Filter)
            if (value := getattr(self, name)) != field.default
        ]

    def __str__(self) -> str:
        """The settings that have an effect, such as "top-k 10, seed 1"."""
        return ", ".join(
            f"{name.replace('_', '-')} {value if isinstance(value, int) else f'{value:g}'}"
            for name, value in self
            if name == "seed" or (value and value != type(self).model_fields[name].default)
        )


def sample(
    task: SearchTask, config: SamplingConfig, count: int, numbers: Sequence[int]
) -> list[list[Hypothesis]]:
    """Independent samples for each sentence, best first; a sample may occur twice.

    Hypotheses keep the scorer's log-probabilities, before temperature.

    Args:
        task: the batch.
        config: temperature and filters.
        count: samples per sentence.
        numbers: of each sentence in the whole input.  They and the seed alone determine the random
            numbers of a sentence.
    """
    filters = config.filters()
    longest = int(task.rules.limits.max())
    draws = _draws(config.seed, numbers, count, longest + 1).to(task.source.device)

    def choose(scores: Tensor, partial: PartialOutputs) -> Tensor:
        path = torch.arange(len(scores), device=scores.device) % count
        uniform = draws[partial.sentences, path, partial.length]
        return draw(scores, uniform, config.temperature, filters)

    return [rank(samples) for samples in follow_paths(task, choose, paths=count)]


def draw(scores: Tensor, uniform: Tensor, temperature: float, filters: Sequence[Filter]) -> Tensor:
    """One id for each row, ``(rows,)``, by inversion of the cumulative distribution.

    For a row without a distribution (everything is forbidden, or the scores contain NaN or +inf),
    this is a piece whose score is not finite.

    Args:
        scores: log-probabilities ``(rows, vocabulary)``, -inf where forbidden; the remaining
            probabilities need not sum to one.
        uniform: random numbers in [0, 1), ``(rows,)``, float64.
        temperature: divisor of the scores.
        filters: of the pieces that may be drawn.
    """
    ids = None
    if any(chosen.ranked for chosen in filters):
        vocabulary = scores.size(1)
        scores, ids = best(scores, min(chosen.count(vocabulary) for chosen in filters))
    # Small probabilities would vanish from a long sum in float32. The largest score is shifted to
    # 0 first, so that a tiny temperature does not turn all of them into -inf.
    highest, where_highest = scores.max(1, keepdim=True)
    probabilities = torch.softmax((scores.double() - highest) / temperature, dim=1)
    kept = probabilities
    for chosen in filters:
        kept = kept.masked_fill(~chosen.keeps(probabilities), 0.0)
    cumulative = kept.cumsum(1)
    total = cumulative[:, -1:].contiguous()
    place = torch.searchsorted(cumulative, uniform.unsqueeze(1) * total, right=True)
    # Rounding may raise the product to the total: take the last piece with any probability.
    place = place.minimum(torch.searchsorted(cumulative, total))
    place = torch.where(highest.isfinite(), place, where_highest)
    return (place if ids is None else ids.gather(1, place)).squeeze(1)


def _draws(seed: int, numbers: Sequence[int], count: int, length: int) -> Tensor:
    """Uniform numbers in [0, 1), ``(sentences, count, length)``, float64."""
    draws = [
        [np.random.default_rng([seed, number, path]).random(length) for path in range(count)]
        for number in numbers
    ]
    return torch.from_numpy(np.array(draws))
