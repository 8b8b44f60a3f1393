"""Strings of programs as texts to translate: placeholders and tags in them stay as they are."""

from __future__ import annotations

import html
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from dragoman.documents.mark_placement import place_marks
from dragoman.documents.marked_document import MOST_MARKS, MarkedDocument
from dragoman.documents.marked_text import MarkedText, walk
from dragoman.documents.marking import MarkupPiece, mark_pieces
from dragoman.text.terminology import Terminology
from dragoman.text.word_edges import Span
from dragoman.translation.service.interface import TranslatedText
from dragoman.translation.service.placeholders import PROTECTED_PATTERNS

Numbering = Literal["none", "printf", "braces"]
"""How placeholders in another order are written: as in the source; ``%2$s``; ``{1}``."""

# What programs fill in, besides what the service itself protects.
_PATTERNS = (
    *PROTECTED_PATTERNS,
    r"%%|%#@\w+@|%\{\w+\}|%<\w+>[-+0 #]*\d*(?:\.\d+)?[a-z]|%L?\d{1,2}(?![\d%$])|%n\b",
    r"\$t\([^()]*\)|\$\d+(?!\d|[.,]\d)|\$[A-Za-z0-9_@]+\$",
    r"\{\s*[\w.-]+\s*(?:,[^{}]*)?\}|\{\{\{[^{}]*\}\}\}",  # ICU arguments; Handlebars
    r"@:(?:\([^()]*\)|[\w.]+)",  # a message in another (vue-i18n)
    r"&(?!(?:amp|lt|gt);)(?:\#\d+|\#[xX][0-9a-fA-F]+|[A-Za-z]\w*);",
)
_FILLED_IN = Terminology(protect=("placeholders", "urls"), patterns=_PATTERNS)
_HINT = re.compile(r"[%{$@`&:\[/]|www\.", re.IGNORECASE)
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w:.-]*|\d+)(?:\s[^<>]*?)?(?P<empty>/?)>")
_VOID = frozenset(["br", "hr", "img", "input", "wbr"])
_ENTITY = re.compile(r"&(?:amp|lt|gt);")
_LINE_END = re.compile(r"((?<!\s)\s*\n\s*)")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_POSITIONAL = re.compile(r"%[-+0#]*\d*(?:\.\d+)?(?:hh?|ll?|[Lqjzt])?[@diouxXeEfFgGcs]|\{\}")
_NUMBERED = re.compile(r"%\d+\$")
_INTEGER = re.compile(r"%(?:\d+\$|\(\w+\))?[-+0#]*\d*(?:hh?|ll?|[Lqjzt])?[diu]")
# Of printf and Python, from left to right, as programs read them.
_CONVERSION = re.compile(
    r"%%|%(?:\d+\$|\(\w+\))?[-+0#]*\d*(?:\.\d+)?(?:hh?|ll?|[Lqjzt])?[@diouxXeEfFgGcs]"
)
_PERCENT = "%%"  # what such programs print as one sign
_AMOUNT = re.compile(r"[%$](\d+)")
_NUMBER_BEFORE = re.compile(r"(\d+)\s?\Z")
_LONGEST_NUMBER = 20
_COUNT = re.compile(r"[%{(<\s]*(?:count|n|num|number|total)[})>\s]*(?:,\s*number\s*\}|[ds])?|%n")
# One word with a sign within: a name of a file, a key, a colour, an address, a symbol of Ruby.
_CODE = re.compile(r"\S*\w(?:_|::|\.(?=\w{2})|\\|=|/\S*/)\S*|[./#~\\@:]\S*\w\S*", re.DOTALL)
_MOST_TAGS = 20 * MOST_MARKS
"""Of a string; one with more is a page, and stays as it is."""
_SPACE = re.compile(r"\s")
_LONGEST_WORD = 200
_DATE = re.compile(r"%[-_0^#]?[A-Za-z]")
# Fields of dates and times as Unicode (LDML), Java, Moment and Angular name them, with a sign or a
# text in quotation marks between two of them.
_FIELD = r"(?:[yY]{1,4}|[MLEe]{1,5}|[dD]{1,4}|[HhKk]{1,2}|m{1,2}|s{1,2}|S{1,9}|[aAxXZz]{1,4})"
_BETWEEN = r"(?:[\s,./:_-]|'[^'\n]*'|\[[^\]\n]*\]|T)"
_DATE_FIELDS = re.compile(rf"{_FIELD}o?(?:{_BETWEEN}+{_FIELD}o?){{1,9}}\.?")
_TWO_ALIKE = re.compile(r"([yMdDHhms])\1")


