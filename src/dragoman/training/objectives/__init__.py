"""Training objectives: one file each, with its configuration, and the choice among them.

A package adds an objective by an entry point in the group ``dragoman.objectives`` (see
:mod:`dragoman.core.plugins`).  Its name is the objective's ``kind``, and it refers to a subclass of
:class:`~dragoman.training.objectives.interface.ObjectiveConfig`.
"""

from __future__ import annotations

from typing import Annotated

from dragoman.core.sections import Kinds
from dragoman.training.objectives.chunks import chunked_backward, read_target
from dragoman.training.objectives.cross_entropy import CrossEntropy, CrossEntropyConfig, per_token
from dragoman.training.objectives.expected_risk import ExpectedRisk, ExpectedRiskConfig
from dragoman.training.objectives.guided_alignment import GuidedAlignment, GuidedAlignmentConfig
from dragoman.training.objectives.interface import ObjectiveConfig
from dragoman.training.objectives.masked_lm import MaskedLM, MaskedLMConfig
from dragoman.training.objectives.r_drop import RDrop, RDropConfig

__all__ = [
    "BUILT_IN",
    "GROUP",
    "AnyObjective",
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

GROUP = "dragoman.objectives"
"""The group of entry points by which packages add objectives."""

BUILT_IN: dict[str, type[ObjectiveConfig]] = {
    "cross_entropy": CrossEntropyConfig,
    "r_drop": RDropConfig,
    "guided_alignment": GuidedAlignmentConfig,
    "masked_lm": MaskedLMConfig,
    "expected_risk": ExpectedRiskConfig,
}

KINDS = Kinds(GROUP, ObjectiveConfig, BUILT_IN, "cross_entropy")

AnyObjective = Annotated[ObjectiveConfig, KINDS]
"""The section ``training.objective``; its key ``kind`` selects the class."""
