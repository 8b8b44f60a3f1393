"""A part of a corpus as a recipe describes it: its files, their sides and its transforms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from random import Random

from pydantic import Field, field_validator

from dragoman.core.relocation import TextPath
from dragoman.text.context import ContextConfig
from dragoman.text.corpora.corpus_files import CorpusFiles
from dragoman.text.examples import Direction, Example, Origin, Tags
from dragoman.text.formats import Format, Pair
from dragoman.text.normalization import normalize
from dragoman.text.sacrebleu_sets import own_languages, set_problems
from dragoman.text.tags import label_problem
from dragoman.text.transforms import (
    SourceByModelConfig,
    Transform,
    order_problems,
    split_at_first_draw,
    transformed,
)
from dragoman.text.vocabularies import is_empty

TRANSLATION = "translation"
"""The training task of parts without a `task`."""


_BESIDE_CONTEXT = {"filter", "tag"}
"""Transforms that leave the words of a sentence as they are."""


class CorpusPart(CorpusFiles):
    """One source of sentence pairs: two plain files, one file with both sides, or a set by name.

    For a language model, a part has only a target.
    """

    label: str | None = None
    """For `model.family: classifier`: label of all sources of this part, such as de. Without it,
    `target` names the column or file of the labels."""
    label_columns: tuple[str, ...] = ()
    """Columns, keys or languages, such as `[en, de]`, in place of `source` and a label: each text
    in them is labelled with the name of its column, key or language."""

    alignments: TextPath | None = None
    """Word alignments of the pairs, for `training.objective: {kind: guided_alignment}`: a file in
    Pharaoh format, such as `0-0 1-2 2-1`, whose line n belongs to pair n. Words are separated by
    white space in the original text and numbered from 0, source first. A pair with white space
    other than spaces and tabs between words loses its links, since aligners count its words
    differently. The symbols of [trees](parsing.md) are linked to their words without a file."""

    source_language: str | None = None
    """Language of the source, such as en; by default the run's `source_language`."""
    target_language: str | None = None
    """Language of the target, such as de; by default the run's `target_language`."""
    task: str = Field(TRANSLATION, pattern="^[a-z][a-z0-9_]{0,39}$")
    """Task that learns from these pairs; its settings are in `training.tasks`."""
    tags: Tags = ()
    """Symbols in front of every source, such as `[<ui>]`; the vocabulary gets them
    automatically."""
    transforms: tuple[Transform, ...] = ()
    """Changes to the pairs, in this order: `[{kind: tag}]`, for example, puts `<2de>` in front of
    sources whose target is in de."""

    documents: str | None = None
    """Column or key that names the document of each row, for `data.context`. A name ends before the
    first `#`, and the rows of a document are consecutive. By default a file is one document, or
    several with lines between them that are empty on both sides."""
    context: ContextConfig | None = None
    """Always the same as `data.context`; no need to set it."""

    @field_validator("label")
    @classmethod
    def _check_label(cls, label: str | None) -> str | None:
        if label is not None and (problem := label_problem(label)):
            raise ValueError(problem)
        return label

    @field_validator("label_columns")
    @classmethod
    def _check_label_columns(cls, columns: tuple[str, ...]) -> tuple[str, ...]:
        if problem := next(filter(None, map(label_problem, columns)), None):
            raise ValueError(problem)
        if len(set(columns)) < len(columns):
            raise ValueError("a column is named twice")
        return columns

    def conflicts(self) -> Iterator[str]:
        """Combinations of settings that do not fit together."""
        yield from part_problems(self)

    @property
    def is_labelled(self) -> bool:
        """Whether its settings state the labels of its texts."""
        return self.label is not None or bool(self.label_columns)

    @property
    def has_source(self) -> bool:
        """Whether its pairs have a source; if not, their source is an empty string."""
        own = self.source is not None or bool(self.label_columns) or self.sacrebleu is not None
        return own or self.file_format.sides is None

    @property
    def is_aligned(self) -> bool:
        """Whether links between the words of its pairs are known: given, or by their format."""
        if self.alignments is not None:
            return True
        if self.path is None or self.source is None or self.target is None:
            return False
        aligns = self.file_format.aligns((self.source, self.target))
        return aligns and not (self.tags or self.transforms)

    @property
    def gives_source(self) -> bool:
        """Whether its examples have a source, possibly one that a transform makes."""
        return self.has_source or any(transform.makes_source for transform in self.transforms)

    @property
    def cuts_off_source(self) -> bool:
        """Whether nothing that reads the source learns from its pairs."""
        return any(transform.cuts_off_source for transform in self.transforms)

    @property
    def zeroes_source(self) -> bool:
        """Whether the decoder, as well as the encoder, reads zeros in place of the source."""
        return any(transform.zeroes_source for transform in self.transforms)

    @property
    def back_translation(self) -> SourceByModelConfig | None:
        """How the model in training makes the sources, or None if it does not."""
        found = (one for one in self.transforms if isinstance(one, SourceByModelConfig))
        return next(found, None)

    @cached_property
    def prepared_transforms(self) -> list[Transform]:
        """Transforms that run once, when the corpus is prepared."""
        return split_at_first_draw(self.transforms)[0]

    @cached_property
    def epoch_transforms(self) -> list[Transform]:
        """Transforms that run in each epoch: the first that draws, and all after it."""
        return split_at_first_draw(self.transforms)[1]

    def resolved(self, source_language: str, target_language: str) -> CorpusPart:
        """A copy with missing languages filled in: those of its test set, or the arguments."""
        if self.sacrebleu is not None:
            run = source_language, target_language
            source_language, target_language = own_languages(self.sacrebleu, run)
        languages = {
            "source_language": self.source_language or source_language,
            "target_language": self.target_language or target_language,
        }
        return self.model_copy(update=languages)

    @property
    def direction(self) -> Direction:
        """What a model learns from this part: the languages and texts that it reads and writes."""
        return self._direction(self.transforms)

    @property
    def prepared_direction(self) -> Direction:
        """The direction of the prepared corpus: without transforms that run in each epoch."""
        return self._direction(self.prepared_transforms)

    def _direction(self, transforms: Iterable[Transform]) -> Direction:
        direction = Direction(
            source_language=self.source_language or "source",
            target_language=self.target_language or "target",
            tags=self.tags,
        )
        for transform in transforms:
            direction = transform.redirected(direction)
        return direction

    def symbols(self) -> Iterator[str]:
        """All tags that may occur in its sources."""
        yield from self.tags
        if self.context is not None:
            yield self.context.separator
        direction = self._direction(())
        for transform in self.transforms:
            yield from transform.symbols(direction)

    def kept_in(self, path: Path) -> CorpusPart:
        """The part with its text in ``path``, a JSONL file with the keys source and target.

        Filters are left out: they have run already, and the file numbers its lines differently.
        """
        return self.model_copy(
            update={
                "path": str(path.absolute()),
                "source": "source",
                "target": "target",
                "sacrebleu": None,
                "format": None,
                "unreviewed": False,
                "alignments": None,
                "documents": None,
                "transforms": tuple(one for one in self.transforms if one.kind != "filter"),
            }
        )

    def for_sets(self) -> CorpusPart:
        """The part as a dev set of its text: without transforms that no set may have.

        A tag in front of a share of the sources is put in front of all of them.
        """
        kept = (transform.for_sets() for transform in self.transforms)
        return self.model_copy(update={"transforms": tuple(one for one in kept if one is not None)})

    def scored(self) -> CorpusPart:
        """The part whose targets translations are scored against, usually this one."""
        if self.target is None or self.path is None:
            return self.with_single_targets()
        side = self.file_format.scored_side(self.target)
        scored = self if side == self.target else self.model_copy(update={"target": side})
        return scored.with_single_targets()

    def with_single_targets(self) -> CorpusPart:
        """The part without context before its targets, with which translations are compared."""
        if self.context is None or not self.context.target:
            return self
        context = self.context.model_copy(update={"target": False})
        return self.model_copy(update={"context": context})

    def example_maker(self) -> Callable[[Pair], Example | None]:
        """A function that turns pairs into examples, or into None if a transform drops the pair.

        It applies the transforms that run once. They are given normalised text. Without any, the
        text stays as it is.
        """
        transforms, rng = self.prepared_transforms, Random(0)
        direction, name = self._direction(()), self.name
        source_language, target_language = direction.source_language, direction.target_language
        context, changes = self.context, bool(self.transforms)

        def example_of(pair: Pair) -> Example | None:
            origin, source, target = Origin(name, pair.line), pair.source, pair.target
            if changes:  # the text of a dev or test set stays as it was read
                source, target = normalize(source), normalize(target)
            example = Example(source, target, source_language, target_language, self.tags, origin)
            made = transformed(example, transforms, rng) if transforms else example
            return made if made is None or context is None else context.around(made, pair.before)

        return example_of

    def fills(self, pair: Pair) -> bool:
        """Whether every side that this part has is non-empty in ``pair`` after normalisation."""
        return not (is_empty(pair.target) or (self.has_source and is_empty(pair.source)))

    def inputs(self) -> list[Path]:
        """All files that its examples depend on: its text and the files of its transforms."""
        read = [file for transform in self.transforms for file in transform.files()]
        return [*self.files(), *self.more_references(), *read]


