"""HTML and XML in tokens that always join to the same text again.

Tags, comments and raw text are recognised as in the HTML standard (WHATWG, section 13.2.5), so that
markup to a browser is never text here.  Codes of templates are read first, as the template engine
does.  No tree is built and nothing repaired, so that all else stays as it was written.  Reading
takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from dragoman.documents.template_codes import CODE_BEGIN, TemplateCodes

TokenKind = Literal["text", "open", "close", "empty", "opaque", "value", "control", "comment"]
"""Text; tags that begin and end an element; an element without content; codes of templates by their
roles (:mod:`dragoman.documents.template_codes`), comments with those of HTML; and what is neither:
declarations, raw text such as scripts, and an unfinished tag or comment at the end."""


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

    @property
    def local_name(self) -> str:
        """The name without its prefix."""
        return self.name.rpartition(":")[2]


RAW_TEXT = frozenset(
    ["iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp"]
)
"""Elements whose content has no tags."""


def html_tokens(text: str, *, is_xhtml: bool = False) -> Iterator[MarkupToken]:
    """The tokens of a page, a template of pages, or a fragment of these.

    In XHTML, each element may be a tag that ends itself, and sections of characters are read.
    """
    codes = TemplateCodes(text)
    place = 0
    while place < len(text):
        token = _html_token(text, place, codes, is_xhtml=is_xhtml)
        yield token
        place += len(token.raw)
        if token.kind == "open" and token.name in RAW_TEXT:
            end = _raw_text_end(text, place, token.name)
            if token.name == "title":
                yield from _title_tokens(text, place, end, codes)
            elif end > place:
                yield MarkupToken("opaque", text[place:end])
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
_TITLE_TAG = re.compile(r"</?[A-Za-z](?:\"[^\"<]*\"|'[^'<]*'|[^\"'<>]){0,500}>")
_LESS = re.compile("<")
_LESS_OR_CODE = re.compile(rf"<|{CODE_BEGIN.pattern}")
_COMMENT_END = re.compile(r"--!?>")
# After attributes end, and before a name begins.
_BETWEEN = re.compile(r"[\t\n\f\r /]*")
_SPACES = re.compile(r"[\t\n\f\r ]*")
_ATTRIBUTE = re.compile(r"=?[^\t\n\f\r />=]*")
_UNQUOTED = re.compile(r"[^\t\n\f\r >]*")
_SCRIPT = re.compile(r"<!--|-->|<(/?)script(?=[\t\n\f\r />])", re.IGNORECASE)


def _html_token(text: str, place: int, codes: TemplateCodes, *, is_xhtml: bool) -> MarkupToken:
    if code := codes.at(place):
        return MarkupToken(code.role, text[place : code.end])
    if _TAG.match(text, place):
        return _tag(text, place, codes, is_xhtml=is_xhtml)
    if text.startswith("<!--", place):
        return _comment(text, place)
    if is_xhtml and text.startswith("<![CDATA[", place):
        return _up_to(text, place, "]]>")
    if text.startswith(("<!", "<?", "</"), place) and place + 2 < len(text):
        return _up_to(text, place, ">")
    return _text(text, place, len(text), _TAG, codes)


def _title_tokens(text: str, place: int, end: int, codes: TemplateCodes) -> Iterator[MarkupToken]:
    """Text without tags.  Possible tags in it are for programs, and are copied."""
    while place < end:
        code = codes.at(place)
        tag = _TITLE_TAG.match(text, place, end)
        if code and code.end <= end:
            token = MarkupToken(code.role, text[place : code.end])
        elif tag:
            token = MarkupToken("value", tag[0])
        else:
            token = _text(text, place, end, _TITLE_TAG, codes)
        yield token
        place += len(token.raw)


def _xml_token(text: str, place: int) -> MarkupToken:
    if _XML_TAG.match(text, place):
        return _tag(text, place, None)
    for begin, end in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")):
        if text.startswith(begin, place):
            return _up_to(text, place, end)
    return _text(text, place, len(text), _XML_TAG, None)


def _text(
    text: str, place: int, stop: int, tag: re.Pattern[str], codes: TemplateCodes | None
) -> MarkupToken:
    """Text up to the next sign that begins something else."""
    begin = _LESS if codes is None else _LESS_OR_CODE
    for found in begin.finditer(text, place + 1, stop):
        end = found.start()
        if codes and (code := codes.at(end)) and code.end <= stop:
            return MarkupToken("text", text[place:end])
        if text[end] != "<":
            continue
        if tag.match(text, end, stop) or (
            tag is not _TITLE_TAG and text.startswith(("<!", "<?", "</"), end)
        ):
            return MarkupToken("text", text[place:end])
    return MarkupToken("text", text[place:stop])


def _up_to(text: str, place: int, end: str) -> MarkupToken:
    found = text.find(end, place)
    return MarkupToken("opaque", text[place:] if found < 0 else text[place : found + len(end)])


def _comment(text: str, place: int) -> MarkupToken:
    for empty in ("<!-->", "<!--->"):
        if text.startswith(empty, place):
            return MarkupToken("comment", empty)
    found = _COMMENT_END.search(text, place + 4)
    if found is None:
        return MarkupToken("opaque", text[place:])
    return MarkupToken("comment", text[place : found.end()])


def _tag(
    text: str, place: int, codes: TemplateCodes | None, *, is_xhtml: bool = False
) -> MarkupToken:
    """A tag of HTML, in which there may be codes of templates, or of XML if ``codes`` is None."""
    is_end, is_html = text[place + 1] == "/", codes is not None
    named = _NAME.match(text, place + 1 + is_end)
    assert named is not None
    name = named[0].lower() if is_html else named[0]
    attributes: dict[str, str] = {}
    end = _AttributeReading(text, codes, attributes).end(named.end())
    if end is None:
        return MarkupToken("opaque", text[place:])
    raw = text[place:end]
    if is_end:
        return MarkupToken("close", raw, name)
    # "<x/>" is no empty element to a browser, but to those who write it; "<a href=x/>" is neither.
    closes_itself = _SLASH in attributes
    attributes.pop(_SLASH, None)
    if is_html and not is_xhtml and name in RAW_TEXT:
        closes_itself = False
    is_empty = closes_itself or (is_html and name in _VOID)
    return MarkupToken("empty" if is_empty else "open", raw, name, attributes)


@dataclass(frozen=True)
class _AttributeReading:
    text: str
    codes: TemplateCodes | None
    found: dict[str, str]
    """The attributes, and the name ``/`` if the tag closes itself."""

    def end(self, place: int) -> int | None:
        """End of a tag, after its ``>``, or None if it does not end."""
        text = self.text
        while True:
            begin, place = place, _end(_BETWEEN, text, place)
            if place >= len(text):
                return None
            if self.codes and (code := self.codes.delimited(place)):
                place = code.end
                continue
            if text[place] == ">":
                if text[begin:place].endswith(_SLASH):
                    self.found[_SLASH] = ""
                return place + 1
            begin, place = place, self._run(_ATTRIBUTE, place)
            name = text[begin:place]
            after = _end(_SPACES, text, place)
            value = ""
            if text.startswith("=", after):
                value_end = self._value_end(_end(_SPACES, text, after + 1))
                if value_end is None:
                    return None
                value, place = text[after + 1 : value_end].strip(_SPACE), value_end
            self.found.setdefault(name if self.codes is None else name.lower(), _unquoted(value))

    def _value_end(self, place: int) -> int | None:
        """End of the value of an attribute, or None if it does not end."""
        text = self.text
        if not text.startswith(('"', "'"), place):
            return self._run(_UNQUOTED, place)
        quote, inner = text[place], place + 1
        while True:
            end = text.find(quote, inner)
            if end < 0:
                return None
            if self.codes is None or not (first := self.codes.first(inner, end)):
                return end + 1
            inner = first[1].end

    def _run(self, pattern: re.Pattern[str], place: int) -> int:
        """End of a run that a pattern describes, codes within it aside."""
        while True:
            end = _end(pattern, self.text, place)
            first = self.codes.first(place, end) if self.codes else None
            if first is None:
                return end
            place = first[1].end


def _unquoted(value: str) -> str:
    return value[1:-1] if value[:1] in ("'", '"') and value[:1] else value


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


def _raw_text_end(text: str, place: int, name: str) -> int:
    """End of the content of an element without tags."""
    if name == "plaintext":
        return len(text)
    if name == "script":
        return _script_end(text, place)
    found = re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE).search(text, place)
    return found.start() if found else len(text)


def _script_end(text: str, place: int) -> int:
    """End of a script.  An end tag behind a start tag within a comment of HTML does not count."""
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
