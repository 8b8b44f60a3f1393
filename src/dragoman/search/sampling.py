"""Sampling: pieces drawn by their probability, from the whole vocabulary or the likeliest.

Top-k after Fan et al. 2018 (arXiv:1805.04833), the nucleus after Holtzman et al. 2020
(arXiv:1904.09751), epsilon after Hewitt et al. 2022 (arXiv:2210.15191).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from dragoman.core.config import Config
from dragoman.search.constraints import PartialOutputs, Rules
from dragoman.search.hypothesis import Hypothesis, rank
from dragoman.search.paths import follow_paths
from dragoman.search.penalties import Penalties
from dragoman.search.ranking import best
from dragoman.search.scorer import Scorer


class SamplingConfig(Config):
    """Sampling instead of the search for the best output."""

    temperature: float = Field(1.0, gt=0)
    """Divisor of log-probabilities: below 1 favours likely pieces, above 1 flattens the
    distribution."""
    top_k: int | None = Field(None, ge=1)
    """Number of likeliest pieces to draw from; all if not given."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Draw from the fewest likeliest pieces that together have at least this probability (nucleus),
    after temperature and top_k; 1 disables this."""
    epsilon: float | None = Field(None, ge=0, lt=1)
    """Do not draw pieces below this probability, after temperature and top_k; the likeliest can
    always be drawn.  By default 0, which disables this; for `mbr` 0.02, unless top_k or top_p is
    given."""
    seed: int = Field(1, ge=0)
    """Seed of the random numbers. Each line of the input has its own random numbers, whatever batch
    it is in."""


def sample(
    scorer: Scorer,
    source: Tensor,
    source_mask: Tensor,
    rules: Rules,
    *,
    config: SamplingConfig,
    count: int,
    penalties: Penalties,
    numbers: Sequence[int],
) -> list[list[Hypothesis]]:
    """Independent samples for each sentence, best first; a sample may occur twice.

    Args:
        scorer: gives log-probabilities; hypotheses keep these, before temperature.
        source: ids ``(batch, source)``.
        source_mask: ``(batch, source)``, True is a real token.
        rules: what may be generated.
        config: temperature and truncation.
        count: samples per sentence.
        penalties: of length and coverage, in the score.
        numbers: of each sentence in the whole input.  They and the seed alone decide which random
            numbers a sentence gets.
    """
    draws = _draws(config.seed, numbers, count, int(rules.limits.max()) + 1).to(source.device)

    def choose(scores: Tensor, partial: PartialOutputs) -> Tensor:
        path = torch.arange(len(scores), device=scores.device) % count
        return draw(scores, draws[partial.sentences, path, partial.length], config)

    found = follow_paths(
        scorer, source, source_mask, rules, choose, paths=count, penalties=penalties
    )
    return [rank(samples) for samples in found]


def draw(scores: Tensor, uniform: Tensor, config: SamplingConfig) -> Tensor:
    """One id for each row, by inversion of the cumulative distribution.

    Args:
        scores: log-probabilities ``(rows, vocabulary)``, -inf where forbidden; the remaining
            probabilities need not sum to one.
        uniform: random numbers in [0, 1), ``(rows,)``, float64.
        config: temperature and truncation.

    Returns:
        Ids ``(rows,)``; for a row without a distribution (everything is forbidden, or the scores
        contain NaN or +inf), a piece whose score is not finite.
    """
    vocabulary = scores.size(1)
    truncated = config.top_k is not None or config.top_p < 1
    if truncated:
        scores, ids = best(scores, min(config.top_k or vocabulary, vocabulary))
    # Small probabilities would vanish from a long sum in float32; the largest score is shifted to
    # 0 first, so that a tiny temperature does not turn all of them into -inf.
    highest, where_highest = scores.max(1, keepdim=True)
    probabilities = torch.softmax((scores.double() - highest) / config.temperature, dim=1)
    if config.epsilon:
        unlikely = (probabilities < config.epsilon) & (scores < highest)
        probabilities = probabilities.masked_fill(unlikely, 0.0)
    cumulative = probabilities.cumsum(1)
    if truncated:
        outside = cumulative - probabilities >= config.top_p
        outside[:, 0] = False
        cumulative = probabilities.masked_fill(outside, 0.0).cumsum(1)
    total = cumulative[:, -1:].contiguous()
    place = torch.searchsorted(cumulative, uniform.unsqueeze(1) * total, right=True)
    # Rounding may raise the product to the total: take the last piece with any probability.
    place = place.minimum(torch.searchsorted(cumulative, total))
    place = torch.where(highest.isfinite(), place, where_highest)
    return (ids.gather(1, place) if truncated else place).squeeze(1)


def _draws(seed: int, numbers: Sequence[int], count: int, length: int) -> Tensor:
    """Uniform numbers in [0, 1), ``(sentences, count, length)``, float64."""
    draws = [
        [np.random.default_rng([seed, number, path]).random(length) for path in range(count)]
        for number in numbers
    ]
    return torch.from_numpy(np.array(draws))
