"""What does not fit together in the description of a part of a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dragoman.text.formats import Format

if TYPE_CHECKING:  # which reports these problems itself
    from dragoman.text.corpora.corpus_part import CorpusPart

_WITHOUT_SOURCE = {"back_translation", "case", "copy", "dummy_source", "filter"}
"""Transforms that need no source."""
_WITHOUT_WORDS = {"case", "filter", "tag"}
"""Transforms that need no words of the source, so that these may be made later."""
_OF_WORDS = {"mask_spans", "noise"}
"""Transforms that change nothing but words of the source."""
_BESIDE_CONTEXT = {"filter", "tag"}
"""Transforms that leave the words of a sentence as they are."""


def part_problems(part: CorpusPart) -> Iterator[str]:
    """A format that is unknown or does not fit the other keys, and the rest that does not."""
    for name in ("path", "source", "target", "alignments"):
        if getattr(part, name) == "":
            yield f"{name} is empty; name it, or leave it out"
            return
    try:
        form = part.file_format
    except ValueError as error:
        yield str(error)
        return
    if form.one_file == (part.path is None):
        yield (
            "two plain files are given as source and target without path, any other format as path"
        )
    elif form.sides is None and (part.source is not None or part.target is not None):
        yield f"{form.name} files have just two sides; leave source and target out"
    elif part.is_labelled:
        yield from _label_problems(part, form)
    elif form.sides is not None and part.target is None:
        yield f"name both source and target: the {form.sides} to read{_alone(part)}"
    if part.alignments is not None and not part.has_source:
        yield "alignments link two sides, and there is no source; leave them out"
    changes = part.tags or part.transforms
    if part.alignments is not None and changes:
        yield (
            "alignments count the words of the original text, which tags and transforms "
            "change; leave one of them out"
        )
    if part.documents is not None and form.sides not in {"columns", "keys"}:
        yield f"documents is a column of a table, and {form.name} has none; leave it out"
    yield from _transform_problems(part)
    yield from context_problems(part)


def context_problems(part: CorpusPart) -> Iterator[str]:
    """Why its sentences cannot be read with their context."""
    if part.context is None:
        return
    if not part.has_source:
        yield "context is read with a source, and there is none"
    if part.is_aligned:
        yield "context and word alignments do not go together; leave one of them out"
    for transform in part.transforms:
        if transform.kind not in _BESIDE_CONTEXT or transform.is_random:
            yield (
                f"transforms: {transform.kind} would not change the context of a sentence "
                "alike; with context, there is filter, and tag without share"
            )


def _label_problems(part: CorpusPart, form: Format) -> Iterator[str]:
    """A label beside targets, or without sources."""
    if part.target is not None:
        yield "label is the target of every pair; leave target out, or label"
    if part.label_columns:
        if part.label is not None or part.source is not None:
            yield "label_columns name the texts and their labels; leave source and label out"
        if not form.names_sides:
            yield f"label_columns are of one file with named columns, not {form.name}"
    elif form.sides is not None and part.source is None:
        where = "the file of its lines" if not form.one_file else f"one of the {form.sides}"
        yield f"label needs text to label; name it as source, {where}"
    if part.alignments is not None:
        yield "alignments link two texts, and label is none; leave one of them out"


def _alone(part: CorpusPart) -> str:
    """What to do about text in one language that is named as a source."""
    copied = any(transform.kind == "copy" for transform in part.transforms)
    return "; text to copy is named as target, with its target_language" if copied else ""


def _transform_problems(part: CorpusPart) -> Iterator[str]:
    """Transforms that do not fit the text or one another."""
    has_source, draws, later = part.has_source, False, False
    earlier: list[str] = []
    for transform in part.transforms:
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
    if part.tags and not has_source:
        yield "tags go in front of a source, and there is none"
