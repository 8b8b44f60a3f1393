"""Blocks of reStructuredText, as docutils reads them (``parsers/rst/states.py``).

Only blocks whose words are translated are taken apart.  All others are kept, and so is whatever is
not read with certainty, such as text that docutils would warn of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dragoman.documents.restructured.rest_lines import (
    RestLine,
    are_exact,
    dedented,
    indented_end,
    rest_lines,
    text_end,
)

RestKind = Literal["kept", "paragraph", "literal", "title", "overlined", "term"]
"""Kinds of blocks; a ``literal`` is a paragraph in front of a literal block."""

NAME = r"(?:(?!_)\w)+(?:[-._+:](?:(?!_)\w)+)*"
"""Of a directive, a role, or what a reference without quotation marks leads to."""
_SIGN = r"[!-/:-@\[-`{-~]"
_ADORNMENT = re.compile(rf"({_SIGN})\1*")
_BULLET = re.compile(r"[-+*\u2022\u2023\u2043](?: +|$)")
_ENUMERATOR = re.compile(r"(\(?)([0-9]+|[A-Za-z]|[ivxlcdm]+|[IVXLCDM]+|#)([.)])(?: +|$)")
_FIELD = re.compile(r":(?![: ])(?:[^:\\]|\\.|:(?!(?:[ `]|$)))*(?<! ):(?: +|$)")
_ARGUMENT = r"(?:[a-zA-Z][a-zA-Z0-9_-]*|<[^<>]+>)"
_OPTION = rf"(?:[-+][a-zA-Z0-9](?: ?{_ARGUMENT})?|(?:--|/)[a-zA-Z0-9][\w-]*(?:[ =]{_ARGUMENT})?)"
_OPTIONS = re.compile(rf"{_OPTION}(?:, {_OPTION})*(?:  +| ?$)")
_DOCTEST = re.compile(r">>>(?: |$)")
_LINE_BLOCK = re.compile(r"\|(?: |$)")
_GRID = re.compile(r"\+-[-+]+-\+")
_BORDER = re.compile(r"=+(?: +=+)+")
_BORDERS = re.compile(r"=+[ =]*")
_EXPLICIT = re.compile(r"\.\.(?: +|$)")
_ANONYMOUS = re.compile(r"__(?: +|$)")
_NOTE = re.compile(rf"\[(?:[0-9]+|#|#{NAME}|\*|{NAME})\](?: +|$)")
_DIRECTIVE = re.compile(rf"(?P<name>{NAME}) ?::(?: +|$)")
_ATTRIBUTION = re.compile(r"(?:---?(?!-)|\u2014) *(?=[^ ])")
_LITERAL = re.compile(r"(?<!\\)(?:\\\\)*::$")
_CLASSIFIER = re.compile("(?<! ) +: +")

_NAMES_OF_WHOLE = """
    attention caution danger error hint important note tip warning compound epigraph highlights
    pull-quote seealso