def part_problems(part: CorpusPart) -> Iterator[str]:
    """Problems of its settings, such as an unknown format or keys that do not fit the format."""
    for name in ("path", "source", "target", "alignments"):
        if getattr(part, name) == "":
            yield f"{name} is empty; name it, or leave it out"
            return
    try:
        form = part.file_format
    except ValueError as error:
        yield str(error)
        return
    if part.sacrebleu is not None:
        beside = ("path", "source", "target", "format", "label", "label_columns", "alignments")
        yield from set_problems(part.sacrebleu, [key for key in beside if getattr(part, key)])
    elif form.one_file == (part.path is None):
        yield (
            "two plain or SGM files are given as source and target without path, any other format "
            "as path"
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
    yield from _format_problems(part, form)
    yield from order_problems(part.transforms, part.has_source)
    if part.tags and not any([part.has_source, *(one.makes_source for one in part.transforms)]):
        yield "tags go in front of a source, and there is none"
    yield from context_problems(part)


def _format_problems(part: CorpusPart, form: Format) -> Iterator[str]:
    """Settings that its format does not have."""
    if part.documents is not None and form.sides not in {"columns", "keys"}:
        yield f"documents is a column of a table, and {form.name} has none; leave it out"
    if part.unreviewed and not form.has_states:
        yield (
            f"unreviewed: {form.name} does not say which translations are reviewed; leave it out"
        )


def context_problems(part: CorpusPart) -> Iterator[str]:
    """Reasons why its sentences cannot be read with their context."""
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
    """Problems of labels: together with targets, or without sources."""
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
    copied = any(transform.kind == "copy" for transform in part.transforms)
    return "; text to copy is named as target, with its target_language" if copied else ""
