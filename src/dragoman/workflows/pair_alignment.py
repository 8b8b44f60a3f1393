"""The words of parallel text that translate each other, line by line, in Pharaoh format."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.core.errors import DataError
from dragoman.evaluation.alignment_error import AlignmentScore
from dragoman.text.formats import Pair
from dragoman.text.pharaoh import Link, LinkCheck, read_gold_alignments
from dragoman.text.tokens import space_spans
from dragoman.text.vocabularies.piece_spans import as_split
from dragoman.text.word_alignment import Aligned, align

if TYPE_CHECKING:
    from dragoman.translation.aligning import PairReader
    from dragoman.translation.translator import Translator

log = logging.getLogger(__name__)

Pairs = Sequence[tuple[str, str]]
Progress = Callable[[int], object]


def learned_links(pairs: Pairs, tell: Progress) -> Iterator[Aligned]:
    """Links that an aligner learns from the pairs alone, ignoring case.

    Args:
        pairs: sources and targets, words between spaces.
        tell: called with the number of rounds done so far, of twice ``ROUNDS``.
    """
    words = [(source.casefold().split(), target.casefold().split()) for source, target in pairs]
    return align(words, progress=tell)


def attended_links(
    translator: Translator,
    pairs: Pairs,
    tell: Progress,
    layer: int | None = None,
    head: int | None = None,
    *,
    first: int = 1,
    reader: PairReader | None = None,
) -> Iterator[Aligned]:
    """Links by the attention of a model.

    A pair gets no links, and a warning names it, if it is too long for the model, or if the
    vocabulary's normalisation joins or splits its words, which changes their numbers.

    Args:
        first: the number of the first pair, for warnings.
        reader: has read the pairs before the first; none by default.
    """
    from dragoman.translation.aligning import PairReader, attention_links, too_long

    reader = reader or PairReader(translator)
    source, target = translator.vocabularies
    lines: list[tuple[str, str]] = []
    read: list[tuple[str, str]] = []
    for number, pair in enumerate(pairs, first):
        split = as_split(source, pair[0]), as_split(target, pair[1])
        in_context, reason = reader(*split), too_long(translator, *split)
        if any(
            len(one.split()) != len(other.split()) for one, other in zip(pair, split, strict=True)
        ):
            reason = "normalisation changes its words"
        if reason is not None:
            log.warning("pair %d: %s; it gets no links", number, reason)
            split = in_context = "", ""
        lines.append(split)
        read.append(in_context)
    words = [(space_spans(one), space_spans(other)) for one, other in lines]
    chosen = {"layer": layer, "head": head}
    return attention_links(translator, lines, words, read=read, **chosen, progress=tell)


def pharaoh_lines(aligned: Iterable[Aligned]) -> Iterator[str]:
    """Lines such as ``0-0 1-2 2-1``, source before target, in the order of the source."""
    for links in aligned:
        yield " ".join(f"{i}-{j}" for i, j in sorted(links.all))


def read_gold(path: Path, pairs: Sequence[Pair], text: str) -> list[tuple[list[Link], list[Link]]]:
    """The sure and the possible links of each pair.

    Raises:
        DataError: the file cannot be read, or is of other text: it has more or fewer lines, links
            beyond the words of a pair, or words counted from 1.
    """
    gold = list(read_gold_alignments(path))
    if len(gold) != len(pairs):
        raise DataError(
            f"{path}: {len(gold):,} lines for {len(pairs):,} pairs; give a file with one line per "
            "pair"
        )
    check = LinkCheck(path, text)
    for number, (pair, (sure, possible)) in enumerate(zip(pairs, gold, strict=True), 1):
        check.add(number, [*sure, *possible], (pair.source, pair.target), pair.line)
    check.finish()
    return gold


def score_values(score: AlignmentScore) -> dict[str, float]:
    """The figures of a comparison, as plain values."""
    return {
        "found": score.found,
        "sure": score.sure,
        "precision": score.precision,
        "recall": score.recall,
        "alignment_error_rate": score.error_rate,
    }
