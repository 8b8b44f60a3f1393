"""What the ``config.yaml`` of a run says of its models: what they learn, which theirs would say.

A checkpoint has no configuration of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.core.config import parse
from dragoman.text.corpus_part import CorpusPart
from dragoman.text.examples import Direction
from dragoman.text.transforms.inline_tagging import inline_tags
from dragoman.text.transforms.term_annotating import term_annotation

WITHOUT_TRANSLATION = frozenset({"masked_lm"})
"""Kinds of ``training.objective`` that leave the target side as it was drawn."""


def learned_in_run(
    values: Mapping[str, Any], languages: tuple[str, str], path: Path
) -> dict[str, Any]:
    """What models of a run have learned, by its key in a model's ``config.yaml``.

    Args:
        values: of a ``config.yaml``; that of a model has no training text, and says it itself.
        languages: of source and target, for text that names none.
        path: the file, for messages.

    Raises:
        ConfigError: its training text is not described as a run has it.
    """
    data = values.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("train"), list):
        return {}
    parts = [parse(CorpusPart, part, path) for part in data["train"] if isinstance(part, dict)]
    transforms = [one for part in parts for one in part.transforms]
    return {
        "directions": _directions(parts, languages),
        "term_annotation": term_annotation(transforms),
        "inline_tags": inline_tags(transforms),
        "translates": _objective(values) not in WITHOUT_TRANSLATION,
    }


def _directions(parts: Sequence[CorpusPart], languages: tuple[str, str]) -> tuple[Direction, ...]:
    """The directions that a run is trained for, each once."""
    found = [part.resolved(*languages).direction for part in parts]
    return tuple(one for number, one in enumerate(found) if one not in found[:number])


def _objective(values: Mapping[str, Any]) -> str | None:
    """The kind of the objective, if one is named."""
    training = values.get("training")
    objective = training.get("objective") if isinstance(training, dict) else None
    kind = objective.get("kind") if isinstance(objective, dict) else None
    return kind if isinstance(kind, str) else None
