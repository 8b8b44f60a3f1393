"""Text of AsciiDoc in pieces that join to the same text again.

The rules are those of Asciidoctor 2 for text with normal substitutions.  Whoever writes a
translation reads it with them again, so that no word becomes markup.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_LONGEST = 1000
"""Characters of a span.  What is longer is read as text, for a time linear in the text."""
_DEEPEST = 12
"""Spans within spans."""
EMPTY_ATTRIBUTE = "{empty}"
"""An attribute without a value, which every document has.  It parts signs that would be markup."""

_ROLE = r"(?:\[[^\[\]\n]{1,200}\])?"
_ALONE = r"(?<![\w;:}&])"
"""In front of signs of markup that are beside no word."""
_LABEL = rf"(?:[^\]\\]|\\.){{0,{_LONGEST}}}"
_BESIDE = r"""(?<![^\s<>()\[\];"'])"""
"""In front of an address, beside no letter."""
_SCHEME = r"(?:https?|ftps?|irc)://"
_SPAN = rf".{{1,{_LONGEST}}}?"
_TOKEN = re.compile(
    rf"""
    (?P<escape>\\{{1,2}}(?=[^\s\\]))
    |(?P<hardbreak>(?<![ \t])[ \t]+\+[ \t]*(?:(?:\r\n?|\n)[ \t]*|\Z))
    |(?P<passed>\+\+\+{_SPAN}\+\+\+|\$\${_SPAN}\$\$|{_ROLE}\+\+{_SPAN}\+\+
        |(?<!\w)(?:pass|stem|latexmath|asciimath):[a-z,+]{{0,40}}\[{_LABEL}\])
    |(?P<single>{_ALONE}{_ROLE}\+(?=\S){_SPAN}(?<=\S)\+(?!\w))
    |(?P<footnote>footnote:[\w-]{{0,80}}\[)
        (?P<note>(?:[^\[\]\\]|\\.|(?<=[^\s\[])\[[^\[\]]{{0,300}}\]){{1,{_LONGEST}}}|{_LABEL})\]
    |(?P<link>(?:(?:(?<!\w)mailto|xref|link):(?!:)[^\s\[\]]{{1,{_LONGEST}}}
        |{_BESIDE}(?:{_SCHEME}[^\s\[\]<>]|\{{(?!empty\}})\w[\w-]{{0,100}}\}})[^\s\[\]<>]{{0,{_LONGEST}}})\[)
        (?P<label>{_LABEL})\]
    |(?P<address><{_SCHEME}[^\s<>]{{1,{_LONGEST}}}>
        |{_BESIDE}{_SCHEME}[^\s\[\]<>]{{0,{_LONGEST}}}[^\s\[\]<>.,;:!?)'"]
        |(?<![\w.%+-])[\w.%+-]{{1,64}}@[\w-][\w.-]{{0,200}}\.[A-Za-z]{{2,5}}\b)
    |(?P<reference><<[^<>,\n]{{1,300}})(?:(?P<comma>,\s*)(?P<name>[^<>]{{1,{_LONGEST}}}))?>>
    |(?P<macro>(?<!\w)(?![\w-]{{0,60}}(?:link|xref|footnote):)(?:[a-z][\w-]{{0,30}}:(?!:)[^\s\[\]]{{1,{_LONGEST}}}|[a-z][a-z0-9]{{1,20}}:)
        \[{_LABEL}\])
    |(?P<anchor>\[\[[\w:][^\[\]]{{0,300}}\]\]|\(\(\([^()]{{1,{_LONGEST}}}\)\)\))
    |(?P<term>\(\()(?P<indexed>[^()]{{1,{_LONGEST}}})\)\)
    |(?P<attribute>(?<![#$%{{])\{{(?:(?:counter2?|set):[^{{}}]{{1,200}}|\w[\w-]{{0,100}})\}}(?!\}}))
    |(?P<quoted>{_ALONE}(?P<quote>["'])`(?=\S)(?P<said>{_SPAN})(?<=\S)`(?P=quote)(?!\w))
    |(?P<mono>{_ROLE}``{_SPAN}``
        |(?<![\w;:}}&"'`]){_ROLE}`(?=\S){_SPAN}(?<=\S)`(?![\w"'`]))
    |(?P<twice>(?P<role2>{_ROLE})(?P<sign2>\*\*|__|\#\#)(?P<inside2>{_SPAN})(?P=sign2))
    |(?P<once>{_ALONE}(?P<role1>{_ROLE})(?P<sign1>[*_\#])(?=\S)(?P<inside1>{_SPAN})(?<=\S)
        (?P=sign1)(?!\w))
    |(?P<raised>(?P<role0>{_ROLE})(?P<sign0>[\^~])(?P<inside0>[^\s\^~]{{1,300}})(?P=sign0))
    """,
    re.VERBOSE | re.DOTALL,
)
_ENTITY = re.compile(r"(&(?:[A-Za-z]{2,}\d{0,2}|#\d{2,6}|#x[\da-fA-F]{2,5});)")
_NAMED_LABEL = re.compile(r"(?P<words>[^\",=]*\w[^\",=]*)(?P<rest>,.*)", re.DOTALL)
_WORDLESS = frozenset(["anchor", "icon", "image", "indexterm"])
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class AsciidocPiece:
    """A part of a text."""

    kind: Literal["text", "open", "close", "atom", "point", "hardbreak", "footnote"]
    raw: str
    """As it is written.  Of a footnote: what is in front of its text."""
    name: str = ""
    """Of a pair."""
    content: str = ""
    """Of an atom: what people read.  Of a footnote: its text."""
    shape: str = ""
    """Its meaning, independent of its notation."""
    double: str = ""
    """How it is written beside letters, if it is not as it is."""


def inline_pieces(text: str, depth: int = 0) -> Iterator[AsciidocPiece]:
    """The pieces of a text."""
    at = begun = 0
    while (found := _TOKEN.search(text, at)) is not None:
        kind, at = found.lastgroup, found.end()
        pieces: list[AsciidocPiece] = []
        if kind == "escape":
            following = _TOKEN.match(text, at)
            if following is None or following["hardbreak"] is not None:
                continue  # the sign is text
            at = following.end()
            pieces.append(_atom(text[found.start() : at], following[0]))
        elif depth < _DEEPEST:
            pieces += _read(found, depth)
        else:
            pieces.append(_atom(found[0], found[0]))
        if begun < found.start():
            yield _text(text[begun : found.start()])
        yield from pieces
        begun = at
    if begun < len(text):
        yield _text(text[begun:])


def plain_text(raw: str) -> str:
    """Text as HTML writes it, with its references to characters."""
    parts = _ENTITY.split(raw)
    return "".join(
        part if at % 2 else html.escape(part, quote=False) for at, part in enumerate(parts)
    )


def meaning(pieces: Iterator[AsciidocPiece]) -> str:
    """The words and the markup of a text, in order."""
    shapes = (
        html.unescape(plain_text(piece.raw)) if piece.kind == "text" else marked_shape(piece.shape)
        for piece in pieces
    )
    return _SPACES.sub(" ", "".join(shapes)).strip()


def marked_shape(shape: str) -> str:
    """The meaning of markup, which no text can have."""
    return f"\x01{shape}\x02"


def _text(raw: str) -> AsciidocPiece:
    return AsciidocPiece("text", raw)


def _atom(raw: str, content: str) -> AsciidocPiece:
    return AsciidocPiece("atom", raw, content=_one_line(content), shape=_one_line(raw))


def _one_line(raw: str) -> str:
    return _SPACES.sub(" ", raw)


def _read(found: re.Match[str], depth: int) -> Iterator[AsciidocPiece]:
    """The pieces of a token."""
    raw = found[0]
    if found["hardbreak"] is not None:
        yield AsciidocPiece("hardbreak", raw, shape="line break")
    elif found["anchor"] is not None:
        yield AsciidocPiece("point", raw, shape=_one_line(raw))
    elif found["footnote"] is not None:
        content = found["note"]
        shape = f"{found['footnote']}{meaning(inline_pieces(content, depth + 1))}]"
        yield AsciidocPiece("footnote", found["footnote"], content=content, shape=shape)
    elif found["link"] is not None:
        yield from _link(found, depth)
    elif found["reference"] is not None and found["name"]:
        begin = found["reference"] + found["comma"]
        yield from _pair(begin, found["name"], ">>", depth, found["reference"])
    elif found["term"] is not None:
        yield from _pair("((", found["indexed"], "))", depth, "term")
    elif found["quoted"] is not None:
        sign = found["quote"]
        yield from _pair(f"{sign}`", found["said"], f"`{sign}", depth, f"quote {sign}")
    elif found["mono"] is not None or found["single"] is not None:
        yield _copied(raw)
    elif found["twice"] is not None or found["once"] is not None or found["raised"] is not None:
        yield from _emphasis(found, depth)
    elif found["macro"] is not None or (found["passed"] is not None and raw.endswith("]")):
        yield _macro(raw)
    elif found["address"] is not None:
        yield _address(raw, raw)
    else:
        yield _atom(raw, raw)


def _copied(raw: str) -> AsciidocPiece:
    """Text in signs that is not translated: ```code``, ``+passed+``."""
    sign = raw[-1]
    content = raw[raw.index(sign) :].strip(sign)
    role = raw[: raw.index(sign)]
    double = f"{role}{sign}{sign}{content}{sign}{sign}"
    shape = _one_line(f"{role}{sign}{content}")
    return AsciidocPiece("atom", raw, content=_one_line(content), shape=shape, double=double)


def _emphasis(found: re.Match[str], depth: int) -> Iterator[AsciidocPiece]:
    number = next(one for one in "012" if found[f"sign{one}"])
    role, sign, inside = (found[f"{part}{number}"] for part in ("role", "sign", "inside"))
    double = "" if number == "0" else sign[0] * 2
    yield from _pair(
        role + sign, inside, sign, depth, role + sign[0], role + double if double else "", double
    )


def _link(found: re.Match[str], depth: int) -> Iterator[AsciidocPiece]:
    """A link, whose words are translated if they can be told from its attributes."""
    begin, label, end = found["link"], found["label"], "]"
    if "=" in label:
        named = _NAMED_LABEL.fullmatch(label)
        label, end = (named["words"], f"{named['rest']}]") if named else ("", "")
    elif label.endswith("^"):
        label, end = label[:-1], "^]"
    if not label.strip() or "\\" in label or label.lstrip().startswith('"'):
        yield _address(found[0], found["label"].strip() or begin.removesuffix("["))
    else:
        double = f"link:{begin}" if re.match(_SCHEME, begin) else begin
        yield from _pair(begin, label, end, depth, begin.removeprefix("link:"), double, end)


def _address(raw: str, content: str) -> AsciidocPiece:
    """An address, which is written as a link beside letters."""
    shape = _one_line(raw).removeprefix("link:").removesuffix("[]")
    double = f"link:{raw}[]" if re.fullmatch(rf"{_SCHEME}[^\[\]]*", raw) else ""
    return AsciidocPiece("atom", raw, content=_one_line(content), shape=shape, double=double)


def _macro(raw: str) -> AsciidocPiece:
    """A macro: a point if it shows no words of the sentence."""
    name, _, rest = raw.partition(":")
    if name in _WORDLESS:
        return AsciidocPiece("point", raw, shape=_one_line(raw))
    return _atom(raw, rest.partition("[")[2].removesuffix("]"))


def _pair(
    begin: str, inside: str, end: str, depth: int, shape: str, *doubles: str
) -> Iterator[AsciidocPiece]:
    first, last = doubles or ("", "")
    name = shape
    yield AsciidocPiece("open", begin, name, shape=f"begin {shape}", double=first)
    yield from inline_pieces(inside, depth + 1)
    closing = "" if end in {"]", ">>"} else _one_line(end) if len(end) > 2 else ""
    yield AsciidocPiece("close", end, name, shape=f"end {shape}{closing}", double=last)
