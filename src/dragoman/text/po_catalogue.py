"""Gettext catalogues (PO): their entries, with their positions in the text.

This module reads all catalogues that msgfmt reads. It also reads some that msgfmt refuses, if they
do no harm.  polib reads a catalogue line by line, refuses some valid ones, and rewrites the whole
file in its own style.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.core.errors import DataError

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# The encodings that gettext calls portable (po-charset.c), as far as Python has them.
_NAMES = """
    ascii big5 big5hkscs cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp850 cp866
    cp874 cp932 cp949 cp950 euc_jp euc_kr gb18030 gb2312 gbk iso8859-1 iso8859-13 iso8859-14
    iso8859-15 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-9
    johab koi8-r koi8-t koi8-u shift_jis tis-620 utf-8
"""
_KNOWN = frozenset(_NAMES.split())
_UNCHOSEN = "CHARSET"
"""The charset of templates, whose encoding is not chosen yet."""
_CHARSET = re.compile(r"charset=\s*([^\s;]+)", re.IGNORECASE)

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<comment>\#[^\n]*)|(?P<string>\"(?:[^\"\\\n]|\\(?:\r\n|\r(?!\n)|[^\r]))*\")"
    r"|(?P<keyword>msgctxt|msgid_plural|msgid|msgstr(?:\s*\[\s*(?P<form>\d{1,3})\s*\])?|domain)"
    r"(?![\w\[])|(?P<other>\"?)",
    re.DOTALL | re.ASCII,
)
_ESCAPE = re.compile(
    r"(?P<bytes>(?:\\(?:[0-7]{1,3}|x[0-9a-fA-F]{1,2}))+)|\\(?:\r?\n|(?P<letter>.))", re.DOTALL
)
_BYTE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2}))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED = {sign: f"\\{letter}" for letter, sign in _ESCAPES.items()} | {"\\": "\\\\", '"': '\\"'}
_WORD = re.compile(r"\S*\s*")


class CatalogueError(DataError):
    """A problem of a catalogue."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem if line is None else f"line {line}: {problem}")
        self.line, self.problem = line, problem


@dataclass
class PoString:
    """A keyword with its string."""

    start: int
    """First position, in characters of the text."""
    stop: int
    """Position after the last quotation mark."""
    line: int
    keyword: str
    """The keyword, such as ``msgid`` or ``msgstr[0]``."""
    parts: list[str] = field(default_factory=list)
    form: int = 0
    """The number of a plural form."""

    @property
    def value(self) -> str:
        """The text of all parts of the string, with escapes resolved."""
        return "".join(self.parts)


@dataclass
class PoEntry:
    """A message."""

    start: int
    """Position of the first keyword after the comments, or of the previous text (``#|``), behind
    which gettext takes no flags."""
    msgid: PoString
    msgid_plural: PoString | None = None
    msgctxt: PoString | None = None
    msgstr: list[PoString] = field(default_factory=list)
    """Translations in the order in which they are written."""
    flags: tuple[str, ...] = ()
    flags_start: int | None = None
    """Position of the line with its flags."""

    @property
    def is_header(self) -> bool:
        """Whether it is the header, which describes the catalogue."""
        return self.msgctxt is None and not self.msgid.value

    @property
    def messages(self) -> list[str]:
        """The message, and its plural if it has one."""
        plural = [] if self.msgid_plural is None else [self.msgid_plural.value]
        return [self.msgid.value, *plural]

    @property
    def forms(self) -> list[str]:
        """Its translation, or that of each plural form in their order."""
        return [one.value for one in sorted(self.msgstr, key=lambda one: one.form)]

    @property
    def needs_translation(self) -> bool:
        """Whether a translation is missing or fuzzy."""
        return len(self.done) < len(self.msgstr)

    @property
    def done(self) -> list[PoString]:
        """The translated strings; none if the entry is fuzzy."""
        return [] if "fuzzy" in self.flags else [one for one in self.msgstr if one.value]


