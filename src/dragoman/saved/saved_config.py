"""The configuration of a trained system, and the loaded system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import Field

from dragoman.core.config import Config, parse
from dragoman.core.errors import SavedError
from dragoman.models import ModelConfig
from dragoman.models.interface import Part, TranslationModel
from dragoman.text.context import ContextConfig
from dragoman.text.examples import Direction
from dragoman.text.inline_tags import InlineTags, pair_symbols, point_symbol
from dragoman.text.markup_spans import MarkupStyle
from dragoman.text.terms.term_annotation import AnnotationMethod, annotation_tags
from dragoman.text.transforms import TransformConfig
from dragoman.text.transforms.inline_tagging import inline_tags, markup_styles
from dragoman.text.transforms.term_annotating import term_annotation
from dragoman.text.vocabularies import Vocabularies

if TYPE_CHECKING:
    from dragoman.text.corpora.corpus_part import CorpusPart

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
    names_source: bool = False
    """Whether the tag of the source language, such as `<2en>`, stands between the other tags and a
    source; it then translates from each of its target languages."""
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
    markup: tuple[MarkupStyle, ...] = ()
    """Markup of lines that it reads as inline tags, because it was so in all its training text."""


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


WITHOUT_TRANSLATION = frozenset({"masked_lm"})
"""Kinds of ``training.objective`` that leave the target side unchanged."""


def learned_in_run(
    values: Mapping[str, Any], languages: tuple[str, str], path: Path
) -> dict[str, Any]:
    """Abilities that models of a run have learned, by their key in a model's ``config.yaml``.

    Args:
        values: of a ``config.yaml``.  A model's has no training text, but lists its abilities.
        languages: of source and target, for text that names none.
        path: the file, for messages.
    """
    data = values.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("train"), list):
        return {}
    from dragoman.text.corpora.corpus_part import CorpusPart  # slow, and seldom needed

    parts = [parse(CorpusPart, part, path) for part in data["train"] if isinstance(part, dict)]
    transforms = [transform for part in parts for transform in part.transforms]
    return {
        "directions": _directions(parts, languages),
        "translates": _objective(values) not in WITHOUT_TRANSLATION,
        **tags_learned(transforms, _start(values), lambda: Vocabularies.load(path.parent)),
    }


def tags_learned(
    transforms: Sequence[TransformConfig],
    start: Mapping[str, Any] | None,
    vocabularies: Callable[[], Vocabularies],
) -> dict[str, Any]:
    """The annotation of terms and the inline tags that a model has learned, by their keys.

    Where the text of the run has none, a model keeps those of the model it started from.  They are
    read from the vocabulary, which keeps its tags, because that model may no longer
    exist.  ``start`` is ``training.start_from`` in plain values.
    """
    method, inline = term_annotation(transforms), inline_tags(transforms)
    if (method is None or inline is None) and _keeps_all(start):
        with suppress(SavedError):  # a user of the vocabulary will report its fault
            known = _common_tags(vocabularies())
            method, inline = method or _annotation_by(known), inline or _inline_tags_among(known)
    markup = markup_styles(transforms)
    return {"term_annotation": method, "inline_tags": inline, "markup": markup}


def _keeps_all(start: Mapping[str, Any] | None) -> bool:
    """Whether tags keep their meaning of the earlier model: none of its weights is drawn anew."""
    if start is None or start.get("vocabulary") == "new":
        return False
    return set(start.get("parts", ())) == set(get_args(Part))


def _common_tags(vocabularies: Vocabularies) -> frozenset[str]:
    return frozenset.intersection(
        *(frozenset(vocabulary.pieces(vocabulary.tags)) for vocabulary in vocabularies)
    )


def _annotation_by(tags: frozenset[str]) -> AnnotationMethod | None:
    """The annotation method of terms with these tags; None if they are other tags."""
    methods: tuple[AnnotationMethod, ...] = ("append", "replace")  # fewer tags last
    return next((method for method in methods if tags.issuperset(annotation_tags(method))), None)


def _inline_tags_among(tags: frozenset[str]) -> InlineTags | None:
    """The inline tags among these tags; None without any."""
    pairs = next(n for n in count() if not tags.issuperset(pair_symbols(n + 1)))
    points = next(n for n in count() if point_symbol(n + 1) not in tags)
    return InlineTags(pairs=pairs, points=points) if pairs and points else None


def _directions(parts: Sequence[CorpusPart], languages: tuple[str, str]) -> tuple[Direction, ...]:
    found = [part.resolved(*languages).direction for part in parts]
    return tuple(one for number, one in enumerate(found) if one not in found[:number])


def _objective(values: Mapping[str, Any]) -> str | None:
    kind = (_section(values, "training", "objective") or {}).get("kind")
    return kind if isinstance(kind, str) else None


def _start(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return _section(values, "training", "start_from")


def _section(values: Mapping[str, Any], *names: str) -> Mapping[str, Any] | None:
    found: Any = values
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None
