"""Parts of office documents as paragraphs, and what is between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from dragoman.core.errors import DataError
from dragoman.documents.marks.marked_document import DocumentMarking
from dragoman.documents.marks.markup_pieces import MarkupPiece
from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.office.drop_caps import is_initial, joined
from dragoman.documents.office.inline_roles import ALTERNATIVES
from dragoman.documents.office.paragraph import (
    Initial,
    Paragraph,
    Parts,
    RunFormat,
    Symbol,
    merged,
)
from dragoman.documents.office.paragraph_item import Item
from dragoman.documents.office.paragraph_items import ParagraphMarkup, read_items
from dragoman.documents.office.part_tokens import written_name
from dragoman.documents.office.run_formats import main_formats, smoothed
from dragoman.documents.office.shown_attributes import attribute_parts

_HYPHEN = "noBreakHyphen"
_DEEPEST = 16
"""Paragraphs within one another, as those of a text box are."""


def read_blocks(tokens: Iterable[MarkupToken], markup: ParagraphMarkup, depth: int = 0) -> Parts:
    """The paragraphs of a part, and what is between them.

    Args:
        tokens: all of it, in order.
        markup: how paragraphs are written.
        depth: paragraphs that this is within.

    Raises:
        DataError: too many paragraphs are within one another.
    """
    if depth > _DEEPEST:
        raise DataError(f"more than {_DEEPEST} paragraphs are within one another")
    parts: Parts = []
    waiting = iter(tokens)
    frame: list[MarkupToken] = []  # the paragraph of an initial
    between: Parts = []  # white space behind it
    for token in waiting:
        role = markup.roles.get(token.name) if token.kind == "open" else None
        if frame and role != "paragraph" and token.raw.isspace():
            between.append(token.raw)
            continue
        is_alternative = token.kind == "open" and token.name in ALTERNATIVES
        is_whole = role in ("paragraph", "hidden") or is_alternative
        element = _element(token, waiting) if is_whole else [token]
        reader = _ParagraphReader(markup, depth)
        if frame and role == "paragraph" and not is_initial(element):
            parts += reader.read_with_initial(frame, between, element)
            frame, between = [], []
            continue
        if frame:
            parts += [reader.read(frame), *between]
            frame, between = [], []
        if role == "paragraph" and is_initial(element):
            frame = element
        elif role == "paragraph":
            parts.append(reader.read(element))
        elif is_alternative:
            parts += reader.read_alternative(element)
        elif role != "hidden" and token.name in markup.texts:
            parts += attribute_parts(token, markup.texts[token.name])
        else:
            parts += [one.raw for one in element]
    if frame:
        parts += [_ParagraphReader(markup, depth).read(frame), *between]
    return merged(parts)


def _element(first: MarkupToken, following: Iterator[MarkupToken]) -> list[MarkupToken]:
    """The tokens of an element."""
    found = [first]
    depth = 1
    for token in following:
        found.append(token)
        depth += (token.kind == "open") - (token.kind == "close")
        if not depth:
            break
    return found


class _ParagraphReader:
    """Reads paragraphs, and those within them.

    Args:
        markup: how they are written.
        depth: paragraphs that they are within.
    """

    def __init__(self, markup: ParagraphMarkup, depth: int) -> None:
        self._markup, self._depth = markup, depth

    def read(self, tokens: Sequence[MarkupToken]) -> Paragraph:
        """The paragraph of an element."""
        items, raw = self._items(tokens)
        return _paragraph(tokens, items, raw)

    def read_with_initial(
        self, frame: Sequence[MarkupToken], between: Parts, tokens: Sequence[MarkupToken]
    ) -> Parts:
        """A paragraph, and the one in front of it that is the frame of its initial.

        Args:
            frame: tokens of that one.
            between: what is between them.
            tokens: of the paragraph.
        """
        letters, raw_frame = self._items(frame)
        items, raw = self._items(tokens)
        found = joined(letters, items)
        if found is None:
            alone = _paragraph(frame, letters, raw_frame)
            return [alone, *between, _paragraph(tokens, items, raw)]
        items, initial = found
        initial.begin = [frame[0].raw, *initial.begin]
        initial.end = [*initial.end, frame[-1].raw, *between]
        return [_paragraph(tokens, items, [*raw_frame, *between, *raw], initial)]

    def read_alternative(self, tokens: Sequence[MarkupToken]) -> Parts:
        """Content that not all programs show: a text if it has runs, or else paragraphs."""
        depth = 0
        for token in tokens:
            if depth == 1 and self._markup.roles.get(token.name) == "run":
                return [self.read(tokens)]
            depth += (token.kind == "open") - (token.kind == "close")
        inner = read_blocks(tokens[1:-1], self._markup, self._depth + 1)
        return [tokens[0].raw, *inner, tokens[-1].raw]

    def _items(self, tokens: Sequence[MarkupToken]) -> tuple[list[Item], Parts]:
        inner = partial(read_blocks, markup=self._markup, depth=self._depth + 1)
        return read_items(tokens, self._markup, inner)


def _paragraph(
    tokens: Sequence[MarkupToken], items: Sequence[Item], raw: Parts, initial: Initial | None = None
) -> Paragraph:
    smoothed(items)
    formats = main_formats(items)
    fallback = formats.get(0) or next(iter(formats.values()), None)
    marking = _ParagraphMarking(formats)
    marking.add_all(items)
    name = written_name(tokens[0])
    space = f"{name.rpartition(':')[0]}:s".removeprefix(":")
    return Paragraph(
        begin=tokens[0].raw,
        end=tokens[-1].raw,
        raw=raw,
        document=marking.marking.document,
        symbols=marking.symbols,
        format=fallback,
        space=space if tokens[0].name.startswith("text:") else "",
        initial=initial,
        hyphens=sum(part.count(_HYPHEN) for part in raw if isinstance(part, str)),
    )


class _ParagraphMarking:
    """Makes texts with marks of the items of a paragraph.

    Args:
        formats: of most of the words, by the element around them.

    Attributes:
        marking: has the texts.
        symbols: what their tags stand for.
    """

    def __init__(self, formats: dict[int, RunFormat]) -> None:
        self._formats = formats
        self._numbers: dict[int, int] = {}  # index of the symbol of an element
        self._ranks = 0  # of symbols whose order stays
        self.marking = DocumentMarking(collapses=False)
        self.symbols: list[Symbol] = []

    def add_all(self, items: Sequence[Item]) -> None:
        ends = {item.number: item for item in items if item.kind == "close"}
        beside: list[Item] = []
        for item in items:
            if item.kind in ("text", "point", "atom"):
                beside.append(item)
                continue
            self._add_beside(beside)
            beside = []
            if item.kind == "open":
                end = "".join(str(part) for part in ends[item.number].parts)
                form = self._formats.get(item.number)
                number = self._symbol(Symbol(item.parts, end, form))
                self._numbers[item.number] = number
                self._open(number)
            elif item.kind == "close":
                self._close(self._numbers[item.number])
            else:
                self.marking.split(f"<{self._symbol(Symbol(item.parts, is_shown=True))}/>")
        self._add_beside(beside)
        self.marking.finish()

    def _open(self, number: int) -> None:
        self.marking.add(MarkupPiece("open", f"<{number}>", str(number), is_shown=False))

    def _close(self, number: int) -> None:
        self.marking.add(MarkupPiece("close", f"</{number}>", str(number), is_shown=False))

    def _symbol(self, symbol: Symbol) -> int:
        self.symbols.append(symbol)
        return len(self.symbols) - 1

    def _add_beside(self, items: Sequence[Item]) -> None:
        """Add words, and what is between them, with pairs around words of another format."""
        index = 0
        while index < len(items):
            form = items[index].format
            if form is None or form.key == self._formats[items[index].owner].key:
                self._add_one(items[index])
                index += 1
                continue
            stop = index + 1
            for at in range(index + 1, len(items)):
                other = items[at].format
                if other is not None and other.key != form.key:
                    break
                stop = at + 1 if other is not None else stop
            number = self._symbol(Symbol([], "", form))
            self._open(number)
            for item in items[index:stop]:
                self._add_one(item)
            self._close(number)
            index = stop

    def _add_one(self, item: Item) -> None:
        if item.kind == "text":
            self.marking.add(MarkupPiece("text", str(item.parts[0])))
        elif item.kind == "atom":
            number = self._symbol(Symbol(item.parts, is_shown=True))
            self.marking.add(MarkupPiece("atom", f"<{number}/>", content=item.text))
        else:
            rank = self._ranks if item.is_ordered else None
            number = self._symbol(Symbol(item.parts, is_shown=item.is_shown, rank=rank))
            self._ranks += item.is_ordered
            self.marking.add(MarkupPiece("point", f"<{number}/>", is_shown=item.is_shown))
