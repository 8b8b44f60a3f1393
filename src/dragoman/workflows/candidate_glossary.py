"""A candidate glossary from a parallel corpus: reading, aligning, extracting, writing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.core.errors import DataError
from dragoman.text.corpora.cleaning import CleaningConfig, clean
from dragoman.text.corpora.cleaning_report import CleaningReport
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.term_extraction import (
    CandidateTerm,
    TermLimits,
    TokenizedPair,
    extract_terms,
)
from dragoman.text.vocabularies.piece_spans import as_split
from dragoman.text.word_alignment import Aligned, align
from dragoman.text.word_edges import fold

if TYPE_CHECKING:
    from dragoman.translation.translator import Translator

log = logging.getLogger(__name__)

_LONGEST = 150
"""Maximum words of a side: the work grows with the product of both."""
_MOST_CELLS = 60_000_000
"""Source words times target words, summed over the pairs, that fit in about 600 MB."""

Lines = Sequence[tuple[str, str]]
Progress = Callable[[int], object]


@dataclass(frozen=True)
class ReadPairs:
    """The pairs of a corpus from which terms are extracted."""

    lines: Lines
    """Sources and targets, normalised."""
    words: Sequence[TokenizedPair]
    left_out: int
    """Pairs without words, with overlong sides, or beyond the maximum aligned at once."""


def read_corpus(
    parts: Sequence[CorpusPart],
    prepare: Callable[[str, str], tuple[str, str]] = lambda *pair: pair,
) -> ReadPairs:
    """The cleaned pairs of all parts; of very many, pairs at even distances.

    Args:
        prepare: changes both sides of a pair before they are split into words; a pair without
            words is left out.
    """
    pairs = (pair for part in parts for pair in read_pairs(part))
    cleaned = clean(pairs, CleaningConfig(), CleaningReport())
    name = ", ".join(part.name for part in parts)
    return read_words((prepare(pair.source, pair.target) for pair in cleaned), name)


def read_words(pairs: Iterable[tuple[str, str]], name: str) -> ReadPairs:
    """Pairs as words, to be aligned; of very many, pairs at even distances.

    Args:
        pairs: sources and targets, cleaned.
    """
    kept: list[tuple[tuple[str, str], TokenizedPair, int]] = []
    read = cells = long = 0
    step = 1
    for source, target in pairs:
        split = TokenizedPair.of(source, target)
        if not 0 < max(len(split.source), len(split.target)) <= _LONGEST:
            long += 1
            continue
        read += 1
        if (read - 1) % step:
            continue
        kept.append(((source, target), split, size := _cells(split)))
        cells += size
        if cells > 2 * _MOST_CELLS:  # here and not at the end: a corpus may be larger than memory
            kept, step = kept[::2], 2 * step
            cells = sum(size for _, _, size in kept)
    if not kept:
        raise DataError(f"{name}: no pair is left after cleaning; check the file and its sides")
    kept = kept[:: -(-cells // _MOST_CELLS)]
    lines, words = [pair for pair, _, _ in kept], [split for _, split, _ in kept]
    return ReadPairs(lines, words, long + read - len(kept))


def _cells(pair: TokenizedPair) -> int:
    """The cost of its alignment: each word with each of the other side, and with none."""
    return (len(pair.source) + 1) * (len(pair.target) + 1)


def aligned_by_model(translator: Translator, corpus: ReadPairs, tell: Progress) -> list[Aligned]:
    """Links by the attention of a model."""
    from dragoman.translation.aligning import attention_links

    places = [
        ([(w.start, w.end) for w in pair.source], [(w.start, w.end) for w in pair.target])
        for pair in corpus.words
    ]
    return list(attention_links(translator, corpus.lines, places, progress=tell))


def aligned_alone(corpus: ReadPairs, tell: Progress) -> list[Aligned]:
    """Links learned from the corpus itself."""
    return list(align([pair.keys for pair in corpus.words], progress=tell))


def prepared_for(translator: Translator) -> Callable[[str, str], tuple[str, str]]:
    """Both sides as a model splits them; two empty sides for a pair that is too long for it."""
    from dragoman.translation.aligning import too_long

    source, target = translator.vocabularies

    def prepare(one: str, other: str) -> tuple[str, str]:
        split = as_split(source, one), as_split(target, other)
        return ("", "") if too_long(translator, *split) else split

    return prepare


def find_terms(
    corpus: ReadPairs,
    aligned: Iterable[Aligned],
    language: str,
    *,
    limits: TermLimits,
    without: Sequence[Glossary] = (),
    stops: frozenset[str] | None = None,
) -> list[CandidateTerm]:
    """The candidates of a corpus, the strongest first.

    Args:
        language: of the source.
        stops: stop words in lower case; by default those of the language.
    """
    known = {fold(term.source) for glossary in without for term in glossary.terms}
    extracted = extract_terms(
        corpus.lines, corpus.words, aligned, language=language, limits=limits, stops=stops
    )
    # A glossary has each term once, ignoring case and spacing.
    terms: dict[str, CandidateTerm] = {}
    for term in extracted:
        if (key := fold(term.source)) not in known:
            terms.setdefault(key, term)
    return list(terms.values())


def glossary_lines(terms: Iterable[CandidateTerm]) -> Iterator[str]:
    """The glossary as ``--glossary`` reads it: a table of terms and their main translations."""
    yield "source\ttarget"
    for term in terms:
        forms = [form for form in term.renderings[0].forms if "|" not in form]
        if forms and "|" not in term.source:
            yield f"{term.source}\t{'|'.join(forms)}"


def detail_lines(terms: Iterable[CandidateTerm]) -> Iterator[str]:
    """All facts about the candidates, as a table for checking them."""
    yield "source\ttarget\tcount\taligned\tshare\tc_value\tinconsistent\tother translations"
    for term in terms:
        first, *others = term.renderings
        listed = ", ".join(
            f"{'|'.join(rendering.forms)} ({rendering.count})" for rendering in others
        )
        yield "\t".join(
            (
                term.source,
                "|".join(first.forms),
                f"{term.count}\t{term.aligned}\t{term.share:.2f}\t{term.c_value:.1f}",
                "inconsistent" if term.is_inconsistent else "",
                listed,
            )
        )
