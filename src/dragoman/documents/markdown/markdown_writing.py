"""Passages of Markdown written again, so that no word becomes markup by accident."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from markdown_it import MarkdownIt

from dragoman.documents.document_format import EMPTY
from dragoman.documents.markdown.markdown_inline import Environment, shape_of, shaped, text_shape
from dragoman.documents.marks.mark_placement import unchanged
from dragoman.documents.marks.marked_text import (
    KEPT_BREAK,
    KEPT_SPACE,
    MarkedText,
    text_and_numbers,
    walk,
)
from dragoman.text.terms.copied_text import protected

Setting = Literal["paragraph", "heading", "underlined", "cell", "bare", "label", "title"]
"""Place of a text, which decides which signs are markup.  A bare cell is the first of its row and
has no ``|`` in front.  A label describes an image."""

_SIGNS = re.compile(r"[\\`*_\[\]<&~]")
_SIGNS_OF_MDX = re.compile(r"[\\`*_\[\]<&~{}]")
_BRACES = re.compile(r"[<{}]")
_ALL_SIGNS = re.compile(r"[!-/:-@\[-`{-~]")
_FIRST_SIGN = re.compile(r"^(\d{0,9})([#>+=|:.)-])")
_MOST_CAUTION = 3
_CAUTION = ((0, False), (1, False), (2, False), (0, True), (1, True), (2, True), (3, True))
"""Ways to write a passage, tried until its meaning is right: the level of caution, and whether
emphasis is HTML.  See :class:`_PassageWriting`."""
# In front of these, a line is not broken: at its start, they would be markup.
_UNBREAKABLE = re.compile(r"[-+*=#>|~`<:%]|\d+[.)]")
_INDENT = re.compile(r"\n[ \t]+")
_IN_TABLES = frozenset(["cell", "bare"])


class RawMarkup(NamedTuple):
    """Markup of a text."""

    parts: tuple[str | int, ...]
    """As it is written.  Numbers are passages within, such as the title of a link."""
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
    """Columns of its lines, or None if it is on one line."""


CHANGED = "its translation would change the markup"
"""Why a text stays as it is."""
_COLUMNS = 4
"""Of the table that a cell is tried in: it is the third."""
_AROUND = {
    "paragraph": ("", "", "paragraph"),
    "heading": ("# ", "", "heading"),
    "underlined": ("", "\n---", "heading"),
    "cell": ("|a|b|\n|-|-|\n|", "|z|", "table"),
    "bare": ("a|b\n-|-\n", "|z", "table"),
    "label": ("![", "](x)", "paragraph"),
    "title": ('[x](y "', '")', "paragraph"),
}


@dataclass
class WrittenPassages:
    """The passages of a document, and how they are written with their texts replaced."""

    parser: MarkdownIt
    environment: Environment
    is_mdx: bool = False
    texts: list[MarkedText] = field(default_factory=list)
    """Of all passages, in order.  Passages refer to them by number."""
    markup: list[RawMarkup] = field(default_factory=list)
    """For which the numbers in texts stand."""
    inner: list[Passage] = field(default_factory=list)
    """Passages within markup."""
    refused: dict[str, str] = field(default_factory=dict)
    """Texts that the last writing left as they are, and why."""

    def written(self, passage: Passage, translations: Sequence[str]) -> str:
        """A passage with its texts replaced.  Unchanged if there is no safe way to write them."""
        if not self.are_written_again(list(self._numbers(passage)), translations):
            return passage.source
        for level, uses_tags in _CAUTION:
            writing = _PassageWriting(self, translations, level, uses_tags, passage.setting)
            text, meaning = writing.write(passage.segments)
            for lines in _laid_out(text, passage):
                if self._means(lines, passage.setting, meaning):
                    return lines.replace("\n", passage.newline + passage.prefix)
        self._refuse(self._numbers(passage), CHANGED)
        return passage.source

    def are_written_again(self, numbers: Sequence[int], translations: Sequence[str]) -> bool:
        """Whether texts that belong together have translations, some of which differ from them.

        Args:
            numbers: of the texts.
            translations: of all texts.
        """
        if all(translations[at] == unchanged(self.texts[at]) for at in numbers):
            return False
        empty = [at for at in numbers if self._is_empty(at, translations[at])]
        self._refuse(empty, EMPTY)
        return not empty

    def _is_empty(self, number: int, translation: str) -> bool:
        """Whether a translation has no words, and nothing that is copied."""
        parts = text_and_numbers(translation)
        words = "".join(part for part in parts if isinstance(part, str))
        return not words.strip() and not self.texts[number].kept

    def _refuse(self, numbers: Iterable[int], reason: str) -> None:
        self.refused.update((self.texts[number].text, reason) for number in numbers)

    def _numbers(self, passage: Passage) -> Iterator[int]:
        """The texts of a passage, and of those within its markup."""
        for segment in passage.segments:
            if isinstance(segment, int):
                yield segment
                marks = walk(self.texts[segment].marks)
                raws = (raw for mark in marks for raw in (mark.begin, mark.end))
                found = (one for raw in raws for one in text_and_numbers(raw))
                parts = [self.markup[one] for one in found if isinstance(one, int)]
            else:
                parts = [segment]
            for part in parts:
                for one in part.parts:
                    if isinstance(one, int):
                        yield from self._numbers(self.inner[one])

    def _means(self, text: str, setting: Setting, meaning: str) -> bool:
        """Whether a text, where it is, is one block with this meaning."""
        environment = dict(self.environment)
        environment["references"] = dict(environment.get("references", {}))
        before, behind, block = _AROUND[setting]
        tokens = self.parser.parse(before + text + behind, environment)
        kinds = [token.type for token in tokens if not token.level or token.type == "inline"]
        inlines = [token for token in tokens if token.type == "inline"]
        if kinds != [
            f"{block}_open",
            *["inline"] * (_COLUMNS if block == "table" else 1),
            f"{block}_close",
        ]:
            return False
        children = inlines[_COLUMNS - 2 if block == "table" else 0].children or []
        if setting in {"label", "title"}:
            if not children or children[0].type not in {"image", "link_open"}:
                return False
            if setting == "title":
                return shaped(text_shape(str(children[0].attrGet("title")))) == shaped(meaning)
            if len(children) != 1:
                return False
            children = children[0].children or []
        return shape_of(children) == shaped(meaning)


class _PassageWriting:
    """Writes segments at a level of caution.

    Args:
        passages: give the meaning of numbers in the translations.
        translations: of all texts.
        level: signs to escape.  0: none.  1: possible markup, except in parts for programs, which
            may read them before Markdown does.  2: possible markup.  3: all.
        uses_tags: whether emphasis is written as HTML, which may begin and end anywhere.
        setting: where the passage is.
    """

    def __init__(
        self,
        passages: WrittenPassages,
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
        if self._setting in _IN_TABLES:
            # A backslash at the end would escape the sign that ends the cell.
            text = text.replace("|", r"\|") + " " * text.endswith("\\")
        return text, "".join(meanings)

    def _parts(self, number: int) -> Iterator[str | RawMarkup]:
        """A translation in text and markup."""
        text, translation = self._passages.texts[number], self._translations[number]
        if translation.strip():
            for part in text_and_numbers(text.lead + translation.strip(" ") + text.tail):
                yield part if isinstance(part, str) else self._passages.markup[part]

    def _markup(self, raw: RawMarkup) -> str:
        if self._uses_tags and raw.tag is not None:
            return raw.tag
        parts = (
            part
            if isinstance(part, str)
            else self._passages.written(self._passages.inner[part], self._translations)
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


def _laid_out(text: str, passage: Passage) -> Iterator[str]:
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
