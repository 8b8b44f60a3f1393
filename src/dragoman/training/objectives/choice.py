"""Which objective a configuration names: one of ours, or one of another installed package."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

from pydantic import BeforeValidator, SerializeAsAny
from pydantic_core import PydanticKnownError

from dragoman.training.objectives.cross_entropy import CrossEntropyConfig
from dragoman.training.objectives.guided_alignment import GuidedAlignmentConfig
from dragoman.training.objectives.interface import ObjectiveConfig
from dragoman.training.objectives.r_drop import RDropConfig

OBJECTIVES: dict[str, type[ObjectiveConfig]] = {
    "cross_entropy": CrossEntropyConfig,
    "r_drop": RDropConfig,
    "guided_alignment": GuidedAlignmentConfig,
}
"""Ours, by the name that ``kind`` gives."""
ENTRY_POINTS = "dragoman.objectives"
"""The group in which other packages name theirs: subclasses of :class:`ObjectiveConfig`."""


def _chosen(values: Any) -> Any:
    """A section as one of the class that its ``kind`` names."""
    if isinstance(values, ObjectiveConfig):
        return values
    if not isinstance(values, dict):
        raise PydanticKnownError("dict_type")
    kind = str(values.get("kind", "cross_entropy"))
    if kind in OBJECTIVES:
        return OBJECTIVES[kind].model_validate(values)
    foreign = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if kind not in foreign:
        known = ", ".join(map(repr, sorted({*OBJECTIVES, *foreign})))
        context = {"discriminator": "'kind'", "tag": kind, "expected_tags": known}
        raise PydanticKnownError("union_tag_invalid", context)
    return _loaded(foreign[kind]).model_validate(values)


def _loaded(entry: EntryPoint) -> type[ObjectiveConfig]:
    """The class behind an entry point.

    Raises:
        ValueError: it cannot be imported, or is something else.
    """
    try:
        found = entry.load()
    except Exception as error:  # of a foreign module anything
        raise ValueError(
            f"kind {entry.name!r} is {entry.value}, which cannot be imported "
            f"({type(error).__name__}: {error}); repair or remove that package"
        ) from error
    if not (isinstance(found, type) and issubclass(found, ObjectiveConfig)):
        raise ValueError(
            f"kind {entry.name!r} is {entry.value}, which is not a subclass of "
            f"{ObjectiveConfig.__module__}.ObjectiveConfig"
        )
    return found


AnyObjective = Annotated[
    CrossEntropyConfig | RDropConfig | GuidedAlignmentConfig | SerializeAsAny[ObjectiveConfig],
    BeforeValidator(_chosen),
]
"""The section ``training.objective``, told apart by its key ``kind``."""
