"""Parts of office documents as paragraphs, and what is between them.

Attributes that people read, such as alternative text, are paragraphs, too.  An initial that Word
has in a frame in front of its paragraph (ECMA-376, part 1, section 17.3.1.11) is read with its
word, and the first letter of the translation is put into the frame.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from dragoman.core.errors import DataError
from dragoman.documents.marks.marked_document import DocumentMarking
from dragoman.documents.marks.markup_pieces import MarkupPiece
from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.office.inline_items import Item
from dragoman.documents.office.inline_roles import ALTERNATIVES
from dragoman.documents.office.item_reading import ParagraphMarkup, read_items
from dragoman.documents.office.paragraph import Initial, Paragraph, Parts, RunFormat, Symbol, merged
from dragoman.documents.office.part_tokens import attribute, written_name
from dragoman.documents.office.run_formats import main_formats, smoothed

_HYPHEN = "noBreakHyphen"
_DEEPEST = 16
"""Paragraphs within one another, as those of a text box are."""
_ESCAPED_LINE_END = re.compile(r"(&#(?:10|13|[xX]0*[aAdD]);)")
_FILE_OR_ADDRESS = re.compile(
    r"\w+://\S*|\\\\\S.*|[A-Za-z]:[\\/].*|mailto:\S*"
    r"|.*\.(?:bmp|emf|eps|gif|html?|jpe?g|pdf|png|svgz?|tiff?|webp|wmf|docx?|pptx?|xlsx?)",
    re.IGNORECASE | re.DOTALL,
)
"""Programs write these where nobody has written a text."""
_FRAME = "w:framePr"
_LONGEST_INITIAL = 12
"""Letters: usually one, at most a short word."""


def read_blocks(tokens: Iterable[MarkupToken], markup: ParagraphMarkup, depth: int = 0) -> Parts:
    """The paragraphs of a part, and what is between them.  ``depth`` counts paragraphs around it.

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
        if frame and role == "paragraph" and not _is_initial(element):
            parts += reader.read_with_initial(frame, between, element)
            frame, between = [], []
            continue
        if frame:
            parts += [reader.read(frame), *between]
            frame, between = [], []
        if role == "paragraph" and _is_initial(element):
            frame = element
        elif role == "paragraph":
            parts.append(reader.read(element))
        elif is_alternative:
            parts += reader.read_alternative(element)
        elif role != "hidden" and token.name in markup.texts:
            parts += _attribute_parts(token, markup.texts[token.name])
        else:
            parts += [one.raw for one in element]
    if frame:
        parts += [_ParagraphReader(markup, depth).read(frame), *between]
    return merged(parts)


def _element(first: MarkupToken, following: Iterator[MarkupToken]) -> list[MarkupToken]:
    tokens = [first]
    depth = 1
    for token in following:
        tokens.append(token)
        depth += (token.kind == "open") - (token.kind == "close")
        if not depth:
            break
    return tokens


class _ParagraphReader:
    """Reads paragraphs, and those within them.  They are ``depth`` paragraphs deep."""

    def __init__(self, markup: ParagraphMarkup, depth: int) -> None:
        self._markup, self._depth = markup, depth

    def read(self, tokens: Sequence[MarkupToken]) -> Paragraph:
        """The paragraph of an element."""
        items, raw = self._items(tokens)
        return _paragraph(tokens, items, raw)

    def read_with_initial(
        self, frame: Sequence[MarkupToken], between: Parts, tokens: Sequence[MarkupToken]
    ) -> Parts:
        """A paragraph with the frame of its initial in front, and what is between the two."""
        letters, raw_frame = self._items(frame)
        items, raw = self._items(tokens)
        joined = _joined_initial(letters, items)
        if joined is None:
            alone = _paragraph(frame, letters, raw_frame)
            return [alone, *between, _paragraph(tokens, items, raw)]
        items, initial = joined
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
    """Makes texts with marks of the items of a paragraph, and the symbols of their tags."""

    def __init__(self, formats: dict[int, RunFormat]) -> None:
        self._formats = formats  # of most of the words, by the element around them
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
                edge = Symbol(item.parts, is_shown=True, words=item.text)
                self.marking.split(f"<{self._symbol(edge)}/>")
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


def _attribute_parts(token: MarkupToken, names: Sequence[str]) -> Parts:
    """A tag as it is written, with its attributes of these names, without prefixes, as texts."""
    if attribute(token, "type") == "autoText":  # the value is the name of an entry
        return [token.raw]
    local = "|".join(map(re.escape, names))
    value = re.compile(rf"(?<=\s)(?:[\w.-]+:)?(?:{local})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
    parts: Parts = []
    end = 0
    for found in value.finditer(token.raw):
        start, stop = found.span(1 if found[1] is not None else 2)
        parts += [token.raw[end:start], *_shown_text(token.raw[start:stop])]
        end = stop
    return [*parts, token.raw[end:]]


def _shown_text(raw: str) -> Parts:
    """The value of an attribute, whose lines are texts."""
    if _FILE_OR_ADDRESS.fullmatch(html.unescape(raw).strip()):
        return [raw]
    marking = DocumentMarking(collapses=False)
    for number, part in enumerate(_ESCAPED_LINE_END.split(raw)):
        if number % 2:
            marking.split(part)
        elif part:
            marking.add(MarkupPiece("text", part))
    marking.finish()
    return [Paragraph("", "", [raw], marking.document, [], None, is_attribute=True)]


def _is_initial(tokens: Sequence[MarkupToken]) -> bool:
    """Whether a paragraph is the frame of an initial."""
    kinds = (attribute(token, "dropCap") for token in tokens if token.name == _FRAME)
    return next(kinds, "none") not in ("none", "")


def _joined_initial(
    frame: Sequence[Item], items: Sequence[Item]
) -> tuple[list[Item], Initial] | None:
    """The items of a paragraph with the initial of the frame in front of its first word.

    None if the frame holds something else: they are read as two paragraphs.
    """
    letters = "".join(str(item.parts[0]) for item in frame if item.format is not None)
    form = next((item.format for item in frame if item.format is not None), None)
    if form is None or len(letters) > _LONGEST_INITIAL or not any(map(str.isalpha, letters)):
        return None
    at = next((at for at, item in enumerate(items) if item.format is not None), None)
    if at is None or sum(item.kind in ("edge", "atom") for item in items[:at]) > _properties(items):
        return None
    first = items[at]
    text = str(first.parts[0])
    whole = len(letters) > 1 and text[:1].isspace()
    begin, end = _around(frame)
    word = Item("text", [letters + text], first.owner, format=first.format)
    return [*items[:at], word, *items[at + 1 :]], Initial(begin, end, form, whole)


def _properties(items: Sequence[Item]) -> int:
    """How many items at the start are the properties of the paragraph."""
    return int(bool(items) and items[0].kind == "edge" and "pPr" in str(items[0].parts[:2]))


def _around(frame: Sequence[Item]) -> tuple[Parts, Parts]:
    """Items of a frame in front of its letters, and all others."""
    first = next(at for at, item in enumerate(frame) if item.format is not None)
    begin = [part for item in frame[:first] for part in item.parts]
    end = [part for item in frame[first:] if item.format is None for part in item.parts]
    return begin, end
