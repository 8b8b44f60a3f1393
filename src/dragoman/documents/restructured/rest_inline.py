"""Inline markup of reStructuredText: read as pieces, and written so that no word becomes markup."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from dragoman.documents.marks.marked_text import KEPT_SPACE, as_number, text_and_numbers
from dragoman.documents.marks.markup_pieces import MarkupPiece
from dragoman.documents.restructured.rest_blocks import NAME

MarkKind = Literal["open", "close", "point", "atom"]

_ROLE = rf":{NAME}:"
_START = re.compile(
    rf"\\(?P<escaped>[\s\S]?)|(?P<strong>\*\*)|(?P<emphasis>\*)|(?P<literal>``)"
    rf"|(?P<phrase>(?:(?<!\w){_ROLE}|_)?`)|(?P<substitution>\|)"
    rf"|\[(?P<note>[0-9]+|#(?:{NAME})?|\*|{NAME})\]_"
    rf"|(?<!\w)(?<!\w[-._+:])(?P<reference>{NAME})__?"
)
_ENDS = {
    "strong": re.compile(r"(?<!\s)\*\*"),
    "emphasis": re.compile(r"(?<!\s)\*"),
    "literal": re.compile(r"(?<!\s)``"),
    "substitution": re.compile(r"(?<!\s)\|_{0,2}"),
    "phrase": re.compile(rf"(?<!\s)`(?:{_ROLE}|__?)?"),
}
_PAIRS = frozenset(["strong", "emphasis"])
_NO_WORDS = re.compile(r"[<>`\\]")
_TITLED_ROLES = frozenset([":any:", ":doc:", ":download:", ":numref:", ":ref:", ":term:"])
"""Roles of Sphinx whose content may be words in front of what they refer to."""
_BEFORE, _AFTER = "'\"([{<-/:", "'\")]}>-/\\:.,;!?"
"""ASCII signs beside which markup begins, and ends."""
_OPENING = frozenset(["Ps", "Pi", "Pf", "Pd", "Po"])
_CLOSING = frozenset(["Pe", "Pf", "Pi", "Pd", "Po"])
"""Categories of other signs."""
_QUOTES = {"'": "'", '"': '"', "(": ")", "[": "]", "{": "}", "<": ">"}
_GAP = f"\\{KEPT_SPACE}"
"""Separates markup from words, and shows nothing."""
_UNDERSCORES = re.compile(r"(?<!_)_+(?!\w)")
_SIGN = re.compile(r"[*`|]")


def begins_after(before: str) -> bool:
    """Whether markup may begin behind a sign, or at the start of a text if that is empty."""
    if not before or before.isspace():
        return True
    is_ascii = before.isascii()
    return before in _BEFORE if is_ascii else unicodedata.category(before) in _OPENING


def ends_before(after: str) -> bool:
    """Whether markup may end in front of a sign, or at the end of a text if that is empty."""
    if not after or after.isspace():
        return True
    return after in _AFTER if after.isascii() else unicodedata.category(after) in _CLOSING


class UnreadableError(Exception):
    """Markup that begins and does not end, of which docutils would warn."""


@dataclass(frozen=True)
class RestMark:
    """Inline markup as it is written."""

    kind: MarkKind
    raw: str

    @property
    def code(self) -> str:
        """What a translation has, too.  A link may have a name of its own, or none."""
        return " ".join(self.raw.split()).replace(">`__", ">`_")


@dataclass
class RestInline:
    """Reads texts.  Their marks are numbers."""

    references: Collection[str]
    """Names that the file refers to, so that what has such a name keeps its words."""
    marks: list[RestMark] = field(default_factory=list)

    def pieces(self, text: str) -> list[MarkupPiece]:
        """Text and marks of a block.

        Raises:
            UnreadableError: it is not certain what is markup.
        """
        return list(self._pieces(text))

    def _pieces(self, text: str) -> Iterator[MarkupPiece]:
        end = place = 0
        while found := _START.search(text, place):
            kind = found.lastgroup or "escaped"
            start, place = found.span()
            if kind == "escaped":
                yield from _plain(text[end:start] + found["escaped"].strip())
                end = place
                continue
            begins = begins_after(text[start - 1 : start] if start else "")
            after = _end(text, found, kind) if begins else None
            if after is None:
                # The rest of a name may begin nothing either.
                place = start + 1 if kind in {"emphasis", "phrase", "substitution"} else place
                continue
            yield from _plain(text[end:start])
            yield from self._markup(text[start:after], kind)
            end = place = after
        yield from _plain(text[end:])

    def _markup(self, raw: str, kind: str) -> Iterator[MarkupPiece]:
        if kind in _PAIRS:
            sign = "**" if kind == "strong" else "*"
            yield self._mark("open", sign, name=kind)
            yield from _plain(_shown(raw[len(sign) : -len(sign)]))
            yield self._mark("close", sign, name=kind)
            return
        if kind == "phrase" and (linked := self._link(raw)):
            begin, words, end = linked
            yield self._mark("open", begin, name="link")
            yield from _plain(words)
            yield self._mark("close", end, name="link")
            return
        content = _content(raw, kind)
        yield self._mark("atom" if content else "point", raw, content)

    def _link(self, raw: str) -> tuple[str, str, str] | None:
        """Begin, words and end of a link or role whose words are not its target."""
        begin, _, rest = raw.partition("`")
        content, _, end = rest.rpartition("`")
        before, sign, target = content.rpartition("<")
        words = before.rstrip()
        if not words or words == before or _NO_WORDS.search(words + target[:-1]):
            return None
        if target[-1:] != ">" or begin not in {"", *_TITLED_ROLES} or bool(begin) == bool(end):
            return None
        if not begin and (end.startswith(":") or normalised(words) in self.references):
            return None
        return begin + "`", words, f"{before[len(words) :]}{sign}{target}`{end}"

    def _mark(self, kind: MarkKind, raw: str, content: str = "", *, name: str = "") -> MarkupPiece:
        self.marks.append(RestMark(kind, raw))
        return MarkupPiece(kind, as_number(len(self.marks) - 1), name, content)

    def written(self, translation: str) -> str:
        """A translation with its marks, on one line.  White space in marks is no space there."""
        written, last, within = "", "", False
        ends = False  # whether markup has just ended
        for part in text_and_numbers(translation):
            if isinstance(part, str):
                shown = _escaped(part, last, is_within=within)
                if ends and not ends_before(shown[0]):
                    shown = _GAP + shown
                written, last, ends = written + shown, part[-1], False
                continue
            mark = self.marks[part]
            is_apart = mark.kind == "close" or (begins_after(last) and not ends)
            written += ("" if is_apart else _GAP) + re.sub(r"\s+", KEPT_SPACE, mark.raw)
            within = mark.kind == "open"
            ends, last = not within, mark.raw[-1]
        return written.replace("\n", " ")


def normalised(name: str) -> str:
    """A name as docutils compares it."""
    return " ".join(name.lower().split())


def codes_of(pieces: Sequence[MarkupPiece], marks: Sequence[RestMark]) -> list[str]:
    """The markup among some pieces."""
    numbers = [part for piece in pieces for part in text_and_numbers(piece.raw)]
    return [marks[one].code for one in numbers if isinstance(one, int)]


def _plain(text: str) -> Iterator[MarkupPiece]:
    if text:
        yield MarkupPiece("text", html.escape(text.replace("\n", " "), quote=False))


def _end(text: str, found: re.Match[str], kind: str) -> int | None:
    """End of the markup that begins with a match, or None if nothing begins there.

    Raises:
        UnreadableError: it does not end.
    """
    start, stop = found.span()
    if kind in {"note", "reference"}:
        return stop if ends_before(text[stop : stop + 1]) else None
    after = text[stop : stop + 1]
    if not after or after.isspace():
        return None
    if start and _QUOTES.get(text[start - 1]) == after:
        return None
    for end in _ENDS[kind].finditer(text, stop + 1):
        if kind != "literal" and _is_escaped(text, end.start()):
            continue
        if ends_before(text[end.end() : end.end() + 1]):
            return end.end()
    raise UnreadableError


def _is_escaped(text: str, at: int) -> bool:
    slashes = at
    while slashes and text[slashes - 1] == "\\":
        slashes -= 1
    return (at - slashes) % 2 == 1


def _shown(text: str) -> str:
    """Text without its backslashes."""
    return re.sub(r"\\([\s\S]?)", lambda found: found[1].strip(), text)


def _content(raw: str, kind: str) -> str:
    """The words of markup that is copied, or nothing for the number of a note."""
    if kind == "literal":
        return " ".join(raw[2:-2].split())
    if kind == "note":
        label = raw[1:-2]
        return "" if label.isdigit() or label[0] in "#*" else label
    words = re.sub(r"^(?::[^`]*:|_)?`|`(?::[^`]*:|_{0,2})$|^\||\|?_{0,2}$", "", raw)
    return " ".join(_shown(words.partition(" <")[0]).split())


def _escaped(text: str, before: str, *, is_within: bool) -> str:
    """Text in which nothing is markup, behind a sign."""
    text = text.replace("\\", "\\\\")
    written: list[str] = []
    end = 0
    for found in re.finditer(rf"{_SIGN.pattern}|{_UNDERSCORES.pattern}", text):
        start, stop = found.span()
        previous = text[start - 1] if start else before
        following = text[stop : stop + 1]
        if found[0][0] == "_":
            is_free = not (previous.isalnum() or previous in "]_`|")
        else:
            begins = begins_after(previous) or previous == "_"
            is_free = not is_within and (not begins or following.isspace())
        if not is_free:
            written += [text[end:start], "".join(f"\\{sign}" for sign in found[0])]
            end = stop
    text = "".join([*written, text[end:]])
    return re.sub(r"[<>]", r"\\\g<0>", text) if is_within else text
