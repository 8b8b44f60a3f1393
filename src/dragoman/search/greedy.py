"""Greedy search: the likeliest piece at every position."""

from __future__ import annotations

from torch import Tensor

from dragoman.search.constraints import PartialOutputs, SearchTask
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.paths import follow_paths
from dragoman.search.ranking import best


def greedy_search(task: SearchTask) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence, the same as :func:`beam_search` gives with a beam of one.

    Penalties affect only the returned score.
    """
    return follow_paths(task, _likeliest, paths=1)


def _likeliest(scores: Tensor, partial: PartialOutputs) -> Tensor:
    return best(scores, 1)[1].squeeze(1)
