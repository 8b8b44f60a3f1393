"""Greedy search: the likeliest piece at every position."""

from __future__ import annotations

from torch import Tensor

from dragoman.search.constraints import PartialOutputs, Rules
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.paths import follow_paths
from dragoman.search.penalties import Penalties
from dragoman.search.ranking import best
from dragoman.search.scorer import Scorer


def greedy_search(
    scorer: Scorer, source: Tensor, source_mask: Tensor, rules: Rules, *, penalties: Penalties
) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence, the same as :func:`beam_search` gives with a beam of one.

    Args:
        scorer: gives log-probabilities.
        source: ids ``(batch, source)``.
        source_mask: ``(batch, source)``, True is a real token.
        rules: constraints on the output.
        penalties: of length and coverage; here they affect only the returned score.
    """
    return follow_paths(
        scorer, source, source_mask, rules, _likeliest, paths=1, penalties=penalties
    )


def _likeliest(scores: Tensor, partial: PartialOutputs) -> Tensor:
    return best(scores, 1)[1].squeeze(1)
