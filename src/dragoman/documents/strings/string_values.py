"""Strings of programs as texts to translate: placeholders and tags in them stay as they are."""

from __future__ import annotations

import html
import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from typing_extensions import override

from dragoman.core.unseen import with_direction
from dragoman.documents.marks.mark_placement import place_marks
from dragoman.documents.marks.marked_document import MarkedDocument
from dragoman.documents.marks.marked_text import MOST_MARKS, MarkedText
from dragoman.documents.marks.marking import mark_pieces
from dragoman.documents.marks.markup_pieces import MarkupPiece, parted
from dragoman.documents.strings.string_placeholders import (
    TAG,
    apart,
    contents,
    count_span,
    filled_in,
    kept,
    numbered,
    same_placeholders,
    without_numbers,
    without_stray,
)
from dragoman.documents.strings.string_syntax import ANY, StringSyntax
from dragoman.text.break_codes import BREAKING_TAGS
from dragoman.text.word_edges import Span
from dragoman.translation.service.translated_text import TranslatedText

_VOID = frozenset(["img", "input", "wbr"])
_ENTITY = re.compile(r"&(?:amp|lt|gt);")
_LINE_END = re.compile(r"((?<!\s)\s*\n\s*)")
_ESCAPE = r"(?:(?:\\r)?\\n|\\t)"
_ESCAPED_BREAK = re.compile(
    rf"""((?<![\s\\'"`(]){_ESCAPE}(?!['"`),.;])|(?<![\\'"`(]){_ESCAPE}(?=\w))"""
)
"""An escape that the program reads itself, as it is in its strings; not one that a text is about,
as "use \\n for a new line"."""
_OTHER_ESCAPE = re.compile(r"\\[^nrt\"'\\]")
# One word with a sign within: a name of a file, a key, a colour, an address, a symbol of Ruby.
_CODE = re.compile(r"\S*\w(?:_|::|\.(?=\w{2})|\\|=|/\S*/)\S*|[./#~\\@:]\S*\w\S*", re.DOTALL)
_MOST_TAGS = 20 * MOST_MARKS
"""Of a string.  One with more is a page, and stays as it is."""
_SPACE = re.compile(r"\s")
_SPACES = re.compile(r"\s+")
_LONGEST_WORD = 200
_LONGEST_LINK = 300
_DATE = re.compile(r"%[-_0^#]?[A-Za-z]")
# Fields of dates and times as Unicode (LDML), Java, Moment and Angular name them, with a sign or a
# text in quotation marks between two of them.
_FIELD = r"(?:[yY]{1,4}|[MLEe]{1,5}|[dD]{1,4}|[HhKk]{1,2}|m{1,2}|s{1,2}|S{1,9}|[aAxXZz]{1,4})"
_BETWEEN = r"(?:[\s,./:_-]|'[^'\n]*'|\[[^\]\n]*\]|T)"
_DATE_FIELDS = re.compile(rf"{_FIELD}o?(?:{_BETWEEN}+{_FIELD}o?){{1,9}}\.?")
_TWO_ALIKE = re.compile(r"([yMdDHhms])\1")


def is_code(text: str) -> bool:
    """Whether a string is no text: a single word such as ``main_menu`` or ``a.png``, or a date."""
    text = TAG.sub(lambda tag: " " if tag["name"].lower() in BREAKING_TAGS else tag[0], text)
    text = text.strip()
    is_word = text.isascii() and not _SPACE.search(text) and "{" not in text
    if is_word and (len(text) > _LONGEST_WORD or _CODE.fullmatch(text)):
        return True
    if _TWO_ALIKE.search(text) and _DATE_FIELDS.fullmatch(text):
        return True
    return not any(map(str.isalpha, _DATE.sub("", text)))


@dataclass
class WrittenText(MarkedText):
    """A text with a way of its own to write what is between marks."""

    writing: Callable[[str], str] = field(default=str)

    @override
    def escape(self, text: str) -> str:
        return self.writing(text)


class StringValue(ABC):
    """A string and the texts in it."""

    source: str
    """The string, without the escapes of the format it is in."""
    texts: Sequence[MarkedText]

    @abstractmethod
    def joined(self, translations: Sequence[str]) -> str:
        """The string with its texts replaced by their translations, as they are written."""

    def is_refused(self, translations: Sequence[str], joined: str) -> bool:
        """Whether the string stays as it is although its translations are others."""
        return joined == self.source and not are_unchanged(self.texts, translations)


def with_translations(
    values: Iterable[StringValue], translations: Iterable[str]
) -> Iterator[tuple[StringValue, list[str]]]:
    """Values, each with the translations of its texts."""
    waiting = iter(translations)
    for value in values:
        yield value, [next(waiting) for _ in value.texts]


class KeptValue(StringValue):
    """A string that stays as it is."""

    def __init__(self, source: str) -> None:
        self.source, self.texts = source, []

    @override
    def joined(self, translations: Sequence[str]) -> str:
        return self.source