def filled_in(text: str) -> list[Span]:
    """Where a string has what a program fills in or reads, tags excepted, in order."""
    return _FILLED_IN.protected(text) if _HINT.search(text) else []


def is_code(text: str) -> bool:
    """Whether a string is no text: a single word such as ``main_menu`` or ``a.png``, or a date."""
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

    def escape(self, text: str) -> str:
        """See :meth:`MarkedText.escape`."""
        return self.writing(text)


class StringValue(ABC):
    """A string and the texts in it."""

    source: str
    """The string, without the escapes of the format it is in."""
    texts: Sequence[MarkedText]

    @abstractmethod
    def joined(self, translations: Sequence[str]) -> str:
        """The string translated.

        Args:
            translations: of its texts, as they are written.
        """


class KeptValue(StringValue):
    """A string that stays as it is."""

    def __init__(self, source: str) -> None:
        self.source, self.texts = source, []

    def joined(self, translations: Sequence[str]) -> str:
        """See :meth:`StringValue.joined`."""
        return self.source


class PlainValue(StringValue):
    """A string with placeholders and tags; each of its lines is a text.

    Args:
        source: the string.
        number: written instead of the placeholder of a count while it is translated.
        numbering: what is done where placeholders change places.
    """

    def __init__(
        self, source: str, number: int | None = None, numbering: Numbering = "none"
    ) -> None:
        self.source, self._numbering = source, numbering
        self._document = MarkedDocument([source])
        self.texts = []
        self._written = source
        if is_code(source):
            return
        spans = filled_in(source)
        shown = wanted_names(source, spans)
        if number is not None and (count := count_span(source, spans)) is not None:
            shown[spans.index(count)] = str(number)
            if numbering == "printf":
                self._written = numbered(source)
        atoms = dict(zip(filled_in(self._written), shown, strict=True))
        self._document = MarkedDocument(list(mark_string(self._written, atoms)))
        self.texts = self._document.texts

    def joined(self, translations: Sequence[str]) -> str:
        """See :meth:`StringValue.joined`.

        If placeholders were not the same in spite of all, the string stays as it is.
        """
        if are_unchanged(self.texts, translations):
            return self.source
        text = self._document.joined(translations)
        if not same_placeholders(self._written, text):
            return self.source
        if self._written != self.source:
            return without_numbers(text)
        return in_order(self.source, text, self._numbering)


def are_unchanged(texts: Sequence[MarkedText], translations: Sequence[str]) -> bool:
    """Whether all texts are translated by themselves, so that they keep the way they are written.

    Args:
        texts: the texts.
        translations: of them, with their marks.
    """
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
) -> Iterator[str | MarkedText]:
    """The texts of a string, one a line, and what is between them.

    Args:
        source: the string.
        atoms: where it has placeholders, in order, and what is translated instead of each.
        reading: what it writes between tags and atoms, to text.
        writing: the reverse.
        finds_entities: whether ``&amp;`` and the like may be in it; False: ``reading`` reads them.
    """
    line: list[MarkupPiece] = []
    if len(_TAG.findall(source)) > _MOST_TAGS:
        yield source
        return
    pieces = string_pieces(source, atoms)
    plain = "".join(piece.raw for piece in pieces if piece.kind == "text")
    again = html.escape(html.unescape(plain), quote=False)
    is_html = finds_entities and _ENTITY.search(plain) is not None and again == plain
    read = "".join(reading(piece.raw) for piece in pieces if piece.kind == "text")
    plain = html.unescape(read) if is_html else read
    how = _Writing(plain, {source[slice(*one)] for one in atoms}, is_html, reading, writing)
    for piece in pieces:
        if piece.kind == "point" and _BREAK.fullmatch(piece.raw):
            yield from _marked(line, how)
            yield piece.raw
            line = []
            continue
        if piece.kind != "text":
            line.append(piece)
            continue
        for number, part in enumerate(_LINE_END.split(piece.raw)):
            if number % 2:
                yield from _marked(line, how)
                yield part
                line = []
            elif part:
                line.append(MarkupPiece("text", part))
    yield from _marked(line, how)


