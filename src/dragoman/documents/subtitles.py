"""Subtitles: cues of SubRip and WebVTT, and lines short enough to be read."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from dragoman.core.errors import DataError
from dragoman.documents.marked_text import MarkedText
from dragoman.documents.marking import MarkupPiece, mark_pieces
from dragoman.documents.numbered_marks import (
    RESERVED,
    NumberedText,
    as_number,
    text_and_numbers,
)

COLUMNS = 42
"""Of a line; wide characters, as in Chinese, take two."""

SubtitleKind = Literal["SubRip", "WebVTT"]

_LINE = re.compile(r"([^\r\n]*)(\r\n?|\n|$)")
_TIME = re.compile(r"\s*(?:\d+:)?\d+:\d+[,.]\d+\s*-->\s*(?:\d+:)?\d+:\d+[,.]\d+")
_DASH = re.compile(r"\s*[-‐–—]\s*")
_TAGS = {
    "SubRip": re.compile(r"</?(?P<name>i|b|u|s|font)(?:\s[^<>]*)?>|\{\\[^{}]*\}", re.IGNORECASE),
    "WebVTT": re.compile(r"</?(?P<name>c|i|b|u|v|lang|ruby|rt)(?:[.\s][^<>]*)?>|<[\d:.]+>"),
}
_CLOSING = "、。，．！？；：」』）】〉》”’…ー"


@dataclass(frozen=True)
class _Utterance:
    """What is said by one in a cue."""

    begin: str
    """In front of its words: a dash."""
    part: int | str
    """The number of its text, or what it is written as if it has no words."""


@dataclass(frozen=True)
class _Cue:
    """The lines of a cue, without its number and time."""

    utterances: tuple[_Utterance, ...]
    newline: str
    columns: int
    """Those of its longest line, if that is longer than it should be."""


@dataclass
class SubtitleDocument:
    """Subtitles with the texts of their cues."""

    kind: SubtitleKind
    texts: list[MarkedText] = field(default_factory=list)
    _parts: list[str | _Cue] = field(default_factory=list)
    _tags: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, text: str, kind: SubtitleKind) -> SubtitleDocument:
        """The subtitles of a file.

        Raises:
            DataError: it has none.
        """
        document = cls(kind)
        lines = [(found[1], found[2]) for found in _LINE.finditer(text) if found[0]]
        if kind == "WebVTT" and not re.match(r"WEBVTT(?:\s|$)", text):
            raise DataError("not WebVTT at line 1: it does not begin with WEBVTT")
        timed = [number for number, (line, _) in enumerate(lines) if _TIME.match(line)]
        if kind == "SubRip" and text.strip() and not timed:
            raise DataError(
                "not SubRip: it has no line of times, such as 00:00:01,000 --> 00:00:02,500"
            )
        end = 0
        for number in timed:
            document._keep(lines[end : number + 1])
            end = _cue_end(lines, number + 1)
            first, last = _without_blank(lines, number + 1, end)
            document._keep(lines[number + 1 : first])
            document._add_cue(lines[first:last])
            document._keep(lines[last:end])
        document._keep(lines[end:])
        return document

    def joined(self, translations: Sequence[str]) -> str:
        """The file with its texts replaced."""
        return "".join(
            part if isinstance(part, str) else self._written(part, translations)
            for part in self._parts
        )

    def _keep(self, lines: Sequence[tuple[str, str]]) -> None:
        self._parts += [line + newline for line, newline in lines]

    def _add_cue(self, lines: Sequence[tuple[str, str]]) -> None:
        if not lines:
            return
        count = len(self.texts)
        if any(RESERVED.search(line) for line, _ in lines):
            self._keep(lines)
            return
        utterances = tuple(self._utterances([line for line, _ in lines]))
        if len(self.texts) == count:
            self._keep(lines)  # nothing to translate
            return
        columns = max(_columns(_TAGS[self.kind].sub("", line)) for line, _ in lines)
        newline = next((newline for _, newline in lines if newline), "\n")
        self._parts += [_Cue(utterances, newline, max(COLUMNS, columns)), lines[-1][1]]

    def _utterances(self, lines: Sequence[str]) -> Iterator[_Utterance]:
        """Lines that begin with dashes are said by one after the other; all others are joined."""
        bare = [_TAGS[self.kind].sub("", line) for line in lines]
        dashed = [number for number, line in enumerate(bare) if _DASH.match(line)]
        if len(dashed) < 2:
            dashed = []
        starts = [*dashed, len(lines)]
        if starts[0]:
            yield self._utterance("", lines[: starts[0]])
        for start, end in pairwise(starts):
            found = _DASH.match(lines[start])
            if found is None:  # a tag is in front of it
                yield self._utterance("", lines[start:end])
            else:
                yield self._utterance(
                    found[0], [lines[start][found.end() :], *lines[start + 1 : end]]
                )

    def _utterance(self, begin: str, lines: Sequence[str]) -> _Utterance:
        line = " ".join(one.strip() for one in lines)
        marked = mark_pieces(list(self._pieces(line)), collapses=True)
        if marked is None:
            return _Utterance(begin, line)
        self.texts.append(NumberedText(**vars(marked)))
        return _Utterance(begin, len(self.texts) - 1)

    def _pieces(self, line: str) -> Iterator[MarkupPiece]:
        end = 0
        for found in _TAGS[self.kind].finditer(line):
            yield self._text(line[end : found.start()])
            name = (found["name"] or "").lower()
            kind: Literal["open", "close", "point"] = "point"
            if name:
                kind = "close" if found[0].startswith("</") else "open"
            self._tags.append(found[0])
            yield MarkupPiece(kind, as_number(len(self._tags) - 1), name)
            end = found.end()
        yield self._text(line[end:])

    def _text(self, text: str) -> MarkupPiece:
        is_markup = self.kind == "WebVTT"
        return MarkupPiece("text", text if is_markup else html.escape(text, quote=False))

    def _written(self, cue: _Cue, translations: Sequence[str]) -> str:
        lines: list[str] = []
        for one in cue.utterances:
            if isinstance(one.part, str):
                lines.append(one.begin + one.part)
                continue
            words = list(self._words(text_and_numbers(translations[one.part].strip())))
            found = _balanced(words, cue.columns)
            lines += [("" if number else one.begin) + line for number, line in enumerate(found)]
        return cue.newline.join(line for line in lines if line.strip())

    def _words(self, parts: Iterable[str | int]) -> Iterator[_Word]:
        """What lines may be broken between, each with the tags that it touches."""
        written, columns, gap, space = "", 0, "", ""
        for part in parts:
            units = [self._tags[part]] if isinstance(part, int) else _UNIT.findall(part)
            for unit in units:
                is_text = not isinstance(part, int)
                if is_text and _SPACE.fullmatch(unit):
                    space = unit[0]
                    continue
                breaks = is_text and columns and _is_wide(unit) and unit not in _CLOSING
                if space or breaks:
                    yield _Word(written, columns, gap)
                    written, columns, gap = "", 0, space
                space = ""
                written += self._safe(unit) if is_text else unit
                columns += _columns(unit) if is_text else 0
        yield _Word(written, columns, gap)

    def _safe(self, text: str) -> str:
        """Text as it is written where none of it may be a tag or a time."""
        if self.kind == "WebVTT":
            return html.escape(text, quote=False)
        return _LIKE_TAG.sub(r"\g<0> ", text).replace("-->", "→")


@dataclass(frozen=True)
class _Word:
    """What stays on one line."""

    written: str
    columns: int
    gap: str
    """In front of it, unless it begins a line."""


_LIKE_TAG = re.compile(r"<(?=[A-Za-z/])|\{(?=\\)")
_NO_BREAK = r"\u00a0\u2007\u202f"
"""Spaces at which no line is broken, as in front of French exclamation marks."""
_SPACE = re.compile(rf"[^\S{_NO_BREAK}]+")
_UNSPACED = r"\u1100-\u115f\u2e80-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60"
_UNIT = re.compile(rf"{_SPACE.pattern}|[{_UNSPACED}]|(?:[^\s{_UNSPACED}]|[{_NO_BREAK}])+")
"""White space, a sign of a script without spaces, or a word of another."""


def _is_wide(text: str) -> bool:
    return len(text) == 1 and unicodedata.east_asian_width(text) in "WF"


def _columns(text: str) -> int:
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1
        for one in text
    )


def _balanced(words: Sequence[_Word], columns: int) -> list[str]:
    """Lines of about the same length, as few as possible.

    Args:
        words: in order.
        columns: of a line at most, unless a word is longer.
    """
    width = sum(word.columns + _columns(word.gap) for word in words)
    lines = _broken(words, columns)
    for narrower in range(math.ceil(width / len(lines)), columns):
        found = _broken(words, narrower)
        if len(found) == len(lines):
            return found
    return lines


def _broken(words: Sequence[_Word], columns: int) -> list[str]:
    lines: list[str] = []
    filled = 0
    for word in words:
        more = word.columns + _columns(word.gap)
        if lines and filled + more <= columns:
            lines[-1] += word.gap + word.written
            filled += more
        else:
            lines.append(word.written)
            filled = word.columns
    return lines


def _cue_end(lines: Sequence[tuple[str, str]], start: int) -> int:
    """Where the text of a cue ends: at an empty line, or in front of the next cue.

    A line of white space is not empty: YouTube writes one in front of the words.
    """
    for number in range(start, len(lines)):
        line = lines[number][0]
        following = lines[number + 1][0] if number + 1 < len(lines) else ""
        if not line or _TIME.match(line):
            return number
        if line.strip().isdigit() and _TIME.match(following):
            return number
    return len(lines)


def _without_blank(lines: Sequence[tuple[str, str]], start: int, end: int) -> tuple[int, int]:
    """The lines of a cue without those of white space at its ends."""
    shown = [number for number in range(start, end) if lines[number][0].strip()]
    return (shown[0], shown[-1] + 1) if shown else (end, end)
