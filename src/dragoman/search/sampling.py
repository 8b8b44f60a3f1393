"""Sampling: pieces drawn by their probability, all of them or only the likely ones.

Top-k after Fan et al. 2018 (arXiv:1805.04833), the nucleus after Holtzman et al. 2020
(arXiv:1904.09751).
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
    """Log-probabilities are divided by it: below 1 prefers likely pieces, above 1 flattens."""
    top_k: int | None = Field(None, ge=1)
    """Draw from so many likeliest pieces only; all if not given."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Draw from the fewest likeliest pieces that together have this probability (nucleus);
    counted after temperature and top_k."""
    seed: int = Field(1, ge=0)
    """Of the random numbers.  Each line of the input has its own, whatever the batch."""


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
    """Independent samples for each sentence, best first; the same one may come twice.

    Args:
        scorer: gives log-probabilities; those of the hypotheses are its own, before temperature.
        source: ids ``(batch, source)``.
        source_mask: ``(batch, source)``, True is a real token.
        rules: what may be generated.
        config: temperature and truncation.
        count: samples a sentence.
        penalties: of length and coverage, in the score.
        numbers: of each sentence in the whole input.  With the seed they alone decide which
            random numbers a sentence gets.
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
        scores: log-probabilities ``(rows, vocabulary)``, -inf where forbidden; those left need
            not sum to one.
        uniform: random numbers in [0, 1), ``(rows,)``, float64.
        config: temperature and truncation.

    Returns:
        Ids ``(rows,)``; of a row without a distribution (nothing is left, NaN or +inf is among
        the scores) a piece whose score is not finite.
    """
    vocabulary = scores.size(1)
    truncated = config.top_k is not None or config.top_p < 1
    if truncated:
        scores, ids = best(scores, min(config.top_k or vocabulary, vocabulary))
    # Small probabilities would vanish from a long sum in float32; the largest score becomes 0
    # first, so that a tiny temperature does not carry all of them to -inf.
    highest, where_highest = scores.max(1, keepdim=True)
    probabilities = torch.softmax((scores.double() - highest) / config.temperature, dim=1)
    cumulative = probabilities.cumsum(1)
    if truncated:
        outside = cumulative - probabilities >= config.top_p
        outside[:, 0] = False
        cumulative = probabilities.masked_fill(outside, 0.0).cumsum(1)
    total = cumulative[:, -1:].contiguous()
    place = torch.searchsorted(cumulative, uniform.unsqueeze(1) * total, right=True)
    # Rounding may carry the product up to the total: take the last piece that has any chance.
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
