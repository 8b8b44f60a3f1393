"""Subtitles of SubRip and WebVTT: cues, in lines short enough to be read."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import ClassVar, Literal

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.core.text_tables import display_width
from dragoman.documents.document_format import DocumentFormat, EncodedDocument, FileLanguages
from dragoman.documents.marks.mark_placement import unchanged
from dragoman.documents.marks.marked_text import (
    RESERVED,
    MarkedText,
    NumberedText,
    as_number,
    text_and_numbers,
)
from dragoman.documents.marks.marking import mark_pieces
from dragoman.documents.marks.markup_pieces import MarkupPiece
from dragoman.text.character_encoding import CharacterEncoding, decode

COLUMNS = 42
"""Of a line.  Wide characters, as in Chinese, take two."""

SubtitleKind = Literal["SubRip", "WebVTT", "SubStation Alpha"]
TagKind = Literal["open", "close", "point"]

LINE = re.compile(r"([^\r\n]*)(\r\n?|\n|$)")
_TIME = re.compile(r"\s*-?\d+\s*:[\d\s:.,-]*-->\s*-?\d+\s*:")
_TAG = re.compile(
    r"<rt(?:\.[^<>]*)?>[^<]*(?:</rt>|(?=</ruby>))"  # how the word in front of it is read
    r"|</?(?P<name>[A-Za-z][\w-]*)(?:[.:\s/][^<>]*)?>"  # also those of other programs
    r"|<\d[\d:.]*>"  # a time within a cue
    r"|\{\\[^{}]*\}|\{/?[bius]\}|\{[yYcCfFsSpPoH]:[^{}]*\}"  # SubStation Alpha, MicroDVD
)
_ALONE = frozenset(["br", "hr", "img", "wbr"])
"""Tags that have no end."""
_BREAK = r"(?i:<br\s*/?>)|\\N"
_VOICE = re.compile(r"<[vV](?=[.\s>])")
# Between two texts of a line: a line break in another way, or nothing in front of another voice.
_PARTING = re.compile(
    rf"((?<!\s)\s*(?:{_BREAK})\s*|(?<!\s)\s+(?={_VOICE.pattern})|(?<=>)(?={_VOICE.pattern}))"
)
_DASH = re.compile(r"\s*[-‐–—―]\s*")
_CHANGE = re.compile(r"\s*(?:>>+|(?:&gt;){2,})\s*")
"""In front of another speaker in captions (CEA-608)."""
_LABEL = re.compile(r"\s*(?P<name>[^\W\d_][\w .'’-]{0,30}?)(?:\s?\([^()]*\))?\s?(?::(?=\s|$)|：)")
"""The name of a speaker."""
_SOUND = re.compile(r"\s*(?:\[[^\[\]]*\]|\((?P<aside>[^()]*)\)|♪[^♪]*♪)\s*")
"""A line that describes a sound.  Round brackets may hold other words, unless in capitals."""
_HARD_SPACE = r"\h"
_BLOCKS = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
"""Parts of WebVTT that are no cues."""
_CLOSING = "、。，．！？；：」』）】〉》”’…ー"


class SubtitleFile(DocumentFormat):
    """Subtitles, whose cues are texts.  Numbers, times, positions and comments stay."""

    kind: ClassVar[SubtitleKind]

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SubtitleDocument:
        text, encoding = decode(content, is_page=False)
        return SubtitleDocument(text, encoding, self.kind)


class SubRipFile(SubtitleFile):
    """Subtitles of SubRip."""

    name = "SubRip"
    family = "subtitles"
    suffixes = (".srt",)
    media_type = "application/x-subrip"
    kind = "SubRip"


class WebVttFile(SubtitleFile):
    """Subtitles of pages (W3C, WebVTT)."""

    name = "WebVTT"
    family = "subtitles"
    suffixes = (".vtt",)
    media_type = "text/vtt"
    kind = "WebVTT"


@dataclass(frozen=True)
class _Utterance:
    """The words of one speaker in a cue."""

    parting: str | None
    """Between it and the words before it; None: a line end."""
    begin: str
    """In front of its words: a dash."""
    part: int | str
    """The number of its text, or what it is written as if it has no words."""


@dataclass(frozen=True)
class _Cue:
    """Lines of a cue, without its number and time."""

    utterances: tuple[_Utterance, ...]
    newline: str
    columns: int
    """Those of its longest line, if that is longer than it should be."""
    source: str
    """As it is written."""

    @property
    def no_break(self) -> str:
        """How it writes a no-break space."""
        return _HARD_SPACE if _HARD_SPACE in self.source else "\u00a0"


_Line = tuple[str, str]
"""A line, and its end."""


class SubtitleDocument(EncodedDocument):
    """Subtitles with the texts of their cues.

    Raises:
        DataError: the file has none.
    """

    tag: ClassVar[re.Pattern[str]] = _TAG
    """What stays within a line, whose ``name``, if any, is that of an element."""

    def __init__(self, text: str, encoding: CharacterEncoding, kind: SubtitleKind) -> None:
        super().__init__(encoding, is_markup=False)
        self._is_webvtt = kind == "WebVTT"
        self._texts: list[MarkedText] = []
        self._parts: list[str | _Cue] = []
        self._tags: list[str] = []
        self.read(text, kind)

    def read(self, text: str, kind: SubtitleKind) -> None:
        """Divide a file into cues and what stays."""
        lines = [(found[1], found[2]) for found in LINE.finditer(text) if found[0]]
        if kind == "WebVTT" and not re.match(r"WEBVTT(?:\s|$)", text):
            raise DataError("not WebVTT at line 1: it does not begin with WEBVTT")
        timed = [number for number, (line, _) in enumerate(lines) if _TIME.match(line)]
        if kind == "SubRip" and text.strip() and not timed:
            raise DataError(
                "not SubRip: it has no line of times, such as 00:00:01,000 --> 00:00:02,500"
            )
        self.keep(lines[: timed[0]] if timed else lines)
        for number, following in pairwise([*timed, len(lines)]):
            self.keep(lines[number : number + 1])
            self._add_blocks(lines[number + 1 : following], is_last=following == len(lines))

    @property
    @override
    def texts(self) -> Sequence[MarkedText]:
        return self._texts

    @override
    def joined(self, translations: Sequence[str]) -> str:
        return "".join(
            part if isinstance(part, str) else self._written(part, translations)
            for part in self._parts
        )

    def keep(self, lines: Sequence[_Line]) -> None:
        """Write lines as they are."""
        self._parts += [line + newline for line, newline in lines]

    def _add_blocks(self, lines: Sequence[_Line], *, is_last: bool) -> None:
        """The lines between the times of two cues: text, and the number or name of the second cue.

        Empty lines do not end a text, since some programs write them within.
        """
        end = len(lines) - (0 if is_last else self._name_of_cue(lines))
        for is_blank, group in groupby(lines[:end], key=lambda one: not one[0].strip()):
            block = list(group)
            if is_blank or (self._is_webvtt and _BLOCKS.match(block[0][0])):
                self.keep(block)
            else:
                self.add_cue(block)
        self.keep(lines[end:])

    def _name_of_cue(self, lines: Sequence[_Line]) -> int:
        """How many lines in front of a time say which cue it is: one, or none."""
        last = lines[-1][0].strip() if lines else ""
        is_alone = len(lines) > 1 and not lines[-2][0].strip()
        return int(last.isdigit() or (self._is_webvtt and is_alone and bool(last)))

    def add_cue(self, lines: Sequence[_Line]) -> None:
        """Translate the lines of a cue."""
        count = len(self._texts)
        if any(RESERVED.search(line) for line, _ in lines):
            self.keep(lines)
            return
        utterances = tuple(self._utterances([line for line, _ in lines]))
        if len(self._texts) == count:
            self.keep(lines)  # nothing to translate
            return
        shown = [part for line, _ in lines for part in _PARTING.split(line)[::2]]
        columns = max(display_width(self.tag.sub("", part)) for part in shown)
        newline = next((newline for _, newline in lines if newline), "\n")
        source = "".join(map("".join, lines)).removesuffix(lines[-1][1])
        self._parts += [_Cue(utterances, newline, max(COLUMNS, columns), source), lines[-1][1]]

    def _utterances(self, lines: Sequence[str]) -> Iterator[_Utterance]:
        """The words of one speaker after the other.  Other lines are joined."""
        bare = [self.tag.sub("", line) for line in lines]
        parts: list[tuple[str | None, list[str]]] = []
        for line, starts in zip(lines, _starts(lines, bare), strict=True):
            first, *others = _PARTING.split(line)
            if starts:
                parts.append((None, [first]))
            else:
                parts[-1][1].append(first)
            parts += [(sign, [part]) for sign, part in zip(*[iter(others)] * 2, strict=True)]
        dashes = [line for line in bare if _DASH.match(line)]
        for parting, (first, *others) in parts:
            found = _CHANGE.match(first) or (_DASH.match(first) if len(dashes) > 1 else None)
            begin = found[0] if found else ""  # unless a tag is in front of it
            yield self._utterance(parting, begin, [first[len(begin) :], *others])

    def _utterance(self, parting: str | None, begin: str, lines: Sequence[str]) -> _Utterance:
        line = " ".join(one.strip() for one in lines)
        marked = mark_pieces(list(self._pieces(line)), collapses=True)
        if marked is None:
            return _Utterance(parting, begin, line)
        self._texts.append(NumberedText(**vars(marked)))
        return _Utterance(parting, begin, len(self._texts) - 1)

    def _pieces(self, line: str) -> Iterator[MarkupPiece]:
        end = 0
        for found in self.tag.finditer(line):
            yield self._text(line[end : found.start()])
            self._tags.append(found[0])
            kind, name = self.kind_of(found)
            yield MarkupPiece(kind, as_number(len(self._tags) - 1), name)
            end = found.end()
        yield self._text(line[end:])

    def kind_of(self, tag: re.Match[str]) -> tuple[TagKind, str]:
        """Whether a tag begins or ends something, and its name."""
        name = tag["name"] or ""
        if not name or name.lower() in _ALONE or tag[0].endswith("/>"):
            return "point", name
        return "close" if tag[0].startswith("</") else "open", name

    def _text(self, text: str) -> MarkupPiece:
        text = text.replace(_HARD_SPACE, "\u00a0")
        return MarkupPiece("text", text if self._is_webvtt else html.escape(text, quote=False))

    def _written(self, cue: _Cue, translations: Sequence[str]) -> str:
        numbers = [one.part for one in cue.utterances if isinstance(one.part, int)]
        if all(translations[number] == unchanged(self._texts[number]) for number in numbers):
            return cue.source
        written: list[str] = []
        for utterance in cue.utterances:
            lines = [utterance.part] if isinstance(utterance.part, str) else []
            if isinstance(utterance.part, int):
                words = list(self._words(text_and_numbers(translations[utterance.part].strip())))
                lines = _balanced(words, cue.columns)
            said = utterance.begin + cue.newline.join(line for line in lines if line.strip())
            if utterance.parting is not None:
                written += [utterance.parting, said]
            elif said.strip():
                written += [cue.newline if written else "", said]
        return "".join(written).replace("\u00a0", cue.no_break)

    def _words(self, parts: Iterable[str | int]) -> Iterator[_Word]:
        """Words, between which lines may be broken, each with the tags that it touches."""
        written, columns, gap, space = "", 0, "", ""
        for part in parts:
            units = [self._tags[part]] if isinstance(part, int) else _UNIT.findall(part)
            for unit in units:
                is_text = not isinstance(part, int)
                if is_text and _SPACE.fullmatch(unit):
                    space = unit[0]
                    continue
                is_wide = len(unit) == 1 and display_width(unit) > 1
                breaks = is_text and columns and is_wide and unit not in _CLOSING
                if space or breaks:
                    yield _Word(written, columns, gap)
                    written, columns, gap = "", 0, space
                space = ""
                written += self.safe(unit) if is_text else unit
                columns += display_width(unit) if is_text else 0
        yield _Word(written, columns, gap)

    def safe(self, text: str) -> str:
        """Text as it is written where none of it may be a tag or a time."""
        if self._is_webvtt:
            return html.escape(text, quote=False)
        return _LIKE_TAG.sub(r"\g<0> ", text).replace("-->", "→")


@dataclass(frozen=True)
class _Word:
    """A word, or words, that stay on one line."""

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


def _balanced(words: Sequence[_Word], columns: int) -> list[str]:
    """Lines of about the same length, as few as possible.  Only a word may be longer than one."""
    width = sum(word.columns + display_width(word.gap) for word in words)
    lines = _broken(words, columns)
    for narrower in range(math.ceil(width / len(lines)), columns):
        narrow = _broken(words, narrower)
        if len(narrow) == len(lines):
            return narrow
    return lines


def _broken(words: Sequence[_Word], columns: int) -> list[str]:
    lines: list[str] = []
    filled = 0
    for word in words:
        more = word.columns + display_width(word.gap)
        if lines and filled + more <= columns:
            lines[-1] += word.gap + word.written
            filled += more
        else:
            lines.append(word.written)
            filled = word.columns
    return lines


def _starts(lines: Sequence[str], bare: Sequence[str]) -> list[bool]:
    """For each line of a cue, whether another speaker begins there.  ``bare`` has no tags."""
    labels = [_LABEL.match(line) for line in bare]
    sounds = [_is_sound(line) for line in bare]
    several = [sum(1 for one in each if one) > 1 for each in (map(_DASH.match, bare), labels)]
    return [
        not number
        or (several[0] and _DASH.match(bare[number]) is not None)
        or (label is not None and (several[1] or label["name"].isupper()))
        or _CHANGE.match(bare[number]) is not None
        or _VOICE.match(line) is not None
        or sounds[number - 1]
        or sounds[number]
        for number, (line, label) in enumerate(zip(lines, labels, strict=True))
    ]


def _is_sound(line: str) -> bool:
    found = _SOUND.fullmatch(line)
    return found is not None and (found["aside"] is None or found["aside"].isupper())
