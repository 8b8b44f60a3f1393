"""Passages of Markdown written again, so that no word becomes markup by accident."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from dragoman.documents.markdown.markdown_inline import text_shape
from dragoman.documents.marks.marked_text import KEPT_BREAK, KEPT_SPACE, text_and_numbers
from dragoman.translation.service.placeholders import protected

Setting = Literal["paragraph", "heading", "underlined", "cell", "bare", "label", "title"]
"""Place of a text, which decides which signs are markup.  A bare cell is the first of its row and
has no ``|`` in front; a label describes an image."""

_SIGNS = re.compile(r"[\\`*_\[\]<&~]")
_SIGNS_OF_MDX = re.compile(r"[\\`*_\[\]<&~{}]")
_BRACES = re.compile(r"[<{}]")
_ALL_SIGNS = re.compile(r"[!-/:-@\[-`{-~]")
_FIRST_SIGN = re.compile(r"^(\d{0,9})([#>+=|:.)-])")
_MOST_CAUTION = 3
CAUTION = ((0, False), (1, False), (2, False), (0, True), (1, True), (2, True), (3, True))
"""Ways to write a passage, tried until its meaning is right: the level of caution, and whether
emphasis is HTML; see :class:`PassageWriting`."""
# In front of these, a line is not broken: at its start, they would be markup.
_UNBREAKABLE = re.compile(r"[-+*=#>|~`<:%]|\d+[.)]")
_INDENT = re.compile(r"\n[ \t]+")
_CELLS = frozenset(["cell", "bare"])


class RawMarkup(NamedTuple):
    """Markup of a text."""

    parts: tuple[str | int, ...]
    """As it is written; numbers are passages within, such as the title of a link."""
    shape: str
    """Its meaning."""
    tag: str | None = None
    """How else it can be written."""


Segment = RawMarkup | int
"""Raw text, or the number of a text."""


@dataclass
class Passage:
    """A block of text in a document, or a part of its markup."""

    source: str
    """As it is written, without what is in front of each of its lines."""
    segments: list[Segment]
    setting: Setting
    prefix: str = ""
    """In front of each line but the first."""
    newline: str = "\n"
    width: int | None = None
    """Columns of its lines; None if it is on one line."""


class MarkupOfTexts(Protocol):
    """Knows what stands for the numbers in texts and in markup."""

    is_mdx: bool

    def markup(self, number: int) -> RawMarkup:
        """The markup that a number in a text stands for."""

    def trimmed(self, number: int, translation: str) -> str:
        """The translation of a text with the white space at its ends that the text has."""

    def inner(self, number: int) -> Passage:
        """A passage within markup."""

    def written(self, passage: Passage, translations: Sequence[str]) -> str:
        """A passage with its texts replaced."""


class PassageWriting:
    """Writes segments at a level of caution.

    Args:
        passages: give the meaning of numbers.
        translations: of all texts, with numbers for their markup.
        level: signs to escape.  0: none.  1: possible markup, except in parts for programs, which
            may read them before Markdown does.  2: possible markup.  3: all.
        uses_tags: whether emphasis is written as HTML, which may begin and end anywhere.
        setting: where the passage is.
    """

    def __init__(
        self,
        passages: MarkupOfTexts,
        translations: Sequence[str],
        level: int,
        uses_tags: bool,
        setting: Setting,
    ) -> None:
        self._passages, self._translations = passages, translations
        self._level, self._uses_tags, self._setting = level, uses_tags, setting

    def write(self, segments: Sequence[Segment]) -> tuple[str, str]:
        """How segments are written, with signs for white space that stays, and what they mean."""
        texts, meanings = [""], [""]
        for segment in segments:
            parts = [segment] if isinstance(segment, RawMarkup) else self._parts(segment)
            for part in parts:
                if isinstance(part, RawMarkup):
                    text, meaning = self._markup(part), part.shape
                else:
                    text = self._escaped(part, starts=_starts_line(texts))
                    meaning = text_shape(part)
                if text.startswith("`") and texts[-1].endswith("`"):
                    texts.append(" ")  # two spans of code would become one
                    meanings.append(" ")
                texts.append(text)
                meanings.append(meaning)
        text = "".join(texts).strip(" ")
        if self._setting in _CELLS:
            # A backslash at the end would escape the sign that ends the cell.
            text = text.replace("|", r"\|") + " " * text.endswith("\\")
        return text, "".join(meanings)

    def _parts(self, number: int) -> Iterator[str | RawMarkup]:
        """A translation in text and markup."""
        for part in text_and_numbers(self._passages.trimmed(number, self._translations[number])):
            yield part if isinstance(part, str) else self._passages.markup(part)

    def _markup(self, raw: RawMarkup) -> str:
        if self._uses_tags and raw.tag is not None:
            return raw.tag
        parts = (
            part
            if isinstance(part, str)
            else self._passages.written(self._passages.inner(part), self._translations)
            for part in raw.parts
        )
        written = _INDENT.sub("\n", "".join(parts))  # the prefix of each line has it already
        return written.replace(" ", KEPT_SPACE).replace("\n", KEPT_BREAK)

    def _escaped(self, text: str, *, starts: bool) -> str:
        if not self._level:
            # MDX refuses such signs even where they begin no tag or expression.
            return _BRACES.sub(r"\\\g<0>", text) if self._passages.is_mdx else text
        if self._level == _MOST_CAUTION:
            return _ALL_SIGNS.sub(r"\\\g<0>", text)
        written, end = [], 0
        signs = _SIGNS_OF_MDX if self._passages.is_mdx else _SIGNS
        for start, stop in protected(text) if self._level == 1 else ():
            if text[start] not in "<&`" and not signs.match(text[start]):
                written += [signs.sub(r"\\\g<0>", text[end:start]), text[start:stop]]
                end = stop
        text = "".join([*written, signs.sub(r"\\\g<0>", text[end:])])
        return _FIRST_SIGN.sub(r"\1\\\2", text.lstrip(" ")) if starts else text


def _starts_line(written: Sequence[str]) -> bool:
    before = "".join(written[-1:])
    return not before.strip(" ") or before.endswith(KEPT_BREAK)


def laid_out(text: str, passage: Passage) -> Iterator[str]:
    """A text in lines as wide as those of its source, and as one line."""
    plain = text.replace(KEPT_SPACE, " ").replace(KEPT_BREAK, "\n")
    if passage.width is not None:
        lines = [
            line
            for part in text.split(KEPT_BREAK)
            for line in _wrapped(part, passage.width - len(passage.prefix))
        ]
        yield "\n".join(lines).replace(KEPT_SPACE, " ")
    yield plain


def _wrapped(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in text.split(" "):
        if (
            line
            and len(line) + 1 + len(word.rstrip(KEPT_SPACE)) > width
            and not _UNBREAKABLE.match(word)
        ):
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line
