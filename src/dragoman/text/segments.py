"""Segments of a text: words and phrases with their translations, cut out of longer pairs.

A model trained only on whole sentences continues a single word or a heading into a sentence.  The
phrase pairs of a corpus (Och and Ney 2004, section 2.1) are real translations of short input, in
the proportions of the text itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.text.lines import file_stamp, read_lines
from dragoman.text.normalization import normalize
from dragoman.text.terms.term_extraction import (
    TokenizedPair,
    linked_span,
    linked_words,
    ngrams,
    stop_words,
)
from dragoman.text.tokens import Word
from dragoman.text.word_alignment import Aligned

HEADER = ("source", "target")
"""First line of a file of segments, so that it can also be read as a corpus."""

Segment = tuple[str, str]
"""A short source and its translation."""


@dataclass(frozen=True)
class SegmentLimits:
    """Criteria for segments."""

    maximum_words: int = 4
    """Maximum words of a source, or characters in scripts without spaces."""
    minimum_count: int = 2
    """Minimum occurrences of a pair, since a single one is often a wrong alignment."""
    minimum_share: float = 0.1
    """Share of the occurrences of a source that a translation must have."""


def extract_segments(
    pairs: Sequence[tuple[str, str]],
    tokenized: Sequence[TokenizedPair],
    aligned: Iterable[Aligned],
    *,
    language: str,
    limits: SegmentLimits | None = None,
) -> dict[Segment, int]:
    """Segments with their counts, most frequent first; equally frequent ones keep their order.

    Every word of a segment is linked, only within the segment, and both directions of the aligner
    agree on at least one link.  A source neither begins nor ends with a stop word, since phrases
    such as "in the" are never translated alone.

    Args:
        aligned: the links of each pair, between these words.
    """
    limits = limits or SegmentLimits()
    stops = stop_words(language, Counter(w.key for one in tokenized for w in one.source))
    counts: Counter[Segment] = Counter()
    for (source, target), words, links in zip(pairs, tokenized, aligned, strict=True):
        for (start, end), (first, last) in _spans(words, links, limits.maximum_words, stops):
            short = _text(source, words.source, start, end)
            counts[short, _text(target, words.target, first, last)] += 1
    totals: Counter[str] = Counter()
    for (one, _), count in counts.items():
        totals[one] += count
    kept = {
        segment: count
        for segment, count in counts.items()
        if count >= limits.minimum_count and count >= limits.minimum_share * totals[segment[0]]
    }
    return dict(sorted(kept.items(), key=lambda item: (-item[1], item[0])))


def _spans(
    words: TokenizedPair, links: Aligned, longest: int, stops: frozenset[str]
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """First and last word of the two sides of each segment of a pair."""
    of_source, of_target = linked_words(links.all, words)
    for _, start, end in ngrams(words.source, longest, stops):
        places = range(start, end + 1)
        linked = sorted({j for i in places for j in of_source[i]})
        span = linked_span(linked, (start, end), of_target, words.target)
        if span is None or not all(of_source[i] for i in places):
            continue
        is_sure = any((i, j) in links.sure for i in places for j in linked)
        if is_sure and all(of_target[j] for j in range(span[0], span[1] + 1)):
            yield (start, end), span


def _text(line: str, words: Sequence[Word], first: int, last: int) -> str:
    return line[words[first].start : words[last].end]


class SegmentTable:
    """Segments by the words of their sources, for finding those in a pair."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._targets: Mapping[str, list[str]]
        found: defaultdict[str, list[str]] = defaultdict(list)
        self._longest = 0
        for source, target in segments:
            found[source].append(target)
            self._longest = max(self._longest, len(TokenizedPair.of(source, "").source))
        self._targets = dict(found)

    @classmethod
    def read(cls, path: Path) -> SegmentTable:
        """Reads the file that ``dragoman segments`` writes, or a dictionary in its form.

        Its text is normalised like that of the pairs.

        Raises:
            DataError: the file is missing, is not such a file, or has no segments.
        """
        lines = enumerate(read_lines(path), 1)
        if tuple(next(lines, (1, ""))[1].split("\t")) != HEADER:
            raise DataError(
                f"{path}:1: expected the line source, tab, target; write the file with 'dragoman "
                "segments CONFIG --output FILE'"
            )
        segments = []
        for number, line in lines:
            sides = [normalize(side) for side in line.split("\t")]
            if len(sides) != 2 or not all(sides):
                raise DataError(
                    f"{path}:{number}: {line!r:.60} is not a segment, a tab and its translation"
                )
            segments.append((sides[0], sides[1]))
        if not segments:
            raise DataError(f"{path}: no segments; write it from more text")
        return cls(segments)

    def within(self, source: str, target: str) -> list[Segment]:
        """The segments of a pair: both sides occur in it, as whole words in the same spelling."""
        words, others = TokenizedPair.of(source, target).source, _starts_and_ends(target)
        found: dict[Segment, None] = {}
        for start in range(len(words)):
            for end in range(start, min(start + self._longest, len(words))):
                text = _text(source, words, start, end)
                for translation in self._targets.get(text, ()):
                    if _occurs(target, translation, others):
                        found[text, translation] = None
        return list(found)


def segment_table(path: str) -> SegmentTable:
    """The segments of a file, which is read once unless it changes."""
    return _table(path, file_stamp(path))


@lru_cache(maxsize=16)
def _table(path: str, _: tuple[int, int] | None) -> SegmentTable:
    return SegmentTable.read(Path(path))


def _starts_and_ends(line: str) -> tuple[set[int], set[int]]:
    words = TokenizedPair.of(line, "").source
    return {word.start for word in words}, {word.end for word in words}


def _occurs(line: str, text: str, edges: tuple[set[int], set[int]]) -> bool:
    """Whether a text occurs in a line, between edges of its words."""
    place = line.find(text)
    while place >= 0:
        if place in edges[0] and place + len(text) in edges[1]:
            return True
        place = line.find(text, place + 1)
    return False


def segment_lines(segments: Iterable[Segment]) -> Iterator[str]:
    """The lines of a file of segments."""
    yield "\t".join(HEADER)
    for source, target in segments:
        yield f"{source}\t{target}"
