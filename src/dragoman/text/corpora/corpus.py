"""Reading parallel corpora: the pairs of a part, in any file format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from dragoman.core.errors import DataError
from dragoman.text.context import ContextConfig, ContextWindow
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Example
from dragoman.text.formats import Pair
from dragoman.text.lines import read_lines
from dragoman.text.normalization import normalize
from dragoman.text.transforms import transformed


def read_pairs(part: CorpusPart) -> Iterator[Pair]:
    """The pairs of a part, unchanged and in order, including empty sides.

    Memory use does not grow with the corpus, except for PO catalogues.

    Raises:
        DataError: a file is missing, empty, damaged, not UTF-8, not of its format, or lacks the
            column or language; two plain files differ in length; or a text contains the separator
            of its context.
    """
    if part.is_labelled:
        return _labelled(part)
    sides = part.source or part.target or "", part.target or ""
    pairs = part.file_format.read(part.paths(), sides)
    if part.context is not None:
        return _in_context(pairs, part, part.context)
    return pairs if part.has_source else (pair._replace(source="") for pair in pairs)


def _labelled(part: CorpusPart) -> Iterator[Pair]:
    """The texts of a part, each with its label; an empty text has no label."""
    form = part.file_format
    named = [(name, name) for name in part.label_columns]
    for name, label in named or [(part.source or "", part.label or "")]:
        for pair in form.read(part.paths(), (name, name)):
            text = pair.source if form.one_file else pair.target  # a single plain file has targets
            yield Pair(text, label if text.strip() else "", pair.line)


def _in_context(pairs: Iterator[Pair], part: CorpusPart, context: ContextConfig) -> Iterator[Pair]:
    """Pairs with their preceding pairs, including those that cleaning or a filter drops.

    Raises:
        DataError: a text contains the separator.
    """
    window, document, names = ContextWindow(context), "", _document_names(part)
    for pair in pairs:
        texts = normalize(pair.source), normalize(pair.target)
        if any(context.separator in text for text in texts):
            raise DataError(
                f"{part.name}:{pair.line}: the text has {context.separator}, which separates "
                "sentences from their context; set data.context.separator to another tag"
            )
        name = next(names, "") if names is not None else ""
        if name != document or (names is None and not any(texts)):
            window.end_document()
            document = name
        yield pair._replace(before=window.before(pair.line))
        if texts[0] and (texts[1] or not context.target):
            window.add(*texts)


def _document_names(part: CorpusPart) -> Iterator[str] | None:
    """The name of the document of each pair; None for files without such names."""
    if part.documents is None:
        return None
    named = part.file_format.read(part.paths(), (part.documents, part.documents))
    return (pair.source.partition("#")[0] for pair in named)


def kept_pairs(part: CorpusPart) -> Iterator[Pair]:
    """The pairs that the filters of a part keep, unchanged, including empty sides.

    Raises:
        DataError: as for :func:`read_pairs`.
    """
    example_of = part.example_maker()
    return (pair for pair in read_pairs(part) if example_of(pair) is not None)


def evaluation_examples(part: CorpusPart) -> Iterator[Example]:
    """The examples of a dev or test set, transformed and without empty ones.

    The random draws of a transform for a line are always the same.

    Raises:
        DataError: as for :func:`read_pairs`.
    """
    filled = (pair for pair in read_pairs(part) if part.fills(pair))
    prepared = (one for one in map(part.example_maker(), filled) if one is not None)
    later = part.epoch_transforms
    if not later:
        return prepared
    drawn = (transformed(one, later, Random(one.line)) for one in prepared)
    return (one for one in drawn if one is not None)


def reference_sets(part: CorpusPart, pairs: Sequence[Pair] | Sequence[Example]) -> list[list[str]]:
    """The targets of a dev or test set, and further references of the same lines if it has any.

    Args:
        part: the set.
        pairs: its examples, or some of them.

    Raises:
        DataError: a file of references cannot be read.
    """
    found = [[pair.target for pair in pairs]]
    for path in part.more_references():
        lines = list(read_lines(path))
        found.append([lines[pair.line - 1] for pair in pairs])
    return found


def referenced_pairs(part: CorpusPart) -> Iterator[Pair]:
    """The kept pairs of a set, once with each of its references as their target."""
    if not part.more_references():
        return kept_pairs(part)
    kept = list(kept_pairs(part))
    sets = reference_sets(part, kept)
    return (
        pair._replace(target=target)
        for targets in sets
        for pair, target in zip(kept, targets, strict=True)
    )


def own_source(example: Example, part: CorpusPart) -> str:
    """The source that a translation renders: without tags and the context before it."""
    return example.source if part.context is None else part.context.alone(example.source)


def evaluation_pairs(part: CorpusPart) -> Iterator[Pair]:
    """The :func:`evaluation_examples` as pairs for a model, with tags in front of the sources.

    Raises:
        DataError: as for :func:`read_pairs`.
    """
    for one in evaluation_examples(part):
        yield Pair(one.tagged_source, one.target, one.line)


def part_labels(parts: Sequence[CorpusPart]) -> list[str]:
    """The name of each part, with its direction or a number if others have the same name."""
    labels = [part.name for part in parts]
    for more in (
        [part.direction.name for part in parts],
        [f"({number})" for number in range(1, len(parts) + 1)],
    ):
        times = Counter(labels)
        labels = [
            f"{label} {one}" if times[label] > 1 else label
            for label, one in zip(labels, more, strict=True)
        ]
    return labels
