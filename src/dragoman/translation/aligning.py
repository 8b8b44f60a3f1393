"""Word alignments from the attention of translation models, with given translations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import torch
from torch import Tensor

from dragoman.core.errors import DataError
from dragoman.text.vocabularies import Vocabulary
from dragoman.text.vocabularies.piece_spans import Span, piece_spans, words_at
from dragoman.text.word_alignment import Aligned, symmetrised
from dragoman.translation.forced import check_attention, mean_attention
from dragoman.translation.translator import Translator

_CHUNK_LINES = 2048


class PairReader:
    """Pairs as models read and write them: sources behind tags, both sides with their context."""

    def __init__(self, translator: Translator) -> None:
        self._format, self._number = translator.line_format, 0
        self._in_context = self._format.reader()

    def __call__(self, source: str, target: str) -> tuple[str, str]:
        """The next pair of a text."""
        if self._in_context is not None:
            source, target = self._in_context(self._number, source, target)
        self._number += 1
        return self._format.with_tags([source])[0], target

    def each_alone(self, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Pairs outside the order of a text: none is the context of another."""
        for pair in pairs:
            if self._in_context is not None:
                self._in_context.end_document()
            yield self(*pair)


def attention_links(
    translator: Translator,
    lines: Sequence[tuple[str, str]],
    words: Sequence[tuple[Sequence[Span], Sequence[Span]]],
    *,
    read: Iterable[tuple[str, str]] | None = None,
    layer: int | None = None,
    head: int | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> Iterator[Aligned]:
    """The links of each pair: words that attend to each other most, in both directions.

    Args:
        translator: its models have attention.
        lines: sources and targets, as :func:`~dragoman.text.vocabularies.piece_spans.as_split`
            returns them.
        words: places of the words of each.
        read: the lines as the models read and write them, including anything in front; by default
            as a :class:`PairReader` gives each alone.
        layer: the layer whose attention is used, from 1; by default the penultimate.
        head: a head of that layer, from 1; by default the mean over all.
        progress: called with the number of pairs done so far.

    Raises:
        ConfigError: a model has no attention over the source, or no such layer or head.
        DataError: a line is too long for the models.
    """
    check_attention(translator.models)
    if read is None:
        read = PairReader(translator).each_alone(lines)
    pairs = iter(zip(lines, words, read, strict=True))
    heads = {"layer": layer, "head": head}
    done = 0
    while chunk := list(islice(pairs, _CHUNK_LINES)):
        yield from _of_chunk(translator, chunk, done, heads)
        done += len(chunk)
        progress(done)


def too_long(translator: Translator, source: str, target: str) -> str | None:
    """Why a pair is too long for the models; None if it fits."""
    source, target = PairReader(translator)(source, target)
    vocabularies = translator.vocabularies
    return _refusal(
        translator, vocabularies.source.encode(source), vocabularies.target.encode(target)
    )


def _refusal(translator: Translator, source: Sequence[int], target: Sequence[int]) -> str | None:
    longest = max(len(source), len(target))
    return translator.search.refusal(longest, translator.position_limit)


_Pair = tuple[tuple[str, str], tuple[Sequence[Span], Sequence[Span]], tuple[str, str]]


def _of_chunk(
    translator: Translator,
    pairs: Sequence[_Pair],
    done: int,
    heads: Mapping[str, int | None],
) -> Iterator[Aligned]:
    vocabularies = translator.vocabularies
    sources, targets = [pair[0] for *_, pair in pairs], [pair[1] for *_, pair in pairs]
    source_ids = vocabularies.source.encode_batch(sources)
    target_ids = vocabularies.target.encode_batch(targets)
    if (fitter := translator.line_format.fitter(translator.search)) is not None:
        source_ids, target_ids = fitter(sources, targets, source_ids, target_ids)
    for number, (one, other) in enumerate(zip(source_ids, target_ids, strict=True), done + 1):
        if reason := _refusal(translator, one, other):
            raise DataError(f"pair {number}: {reason}")
    aligned: list[Aligned] = [Aligned(frozenset(), frozenset())] * len(pairs)
    engine, size = translator.local_engine, translator.search.tokens_at_once
    for number, weights in mean_attention(engine, source_ids, target_ids, size, **heads):
        lines, words, read = pairs[number]
        ids = source_ids[number], target_ids[number]
        sides = zip(vocabularies, ids, read, lines, words, strict=True)
        below, beside = (_words(*side) for side in sides)
        aligned[number] = linked(weights, below, beside, *map(len, words))
    yield from aligned


def _words(
    vocabulary: Vocabulary, ids: Sequence[int], read: str, line: str, words: Sequence[Span]
) -> list[int]:
    """The word that each piece belongs to; -1 for tags and context in front of the line."""
    found = words_at(piece_spans(vocabulary, read, line), words)
    return found[len(found) - len(ids) :]  # omitted context is at the front


def linked(
    weights: Tensor,
    source_words: Sequence[int],
    target_words: Sequence[int],
    sources: int,
    targets: int,
) -> Aligned:
    """Words that attend to each other most, by weights ``(target, source)`` with end symbols.

    ``source_words`` and ``target_words`` give the word of each piece, -1 for none; ``sources`` and
    ``targets`` are the numbers of words.
    """
    # Pieces outside words are gathered at the end; (1 + target words, 1 + source words)
    rows = torch.tensor([*target_words, -1]) % (targets + 1)
    columns = torch.tensor([*source_words, -1]) % (sources + 1)
    sums = torch.zeros(targets + 1, len(columns)).index_add_(0, rows, weights)
    sums = torch.zeros(targets + 1, sources + 1).index_add_(1, columns, sums)
    one = {(int(i), j) for j, i in enumerate(sums[:targets].argmax(1)) if i < sources}
    other = (
        {(i, int(j)) for i, j in enumerate(sums[:targets, :sources].argmax(0))}
        if targets
        else set()
    )
    return symmetrised(one, other, sources, targets)
