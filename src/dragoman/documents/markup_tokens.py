"""HTML and XML in tokens that join to the same text again, whatever it is.

Tags, comments and raw text are told apart as the HTML standard does (WHATWG, section 13.2.5), so
that nothing is text here that is markup to a browser.  No tree is built: nothing is repaired, and
what is not translated stays as it was written.  Every token is found in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

TokenKind = Literal["text", "open", "close", "empty", "opaque"]
"""Text; tags that begin and end an element; an element without content; and what is neither:
comments, declarations, raw text such as scripts, and an unfinished tag at the end."""


@dataclass(frozen=True)
class MarkupToken:
    """A part of a document."""

    kind: TokenKind
    raw: str
    """As it is written."""
    name: str = ""
    """Of the element, in lower case in HTML."""
    attributes: dict[str, str] = field(default_factory=dict)
    """Of an ``open`` or ``empty`` tag, with references to characters as they are written."""


RAW_TEXT = frozenset(
    ["iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp"]
)
"""Elements whose content has no tags."""


def html_tokens(text: str) -> Iterator[MarkupToken]:
    """The tokens of a page or a fragment of HTML."""
    place = 0
    while place < len(text):
        token = _html_token(text, place)
        yield token
        place += len(token.raw)
        if token.kind == "open" and token.name in RAW_TEXT:
            end = _raw_text_end(text, place, token.name)
            if end > place:
                kind: TokenKind = "text" if token.name == "title" else "opaque"
                yield MarkupToken(kind, text[place:end])
            place = end


def xml_tokens(text: str) -> Iterator[MarkupToken]:
    """The tokens of well-formed XML, or of a fragment of it."""
    place = 0
    while place < len(text):
        token = _xml_token(text, place)
        yield token
        place += len(token.raw)


_NAMES_OF_VOID = """
    area base basefont bgsound br col embed frame hr img input keygen link meta param source track
    wbr
"""
_VOID = frozenset(_NAMES_OF_VOID.split())
_SPACE = "\t\n\f\r "
_SLASH = "/"  # no name of an attribute
_TAG = re.compile(r"</?[A-Za-z]")
_XML_TAG = re.compile(r"</?[^\s!?/<>]")
_NAME = re.compile(r"[^\t\n\f\r />]+")
_COMMENT_END = re.compile(r"--!?>")
# After attributes end, and before a name begins.
_BETWEEN = re.compile(r"[\t\n\f\r /]*")
_SPACES = re.compile(r"[\t\n\f\r ]*")
_ATTRIBUTE = re.compile(r"=?[^\t\n\f\r />=]*")
_UNQUOTED = re.compile(r"[^\t\n\f\r >]*")
_SCRIPT = re.compile(r"<!--|-->|<(/?)script(?=[\t\n\f\r />])", re.IGNORECASE)


def _html_token(text: str, place: int) -> MarkupToken:
    if _TAG.match(text, place):
        return _tag(text, place, is_html=True)
    if text.startswith("<!--", place):
        return _comment(text, place)
    if text.startswith(("<!", "<?", "</"), place) and place + 2 < len(text):
        return _up_to(text, place, ">")
    return _text(text, place, _TAG)


def _xml_token(text: str, place: int) -> MarkupToken:
    if _XML_TAG.match(text, place):
        return _tag(text, place, is_html=False)
    for begin, end in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")):
        if text.startswith(begin, place):
            return _up_to(text, place, end)
    return _text(text, place, _XML_TAG)


def _text(text: str, place: int, tag: re.Pattern[str]) -> MarkupToken:
    """Text up to the next sign that begins something else."""
    end = place
    while end < len(text):
        end = text.find("<", end + 1)
        if end < 0:
            end = len(text)
        elif tag.match(text, end) or text.startswith(("<!", "<?", "</"), end):
            break
    return MarkupToken("text", text[place:end])


def _up_to(text: str, place: int, end: str) -> MarkupToken:
    found = text.find(end, place)
    return MarkupToken("opaque", text[place:] if found < 0 else text[place : found + len(end)])


def _comment(text: str, place: int) -> MarkupToken:
    for empty in ("<!-->", "<!--->"):
        if text.startswith(empty, place):
            return MarkupToken("opaque", empty)
    found = _COMMENT_END.search(text, place + 4)
    return MarkupToken("opaque", text[place : found.end()] if found else text[place:])


def _tag(text: str, place: int, *, is_html: bool) -> MarkupToken:
    is_end = text[place + 1] == "/"
    named = _NAME.match(text, place + 1 + is_end)
    assert named is not None
    name = named[0].lower() if is_html else named[0]
    attributes: dict[str, str] = {}
    end = _read_attributes(text, named.end(), attributes, is_html=is_html)
    if end is None:
        return MarkupToken("opaque", text[place:])
    raw = text[place:end]
    if is_end:
        return MarkupToken("close", raw, name)
    # "<x/>" is no empty element to a browser, but to those who write it; "<a href=x/>" is neither.
    closes_itself = _SLASH in attributes
    attributes.pop(_SLASH, None)
    if is_html and name in RAW_TEXT:
        closes_itself = False
    is_empty = closes_itself or (is_html and name in _VOID)
    return MarkupToken("empty" if is_empty else "open", raw, name, attributes)


def _read_attributes(text: str, place: int, found: dict[str, str], *, is_html: bool) -> int | None:
    """Where a tag ends, after its ``>``; None if it does not end.

    Adds its attributes to ``found``, and the name ``/`` if it closes itself.
    """
    while True:
        begin, place = place, _end(_BETWEEN, text, place)
        if place >= len(text):
            return None
        if text[place] == ">":
            if text[begin:place].endswith(_SLASH):
                found[_SLASH] = ""
            return place + 1
        begin, place = place, _end(_ATTRIBUTE, text, place)
        name = text[begin:place]
        after = _end(_SPACES, text, place)
        value = ""
        if text.startswith("=", after):
            value_end = _value_end(text, _end(_SPACES, text, after + 1))
            if value_end is None:
                return None
            value, place = text[after + 1 : value_end].strip(_SPACE), value_end
        found.setdefault(name.lower() if is_html else name, _unquoted(value))


def _value_end(text: str, place: int) -> int | None:
    """Where the value of an attribute ends; None if it does not."""
    if text.startswith(('"', "'"), place):
        return text.find(text[place], place + 1) + 1 or None
    return _end(_UNQUOTED, text, place)


def _unquoted(value: str) -> str:
    return value[1:-1] if value[:1] in ("'", '"') and value[:1] else value


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


def _raw_text_end(text: str, place: int, name: str) -> int:
    """Where the content of an element without tags ends."""
    if name == "plaintext":
        return len(text)
    if name == "script":
        return _script_end(text, place)
    found = re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE).search(text, place)
    return found.start() if found else len(text)


def _script_end(text: str, place: int) -> int:
    """Where a script ends: not at an end tag after a start tag, both within a comment of HTML."""
    in_comment = in_script = False
    for found in _SCRIPT.finditer(text, place):
        if found[0] == "<!--":
            in_comment = True
        elif found[0] == "-->":
            in_comment = in_script = False
        elif not found[1]:
            in_script = in_comment
        elif in_script:
            in_script = False
        else:
            return found.start()
    return len(text)
