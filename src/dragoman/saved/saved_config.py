"""The configuration of a trained system, and the loaded system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from dragoman.core.config import Config
from dragoman.models import ModelConfig
from dragoman.models.interface import TranslationModel
from dragoman.text.context import ContextConfig
from dragoman.text.examples import Direction
from dragoman.text.inline_tags import InlineTags
from dragoman.text.terms.term_annotation import AnnotationMethod
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies

if TYPE_CHECKING:
    pass

FORMAT = 3
"""Newest format of model directories.  It rises when an older Dragoman could open a newer model and
mistranslate with it: format 2 is of models that read context, format 3 of those whose tags stand
alone.  All others are written in format 1, as is a ``config.yaml`` without a format.
"""


class SavedConfig(Config):
    """The content of a model's ``config.yaml``; that of a run has further keys."""

    source_language: str = "source"
    """Tag of the source language, such as en."""
    target_language: str = "target"
    """Tag of the target language, such as de."""
    directions: tuple[Direction, ...] = ()
    """Directions that it was trained for; empty if an older Dragoman wrote it."""
    context: ContextConfig | None = None
    """Which neighbours it reads a sentence with; None: it reads sentences alone."""
    translates: bool = True
    """Whether its target side was trained; if not, other models can start from its source side."""
    model: ModelConfig
    """Family and sizes."""
    search: dict[str, Any] = Field(default_factory=dict)
    """Default settings of search."""
    term_annotation: AnnotationMethod | None = None
    """How terms were annotated in training with their translations; none if they were not."""
    inline_tags: InlineTags | None = None
    """Inline tags that it has learned to put around the right words; none if it has not."""


@dataclass
class SavedModel:
    """A trained system, ready for use."""

    config: SavedConfig
    vocabularies: Vocabularies
    model: TranslationModel
    path: Path

    @property
    def search(self) -> dict[str, Any]:
        """The search settings that the model was validated with."""
        return self.config.search
