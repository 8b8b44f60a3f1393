"""Transforms: small changes to the examples of one part of the corpus, in the order listed.

Those without random draws run once, when the corpus is prepared.  From the first random one on,
they run when batches are made, differently in each epoch, as a pure function of (seed, epoch,
line).

A new transform is a class in a file here and a line in the table below. Other packages add
transforms by entry points in the group ``dragoman.transforms`` (see :mod:`dragoman.core.plugins`):
the name of an entry point is the transform's ``kind``, and it refers to a subclass of
:class:`~dragoman.text.transforms.interface.TransformConfig`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Annotated

from dragoman.core.sections import Kinds
from dragoman.text.examples import Example
from dragoman.text.transforms.casing import CaseConfig
from dragoman.text.transforms.filtering import FilterConfig
from dragoman.text.transforms.inline_tagging import InjectTagsConfig, MarkupTagsConfig
from dragoman.text.transforms.interface import SharedTransform, TransformConfig
from dragoman.text.transforms.masking import MaskFragmentConfig, MaskSpansConfig, NoiseConfig
from dragoman.text.transforms.short_input import PassThroughConfig, SegmentConfig
from dragoman.text.transforms.sources import CopyConfig, DummySourceConfig, SourceByModelConfig
from dragoman.text.transforms.tagging import TagConfig
from dragoman.text.transforms.term_annotating import AnnotateTermsConfig, WithTermsConfig

__all__ = [
    "SharedTransform",
    "SourceByModelConfig",
    "Transform",
    "TransformConfig",
    "order_problems",
    "split_at_first_draw",
    "transformed",
]

GROUP = "dragoman.transforms"
"""The group of entry points by which packages add transforms."""

_BUILT_IN: dict[str, type[TransformConfig]] = {
    "tag": TagConfig,
    "noise": NoiseConfig,
    "mask_spans": MaskSpansConfig,
    "mask_fragment": MaskFragmentConfig,
    "copy": CopyConfig,
    "dummy_source": DummySourceConfig,
    "back_translation": SourceByModelConfig,
    "case": CaseConfig,
    "segment": SegmentConfig,
    "pass_through": PassThroughConfig,
    "filter": FilterConfig,
    "terms": AnnotateTermsConfig,
    "with_terms": WithTermsConfig,
    "markup_tags": MarkupTagsConfig,
    "inject_tags": InjectTagsConfig,
}

KINDS = Kinds(GROUP, TransformConfig, _BUILT_IN)

Transform = Annotated[TransformConfig, KINDS]
"""Any transform, identified by its key ``kind``."""

_WITHOUT_SOURCE = {"back_translation", "case", "copy", "dummy_source", "filter"}
"""Transforms that need no source."""
_WITHOUT_WORDS = {"case", "filter", "tag"}
"""Transforms that need no source words, which may therefore be made later."""
_OF_WORDS = {"mask_spans", "noise"}
"""Transforms that change only words of the source."""


def split_at_first_draw(
    transforms: Sequence[Transform],
) -> tuple[list[Transform], list[Transform]]:
    """The transforms that run when the corpus is prepared, and those that run in each epoch."""
    first = next((i for i, one in enumerate(transforms) if one.is_random), len(transforms))
    return list(transforms[:first]), list(transforms[first:])


def transformed(
    example: Example, transforms: Iterable[TransformConfig], rng: Random
) -> Example | None:
    """The example after all ``transforms``; None if one dropped it."""
    made: Example | None = example
    for transform in transforms:
        if made is None:
            return None
        made = transform(made, rng)
    return made


def order_problems(transforms: Iterable[TransformConfig], has_source: bool) -> Iterator[str]:
    """Problems of transforms that do not fit their text or one another.

    Args:
        has_source: whether the text has a source before the first transform.
    """
    draws = later = False
    earlier: list[str] = []
    for transform in transforms:
        kind = transform.kind
        if transform.makes_source and has_source:
            yield f"transforms: {kind} makes a source, and there is one; leave one of them out"
        if later and kind not in _WITHOUT_WORDS:
            yield (
                f"transforms: {kind} comes after back_translation, which makes its words only "
                "when they are learned from; leave it out"
            )
        later = later or transform.source_by_model
        has_source = has_source or transform.makes_source
        if not has_source and kind not in _WITHOUT_SOURCE:
            yield f"transforms: {kind} changes a source, and there is none yet"
        if transform.needs_copy and "copy" not in earlier:
            yield f"transforms: {kind} masks text that is its own source; put copy before it"
        if transform.needs_copy and (
            changed := ", ".join(one for one in earlier if one in _OF_WORDS)
        ):
            yield (
                f"transforms: {kind} makes the source of the target again, and what {changed} did "
                f"to it is lost; put {changed} after it"
            )
        if kind in _OF_WORDS and "dummy_source" in earlier:
            yield f"transforms: {kind} comes after dummy_source, which has no words; leave it out"
        earlier.append(kind)
        draws = draws or transform.is_random
        if draws and transform.can_drop:
            yield f"transforms: {kind} comes after one that draws; put it before"
