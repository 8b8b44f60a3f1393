"""Checks which transforms fit together, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dragoman.text.transforms.interface import TransformConfig

_WITHOUT_SOURCE = {"back_translation", "case", "copy", "dummy_source", "filter"}
"""Transforms that need no source."""
_WITHOUT_WORDS = {"case", "filter", "tag"}
"""Transforms that need no source words, which may therefore be made later."""
_OF_WORDS = {"mask_spans", "noise"}
"""Transforms that change only words of the source."""


def order_problems(transforms: Iterable[TransformConfig], has_source: bool) -> Iterator[str]:
    """Problems of transforms that do not fit their text or one another.

    Args:
        transforms: of a part of a corpus, in their order.
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
