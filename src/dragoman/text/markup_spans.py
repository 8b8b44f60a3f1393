"""Inline markup and placeholders of running text: their positions, and the text without them.

It serves corpora with markup in their lines (reStructuredText as in the documentation of Python,
HTML, and the placeholders of user interfaces). Documents are read in :mod:`dragoman.documents`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import regex

from dragoman.text.inline_tags import (
    SYMBOL,
    InlineTags,
    PlacedTag,
    TagSpan,
    numbered,
    pair_symbols,
    point_symbol,
    read_tags,
    symbols_in,
    write_tags,
)
from dragoman.text.normalization import normalize
from dragoman.text.terms.terminology import WORDS_IN_BRACKETS, Terminology

MarkupStyle = Literal["rst", "html", "placeholders"]

_RST = regex.compile(
    r"""
      (?P<copy>``\S(?:.*?\S)??``(?!`))                                   # code
    | (?P<begin>:[A-Za-z][\w:+.-]*:`)(?P<text>[^`<>]*[^`<>\s])(?P<end>\ *<[^`<>]+>`)
    | (?P<copy>:[A-Za-z][\w:+.-]*:`[^`]+`)                              # a role
    | (?P<begin>`)(?P<text>[^`<>]*[^`<>\s])(?P<end>\ *<[^`<>]+>`__?)    # a link
    | (?P<copy>`[^`]+`__?) | (?P<copy>\|\w+\|) | (?P<copy>\[[\#*]?\w*\]_)
    | (?<![\w*])(?P<begin>\*\*)(?P<text>[^\s*](?:[^*]*[^\s*])?)(?P<end>\*\*)(?![\w*])
    | (?<![\w*])(?P<begin>\*)(?P<text>[^\s*](?:[^*]*[^\s*])?)(?P<end>\*)(?![\w*])
    """,
    regex.VERSION1 | regex.VERBOSE,
)
_HTML = regex.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z][\w:-]*)(?:\s[^<>]*?)?(?P<empty>/?)>")
_COPIED = Terminology(protect=("placeholders", "urls"))


class MarkupSpan(NamedTuple):
    """A piece of markup."""

    span: TagSpan
    """Position in the text without the markup around words."""
    key: str
    """Identity of the markup, which is the same in the other language."""
    begin: str
    """As it is written, in front of the words; all of it if it is not around words."""
    end: str = ""
    """As it is written, behind the words."""


@dataclass(frozen=True)
class SymbolisedText:
    """A text with symbols in place of its markup."""

    text: str
    spans: tuple[MarkupSpan, ...]
    tags: tuple[PlacedTag, ...]
    """Those of the spans, in the same order."""

    def written(self, translation: str) -> str:
        """A translation with this markup in place of its symbols."""
        plain, places = read_tags(translation, self._copies())
        result, end = "", 0
        for symbol in SYMBOL.finditer(translation):
            key = symbol["sign"] != "x", int(symbol["number"])
            span, place = self._by_key.get(key), places.get(key)
            if span is None or place is None or span.span.kind == "copy":
                continue
            is_end = symbol["sign"] == "/t"
            at = max(end, place[is_end])
            result, end = result + plain[end:at] + (span.end if is_end else span.begin), at
        return result + plain[end:]

    def lost(self, translation: str) -> tuple[str, ...]:
        """The markup whose symbols a translation lacks, such as one that was cut off."""
        there = set(symbols_in(translation))
        return tuple(
            span.begin
            for (is_pair, number), span in self._by_key.items()
            if not there.issuperset(pair_symbols(number) if is_pair else [point_symbol(number)])
        )

    @cached_property
    def _by_key(self) -> dict[tuple[bool, int], MarkupSpan]:
        """The spans by whether they are pairs, and their numbers."""
        keys = [(tag.kind == "pair", tag.number) for tag in self.tags]
        return dict(zip(keys, self.spans, strict=True))

    def _copies(self) -> dict[int, str]:
        return {
            number: span.begin
            for (_, number), span in self._by_key.items()
            if span.span.kind == "copy"
        }


def symbolised(
    text: str, styles: Sequence[MarkupStyle], inline_tags: InlineTags
) -> SymbolisedText | None:
    """A normalised text with symbols for its markup; None without any, or with too much of it."""
    plain, spans = read_markup(text, styles)
    pairs = sum(one.span.kind == "pair" for one in spans)
    if not spans or not inline_tags.fits(pairs, len(spans) - pairs) or SYMBOL.search(text):
        return None
    tags = numbered([one.span for one in spans])
    return SymbolisedText(normalize(write_tags(plain, tags)), tuple(spans), tuple(tags))


class _Found(NamedTuple):
    """A piece of markup in the original text."""

    start: int
    stop: int
    inner: tuple[int, int] | None
    """The words between its two tags; None for a point or copied text."""
    is_copy: bool
    key: str


def read_markup(text: str, styles: Sequence[MarkupStyle]) -> tuple[str, list[MarkupSpan]]:
    """A text without its markup, and the positions of the markup.

    Returns:
        The text, which keeps copied strings, and the markup in order, outer before inner.
    """
    found: list[_Found] = []
    for style in styles:
        for one in _SEARCHES[style](text):
            if all(_is_apart(one, other) for other in found):
                found.append(one)
    removed = sorted(cut for one in found for cut in _cuts(one))

    def place(at: int) -> int:
        return at - sum(min(at, stop) - start for start, stop in removed if start < at)

    plain, end = "", 0
    for start, stop in removed:
        plain, end = plain + text[end:start], stop
    plain += text[end:]
    spans = []
    for one in sorted(found, key=lambda one: (one.start, -one.stop)):
        if one.inner is not None:
            span = TagSpan(place(one.inner[0]), place(one.inner[1]), "pair")
            written = text[one.start : one.inner[0]], text[one.inner[1] : one.stop]
        else:
            span = TagSpan(place(one.start), place(one.stop), "copy" if one.is_copy else "point")
            written = text[one.start : one.stop], ""
        spans.append(MarkupSpan(span, one.key, *written))
    return plain, spans


def _cuts(one: _Found) -> list[tuple[int, int]]:
    """The ranges of a piece of markup that are not text."""
    if one.inner is not None:
        return [(one.start, one.inner[0]), (one.inner[1], one.stop)]
    return [] if one.is_copy else [(one.start, one.stop)]


def _is_apart(one: _Found, other: _Found) -> bool:
    """Whether two pieces do not overlap, or one is within the words of the other."""
    if one.stop <= other.start or other.stop <= one.start:
        return True
    return any(
        outer.inner is not None and outer.inner[0] <= inner.start and inner.stop <= outer.inner[1]
        for outer, inner in ((one, other), (other, one))
    )


def _rst(text: str) -> Iterator[_Found]:
    for match in _RST.finditer(text):
        if match["begin"] is not None:
            key = f"{match['begin']} {match['end'].strip()}"
            yield _Found(*match.span(), match.span("text"), False, key)
        else:
            yield _Found(*match.span(), None, True, match[0])


def _html(text: str) -> Iterator[_Found]:
    opened: list[regex.Match[str]] = []
    for match in _HTML.finditer(text):
        if WORDS_IN_BRACKETS.fullmatch(match[0]):
            continue
        if match["empty"]:
            yield _Found(*match.span(), None, False, match[0])
        elif not match["slash"]:
            opened.append(match)
        elif any(one["name"] == match["name"] for one in opened):
            while (begin := opened.pop())["name"] != match["name"]:
                yield _Found(*begin.span(), None, False, begin[0])  # such as <br>, which has no end
            inner = begin.end(), match.start()
            yield _Found(begin.start(), match.end(), inner, False, begin[0])
    for begin in opened:
        yield _Found(*begin.span(), None, False, begin[0])


def _placeholders(text: str) -> Iterator[_Found]:
    for start, stop in _COPIED.protected(text):
        yield _Found(start, stop, None, True, text[start:stop])


_SEARCHES = {"rst": _rst, "html": _html, "placeholders": _placeholders}
