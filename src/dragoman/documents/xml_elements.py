"""The elements of an XML document with their places in its text, so that parts can be replaced."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.core.errors import DataError
from dragoman.documents.marks.markup_tokens import MarkupToken, xml_tokens
from dragoman.documents.xml import check_xml

_MOST_LEVELS = 200
_DOCTYPE = re.compile(r"<!DOCTYPE\b[^<>\[\]]*>")
_ENCODING = re.compile(rb"<\?xml\s[^>]*?encoding\s*=\s*[\"']([\w.:-]+)")


@dataclass
class XmlElement:
    """An element."""

    name: str
    """With its prefix."""
    attributes: dict[str, str]
    """By their names as they are written."""
    start: int
    """Place of its start tag, in characters of the text."""
    inner: int
    """Start of its content."""
    end: int = 0
    """End of its content."""
    stop: int = 0
    """After its end tag; all the same if it is one tag that ends itself."""
    children: list[XmlElement] = field(default_factory=list)
    document: Sequence[MarkupToken] = ()
    """The tokens of the whole document."""
    place: tuple[int, int] = (0, 0)
    """Indices of the first token of its content, and after the last one."""

    @property
    def tokens(self) -> Sequence[MarkupToken]:
        """Of its content."""
        return self.document[slice(*self.place)]

    @property
    def local_name(self) -> str:
        """Without its prefix."""
        return self.name.rpartition(":")[2]

    @property
    def prefix(self) -> str:
        """With its colon, or empty."""
        return self.name[: len(self.name) - len(self.local_name)]

    @property
    def is_tag(self) -> bool:
        """Whether it is one tag that ends itself."""
        return self.inner == self.stop

    @property
    def has_text(self) -> bool:
        """Whether there is anything but white space in it."""
        return any(one.kind != "text" or not one.raw.isspace() for one in self.tokens)

    def named(self, name: str) -> list[XmlElement]:
        """Its children of a name."""
        return [one for one in self.children if one.local_name == name]

    def first(self, name: str) -> XmlElement | None:
        """Its first child of a name."""
        return next((one for one in self.children if one.local_name == name), None)

    def walk(self) -> Iterator[XmlElement]:
        """It and all in it, in order."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            yield one
            waiting.extend(reversed(one.children))


def xml_label(content: bytes) -> str:
    """The encoding that an XML document says it has."""
    found = _ENCODING.search(content[:1024])
    return found[1].decode("ascii") if found else "utf-8"


def read_elements(text: str) -> XmlElement:
    """The outermost element of a document.

    A document type is not looked at, unless it declares entities.

    Raises:
        DataError: not well-formed, hostile, or nested too deeply; with the line.
    """
    checked = _DOCTYPE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text, count=1)
    check_xml(checked)
    tokens = list(xml_tokens(text))
    root: XmlElement | None = None
    opened: list[tuple[XmlElement, int]] = []
    place = 0
    for index, token in enumerate(tokens):
        after = place + len(token.raw)
        if token.kind in ("open", "empty"):
            attributes = {name: html.unescape(raw) for name, raw in token.attributes.items()}
            element = XmlElement(token.name, attributes, place, after, after, after)
            if opened:
                opened[-1][0].children.append(element)
            root = root or element
            if token.kind == "open":
                if len(opened) >= _MOST_LEVELS:
                    line = text.count("\n", 0, place) + 1
                    raise DataError(
                        f"XML with more than {_MOST_LEVELS} levels is not read, as at line {line}"
                    )
                opened.append((element, index + 1))
        elif token.kind == "close":
            element, first = opened.pop()
            element.end, element.stop = place, after
            element.document, element.place = tokens, (first, index)
        place = after
    if root is None:
        raise DataError("the file has no elements of XML")
    return root


def with_attribute(tag: str, name: str, value: str) -> str:
    """A start tag with an attribute, in the place of one that it has.

    Args:
        tag: as it is written.
        name: of the attribute.
        value: as text.
    """
    raw = f'{name}="{html.escape(value)}"'
    found = re.search(rf"(?<=\s){re.escape(name)}\s*=\s*(?:\"[^\"]*\"|'[^']*')", tag)
    if found:
        return tag[: found.start()] + raw + tag[found.end() :]
    end = len(tag) - (2 if tag.endswith("/>") else 1)
    return f"{tag[:end].rstrip()} {raw}{tag[end:]}"