"""
_WHOLE = frozenset(_NAMES_OF_WHOLE.split())
"""Directives that have no argument: all but their options is text."""
_TITLED = frozenset(["admonition", "topic", "sidebar"])
"""Directives whose argument is a title."""
_NAMES_OF_BODIES = "figure container versionadded versionchanged versionremoved deprecated"
_BODIES = frozenset(_NAMES_OF_BODIES.split())
"""Directives with text behind an argument, which stays."""
STARTS: Sequence[re.Pattern[str]] = (
    *(_BULLET, _ENUMERATOR, _FIELD, _OPTIONS, _DOCTEST, _LINE_BLOCK, _GRID, _BORDER, _EXPLICIT),
    *(_ANONYMOUS, _ATTRIBUTION),
)
"""What begins another block than a paragraph."""
_DEEPEST = 30
"""Blocks within blocks.  Those that are deeper are kept."""
_SHORTEST = 4
"""Characters of a line under a title that is wider than it."""


@dataclass(frozen=True)
class RestBlock:
    """Lines of a file that are one block."""

    kind: RestKind
    lines: Sequence[RestLine]
    """In a title those of the title and its adornments.  A term has none of its classifiers."""
    depth: int
    """Blocks around it."""


def rest_blocks(text: str) -> list[RestBlock]:
    """The blocks of a file, in order.  Empty lines and the signs of items are in none."""
    return list(_Reading(rest_lines(text), 0).blocks())


@dataclass
class _Reading:
    """Reads lines that begin at the first column, which are within other blocks."""

    lines: Sequence[RestLine]
    depth: int
    is_quoted: bool = False
    at: int = 0

    def blocks(self) -> Iterator[RestBlock]:
        if self.depth > _DEEPEST:
            yield self._kept(len(self.lines))
            return
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.text:
                self.at += 1
            elif line.indent:
                end = indented_end(self.lines, self.at)
                yield from self._within(self._taken(end), is_quoted=True)
            elif not line.is_exact:
                yield self._kept(max(indented_end(self.lines, self.at + 1), self.at + 1))
            else:
                yield from self._block(line.text)

    def _block(self, text: str) -> Iterator[RestBlock]:
        if _EXPLICIT.match(text):
            yield from self._explicit()
        elif found := self._item_sign(text):
            yield from self._item(found.end())
        elif _ANONYMOUS.match(text) or _FIELD.match(text) or _OPTIONS.match(text):
            yield self._kept(max(indented_end(self.lines, self.at + 1), self.at + 1))
        elif _BORDER.fullmatch(text):
            yield self._kept(self._table_end())
        elif any(one.match(text) for one in (_DOCTEST, _LINE_BLOCK, _GRID)):
            yield self._kept(text_end(self.lines, self.at))
        elif text == "::":
            yield self._kept(self.at + 1)
            yield from self._literal()
        elif _ADORNMENT.fullmatch(text):
            yield self._adorned(text)
        else:
            yield from self._text(text)

    def _item_sign(self, text: str) -> re.Match[str] | None:
        """The sign of an item of a list that begins a line."""
        found = _ENUMERATOR.match(text)
        return _BULLET.match(text) or (found if found and self._is_item(found) else None)

    def _taken(self, end: int) -> Sequence[RestLine]:
        taken = self.lines[self.at : end]
        self.at = end
        return taken

    def _kept(self, end: int) -> RestBlock:
        return RestBlock("kept", self._taken(end), self.depth)

    def _within(self, lines: Sequence[RestLine], *, is_quoted: bool = False) -> Iterator[RestBlock]:
        yield from _Reading(dedented(lines), self.depth + 1, is_quoted).blocks()

    def _item(self, column: int) -> Iterator[RestBlock]:
        whole = self.lines[self.at]
        first = whole.cut(column)
        if first.text:
            end = max(indented_end(self.lines, self.at + 1, column), self.at + 1)
            _, *others = self._taken(end)
            rest = [line.cut(column) for line in others]
            yield RestBlock("kept", [_head(whole, column)], self.depth)
            yield from _Reading([first, *rest], self.depth + 1).blocks()
        else:
            end = max(indented_end(self.lines, self.at + 1), self.at + 1)
            _, *others = self._taken(end)
            yield RestBlock("kept", [whole], self.depth)
            yield from self._within(others)

    def _is_item(self, found: re.Match[str]) -> bool:
        """Whether the line behind an enumerator may be in a list: docutils wants no text there."""
        following = self.lines[self.at + 1 : self.at + 2]
        begin, ordinal, end = found.groups()
        if (begin == "(") and end != ")":
            return False
        if len(ordinal) > 1 and ordinal.isalpha() and not _is_roman(ordinal):
            return False
        if not following or not following[0].text or following[0].indent:
            return True
        return following[0].text.startswith(
            tuple(f"{begin}{one}{end} " for one in _successors(ordinal))
        )

    def _explicit(self) -> Iterator[RestBlock]:
        first = self.lines[self.at]
        following = self.lines[self.at + 1 : self.at + 2]
        if first.text == ".." and (not following or not following[0].text):
            yield self._kept(self.at + 1)
            return
        begin = _EXPLICIT.match(first.text)
        assert begin is not None
        end = max(indented_end(self.lines, self.at + 1), self.at + 1)
        found = _DIRECTIVE.match(first.text, begin.end())
        if found is not None:
            yield from self._directive(found["name"].lower(), found.end(), end)
        elif found := _NOTE.match(first.text, begin.end()):
            _, *others = self._taken(end)
            yield RestBlock("kept", [_head(first, found.end())], self.depth)
            yield from _Reading(
                [first.cut(found.end()), *dedented(others)], self.depth + 1
            ).blocks()
        else:
            yield self._kept(end)

    def _directive(self, name: str, column: int, end: int) -> Iterator[RestBlock]:
        """A directive: what is around its text is kept, as for docutils it has another meaning."""
        if name not in _WHOLE | _TITLED | _BODIES:
            yield self._kept(end)
            return
        first, *others = self._taken(end)
        lines = [first.cut(column), *dedented(others)]
        yield RestBlock("kept", [_head(first, column)], self.depth)
        if not lines[0].text:
            lines = lines[1:]
        empty = text_end(lines, 0)
        options = next((at for at in range(empty) if _FIELD.match(lines[at].text)), empty)
        said, content = lines[:options], lines[empty:]
        if name in _WHOLE:
            yield from _Reading(said, self.depth + 1).blocks()
        elif said:
            kind: RestKind = "paragraph" if name in _TITLED and len(said) == 1 else "kept"
            yield RestBlock(kind if are_exact(said) else "kept", said, self.depth + 1)
        if options < empty:
            yield RestBlock("kept", lines[options:empty], self.depth + 1)
        yield from _Reading(content, self.depth + 1).blocks()

    def _table_end(self) -> int:
        """End of a simple table, which may have empty lines: its second or third line of signs."""
        width, found = len(self.lines[self.at].text), 0
        for at in range(self.at + 1, len(self.lines)):
            text = self.lines[at].text
            if not _BORDERS.fullmatch(text):
                continue
            if len(text) != width:
                return text_end(self.lines, at)
            found += 1
            if found == 2 or at + 1 == len(self.lines) or not self.lines[at + 1].text:
                return at + 1
        return len(self.lines)

    def _literal(self) -> Iterator[RestBlock]:
        """The literal block behind ``::``, indented, or with the same sign before each line."""
        at = self.at
        while at < len(self.lines) and not self.lines[at].text:
            at += 1
        if at == len(self.lines):
            return
        first = self.lines[at].text
        if self.lines[at].indent:
            self.at = at
            yield self._kept(indented_end(self.lines, at))
        elif re.match(_SIGN, first):
            self.at = at
            yield self._kept(text_end(self.lines, at))

    def _adorned(self, text: str) -> RestBlock:
        """A title with lines above and below, or a line between paragraphs."""
        following = self.lines[self.at + 1 : self.at + 3]
        is_title = (
            not self.depth
            and len(following) == 2
            and bool(following[0].text)
            and following[1].text == text
            and are_exact(following)
            and following[0].indent + len(following[0].text.strip()) <= len(text)
            and not _ADORNMENT.fullmatch(following[0].text)
        )
        if is_title:
            return RestBlock("overlined", self._taken(self.at + 3), self.depth)
        return self._kept(text_end(self.lines, self.at))

    def _text(self, text: str) -> Iterator[RestBlock]:
        following = self.lines[self.at + 1].text if self.at + 1 < len(self.lines) else ""
        end = text_end(self.lines, self.at)
        is_underline = bool(_ADORNMENT.fullmatch(following))
        if is_underline and (len(following) >= _SHORTEST or len(text) <= len(following)):
            kind: RestKind = "kept" if self.depth or _LITERAL.search(text) else "title"
            yield RestBlock(kind, self._taken(self.at + 2), self.depth)
        elif following and self.lines[self.at + 1].indent:
            yield from self._definition(text)
        else:
            indented = (at for at in range(self.at, end) if self.lines[at].indent)
            first = next(indented, end)
            lines = self.lines[self.at : first]
            is_literal = bool(_LITERAL.search(lines[-1].text)) and first == end
            self.at = first
            is_kept = (
                first < end
                or is_underline
                or not are_exact(lines)
                or _ENUMERATOR.match(text)
                or (self.is_quoted and _ATTRIBUTION.match(text))
            )
            kind = "literal" if is_literal else "paragraph"
            yield RestBlock("kept" if is_kept else kind, lines, self.depth)
            if is_literal:
                yield from self._literal()

    def _definition(self, text: str) -> Iterator[RestBlock]:
        """A term, and its definition."""
        if _LITERAL.search(text) or _ENUMERATOR.match(text):
            yield self._kept(indented_end(self.lines, self.at + 1))
            return
        (term,) = self._taken(self.at + 1)
        parts = _CLASSIFIER.split(term.text, maxsplit=1)
        shown = RestLine(parts[0], term.start, term.column)
        yield RestBlock("term", [shown], self.depth)
        if len(parts) > 1:
            yield RestBlock("kept", [term.cut(len(parts[0]))], self.depth)
        yield from self._within(self._taken(indented_end(self.lines, self.at)))


def _head(line: RestLine, column: int) -> RestLine:
    """A line up to its words: the sign of an item, or the name of a directive."""
    return replace(line, text=line.text[:column].rstrip())


def _is_roman(text: str) -> bool:
    pattern = "m{0,4}(cm|cd|d?c{0,3})(xc|xl|l?x{0,3})(ix|iv|v?i{0,3})"
    return re.fullmatch(pattern, text.lower()) is not None


def _successors(ordinal: str) -> list[str]:
    """The enumerators that may follow another, ``#`` among them."""
    if ordinal.isdigit():
        return [str(int(ordinal[-9:]) + 1), "#"]
    if ordinal == "#":
        return ["#"]
    return ["#", chr(ord(ordinal) + 1)] if len(ordinal) == 1 else ["#"]
