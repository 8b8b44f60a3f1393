"""The texts of a document of AsciiDoc, between what stays as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from dragoman.documents.asciidoc.asciidoc_lines import (
    ATTRIBUTE,
    ATTRIBUTES,
    BREAK,
    CAPTION,
    COMMENT,
    CONTAINER,
    CONTINUATION,
    DIRECTIVE,
    ITEM,
    LABEL,
    MACRO,
    NOTICE,
    QUOTATION,
    SECTION,
    UNDERLINE,
    VERBATIM,
    is_item,
    is_other,
)

Setting = Literal["paragraph", "item", "title", "caption"]
"""Place of a text.  Only a paragraph has no markup in front."""

_LINE = re.compile(r"([^\r\n]*)(?:\r\n?|\n|$)")
_STYLE = re.compile(r"\[[\"']?(?P<style>[\w-]*)(?=[\"'\],.#%])")
_STYLES = """NOTE TIP IMPORTANT WARNING CAUTION normal quote example sidebar abstract partintro
preface appendix dedication colophon acknowledgments glossary bibliography index horizontal qanda
discrete float part"""
_TRANSLATED = frozenset(_STYLES.split())
"""Styles of blocks whose text is prose.  Others may be code, verses or what a program draws."""
_ANCHOR = re.compile(r"\s*\[\[[^\[\]]*\]\]$")
_DEEPEST = 20
"""Blocks within blocks.  Deeper ones stay as they are."""


@dataclass(frozen=True)
class Region:
    """Where a text is, in characters of the file."""

    start: int
    stop: int
    setting: Setting
    underline: str = ""
    """Of a title with a line below it: the sign of that line, which is in the region."""
    words: int = 0
    """Of a title with a line below it: where the title ends."""


class BlockReader:
    """Reads the blocks of a document.  ``regions`` has its texts."""

    def __init__(self, text: str) -> None:
        self.regions: list[Region] = []
        found = [one for one in _LINE.finditer(text) if one[0]]
        self._lines = [one[1].rstrip() for one in found]
        self._starts = [one.start() for one in found]
        self._style = ""
        self._is_raw = self._is_attached = False
        first = self._header()
        self._read(first, len(found), 0)

    def _header(self) -> int:
        """Skip what is in front of the text, and read the title.  Returns the next line."""
        lines = self._lines
        at = 0
        if lines and lines[0] == "---" and "---" in lines[1:]:
            at = lines.index("---", 1) + 1
        while at < len(lines):
            line = lines[at]
            if set(line) == {"/"} and len(line) > 3:
                at = self._end_of(line, at + 1, len(lines)) + 1
            elif ATTRIBUTE.fullmatch(line):
                at = self._after_attribute(at)
            elif not line or COMMENT.fullmatch(line) or DIRECTIVE.fullmatch(line):
                at += 1
            else:
                break
        if at == len(lines):
            return at
        section = SECTION.fullmatch(lines[at])
        if section is not None and len(section["sign"]) == 1:
            self._section(at, section)
            at += 1
        elif self._underline(at, len(lines)) == "=":
            at = self._underlined(at)
        else:
            return at
        while at < len(lines) and lines[at]:
            at = self._after_attribute(at)  # author, revision, attributes
        return at

    def _read(self, at: int, last: int, depth: int) -> None:
        while at < last:
            at = self._block(at, last, depth)

    def _block(self, at: int, last: int, depth: int) -> int:
        """Read a block.  Returns the line behind it."""
        line = self._lines[at]
        if not line or COMMENT.fullmatch(line) or DIRECTIVE.fullmatch(line):
            return at + 1
        if line == CONTINUATION:
            self._is_attached = True
            return at + 1
        if ATTRIBUTE.fullmatch(line):
            return self._after_attribute(at)
        if ATTRIBUTES.fullmatch(line):
            self._take_attributes(line)
            return at + 1
        caption = CAPTION.fullmatch(line)
        if caption is not None and not any(one.fullmatch(line) for one in (ITEM, VERBATIM)):
            self._add(at, caption.start("text"), "caption")
            return at + 1
        after = self._styled(at, last, depth)
        self._style, self._is_raw, self._is_attached = "", False, False
        return after

    def _styled(self, at: int, last: int, depth: int) -> int:
        """Read a block for which attributes may be given."""
        line = self._lines[at]
        if not depth and self._underline(at, last):
            return self._underlined(at)
        if VERBATIM.fullmatch(line) or CONTAINER.fullmatch(line):
            return self._fenced(at, last, depth)
        if (section := SECTION.fullmatch(line)) is not None:
            self._section(at, section)
            return at + 1
        if MACRO.fullmatch(line) or BREAK.fullmatch(line):
            return at + 1
        for pattern in (ITEM, LABEL):
            if (item := pattern.fullmatch(line)) is not None:
                return self._item(at, last, item)
        return self._paragraph(at, last)

    def _fenced(self, at: int, last: int, depth: int) -> int:
        fence = self._lines[at]
        end = self._end_of("```" if fence.startswith("```") else fence, at + 1, last)
        if CONTAINER.fullmatch(fence) and self._is_prose and depth < _DEEPEST:
            self._style, self._is_attached = "", False
            self._read(at + 1, end, depth + 1)
        return min(end + 1, last)

    @property
    def _is_prose(self) -> bool:
        return (not self._style or self._style in _TRANSLATED) and not self._is_raw

    def _take_attributes(self, line: str) -> None:
        found = _STYLE.match(line)
        if found is not None and found["style"] and not line.startswith("[["):
            self._style = found["style"]
        if "subs=" in line or "%hardbreaks" in line or "options=" in line:
            self._is_raw = True

    def _after_attribute(self, at: int) -> int:
        """The line behind an attribute, which a backslash continues."""
        while at < len(self._lines) and self._lines[at].endswith("\\"):
            at += 1
        return min(at + 1, len(self._lines))

    def _end_of(self, fence: str, first: int, last: int) -> int:
        """The line that closes a block, or the end of the block around it."""
        return next((at for at in range(first, last) if self._lines[at] == fence), last)

    def _underline(self, at: int, last: int) -> str:
        """The sign of the line below a title; empty: it is no title."""
        title = self._lines[at]
        if at + 1 >= last or title.startswith(".") or not re.search(r"\w", title):
            return ""
        found = UNDERLINE.fullmatch(self._lines[at + 1])
        if found is None or abs(len(title) - len(found[0])) > 1:
            return ""
        return found["sign"]

    def _underlined(self, at: int) -> int:
        start, title = self._starts[at], self._lines[at]
        stop = self._starts[at + 1] + len(self._lines[at + 1])
        sign = self._lines[at + 1][0]
        self.regions.append(Region(start, stop, "title", sign, start + len(title)))
        return at + 2

    def _section(self, at: int, found: re.Match[str]) -> None:
        words = _ANCHOR.sub("", found["text"])
        words = words.removesuffix(found["sign"]).rstrip() if words != found["sign"] else words
        start = self._starts[at] + found.start("text")
        if words:
            self.regions.append(Region(start, start + len(words), "title"))

    def _item(self, at: int, last: int, found: re.Match[str]) -> int:
        column = found.start("text")
        if not found["text"]:  # the text of a term may be on the next line
            at += 1
            if at >= last or not self._lines[at] or self._ends_item(at):
                return at
            column = len(self._lines[at]) - len(self._lines[at].lstrip())
        after = at + 1
        while after < last and not self._ends_item(after):
            after += 1
        if not self._is_raw:
            self._add(at, column, "item", after)
        return after

    def _ends_item(self, at: int) -> bool:
        line = self._lines[at]
        others = (CAPTION, ATTRIBUTE)
        return (
            not line
            or is_other(line)
            or is_item(line)
            or any(one.fullmatch(line) for one in others)
        )

    def _paragraph(self, at: int, last: int) -> int:
        line = self._lines[at]
        after = at + 1
        while after < last and self._lines[after]:
            if is_other(self._lines[after]) or (self._is_attached and is_item(self._lines[after])):
                break
            after += 1
        is_quoted = line.startswith('"') and self._lines[after - 1].startswith("-- ")
        if self._is_prose and not line[0].isspace() and not QUOTATION.match(line) and not is_quoted:
            notice = NOTICE.match(line)
            if notice is None:
                self._add(at, 0, "paragraph", after)
            else:
                self._add(at, notice.end(), "item", after)
        elif line[0].isspace() or not self._is_prose:
            while after < last and self._lines[after] and self._lines[after] != CONTINUATION:
                after += 1
        return after

    def _add(self, at: int, column: int, setting: Setting, after: int | None = None) -> None:
        end = (at + 1 if after is None else after) - 1
        stop = self._starts[end] + len(self._lines[end])
        self.regions.append(Region(self._starts[at] + column, stop, setting))