@dataclass(frozen=True)
class Catalogue:
    """A catalogue as text, with its encoding and entries."""

    text: str
    encoding: str
    """The encoding by its Python name."""
    mark: bytes
    """The byte order mark in front."""
    charset: str | None
    """The encoding by its name in the header; None if the header has none."""
    entries: list[PoEntry]
    """Without obsolete ones, in order."""

    @property
    def header(self) -> PoEntry | None:
        """The first entry, if it is the header."""
        return self.entries[0] if self.entries and self.entries[0].is_header else None

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the header, by names in lower case."""
        return _fields(self.header)


def read_catalogue(content: bytes) -> Catalogue:
    """Reads a catalogue in the encoding of its header, or else in UTF-8.

    Text outside ASCII is read as UTF-8 if the header declares ASCII.

    Raises:
        CatalogueError: a syntax error, an unknown encoding, or text that is not in the encoding.
    """
    mark = next((one for one in _MARKS if content.startswith(one)), b"")
    charset, line = _declared(content[len(mark) :])
    encoding = _MARKS.get(mark) or _encoding(charset, line, is_ascii=content.isascii())
    content = content[len(mark) :]
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        place = content.count(b"\n", 0, error.start) + 1
        said = "as the header says" if charset else "which a header without charset means"
        raise CatalogueError(
            f"not {encoding.upper()}, {said}; correct the header, or convert the file", place
        ) from error
    return Catalogue(text, encoding, mark, charset, read_entries(text, encoding))


def read_entries(text: str, encoding: str = "utf-8") -> list[PoEntry]:
    """The entries of a catalogue, without obsolete ones, in order.

    Args:
        encoding: of bytes that are written as escapes.
    """
    return list(_Reading(text, encoding).entries())


def po_string(keyword: str, value: str, width: int, newline: str) -> str:
    """A keyword with a string, as gettext writes it.

    Args:
        width: of lines, in characters, at which it is wrapped. With 0, only its line ends break it.
    """
    parts = [part for part in re.split(r"(?<=\n)", value) if part]
    one_line = f'{keyword} "{_escaped(value)}"'
    if len(parts) < 2 and (not width or len(one_line) < width):
        return one_line
    lines = [line for part in parts for line in _wrapped(_escaped(part), width)]
    return newline.join([f'{keyword} ""', *(f'"{line}"' for line in lines)])


def _fields(header: PoEntry | None) -> dict[str, str]:
    if header is None:
        return {}
    lines = [line.partition(":") for line in header.msgstr[0].value.split("\n")]
    return {name.strip().lower(): value.strip() for name, sign, value in lines if sign}


def _declared(content: bytes) -> tuple[str | None, int]:
    try:  # in every supported encoding, the bytes of the header are ASCII
        first = next(_Reading(content.decode("latin-1"), "latin-1").entries(), None)
    except CatalogueError:
        return None, 1
    if first is None or not first.is_header:
        return None, 1
    found = _CHARSET.search(first.msgstr[0].value)
    string = first.msgstr[0]
    line = content.decode("latin-1").find("charset", string.start, string.stop)
    number = content.count(b"\n", 0, max(line, string.start)) + 1
    return (found[1] if found else None), number


def _encoding(charset: str | None, line: int, *, is_ascii: bool) -> str:
    if charset is None or charset.upper() == _UNCHOSEN:
        return "utf-8"
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        name = ""
    if name not in _KNOWN:
        raise CatalogueError(
            f"the header says that the encoding is {charset[:40]!r}, which is not read; convert "
            "the file to UTF-8",
            line,
        )
    return "utf-8" if name == "ascii" and not is_ascii else name


def _wrapped(text: str, width: int) -> Iterator[str]:
    room = width - 3  # without quotation marks
    line = ""
    for word in _WORD.findall(text) if width else [text]:
        if line and len(line) + len(word) > room:
            yield line
            line = ""
        line += word
    yield line


def _escaped(text: str) -> str:
    return "".join(_ESCAPED.get(sign, sign) for sign in text)


class _Reading:
    """Reads a catalogue token by token."""

    def __init__(self, text: str, encoding: str) -> None:
        self._text, self._encoding = text, encoding
        self._flags: list[str] = []
        self._flags_start: int | None = None
        self._previous_start: int | None = None
        self._strings: list[PoString] = []

    def entries(self) -> Iterator[PoEntry]:
        place, line = 0, 1
        while place < len(self._text):
            found = _TOKEN.match(self._text, place)
            assert found is not None
            if found[0].startswith('"') and (found["string"] is None or not self._strings):
                raise CatalogueError("a string has no end, or none begins; correct it", line)
            if self._ends(found):
                yield from self._ended()
            if found["other"] is not None:
                raise CatalogueError("not the syntax of a gettext catalogue; correct it", line)
            self._add(found, line)
            line += found[0].count("\n")
            place = found.end()
        if self._strings:
            yield from self._ended()

    def _ends(self, token: re.Match[str]) -> bool:
        if not self._strings or not self._strings[-1].keyword.startswith(("msgstr", "domain")):
            return False
        if token["other"] is not None:
            return bool(self._strings[-1].parts)
        return token["comment"] is not None or token["keyword"] in ("msgid", "msgctxt", "domain")

    def _add(self, token: re.Match[str], line: int) -> None:
        if token["comment"] is not None:
            self._comment(token[0].rstrip("\r"), token.start(), line)
        elif token["string"] is not None:
            string = self._strings[-1]
            string.parts.append(self._unescaped(token[0][1:-1]))
            string.stop = token.end()
        elif token["keyword"] is not None:
            string = PoString(token.start(), token.end(), line, token["keyword"])
            if token["form"] is not None:
                string.form = int(token["form"])
                string.keyword = f"msgstr[{string.form}]"
            self._strings.append(string)

    def _comment(self, content: str, start: int, line: int) -> None:
        if self._strings:
            raise CatalogueError("the entry before this comment has no msgstr; correct it", line)
        if content.startswith("#~"):
            self._clear()
        elif content.startswith("#|") and self._previous_start is None:
            self._previous_start = start
        elif content.startswith("#,"):
            self._flags += [one.strip() for one in content[2:].split(",")]
            self._flags_start = start

    def _ended(self) -> Iterator[PoEntry]:
        """The entry that has ended; None if it only set the domain of the following entries."""
        strings, self._strings = self._strings, []
        for one in strings:
            if not one.parts:
                raise CatalogueError(f"no string follows {one.keyword}; correct it", one.line)
        if [one.keyword for one in strings] != ["domain"]:
            yield self._entry(strings)
        self._clear()

    def _entry(self, strings: Sequence[PoString]) -> PoEntry:
        start = strings[0]
        named = {one.keyword: one for one in strings}
        forms = [one for one in strings if one.keyword.startswith("msgstr")]
        names = [one.keyword for one in strings]
        is_plural = "msgid_plural" in named
        if (
            "msgid" not in named
            or not forms
            or len(named) < len(strings)
            or names[-len(forms) :] != [one.keyword for one in forms]
            or is_plural == ("msgstr" in named)
        ):
            raise CatalogueError(
                "the entry is not one msgid with its msgstr; correct it", start.line
            )
        return PoEntry(
            start.start if self._previous_start is None else self._previous_start,
            named["msgid"],
            named.get("msgid_plural"),
            named.get("msgctxt"),
            forms,
            tuple(self._flags),
            self._flags_start,
        )

    def _clear(self) -> None:
        self._flags, self._flags_start, self._previous_start = [], None, None

    def _unescaped(self, text: str) -> str:
        return _ESCAPE.sub(self._plain, text) if "\\" in text else text

    def _plain(self, escape: re.Match[str]) -> str:
        """The text of an escape, or of a run of escapes that write bytes."""
        if escape["bytes"] is None:
            letter = escape["letter"] or ""
            return _ESCAPES.get(letter, letter)
        numbers = [
            int(octal, 8) if octal else int(hexadecimal, 16)
            for octal, hexadecimal in _BYTE.findall(escape["bytes"])
        ]
        try:
            return bytes(numbers).decode(self._encoding)
        except ValueError:  # as other readers do
            return "".join(map(chr, numbers))
