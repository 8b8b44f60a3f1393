"""The objectives that a configuration can name: ours, and those of other installed packages.

A package adds one by an entry point in the group ``dragoman.objectives`` (see
:mod:`dragoman.core.plugins`); its name is the objective's ``kind``, and it refers to a subclass of
 :class:`~dragoman.training.objectives.interface.ObjectiveConfig`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dragoman.core.plugins import installed, load_class
from dragoman.core.sections import OneOf
from dragoman.training.objectives.cross_entropy import CrossEntropyConfig
from dragoman.training.objectives.expected_risk import ExpectedRiskConfig
from dragoman.training.objectives.guided_alignment import GuidedAlignmentConfig
from dragoman.training.objectives.interface import ObjectiveConfig
from dragoman.training.objectives.masked_lm import MaskedLMConfig
from dragoman.training.objectives.r_drop import RDropConfig

GROUP = "dragoman.objectives"
"""The group of entry points by which packages add objectives."""

_BUILT_IN: dict[str, type[ObjectiveConfig]] = {
    "cross_entropy": CrossEntropyConfig,
    "r_drop": RDropConfig,
    "guided_alignment": GuidedAlignmentConfig,
    "masked_lm": MaskedLMConfig,
    "expected_risk": ExpectedRiskConfig,
}


class Objectives(OneOf):
    """Every objective by its ``kind``."""

    key = "kind"
    default = "cross_entropy"
    question = "is the package that provides it installed?"

    def find(self, name: str) -> type[ObjectiveConfig]:
        """See :meth:`OneOf.find`."""
        if name in _BUILT_IN:
            return _BUILT_IN[name]
        if name not in installed(GROUP):
            raise KeyError(name)
        return load_class(GROUP, name, ObjectiveConfig)  # type: ignore[type-abstract]

    def at_hand(self) -> Sequence[type[ObjectiveConfig]]:
        """See :meth:`OneOf.at_hand`."""
        return list(_BUILT_IN.values())

    def names(self) -> Sequence[str]:
        """See :meth:`OneOf.names`."""
        return list(dict.fromkeys([*_BUILT_IN, *sorted(installed(GROUP))]))


AnyObjective = Annotated[ObjectiveConfig, Objectives()]
"""The section ``training.objective``; its key ``kind`` selects the class."""
