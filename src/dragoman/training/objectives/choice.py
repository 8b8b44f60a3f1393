"""The objectives that a configuration can name, built in or from other installed packages.

A package adds an objective by an entry point in the group ``dragoman.objectives`` (see
:mod:`dragoman.core.plugins`).  Its name is the objective's ``kind``, and it refers to a subclass of
:class:`~dragoman.training.objectives.interface.ObjectiveConfig`.
"""

from __future__ import annotations

from typing import Annotated

from dragoman.core.sections import Kinds
from dragoman.training.objectives.cross_entropy import CrossEntropyConfig
from dragoman.training.objectives.expected_risk import ExpectedRiskConfig
from dragoman.training.objectives.guided_alignment import GuidedAlignmentConfig
from dragoman.training.objectives.interface import ObjectiveConfig
from dragoman.training.objectives.masked_lm import MaskedLMConfig
from dragoman.training.objectives.r_drop import RDropConfig

GROUP = "dragoman.objectives"
"""The group of entry points by which packages add objectives."""

BUILT_IN: dict[str, type[ObjectiveConfig]] = {
    "cross_entropy": CrossEntropyConfig,
    "r_drop": RDropConfig,
    "guided_alignment": GuidedAlignmentConfig,
    "masked_lm": MaskedLMConfig,
    "expected_risk": ExpectedRiskConfig,
}

AnyObjective = Annotated[ObjectiveConfig, Kinds(GROUP, ObjectiveConfig, BUILT_IN, "cross_entropy")]
"""The section ``training.objective``; its key ``kind`` selects the class."""
