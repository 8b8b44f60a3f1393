"""The entries of a gettext catalogue, with their places in its text.

polib reads and writes catalogues too, but writes all of them in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dragoman.core.errors import DataError

_KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d{1,3})\])?)(?=[\s\"])")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"\s*')
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED = {sign: f"\\{letter}" for letter, sign in _ESCAPES.items()} | {"\\": "\\\\", '"': '\\"'}
_WORD = re.compile(r"\S*\s*")


@dataclass
class PoString:
    """A keyword with its string."""

    start: int
    """In characters of the text."""
    stop: int
    """After the last quotation mark."""
    line: int
    keyword: str
    value: str = ""


@dataclass
class PoEntry:
    """A message."""

    start: int
    """Where its first keyword is, after its comments; or that of what it was before (``#|``),
    behind which gettext takes no flags."""
    msgid: PoString
    msgid_plural: PoString | None = None
    msgctxt: PoString | None = None
    msgstr: list[PoString] = field(default_factory=list)
    """In the order in which they are written."""
    flags: tuple[str, ...] = ()
    flags_start: int | None = None
    """Where the line with its flags begins."""

    @property
    def needs_translation(self) -> bool:
        """Whether a translation is missing, or fuzzy."""
        return len(self.done) < len(self.msgstr)

    @property
    def done(self) -> list[PoString]:
        """What is translated: none of it if it is fuzzy."""
        return [] if "fuzzy" in self.flags else [one for one in self.msgstr if one.value]


def read_entries(text: str) -> list[PoEntry]:
    """The entries of a catalogue, without obsolete ones, in order.

    Raises:
        DataError: it is not the syntax of a catalogue, with the line.
    """
    return list(_Reading(text).entries())


def header_fields(header: PoEntry | None) -> dict[str, str]:
    """What the header of a catalogue says, by names in lower case."""
    if header is None or not header.msgstr:
        return {}
    lines = [line.partition(":") for line in header.msgstr[0].value.split("\n")]
    return {name.strip().lower(): value.strip() for name, sign, value in lines if sign}


def po_string(keyword: str, value: str, width: int, newline: str) -> str:
    """A keyword with a string, as gettext writes it.

    Args:
        keyword: such as ``msgstr``.
        value: the string.
        width: of lines, in characters, at which it is wrapped; 0: only at its line ends.
        newline: the end of a line.
    """
    parts = [part for part in re.split(r"(?<=\n)", value) if part]
    one_line = f'{keyword} "{_escaped(value)}"'
    if len(parts) < 2 and (not width or len(one_line) < width):
        return one_line
    lines = [line for part in parts for line in _wrapped(_escaped(part), width)]
    return newline.join([f'{keyword} ""', *(f'"{line}"' for line in lines)])


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


def _unescaped(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        octal, hexadecimal, letter = found.groups()
        if letter is None:
            return chr(int(octal, 8) if octal else int(hexadecimal, 16))
        return _ESCAPES.get(letter, letter)

    return _ESCAPE.sub(plain, text) if "\\" in text else text


class _Reading:
    """Reads a catalogue line by line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._flags: list[str] = []
        self._flags_start: int | None = None
        self._previous_start: int | None = None
        self._strings: list[tuple[str, PoString]] = []

    def entries(self) -> Iterator[PoEntry]:
        place = 0
        # Not splitlines, for which a form feed would be the end of a line.
        for number, line in enumerate(re.findall(r"[^\n]*\n|[^\n]+", self._text), 1):
            begin = place + len(line) - len(line.lstrip())
            content = line.strip()
            place += len(line)
            keyword = _KEYWORD.match(content)
            starts = content.startswith("#") or (
                keyword is not None and keyword[1] in ("msgid", "msgctxt")
            )
            if starts and any(name.startswith("msgstr") for name, _ in self._strings):
                yield self._entry()
            if content.startswith("#"):
                self._comment(content, begin, number)
            elif keyword is not None:
                self._strings.append((keyword[1], PoString(begin, begin, number, keyword[1])))
                self._add(content[keyword.end() :].strip(), begin + len(content), number)
            elif content.startswith('"') and self._strings:
                self._add(content, begin + len(content), number)
            elif content:
                raise DataError(
                    f"line {number} is not the syntax of a gettext catalogue; correct it"
                )
        if self._strings:
            yield self._entry()

    def _comment(self, content: str, begin: int, number: int) -> None:
        if self._strings:
            raise DataError(f"the entry before line {number} has no msgstr; correct it")
        if content.startswith("#~"):
            self._clear()
        elif content.startswith("#|") and self._previous_start is None:
            self._previous_start = begin
        elif content.startswith("#,"):
            self._flags += [one.strip() for one in content[2:].split(",")]
            self._flags_start = begin

    def _add(self, raw: str, stop: int, number: int) -> None:
        """Add a part of a string to the last keyword."""
        found = _STRING.fullmatch(raw)
        if found is None:
            raise DataError(f"a string at line {number} has no end, or none begins; correct it")
        _, string = self._strings[-1]
        string.value += _unescaped(found[1])
        string.stop = stop

    def _entry(self) -> PoEntry:
        strings, self._strings = self._strings, []
        named = dict(strings)
        start = strings[0][1]
        forms = [one for name, one in strings if name.startswith("msgstr")]
        names = [name for name, _ in strings]
        is_plural = "msgid_plural" in named
        if (
            "msgid" not in named
            or not forms
            or len(named) < len(strings)
            or names[-len(forms) :] != [name for name in names if name.startswith("msgstr")]
            or is_plural == ("msgstr" in named)
        ):
            raise DataError(
                f"the entry at line {start.line} is not one msgid with its msgstr; correct it"
            )
        entry = PoEntry(
            start.start if self._previous_start is None else self._previous_start,
            named["msgid"],
            named.get("msgid_plural"),
            named.get("msgctxt"),
            forms,
            tuple(self._flags),
            self._flags_start,
        )
        self._clear()
        return entry

    def _clear(self) -> None:
        """Forget the comments of an entry."""
        self._flags, self._flags_start, self._previous_start = [], None, None