class PlainValue(StringValue):
    """A string with placeholders and tags.  Each of its lines is a text.

    While it is translated, a ``number`` is written instead of the placeholder of the count, which
    the ``singular``, the form for 1 of a plural, may lack.
    """

    def __init__(
        self,
        source: str,
        number: int | None = None,
        syntax: StringSyntax = ANY,
        singular: str = "",
    ) -> None:
        self.source, self._syntax = source, syntax
        self._document = MarkedDocument([source])
        self.texts = []
        self._written = source
        if is_code(source):
            return
        spans = filled_in(source, syntax)
        shown = contents(source, spans)
        count = count_span(source, spans, syntax, singular=singular)
        if number is not None and count is not None:
            shown[spans.index(count)] = str(number)
            if syntax.numbering == "printf":
                self._written = numbered(source, syntax)
        atoms = dict(zip(filled_in(self._written, syntax), shown, strict=True))
        self._document = MarkedDocument(list(mark_string(self._written, atoms, syntax=syntax)))
        self.texts = self._document.texts

    @override
    def joined(self, translations: Sequence[str]) -> str:
        # If placeholders were not the same in spite of all, the string stays as it is.
        if are_unchanged(self.texts, translations):
            return self.source
        text = self._document.joined(translations)
        if self._written == self.source:
            written = kept(self.source, text, self._syntax)
            return self.source if written is None else written
        text = apart(self._written, text, self._syntax)
        if not same_placeholders(self._written, text, self._syntax):
            return self.source
        return without_numbers(text, self._syntax)


def are_unchanged(texts: Sequence[MarkedText], translations: Sequence[str]) -> bool:
    """Whether all translations, with their marks, are the texts, so that they stay as written."""
    return all(
        found == place_marks(text, TranslatedText(text.text, "", "", None, ()))
        for text, found in zip(texts, translations, strict=True)
    )


def mark_string(
    source: str,
    atoms: Mapping[Span, str],
    reading: Callable[[str], str] = str,
    writing: Callable[[str], str] = str,
    *,
    finds_entities: bool = True,
    syntax: StringSyntax = ANY,
) -> Iterator[str | MarkedText]:
    """The texts of a string, one a line, and what is between them.

    Args:
        source: the string.
        atoms: where it has placeholders, in order, and what is translated instead of each.
        reading: what it writes between tags and atoms, to text.
        writing: the reverse.
        finds_entities: whether ``&amp;`` and the like may be in it; False: ``reading`` reads them.
        syntax: of its placeholders.
    """
    if len(TAG.findall(source)) > _MOST_TAGS:
        yield source
        return
    pieces = string_pieces(source, atoms)
    plain = "".join(piece.raw for piece in pieces if piece.kind == "text")
    again = html.escape(html.unescape(plain), quote=False)
    is_html = finds_entities and _ENTITY.search(plain) is not None and again == plain
    read = "".join(reading(piece.raw) for piece in pieces if piece.kind == "text")
    plain = html.unescape(read) if is_html else read
    placeholders = {source[slice(*atom)] for atom in atoms}
    how = _Writing(plain, placeholders, is_html, reading, writing, syntax)
    for part in parted([one for piece in pieces for one in _parts(piece, _LINE_END)]):
        if isinstance(part, str):
            yield part
        else:
            yield from _marked(part, how)


def _parts(
    piece: MarkupPiece, ends: re.Pattern[str], unless: re.Pattern[str] | None = None
) -> list[MarkupPiece]:
    """A piece of text with some ends as breaks; any other piece alone."""
    if piece.kind != "text" or (unless and unless.search(piece.raw)):
        return [piece]
    parts = enumerate(ends.split(piece.raw))
    return [MarkupPiece("break" if number % 2 else "text", part) for number, part in parts]


def string_pieces(
    source: str, atoms: Mapping[Span, str], *, finds_escapes: bool = True
) -> list[MarkupPiece]:
    """A string as texts, tags, breaks and atoms.  Tags without a partner are atoms.

    ``atoms`` are as for :func:`mark_string`.  ``finds_escapes`` says whether ``\\\
    `` may be in it
    and end a text; False: the format has escapes of its own, and all are read.
    """
    pieces: list[MarkupPiece] = []
    opened: list[int] = []
    spans = list(atoms)
    end = 0
    for start, stop, piece in _signs(source, spans):
        pieces += _atoms(source, (end, start), spans, atoms)
        pieces.append(piece)
        end = stop
        if pieces[-1].kind == "open":
            opened.append(len(pieces) - 1)
        elif pieces[-1].kind == "close":
            names = [pieces[at].name for at in opened]
            if pieces[-1].name in names:
                last = len(names) - 1 - names[::-1].index(pieces[-1].name)
                _close(pieces, opened[last + 1 :])
                del opened[last:]
            else:
                _close(pieces, [len(pieces) - 1])
    pieces += _atoms(source, (end, len(source)), spans, atoms)
    _close(pieces, opened)
    if not finds_escapes:
        return pieces
    return [part for piece in pieces for part in _parts(piece, _ESCAPED_BREAK, _OTHER_ESCAPE)]