def count_span(text: str, spans: Sequence[Span]) -> Span | None:
    """Which placeholder of a string is the count that decides on its plural form."""
    named = [one for one in spans if _COUNT.fullmatch(text[slice(*one)])]
    integers = [one for one in spans if _INTEGER.fullmatch(text[slice(*one)])]
    found = named or integers or [one for one in spans if text[one[0]] in "%{"]
    return found[0] if len(found) == 1 or named or integers else None


def in_order(source: str, translation: str, numbering: Numbering) -> str:
    """A translation whose placeholders without number or name get what they had in the source."""
    wanted = _positional(source)
    found = _positional(translation)
    names = [translation[slice(*one)] for one in found]
    if names == wanted_names(source, wanted) or len(found) != len(wanted):
        return translation
    order = wanted_names(source, wanted)
    if len(order) > MOST_MARKS:  # too many to be a sentence
        return source
    written = []
    free = list(range(len(order)))
    for at, name in enumerate(names):
        index = next((one for one in free if order[one] == name), None)
        if index is None:
            return translation
        free.remove(index)
        if numbering == "printf" and name != "{}":
            written.append(f"%{index + 1}${name[1:]}")
        elif numbering == "braces" and name == "{}":
            written.append(f"{{{index}}}")
        else:
            written.append(order[at])
    for (start, stop), name in reversed(list(zip(found, written, strict=True))):
        translation = translation[:start] + name + translation[stop:]
    return translation


def numbered(source: str) -> str:
    """A string of several placeholders of printf without number or name, with their numbers.

    While a number stands for the count, what is around it no longer tells which ``%d`` it is.
    """
    spans = _positional(source)
    others = any(_NUMBERED.match(source, *one) for one in filled_in(source))
    if others or len(spans) < 2 or any(source[start] != "%" for start, _ in spans):
        return source
    for number, (start, _) in reversed(list(enumerate(spans, 1))):
        source = f"{source[: start + 1]}{number}${source[start + 1 :]}"
    return source


def without_numbers(text: str) -> str:
    """A string without the numbers of :func:`numbered`, if they are still in order."""
    found = [one for one in filled_in(text) if _NUMBERED.match(text, *one)]
    if [int(text[start + 1 : text.index("$", start)]) for start, _ in found] != [
        *range(1, len(found) + 1)
    ]:
        return text
    for start, _ in reversed(found):
        text = text[: start + 1] + text[text.index("$", start) + 1 :]
    return text


def wanted_names(text: str, spans: Sequence[Span]) -> list[str]:
    """What is written in parts of a text."""
    return [text[slice(*one)] for one in spans]


def same_tags(one: str, other: str) -> bool:
    """Whether two strings have the same tags, in whatever order."""
    first, second = (Counter(tag[0] for tag in _TAG.finditer(text)) for text in (one, other))
    return first == second


def _positional(text: str) -> list[Span]:
    return [one for one in filled_in(text) if _POSITIONAL.fullmatch(text[slice(*one)])]


def same_placeholders(source: str, translation: str) -> bool:
    """Whether two strings have the same placeholders and tags, in whatever order."""
    one = wanted_names(source, filled_in(source))
    signs = {name[0] for name in one}
    spans = filled_in(translation)
    spans = [
        span
        for span in spans
        if translation[span[0]] in signs or not _is_amount(translation, span, source)
    ]
    wanted, found = Counter(one), Counter(wanted_names(translation, spans))
    read = _conversions(source, source)
    if read and found[_PERCENT] > wanted[_PERCENT]:
        found[_PERCENT] = wanted[_PERCENT]  # without_stray wrote the sign so
    return (
        +wanted == +found
        and read == _conversions(translation, source)
        and same_tags(source, translation)
    )


def _conversions(text: str, source: str) -> Counter[str]:
    """What a program that formats a string as printf does would fill in, from left to right.

    ``%%1$s`` is a sign and the text ``1$s``.
    """
    found = _CONVERSION.finditer(text)
    return Counter(
        one[0] for one in found if one[0] != _PERCENT and not _is_amount(text, one.span(), source)
    )


def _is_amount(text: str, span: Span, source: str) -> bool:
    """Whether what looks like a placeholder is the sign of a number of the source.

    As ``%50`` in Turkish, and ``50%-ige`` in German, for 50%.
    """
    start, stop = span
    found = _AMOUNT.fullmatch(text, start, stop)
    if found is None and text[start] == "%":
        found = _NUMBER_BEFORE.search(text, max(0, start - _LONGEST_NUMBER), start)
    return found is not None and found[1] in _numbers(source)


