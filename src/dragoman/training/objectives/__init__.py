"""Training objectives: one file each, with its configuration."""

from __future__ import annotations

from dragoman.training.objectives.chunks import chunked_backward, read_target
from dragoman.training.objectives.cross_entropy import CrossEntropy, per_token
from dragoman.training.objectives.expected_risk import ExpectedRisk
from dragoman.training.objectives.guided_alignment import GuidedAlignment
from dragoman.training.objectives.interface import ObjectiveConfig
from dragoman.training.objectives.masked_lm import MaskedLM
from dragoman.training.objectives.r_drop import RDrop

__all__ = [
    "CrossEntropy",
    "ExpectedRisk",
    "GuidedAlignment",
    "MaskedLM",
    "ObjectiveConfig",
    "RDrop",
    "chunked_backward",
    "per_token",
    "read_target",
]
