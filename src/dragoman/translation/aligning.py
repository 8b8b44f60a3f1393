"""Word alignments from the attention of translation models, with given translations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import torch
from torch import Tensor

from dragoman.core.errors import DataError
from dragoman.text.piece_spans import Span, piece_spans, words_at
from dragoman.text.vocabulary import Vocabulary
from dragoman.text.word_alignment import Aligned, symmetrised
from dragoman.translation.forced import check_attention, mean_attention
from dragoman.translation.preparation import with_tags
from dragoman.translation.translator import Translator

_CHUNK_LINES = 2048


def attention_links(
    translator: Translator,
    lines: Sequence[tuple[str, str]],
    words: Sequence[tuple[Sequence[Span], Sequence[Span]]],
    *,
    read: Sequence[str] | None = None,
    layer: int | None = None,
    head: int | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> Iterator[Aligned]:
    """The links of each pair: words that attend to each other most, in both directions.

    Args:
        translator: its models have attention.
        lines: sources and targets, as :func:`~dragoman.text.piece_spans.as_split` returns them.
        words: places of the words of each.
        read: the sources as the models read them, with whatever is in front; by default, behind
            the tags of the translator.
        layer: whose attention is read, from 1; by default the last but one.
        head: one of that layer, from 1; by default the mean over all.
        progress: called with the number of pairs done so far.

    Raises:
        ConfigError: a model has no attention over the source, or no such layer or head.
        DataError: a line is too long for the models.
    """
    check_attention(translator.models)
    sources = (source for source, _ in lines) if read is None else iter(read)
    tags = translator.tags if read is None else ()
    pairs = iter(zip(lines, words, sources, strict=True))
    heads = {"layer": layer, "head": head}
    done = 0
    while chunk := list(islice(pairs, _CHUNK_LINES)):
        tagged = with_tags(tags, [one for *_, one in chunk])
        yield from _of_chunk(translator, chunk, tagged, done, heads)
        done += len(chunk)
        progress(done)


def too_long(translator: Translator, source: str, target: str) -> str | None:
    """Why a pair is too long for the models; None: it is not."""
    (tagged,) = with_tags(translator.tags, [source])
    vocabularies = translator.vocabularies
    return _refusal(
        translator, vocabularies.source.encode(tagged), vocabularies.target.encode(target)
    )


def _refusal(translator: Translator, source: Sequence[int], target: Sequence[int]) -> str | None:
    longest = max(len(source), len(target))
    return translator.search.refusal(longest, translator.position_limit)


_Pair = tuple[tuple[str, str], tuple[Sequence[Span], Sequence[Span]], str]


def _of_chunk(
    translator: Translator,
    pairs: Sequence[_Pair],
    sources: Sequence[str],
    done: int,
    heads: Mapping[str, int | None],
) -> Iterator[Aligned]:
    vocabularies = translator.vocabularies
    source_ids = vocabularies.source.encode_batch(sources)
    target_ids = vocabularies.target.encode_batch([target for (_, target), *_ in pairs])
    for number, (one, other) in enumerate(zip(source_ids, target_ids, strict=True), done + 1):
        if reason := _refusal(translator, one, other):
            raise DataError(f"pair {number}: {reason}")
    found: list[Aligned] = [Aligned(frozenset(), frozenset())] * len(pairs)
    engine, size = translator.local_engine, translator.search.tokens_at_once
    for number, weights in mean_attention(engine, source_ids, target_ids, size, **heads):
        (source, target), (source_words, target_words), _ = pairs[number]
        below = _words(vocabularies.source, sources[number], source, source_words)
        beside = _words(vocabularies.target, target, target, target_words)
        found[number] = linked(weights, below, beside, len(source_words), len(target_words))
    yield from found


def _words(vocabulary: Vocabulary, tagged: str, line: str, words: Sequence[Span]) -> list[int]:
    return words_at(piece_spans(vocabulary, tagged, line), words)


def linked(
    weights: Tensor,
    source_words: Sequence[int],
    target_words: Sequence[int],
    sources: int,
    targets: int,
) -> Aligned:
    """Words that attend to each other most.

    Args:
        weights: ``(target, source)``, end symbols included.
        source_words: the word of each source piece; -1 for none.
        target_words: the same of the target.
        sources: number of source words.
        targets: number of target words.
    """
    # What belongs to no word is gathered at the end; (1 + target words, 1 + source words)
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
