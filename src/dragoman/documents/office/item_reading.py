"""The content of a paragraph of an office document, in order: words, and what is between them."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.documents.marks.marked_document import find_elements
from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.office.inline_items import Item, ItemKind, joined_pairs
from dragoman.documents.office.inline_roles import ALTERNATIVES, Role, hides_run, is_copied
from dragoman.documents.office.paragraph import WHITE, Parts, RunFormat, escaped_words, merged
from dragoman.documents.office.part_tokens import attribute, part_tokens, written_name
from dragoman.documents.office.run_formats import format_key


@dataclass(frozen=True)
class ParagraphMarkup:
    """How the paragraphs of a format are written."""

    roles: dict[str, Role]
    """By the name of the element."""
    texts: Mapping[str, Sequence[str]]
    """Attributes that people read, by the name of the element."""
    plain_styles: frozenset[str] = frozenset()
    """Styles of spans that change nothing that one sees."""
    tokens: Callable[[str], Iterator[MarkupToken]] = part_tokens
    """Reads a part."""


def read_items(
    tokens: Sequence[MarkupToken],
    markup: ParagraphMarkup,
    read_blocks: Callable[[Sequence[MarkupToken]], Parts],
) -> tuple[list[Item], Parts]:
    """The content of a paragraph, whose own tags are in ``tokens``, read and raw.

    ``read_blocks`` reads elements that may hold paragraphs.
    """
    reader = _ItemReader(tokens, markup, read_blocks)
    return joined_pairs(reader.items), reader.raw()


_MOST_SPACES = 100
_EDGES = re.compile(r"(\t|_x000[9ABDabd]_)")
"""A tab, and how tabs and line breaks are written in strings (ECMA-376, part 1, 22.9.2.19)."""
_LINE_ENDS = re.compile(r"[\r\n]+")
_EDGES_OF_CELL = re.compile(r"(\t|[\r\n]+|&#(?:9|10|13|[xX]0*[9aAdD]);|_x000[9ABDabd]_)")
_RANGE = re.compile(r"-?(?:start|end)$", re.IGNORECASE)
_WITH_RUNS = ("w:p", "a:p", "x:si", "x:is", "x:text", *ALTERNATIVES)
_TRIMMED = "w:t"
_IN_CELL = "x:t"
"""Words of a workbook, which may have no run around them, and whose line ends are seen."""
_HYPHEN = "w:noBreakHyphen"
_SPACES = "text:s"


class _Opened(NamedTuple):
    """An element around words whose end has not come."""

    end: int
    """Index of the first token of its end."""
    stop: int
    number: int
    suffix: str = ""
    """Markup behind it: the end of the run that it is in."""


class _ItemReader:
    def __init__(
        self,
        tokens: Sequence[MarkupToken],
        markup: ParagraphMarkup,
        read_blocks: Callable[[Sequence[MarkupToken]], Parts],
    ) -> None:
        self._tokens, self._markup, self._read_blocks = tokens, markup, read_blocks
        self._ends = find_elements(tokens).ends
        self._has_runs = tokens[0].name in _WITH_RUNS
        self._nested: list[tuple[int, int, Parts]] = []
        self._opened: list[_Opened] = []
        self._count = 0
        self._is_spaced = True  # whether white space that comes next would not be seen
        self.items: list[Item] = []
        self._read(1, len(tokens) - 1)

    def raw(self) -> Parts:
        """All of the paragraph, as it is written."""
        parts: Parts = []
        place = 0
        for start, stop, nested in self._nested:
            parts += [*(token.raw for token in self._tokens[place:start]), *nested]
            place = stop
        return merged([*parts, *(token.raw for token in self._tokens[place:])])

    def _read(self, index: int, last: int) -> None:
        while index < last:
            if self._opened and self._opened[-1].end == index:
                index = self._close()
                continue
            token = self._tokens[index]
            if token.kind in ("text", "opaque"):
                if not self._has_runs:
                    self._add_spaced(escaped_words([token.raw]))
                index += 1
            elif token.kind == "close":  # of a span that changes nothing
                index += 1
            else:
                index = self._element(index)

    def _role(self, index: int) -> Role:
        return self._markup.roles.get(self._tokens[index].name, "point")

    def _after(self, index: int) -> int:
        return self._ends.get(index, index) + 1

    def _written(self, start: int, stop: int) -> str:
        return "".join(token.raw for token in self._tokens[start:stop])

    def _parts(self, start: int, stop: int) -> Parts:
        """Tokens as they are written, and paragraphs in them."""
        parts = self._read_blocks(self._tokens[start:stop])
        if len(parts) > 1:
            self._nested.append((start, stop, parts))
        return parts

    def _add(self, kind: ItemKind, parts: Parts, text: str = "") -> None:
        self.items.append(Item(kind, parts, self._owner, text))

    @property
    def _owner(self) -> int:
        return self._opened[-1].number if self._opened else 0

    def _element(self, index: int) -> int:
        """Read an element.  Returns the index of the token to go on with."""
        token, role, after = self._tokens[index], self._role(index), self._after(index)
        if role == "run":
            self._run(index, after)
        elif role in ("pair", "span") and token.kind == "open":
            return self._open(index, after, role)
        elif role == "ruby":
            self._ruby(index, after, "", "")
        elif token.name == _IN_CELL:
            self._add_words(index, after, self._bare_format(token))
        elif token.name == _SPACES:
            self._spaces(token)
        elif role != "dropped":
            self._add_element(index, after, role, "", "")
        return after

    def _add_element(self, start: int, stop: int, role: Role, begin: str, end: str) -> None:
        """Add an element that is not words, with the run that it is in."""
        token = self._tokens[start]
        parts: Parts = [begin, *self._parts(start, stop), end]
        if role in ("begin", "end"):
            which = attribute(token, "id") or attribute(token, "name")
            name = f"{_RANGE.sub('', token.name)} {which}"
            self._add("begin" if role == "begin" else "end", parts, name)
        elif role == "field":
            self._add("field", parts, attribute(token, "fldCharType"))
        elif role == "instruction":
            self._add("instruction", parts, self._content(start, stop))
        elif role == "atom":
            self._add("atom", parts, " ".join(self._content(start, stop).split()))
            self._is_spaced = False
        elif role == "edge":
            self._add("edge", parts)
            self._is_spaced = False
        else:
            self._add("point", parts)
            self.items[-1].is_shown = role not in ("hidden", "anchor")
            self._is_spaced = self._is_spaced and not self.items[-1].is_shown

    def _content(self, start: int, stop: int) -> str:
        tokens = self._tokens[start:stop]
        is_words = not self._has_runs
        words = []
        for token in tokens:
            if token.kind in ("text", "opaque"):
                if is_words:
                    words.append(token.raw)
            elif self._has_runs:
                is_words = token.kind == "open" and (
                    self._markup.roles.get(token.name) in ("words", "instruction")
                )
        return html.unescape(escaped_words(words))

    def _run(self, start: int, stop: int) -> None:
        if self._ends.get(start) is None:
            return  # empty
        index, properties, key = start + 1, "", ""
        while index < stop and self._tokens[index].kind == "text":
            index += 1
        if self._role(index) == "format":
            after = self._after(index)
            if any(hides_run(token) for token in self._tokens[index:after]):
                self._add("point", self._parts(start, stop))
                return
            properties, key = self._written(index, after), format_key(self._tokens[index:after])
            index = after
        begin, end = self._tokens[start].raw + properties, self._tokens[stop - 1].raw
        while index < stop - 1:
            token, role, after = self._tokens[index], self._role(index), self._after(index)
            if token.kind in ("text", "opaque", "close"):
                pass
            elif role == "words":
                trims = token.name in (_TRIMMED, _IN_CELL)
                form = RunFormat(begin, end, written_name(token), key, trims)
                self._add_words(index, after, form)
            elif token.name == _HYPHEN and self.items and self.items[-1].format is not None:
                self.items.append(Item("text", ["-"], self._owner, format=self.items[-1].format))
            elif role == "ruby":
                self._ruby(index, after, begin, end)
            elif role != "dropped":
                self._add_element(index, after, role, begin, end)
            index = after

    def _ruby(self, start: int, stop: int, begin: str, end: str) -> None:
        """Add words that have a reading above them, which is not read, with the run around it."""
        base = next((at for at in range(start, stop) if self._role(at) == "base"), None)
        last = None if base is None else self._ends.get(base)
        if base is None or last is None:
            self._add_element(start, stop, "point", begin, end)
            return
        self._count += 1
        parts: Parts = [begin, *self._parts(start, base + 1)]
        self.items.append(Item("open", parts, self._owner, number=self._count))
        self._opened.append(_Opened(last, stop, self._count, end))
        self._read(base + 1, last)
        self._close()

    def _add_words(self, start: int, stop: int, form: RunFormat) -> None:
        words = escaped_words([token.raw for token in self._tokens[start + 1 : stop - 1]])
        is_cell = self._tokens[start].name == _IN_CELL
        if form.trims and not is_cell and attribute(self._tokens[start], "space") != "preserve":
            words = self._trimmed(words)
        words = words if is_cell else _LINE_ENDS.sub(" ", words)
        for number, part in enumerate((_EDGES_OF_CELL if is_cell else _EDGES).split(words)):
            if number % 2 and is_cell:
                self._add("edge", [], part)
            elif number % 2:
                self._add("edge", [form.run(part)])
            elif part:
                self.items.append(Item("text", [part], self._owner, format=form))

    def _bare_format(self, token: MarkupToken) -> RunFormat:
        """The format of words in no run.  They become one if there are runs beside them."""
        name = written_name(token)
        run = f"{name.removesuffix('t')}r"
        if any(self._markup.roles.get(one.name) == "run" for one in self._tokens):
            return RunFormat(f"<{run}>", f"</{run}>", name, "", trims=True)
        return RunFormat("", "", name, "", trims=True)

    def _trimmed(self, words: str) -> str:
        """Words at whose ends Word shows no white space, with a space where they would be glued.

        Programs that forget the attribute that keeps white space mean a space all the same.
        Indentation is none.
        """
        kept = words.strip(" \t\r\n")
        front, _, behind = words.partition(kept) if kept else ("", "", words)
        seen = (item for item in reversed(self.items) if item.kind not in ("open", "close"))
        last = next(seen, None)
        follows = last is not None and last.format is not None and str(last.parts[0])[-1:] != " "
        kept = " " + kept if follows and front and not _LINE_ENDS.search(front) else kept
        return kept + " " if behind and not _LINE_ENDS.search(behind) else kept

    def _add_spaced(self, words: str) -> None:
        """Add words whose white space is one space, however long, and none at the start."""
        words = WHITE.sub(" ", words)
        if self._is_spaced:
            words = words.removeprefix(" ")
        if words:
            self._is_spaced = words.endswith(" ")
            self._add("text", [words])

    def _spaces(self, token: MarkupToken) -> None:
        count = attribute(token, "c") or "1"
        self._is_spaced = False
        if not (count.isascii() and count.isdigit()) or int(count[:9]) > _MOST_SPACES:
            self._add("edge", [token.raw])
        else:
            self._add("text", [" " * int(count)])

    def _open(self, start: int, stop: int, role: Role) -> int:
        token = self._tokens[start]
        is_span = role == "span"
        if is_span and attribute(token, "style-name") in self._markup.plain_styles:
            return start + 1
        index, end = start + 1, stop - 1
        while self._role(index) in ("properties", "content") or self._tokens[index].kind == "text":
            role = self._role(index)
            if self._tokens[index].kind == "text" and not self._has_runs:
                break
            if role == "content" and self._tokens[index].kind == "open":
                index, end = index + 1, self._ends[index]
                break
            index = self._after(index)
        if token.name == "w:fldSimple" and is_copied(attribute(token, "instr")):
            self._add_element(start, stop, "atom", "", "")
            return stop
        self._count += 1
        begin = self._parts(start, index)
        self.items.append(Item("open", begin, self._owner, number=self._count, is_span=is_span))
        self._opened.append(_Opened(end, stop, self._count))
        return index

    def _close(self) -> int:
        one = self._opened.pop()
        parts: Parts = [self._written(one.end, one.stop) + one.suffix]
        self.items.append(Item("close", parts, self._owner, number=one.number))
        return one.stop
