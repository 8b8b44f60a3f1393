"""Inline tags in training text: from its markup, or injected around aligned phrases."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field

from dragoman.core.relocation import TextPath
from dragoman.text.examples import Direction, Example
from dragoman.text.inline_tags import (
    SYMBOL,
    InlineTags,
    PlacedTag,
    Range,
    TagKind,
    numbered,
    renumbered,
    structure,
    symbols_in,
    write_tags,
)
from dragoman.text.markup_spans import MarkupSpan, MarkupStyle, read_markup
from dragoman.text.normalization import normalize
from dragoman.text.segments import SegmentTable, segment_table
from dragoman.text.tokens import word_spans
from dragoman.text.transforms.interface import FileTransform, SharedTransform, TransformConfig
from dragoman.text.word_edges import is_whole

_MORE = 0.5
"""Probability of each further tag in a sentence."""
_MOST = 6
_KINDS = {
    "phrase": 0.5,
    "run": 0.15,
    "line": 0.05,
    "same": 0.15,
    "replaced": 0.1,
    "point": 0.05,
}
"""Places of tags, with the probability of trying each: a phrase, the text between two phrases,
the whole line, a copied word that is the same on both sides, a phrase in place of copied text,
and the point in front of a phrase."""


class MarkupTagsConfig(TransformConfig):
    """Turns the markup of a pair into the symbols of inline tags.

    A pair stays as it is written if its sides have different markup, or more than there are symbols
    for.
    """

    kind: Literal["markup_tags"] = "markup_tags"
    """Markup of the text as inline tags."""
    styles: tuple[MarkupStyle, ...] = ("rst",)
    """What is markup: `rst` (reStructuredText), `html`, `placeholders` (also addresses)."""
    inline_tags: InlineTags = InlineTags()
    """How many tags a sentence may have."""

    def symbols(self, direction: Direction) -> Iterator[str]:
        """The symbols of all tags."""
        yield from self.inline_tags.symbols()

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example with symbols."""
        if SYMBOL.search(example.source) or SYMBOL.search(example.target):
            return example
        source, target = tagged_markup(
            example.source, example.target, self.styles, self.inline_tags
        )
        return example._replace(source=source, target=target)


def tagged_markup(
    source: str, target: str, styles: Sequence[MarkupStyle], inline_tags: InlineTags
) -> tuple[str, str]:
    """Both sides with symbols for their markup, if it is the same and there are enough symbols."""
    ours, theirs = read_markup(source, styles), read_markup(target, styles)
    if not ours[1] or not theirs[1]:
        return source, target
    shared = list(_matched(ours[1], theirs[1]))
    pairs = sum(one.span.kind == "pair" for one, _ in shared)
    if len(ours[1]) != len(shared) or len(theirs[1]) != len(shared):
        return source, target
    if not inline_tags.fits(pairs, len(shared) - pairs):
        return source, target
    tags = numbered([one.span for one, _ in shared])
    others = [
        PlacedTag(*other.span, tag.number) for tag, (_, other) in zip(tags, shared, strict=True)
    ]
    made = normalize(write_tags(ours[0], tags)), normalize(write_tags(theirs[0], others))
    nested = [structure(symbols_in(one)) for one in made]
    return made if nested[0] == nested[1] is not None else (source, target)


def _matched(
    ours: Sequence[MarkupSpan], theirs: Sequence[MarkupSpan]
) -> Iterator[tuple[MarkupSpan, MarkupSpan]]:
    """Markup of both sides with the same key, paired in order."""
    waiting: defaultdict[tuple[str, TagKind], deque[MarkupSpan]] = defaultdict(deque)
    for one in theirs:
        waiting[one.key, one.span.kind].append(one)
    for one in ours:
        if found := waiting[one.key, one.span.kind]:
            yield one, found.popleft()


