"""Scores to hypotheses: greedy, beam and sampling over any scorer."""

from dragoman.search.hypothesis import Hypothesis
from dragoman.search.sampling import SamplingConfig
from dragoman.search.scorer import (
    Ensemble,
    EnsembleKind,
    FusedScorer,
    ModelScorer,
    Scorer,
    score_targets,
)
from dragoman.search.strategy import SearchConfig, search

__all__ = [
    "Ensemble",
    "EnsembleKind",
    "FusedScorer",
    "Hypothesis",
    "ModelScorer",
    "SamplingConfig",
    "Scorer",
    "SearchConfig",
    "score_targets",
    "search",
]
