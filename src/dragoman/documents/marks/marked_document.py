"""A document as what stays as it is, and texts with marks between."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.documents.marks.marked_text import MarkedText, PageText, walk, written_characters
from dragoman.documents.marks.marking import mark_pieces
from dragoman.documents.marks.markup_pieces import MarkupPiece, joined_texts
from dragoman.documents.marks.markup_tokens import MarkupToken

_WORDLESS = frozenset(["math", "rp", "rt", "rtc", "svg"])
"""Elements whose text is no part of the sentence that they are in."""
_READINGS = frozenset(["rb", "rp", "rt", "rtc"])
"""Elements of ``<ruby>``, each of which ends where another begins."""


@dataclass(frozen=True)
class OutlineBlock:
    """A part of a document of which a translation may change the words alone.

    It is a paragraph, a cell, a value, a cue, or a tag between two paragraphs.
    """

    codes: Sequence[str] = ()
    """Markup: tags, addresses, code, formats of runs, as it is written.  Their order within a block
    may change."""
    text: str = ""
    """Its words, as people or programs read them."""
    kept: Sequence[str] = ()
    """Placeholders and the like: a translation has each in its ``text`` at least as often."""
    texts: Sequence[int] = ()
    """Indices of the texts of the document that are in it.  Not compared."""

    def is_kept_in(self, other: OutlineBlock) -> bool:
        """Whether a block of a translation has what it should have of this one."""
        if len(self.codes) != len(other.codes):
            return False
        if tuple(self.codes) != tuple(other.codes) and Counter(self.codes) != Counter(other.codes):
            return False
        kept = Counter(self.kept)
        return all(other.text.count(one) >= number for one, number in kept.items())


def placeholders_of(texts: Iterable[MarkedText]) -> list[str]:
    """The placeholders, addresses and the like of some texts, as they are written."""
    return [
        mark.begin for text in texts for mark in walk(text.marks) if mark.is_atom and mark.is_text
    ]


@dataclass(frozen=True)
class MarkupOptions:
    """How markup is read, besides what its format says.  Names of elements are as in the format."""

    ignored_tags: tuple[str, ...] = ()
    """Elements whose content is not translated."""
    splitting_tags: tuple[str, ...] = ()
    """Elements that begin and end a text of their own."""
    non_splitting_tags: tuple[str, ...] = ()
    """Elements that do not, whatever the format says."""
    finds_structure: bool = True
    """Whether elements of XML that stand beside no text begin and end texts of their own."""
    is_lax: bool = False
    """Whether XML that is not well-formed is read, with its tags as they are."""


@dataclass
class MarkedDocument:
    """Raw parts and texts to translate, in order."""

    parts: list[str | MarkedText] = field(default_factory=list)
    blocks: list[OutlineBlock] = field(default_factory=list)
    """Blocks that must be the same when a translation is read."""

    @property
    def texts(self) -> list[MarkedText]:
        """The texts to translate."""
        return [part for part in self.parts if isinstance(part, MarkedText)]

    def joined(self, translations: Sequence[str]) -> str:
        """The document with its texts replaced, each by a translation with its markup."""
        waiting = iter(translations)
        return "".join(part if isinstance(part, str) else next(waiting) for part in self.parts)


@dataclass(frozen=True)
class Elements:
    """Start and end tags of a document that belong together."""

    ends: dict[int, int]
    """Index of the end tag, by that of the start tag."""
    limits: dict[int, int]
    """End of an element without an end tag: the index after its last token."""


def find_elements(tokens: Sequence[MarkupToken]) -> Elements:
    """Pairs of tags.  An end tag also ends all elements that began after its own."""
    ends: dict[int, int] = {}
    limits: dict[int, int] = {}
    opened: list[int] = []
    names: Counter[str] = Counter()
    for index, token in enumerate(tokens):
        if token.kind == "open":
            opened.append(index)
            names[token.name] += 1
        elif token.kind == "close" and names[token.name]:
            while tokens[opened[-1]].name != token.name:
                names[tokens[opened[-1]].name] -= 1
                limits[opened.pop()] = index
            names[token.name] -= 1
            ends[opened.pop()] = index
    limits.update((index, len(tokens)) for index in opened)
    return Elements(ends, limits)


def mark_document(
    tokens: Sequence[MarkupToken],
    elements: Elements,
    splits: Callable[[int], bool],
    hides: Callable[[int], bool],
    *,
    collapses: bool,
) -> MarkedDocument:
    """The texts of a document.

    Args:
        tokens: all of it.
        elements: of the tokens.
        splits: whether the token with an index begins and ends a text.
        hides: whether the element that begins there is not translated.
        collapses: whether white space of any length is a space, and an empty line ends a text.
    """
    marking = DocumentMarking(collapses, is_page=True)
    index = 0
    while index < len(tokens):
        token, after = tokens[index], index + 1
        if token.kind in ("open", "empty") and hides(index):
            after = _after_element(tokens, elements, index)
            raw = "".join(inner.raw for inner in tokens[index:after])
            # Without an end tag, it could swallow what is put behind it.
            is_ended = raw.endswith(">") or _ends_reading(tokens, index, after)
            if splits(index) or not is_ended:
                marking.split(raw)
            else:
                content, is_shown = _content(tokens[index:after]), token.name not in _READINGS
                marking.add(MarkupPiece("atom", raw, token.name, content, is_shown))
        elif splits(index):
            marking.split(token.raw)
        elif token.kind == "text":
            marking.add_text(token.raw)
        elif token.kind == "value":
            marking.add(MarkupPiece("atom", token.raw, content=_PARTING.sub("", token.raw)))
        else:
            marking.add(tag_piece(token))
        index = after
    marking.finish()
    return marking.document


def tag_piece(token: MarkupToken) -> MarkupPiece:
    """A tag as the start or the end of a pair, or as a point."""
    kind = token.kind if token.kind in ("open", "close") else "point"
    return MarkupPiece(kind, token.raw, token.name)


# White space in front is read from its first character only, for time linear in its length.
_EMPTY_LINE = re.compile(r"((?<![\t\f ])[\t\f ]*(?:\r\n?|\n)(?:[\t\f ]*(?:\r\n?|\n))+[\t\f ]*)")


class DocumentMarking:
    """Gathers pieces until a text ends.  ``document`` has all that have ended.

    Args:
        collapses: as for :func:`dragoman.documents.marks.marking.mark_pieces`.
        is_page: whether its texts are written as those of HTML and XML are.
    """

    def __init__(self, collapses: bool, *, is_page: bool = False) -> None:
        self._collapses, self._is_page = collapses, is_page
        self._pieces: list[MarkupPiece] = []
        self._texts = 0
        self.document = MarkedDocument()

    def add(self, piece: MarkupPiece) -> None:
        """Continue the text."""
        self._pieces.append(piece)

    def add_text(self, raw: str) -> None:
        """Continue the text with words, which an empty line may end."""
        if not self._collapses:
            self.add(MarkupPiece("text", raw))
            return
        for number, part in enumerate(_EMPTY_LINE.split(raw)):
            if number % 2:
                self.split(part)
            elif part:
                self.add(MarkupPiece("text", part))

    def split(self, raw: str) -> None:
        """Write something between two texts."""
        self.finish()
        self.document.parts.append(raw)
        if not raw.isspace():
            self.document.blocks.append(OutlineBlock([raw]))

    def finish(self) -> None:
        """End the text."""
        pieces, self._pieces = self._pieces, []
        if not pieces:
            return
        parts = list(self._marked(pieces))
        self.document.parts += parts
        texts = [part for part in parts if isinstance(part, MarkedText)]
        block = OutlineBlock(
            [piece.raw for piece in pieces if piece.kind != "text"],
            html.unescape("".join(piece.raw for piece in pieces if piece.kind == "text")),
            placeholders_of(texts),
            range(self._texts, self._texts + len(texts)),
        )
        self._texts += len(texts)
        if block.codes or not block.text.isspace():
            self.document.blocks.append(block)

    def _marked(self, pieces: Sequence[MarkupPiece]) -> Iterator[str | MarkedText]:
        """A text, or several if it has too many marks, or what has no words."""
        start, stop = _within_tags_of_all(pieces) if self._collapses else (0, len(pieces))
        around, pieces = (pieces[:start], pieces[stop:]), pieces[start:stop]
        yield from (piece.raw for piece in around[0])
        yield from self._marked_within(pieces)
        yield from (piece.raw for piece in around[1])

    def _marked_within(self, pieces: Sequence[MarkupPiece]) -> Iterator[str | MarkedText]:
        marked = self._text(pieces)
        if marked is None:
            yield from (piece.raw for piece in pieces)
        elif not marked.is_crowded:
            yield marked
        else:
            for piece in joined_texts(pieces):
                alone = self._text([piece])
                yield piece.raw if alone is None else alone

    def _text(self, pieces: Sequence[MarkupPiece]) -> MarkedText | None:
        is_page = self._is_page and self._collapses
        marked = mark_pieces(pieces, collapses=self._collapses, is_page=is_page)
        if marked is None or not self._is_page:
            return marked
        raw = "".join(piece.raw for piece in pieces)
        plain = "".join(piece.raw for piece in pieces if piece.kind == "text")
        return PageText(**vars(marked), raw=raw, written=written_characters(plain))


_PARTING = re.compile(r"[\s.!?]+")
"""Signs that the code of a value is read without, so that it is one word of one sentence."""


def _within_tags_of_all(pieces: Sequence[MarkupPiece]) -> tuple[int, int]:
    """The pieces within the tags that are around the whole of a text.

    These tags stay as they are written, with the white space beside them.
    """
    start, stop = 0, len(pieces)
    ends: dict[int, int] | None = None
    while True:
        first = next((at for at in range(start, stop) if not _is_space(pieces[at])), stop)
        last = next((at for at in range(stop - 1, first, -1) if not _is_space(pieces[at])), first)
        if first >= last or (pieces[first].kind, pieces[last].kind) != ("open", "close"):
            return start, stop
        ends = _ends_of_pairs(pieces) if ends is None else ends
        if ends.get(first) != last:
            return start, stop
        start, stop = first + 1, last


def _is_space(piece: MarkupPiece) -> bool:
    return piece.kind == "text" and piece.raw.isspace()


def _ends_of_pairs(pieces: Sequence[MarkupPiece]) -> dict[int, int]:
    """The ``close`` of each ``open``.  Those that cross another pair have none."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for index, piece in enumerate(pieces):
        if piece.kind == "open":
            opened.append(index)
        elif piece.kind == "close" and opened:
            if pieces[opened[-1]].name != piece.name:
                return ends
            ends[opened.pop()] = index
    return ends


def _after_element(tokens: Sequence[MarkupToken], elements: Elements, index: int) -> int:
    if tokens[index].kind == "empty":
        return index + 1
    if index in elements.ends:
        return elements.ends[index] + 1
    # As <li> and <p>, which end where the next one begins.
    limit, name = elements.limits[index], tokens[index].name
    ending = _READINGS if name in _READINGS else {name}
    following = (at for at in range(index + 1, limit) if tokens[at].name in ending)
    return next(following, limit)


def _ends_reading(tokens: Sequence[MarkupToken], index: int, after: int) -> bool:
    """Whether a part of ``<ruby>`` that has no end tag ends with it, or where the next begins."""
    ending = {*_READINGS, "ruby"}
    return tokens[index].name in _READINGS and after < len(tokens) and tokens[after].name in ending


def _content(tokens: Sequence[MarkupToken]) -> str:
    """The text within an element that is not translated."""
    if tokens[0].name.lower() in _WORDLESS:
        return ""
    texts = [html.unescape(token.raw) for token in tokens if token.kind in ("text", "value")]
    return " ".join("".join(texts).split())