class InjectTagsConfig(FileTransform, SharedTransform):
    """Puts tags around, between and instead of words that translate each other.

    Hanneman and Dinu 2020, section 3.2, and Hashimoto et al. 2019 (arXiv:1907.01160): text without
    markup so teaches a model where tags belong.  Which phrases translate each other is read from a
    file of `dragoman segments`.
    """

    kind: Literal["inject_tags"] = "inject_tags"
    """Inline tags around phrases that translate each other."""
    file_setting: ClassVar[str] = "segments"
    segments: TextPath
    """File of `dragoman segments`."""
    share: float = Field(0.5, gt=0, le=1)
    """Share of the examples that it changes, different ones in each epoch."""
    inline_tags: InlineTags = InlineTags()
    """How many tags a sentence may have."""

    is_random: ClassVar[bool] = True  # it draws the phrases
    is_for_sets: ClassVar[bool] = True  # each line has the same tags in every run

    def symbols(self, direction: Direction) -> Iterator[str]:
        """The symbols of all tags."""
        yield from self.inline_tags.symbols()

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example with tags, if it has aligned phrases."""
        if not self.draws(rng):
            return example
        source, target = tagged_phrases(
            example.source, example.target, segment_table(self.segments), self.inline_tags, rng
        )
        return example._replace(source=source, target=target)


def tagged_phrases(
    source: str, target: str, segments: SegmentTable, inline_tags: InlineTags, rng: Random
) -> tuple[str, str]:
    """Both sides of a pair with tags at words that translate each other.

    Sides whose tags already differ stay unchanged.

    Args:
        source: normalised, like the target; may have symbols already.
    """
    nested = structure(symbols_in(source))
    if nested is None or nested != structure(symbols_in(target)):
        return source, target
    anchors = list(_anchors(segments, source, target))
    injection = _Injection(source, target, anchors, inline_tags)
    for _ in range(_count(rng)):
        injection.add(_drawn_kind(rng), rng)
    made = injection.written()
    if structure(symbols_in(made[0])) != structure(symbols_in(made[1])):
        return source, target  # tags that touch on one side only are nested on the other
    return normalize(made[0]), normalize(made[1])


class _Both(NamedTuple):
    """Parts of the two sides that translate each other."""

    source: Range
    target: Range


def _count(rng: Random) -> int:
    count = 1
    while count < _MOST and rng.random() < _MORE:
        count += 1
    return count


def _drawn_kind(rng: Random) -> str:
    return rng.choices(list(_KINDS), list(_KINDS.values()))[0]


def _anchors(table: SegmentTable, source: str, target: str) -> Iterator[_Both]:
    """Phrases that translate each other and occur once on their sides, in order."""
    found = []
    for phrase, translation in table.within(source, target):
        one, other = _only(source, phrase), _only(target, translation)
        if one is not None and other is not None:
            found.append(_Both(one, other))
    yield from sorted(found)


def _only(text: str, phrase: str) -> Range | None:
    """The position of a phrase that occurs exactly once; otherwise None."""
    places: list[Range] = []
    start = text.find(phrase)
    while start >= 0 and len(places) < 2:
        if is_whole(text, start, start + len(phrase)):
            places.append((start, start + len(phrase)))
        start = text.find(phrase, start + 1)
    return places[0] if len(places) == 1 else None


class _Injection:
    """Chooses tags for a pair such that none cross on either side."""

    def __init__(
        self, source: str, target: str, anchors: Sequence[_Both], inline_tags: InlineTags
    ) -> None:
        self._texts, self._anchors, self._inline_tags = (source, target), anchors, inline_tags
        self._old = _spans_of_symbols(source), _spans_of_symbols(target)
        self._pairs = sum(symbol.startswith("<t") for symbol in self._old[0])
        self._points = len(self._old[0]) - self._pairs
        self._first = max(self._pairs, self._points) + self._highest() + 1
        self._new: list[tuple[_Both, TagKind]] = []

    def _highest(self) -> int:
        return max((int(found["number"]) for found in SYMBOL.finditer(self._texts[0])), default=0)

    def add(self, kind: str, rng: Random) -> None:
        """Tries to add a tag of a kind."""
        chosen = self._candidate(kind, rng)
        if chosen is None:
            return
        both, tag = chosen
        is_pair = tag == "pair"
        room = self._inline_tags.fits(self._pairs + is_pair, self._points + (not is_pair))
        if room and self._fits(both, tag):
            self._new.append(chosen)
            self._pairs, self._points = self._pairs + is_pair, self._points + (not is_pair)

    def _candidate(self, kind: str, rng: Random) -> tuple[_Both, TagKind] | None:
        if kind == "line":
            return _Both((0, len(self._texts[0])), (0, len(self._texts[1]))), "pair"
        if kind == "same":
            words = _same_words(*self._texts)
            return (rng.choice(words), "copy") if words else None
        if not self._anchors:
            return None
        one = rng.choice(self._anchors)
        if kind == "run":
            other = rng.choice(self._anchors)
            run = _Both(_hull(one.source, other.source), _hull(one.target, other.target))
            return (run, "pair") if self._is_run(run) else None
        if kind == "point":
            (start, _), (first, _) = one
            return _Both((start, start), (first, first)), "point"
        return one, "copy" if kind == "replaced" else "pair"

    def _is_run(self, run: _Both) -> bool:
        """Whether known translations of the inside on one side are inside on the other."""
        return all(
            _relation(one.source, run.source) == _relation(one.target, run.target)
            for one in self._anchors
        )

    def _fits(self, both: _Both, tag: TagKind) -> bool:
        """Whether it has the same place among the other tags on both sides, and replaces none."""
        symbols = [_Both(self._old[0][symbol], self._old[1][symbol]) for symbol in self._old[0]]
        for other, kind in [*((one, "pair") for one in symbols), *self._new]:
            relation = _relation(other.source, both.source)
            if relation == "crosses" or relation != _relation(other.target, both.target):
                return False
            if relation == "same" or (tag == "copy" and relation == "within"):
                return False
            if kind == "copy" and relation == "around":
                return False
        is_point = tag == "point"
        return not any(
            any(_cuts(symbol.span(), one, is_point) for symbol in SYMBOL.finditer(text))
            for text, one in zip(self._texts, both, strict=True)
        )

    def written(self) -> tuple[str, str]:
        """Both sides with all tags."""
        # Temporary numbers beyond the existing ones; all are renumbered afterwards.
        numbers = range(self._first, self._first + len(self._new))
        made = []
        for side, text in enumerate(self._texts):
            tags = [
                PlacedTag(*both[side], kind, number)
                for (both, kind), number in zip(self._new, numbers, strict=True)
            ]
            made.append(write_tags(text, tags))
        return renumbered(made[0], made[1])


def _spans_of_symbols(text: str) -> dict[str, Range]:
    found: dict[str, Range] = {}
    for symbol in SYMBOL.finditer(text):
        if symbol["sign"] == "/t":
            name = f"<t{symbol['number']}>"
            found[name] = (found[name][0], symbol.end())
        else:
            found[symbol[0]] = symbol.span()
    return found


def _cuts(symbol: Range, span: Range, is_point: bool) -> bool:
    ends = span[:1] if is_point else span
    return any(symbol[0] < end < symbol[1] for end in ends)


def _hull(one: Range, other: Range) -> Range:
    return min(one[0], other[0]), max(one[1], other[1])


def _relation(one: Range, other: Range) -> str:
    if one == other:
        return "same"
    if one[1] <= other[0]:
        return "apart"
    if other[1] <= one[0]:
        return "apart"
    if other[0] <= one[0] and one[1] <= other[1]:
        return "within"
    return "around" if one[0] <= other[0] and other[1] <= one[1] else "crosses"


def _same_words(source: str, target: str) -> list[_Both]:
    """Words that are the same on both sides, once in each; symbols of tags are left out."""
    sides = [_words_once(source), _words_once(target)]
    return [_Both(place, sides[1][word]) for word, place in sides[0].items() if word in sides[1]]


def _words_once(text: str) -> dict[str, Range]:
    found: dict[str, list[Range]] = defaultdict(list)
    symbols = [symbol.span() for symbol in SYMBOL.finditer(text)]
    for start, stop in word_spans(text):
        is_symbol = any(start < end and begin < stop for begin, end in symbols)
        if not is_symbol and text[start:stop].strip(_SIGNS):
            found[text[start:stop]].append((start, stop))
    return {word: places[0] for word, places in found.items() if len(places) == 1}


_SIGNS = ".,:;!?\"'()[]{}<>«»„“”‚‘’…-–—/&*%$#@=+|\\_~`^。、，；：！？（）「」"


def markup_styles(transforms: Iterable[TransformConfig]) -> tuple[MarkupStyle, ...]:
    """The markup that a model learns as symbols by these transforms."""
    found = [one.styles for one in transforms if isinstance(one, MarkupTagsConfig)]
    return tuple(dict.fromkeys(style for styles in found for style in styles))


def inline_tags(transforms: Iterable[TransformConfig]) -> InlineTags | None:
    """All tags that a model learns by these transforms; None if it learns none."""
    found = [
        one.inline_tags
        for one in transforms
        if isinstance(one, (MarkupTagsConfig, InjectTagsConfig))
    ]
    if not found:
        return None
    return InlineTags(
        pairs=max(one.pairs for one in found), points=max(one.points for one in found)
    )