def _signs(source: str, spans: Sequence[Span]) -> list[tuple[int, int, MarkupPiece]]:
    """Tags, and the brackets of links of Markdown, each with where it is, in order."""
    signs = [
        (*tag.span(), _tag(tag))
        for tag in TAG.finditer(source)
        if not _is_inside(tag.span(), spans)  # as in %<count>d
    ]
    for start, stop in spans:
        if source.startswith("[[", start) and source[stop - 1] == "|":  # of a wiki
            end, name = source.index("]]", stop), f"link {start}"
            signs.append((start, stop, MarkupPiece("open", source[start:stop], name)))
            signs.append((end, end + 2, MarkupPiece("close", "]]", name)))
        if source[start] != "(" or (begin := _link_begin(source, start - 1)) is None:
            continue
        if not any(_is_inside(one, spans) for one in ((begin, begin + 1), (start - 1, start))):
            name = f"link {begin}"
            signs.append((begin, begin + 1, MarkupPiece("open", "[", name)))
            signs.append((start - 1, stop, MarkupPiece("close", source[start - 1 : stop], name)))
    return sorted(signs, key=lambda one: one[0])


def _link_begin(source: str, end: int) -> int | None:
    """Start of the bracket that ends at a place, in the same line, or None if there is none."""
    depth = 0
    for at in range(end - 1, max(-1, end - _LONGEST_LINK), -1):
        if source[at] == "[" and not depth:
            return at
        depth += (source[at] == "]") - (source[at] == "[")
        if source[at] == "\n":
            return None
    return None


def _is_inside(span: Span, others: Sequence[Span]) -> bool:
    """Whether one of some spans, in order, has all of a span."""
    before = bisect_right(others, span[0], key=lambda one: one[0]) - 1
    return before >= 0 and span[1] <= others[before][1]


def _atoms(
    source: str, part: Span, spans: Sequence[Span], atoms: Mapping[Span, str]
) -> Iterator[MarkupPiece]:
    """A part of a string without tags.  ``spans`` are those of ``atoms``."""
    start, stop = part
    for span in spans[bisect_left(spans, (start, start)) : bisect_left(spans, (stop, stop))]:
        if start <= span[0] and span[1] <= stop:
            begin, end = with_direction(source, span)
            begin, end = max(begin, start), min(end, stop)
            yield MarkupPiece("text", source[start:begin])
            content = without_spaces(atoms[span])
            yield MarkupPiece("atom", source[begin:end], content=content)
            start = end
    yield MarkupPiece("text", source[start:stop])


def without_spaces(placeholder: str) -> str:
    """A placeholder as one word, whose parts no model can move: {{name}} for {{ name }}."""
    return _SPACES.sub("", placeholder)


def _tag(tag: re.Match[str]) -> MarkupPiece:
    name = tag["name"]
    if name.lower() in BREAKING_TAGS:
        return MarkupPiece("break", tag[0], name)
    if tag["empty"] or name.lower() in _VOID:
        return MarkupPiece("point", tag[0], name, is_shown=name.lower() != "wbr")
    return MarkupPiece("close" if tag["end"] else "open", tag[0], name)


def _close(pieces: list[MarkupPiece], lonely: Sequence[int]) -> None:
    """Tags without a partner are words, as ``<file>`` in the usage of a command."""
    for at in lonely:
        pieces[at] = MarkupPiece("atom", pieces[at].raw, content=pieces[at].raw)


@dataclass(frozen=True)
class _Writing:
    plain: str
    """The string without its placeholders, read."""
    placeholders: Collection[str]
    """Those that were in it."""
    is_html: bool
    """Whether ``&amp;`` and the like are in it."""
    reading: Callable[[str], str]
    writing: Callable[[str], str]
    syntax: StringSyntax

    def read(self, raw: str) -> str:
        text = self.reading(raw)
        return text if self.is_html else html.escape(text, quote=False)

    def write(self, text: str) -> str:
        text = without_stray(text, self.plain, self.placeholders, self.syntax)
        return self.writing(html.escape(text, quote=False) if self.is_html else text)


def _marked(line: Sequence[MarkupPiece], how: _Writing) -> Iterator[str | MarkedText]:
    as_markup = [replace(one, raw=how.read(one.raw)) if one.kind == "text" else one for one in line]
    marked = mark_pieces(as_markup, collapses=False)
    if marked is None or marked.is_crowded:
        yield from (one.raw for one in line)
    else:
        yield WrittenText(**vars(marked), writing=how.write)