@lru_cache(maxsize=4)
def _numbers(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\d+", text))


def string_pieces(source: str, atoms: Mapping[Span, str]) -> list[MarkupPiece]:
    """A string as texts, tags and atoms; tags without a partner are atoms.

    Args:
        source: the string.
        atoms: where it has placeholders, in order, and what is translated instead of each.
    """
    found: list[MarkupPiece] = []
    opened: list[int] = []
    end = 0
    for tag in _TAG.finditer(source):
        found += _atoms(source, end, tag.start(), atoms)
        found.append(_tag(tag))
        end = tag.end()
        if found[-1].kind == "open":
            opened.append(len(found) - 1)
        elif found[-1].kind == "close":
            names = [found[at].name for at in opened]
            if found[-1].name in names:
                last = len(names) - 1 - names[::-1].index(found[-1].name)
                _close(found, opened[last + 1 :])
                del opened[last:]
            else:
                _close(found, [len(found) - 1])
    found += _atoms(source, end, len(source), atoms)
    _close(found, opened)
    return found


def _atoms(source: str, start: int, stop: int, atoms: Mapping[Span, str]) -> Iterator[MarkupPiece]:
    """A part of a string without tags."""
    spans = list(atoms)
    spans = spans[bisect_left(spans, (start, start)) : bisect_left(spans, (stop, stop))]
    for begin, end in spans:
        if start <= begin and end <= stop:
            yield MarkupPiece("text", source[start:begin])
            yield MarkupPiece("atom", source[begin:end], content=atoms[begin, end])
            start = end
    yield MarkupPiece("text", source[start:stop])


def _tag(tag: re.Match[str]) -> MarkupPiece:
    name = tag["name"]
    if tag["empty"] or name.lower() in _VOID:
        return MarkupPiece("point", tag[0], name)
    return MarkupPiece("close" if tag["end"] else "open", tag[0], name)


def _close(found: list[MarkupPiece], lonely: Sequence[int]) -> None:
    """Tags without a partner are words, as ``<file>`` in the usage of a command."""
    for at in lonely:
        found[at] = MarkupPiece("atom", found[at].raw, content=found[at].raw)


@dataclass(frozen=True)
class _Writing:
    """How the texts of a string are written."""

    plain: str
    """The string without its placeholders, read."""
    placeholders: Collection[str]
    """Those that were in it."""
    is_html: bool
    """Whether ``&amp;`` and the like are in it."""
    reading: Callable[[str], str]
    writing: Callable[[str], str]

    def read(self, raw: str) -> str:
        text = self.reading(raw)
        return text if self.is_html else html.escape(text, quote=False)

    def write(self, text: str) -> str:
        text = without_stray(text, self.plain, self.placeholders)
        return self.writing(html.escape(text, quote=False) if self.is_html else text)


def _marked(line: Sequence[MarkupPiece], how: _Writing) -> Iterator[str | MarkedText]:
    as_markup = [replace(one, raw=how.read(one.raw)) if one.kind == "text" else one for one in line]
    marked = mark_pieces(as_markup, collapses=False)
    if marked is None or sum(1 for _ in walk(marked.marks)) > MOST_MARKS:
        yield from (one.raw for one in line)
    else:
        yield WrittenText(**vars(marked), writing=how.write)


def without_stray(text: str, plain: str, placeholders: Collection[str]) -> str:
    """A part of a translation without what a program would take for a placeholder or tag.

    Args:
        text: of the translation, between placeholders.
        plain: the source without its placeholders; what it has of that kind is text, as in
            ``&lt;b&gt;``.
        placeholders: of the source.
    """
    signs = {one[0] for one in placeholders if one}
    for start, stop in reversed(filled_in(text)):
        is_text = text[start] not in signs and _is_amount(text, (start, stop), plain)
        if text[start:stop] not in plain and not is_text:
            text = text[:start] + text[stop:]
    text = _TAG.sub(lambda found: found[0] if found[0] in plain else "", text)
    for sign in "{}<>":
        if sign not in plain:
            text = text.replace(sign, "")
    if "%" in text and "%" not in plain and any(map(_is_conversion, placeholders)):
        text = text.replace("%", "" if _PERCENT in placeholders else _PERCENT)
    return text


def _is_conversion(placeholder: str) -> bool:
    return placeholder != _PERCENT and _CONVERSION.fullmatch(placeholder) is not None
