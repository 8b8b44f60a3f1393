"""XML, as documents and as fragments of them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html.entities import html5
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler

from defusedxml import DefusedXmlException
from defusedxml.sax import parseString

from dragoman.core.errors import DataError
from dragoman.documents.marks.marked_document import (
    MarkedDocument,
    MarkupOptions,
    find_elements,
    mark_document,
)
from dragoman.documents.marks.markup_tokens import MarkupToken, xml_tokens
from dragoman.text.character_encoding import CharacterEncoding, decode_as, line_of

_PROLOGUE = re.compile(r"\s*(<\?xml\b|<!DOCTYPE\b)")
_SUBSET = re.compile(r"<!DOCTYPE[^<>]*\[")
_DECLARATION = re.compile(r"\A(\s*<\?xml\b[^>]*?)\sencoding\s*=\s*(?:'[^']*'|\"[^\"]*\")")
_MOST_LEVELS = 200
_DOCTYPE = re.compile(r"<!DOCTYPE\b[^<>\[\]]*>")
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]*);")
_ENCODING = re.compile(rb"<\?xml\s[^>]*?encoding\s*=\s*[\"']([\w.:-]+)")


class MalformedError(DataError):
    """XML that is not well-formed."""


def read_xml(text: str, options: MarkupOptions | None = None) -> MarkedDocument:
    """The texts of a document, or of a fragment: text and elements without one around them.

    Without options, an element is a text of its own if no text is beside it, which tells
    paragraphs from what is within them.  Nothing that the document names is ever opened.

    Raises:
        DataError: it is not well-formed and that is not allowed, it declares entities, or names a
            document type elsewhere.
    """
    options = options or MarkupOptions()
    try:
        check_xml(text)
    except MalformedError:
        if not options.is_lax:
            raise
    tokens = list(xml_tokens(text))
    rest = tokens.pop().raw if tokens and _is_unfinished(tokens[-1]) else ""
    tokens = _without_halves(tokens)
    elements = find_elements(tokens)
    splitting = _structure(tokens) if options.finds_structure else set()
    if options.is_lax:
        splitting |= set(_between_words(tokens))
    split = frozenset(options.splitting_tags)
    unsplit, ignored = frozenset(options.non_splitting_tags), frozenset(options.ignored_tags)
    closed_by = {end: start for start, end in elements.ends.items()}

    def splits(index: int) -> bool:
        token = tokens[index]
        if not token.name:
            return token.kind == "opaque" and token.raw.startswith(("<?", "<!DOCTYPE"))
        if token.name in split:
            return True
        return token.name not in unsplit and closed_by.get(index, index) in splitting

    def hides(index: int) -> bool:
        return tokens[index].name in ignored

    document = mark_document(tokens, elements, splits, hides, collapses=False)
    if rest:  # it could swallow what is put behind it
        document.parts.append(rest)
    return document


def check_xml(text: str) -> None:
    """Check that a decoded document or fragment is well-formed, and cannot expand or name files.

    Raises:
        MalformedError: it is not well-formed.
        DataError: it declares entities, or names a document type elsewhere.
    """
    if _SUBSET.search(text):
        raise DataError("XML with declarations in its document type is not read; remove them")
    is_document = _PROLOGUE.match(text) is not None
    # It is decoded already, so that what it says of its encoding is no longer true.
    whole = _DECLARATION.sub(r"\1", text, count=1) if is_document else f"<x>{text}</x>"
    try:
        parseString(whole.encode("utf-8", "surrogatepass"), ContentHandler())
    except SAXParseException as error:
        line, column = error.getLineNumber() or 1, error.getColumnNumber() or 0
        column -= len("<x>") if line == 1 and not is_document else 0
        raise MalformedError(
            f"not well-formed XML: {error.getMessage()} at line {line}, column {column + 1}"
        ) from error
    except (DefusedXmlException, ValueError) as error:
        raise DataError(
            "XML that declares entities, or names a document type elsewhere, is not read; write "
            "what entities stand for, and leave the type out"
        ) from error


def is_well_formed_page(text: str) -> bool:
    """Whether XHTML is well-formed.  Its document type, and the entities of HTML, are no error.

    Raises:
        DataError: it declares entities.
    """
    checked = _ENTITY.sub(_as_reference, _DOCTYPE.sub("", text, count=1))
    try:
        check_xml(checked)
    except MalformedError:
        return False
    return True


def _as_reference(entity: re.Match[str]) -> str:
    character = html5.get(f"{entity[1]};")
    return entity[0] if character is None else "".join(f"&#{ord(one)};" for one in character)


def _without_halves(tokens: list[MarkupToken]) -> list[MarkupToken]:
    """The tokens with start tags that nothing ends, and end tags that end nothing, as empty ones.

    Well-formed XML has none of either.
    """
    elements = find_elements(tokens)
    paired = elements.ends.keys() | set(elements.ends.values())
    return [
        token
        if index in paired or token.kind not in ("open", "close")
        else replace(token, kind="empty")
        for index, token in enumerate(tokens)
    ]


def _structure(tokens: Sequence[MarkupToken]) -> set[int]:
    """Indices of the tags of elements that stand beside no text.  Each has both of its tags."""
    beside: list[list[int]] = [[]]
    has_text = [False]
    indices: set[int] = set()
    for index, token in enumerate(tokens):
        if token.kind in ("open", "empty"):
            beside[-1].append(index)
        if token.kind == "open":
            beside.append([])
            has_text.append(False)
        elif token.kind == "close":
            siblings = beside.pop()
            if not has_text.pop():
                indices.update(siblings)
        elif _is_text(token):
            has_text[-1] = True
    if not has_text[0]:
        indices.update(beside[0])
    return indices


def _between_words(tokens: Sequence[MarkupToken]) -> Iterator[int]:
    """Tags such as ``<br>`` that nothing ends, and that alone keep two words apart."""
    for index in range(1, len(tokens) - 1):
        before, token, after = tokens[index - 1 : index + 2]
        if (
            token.kind == "empty"
            and not token.raw.endswith("/>")
            and before.kind == after.kind == "text"
            and not before.raw[-1].isspace()
            and after.raw[0].isalnum()
        ):
            yield index


def _is_unfinished(token: MarkupToken) -> bool:
    """Whether a tag, a comment or the like ends with the text."""
    if token.kind != "opaque":
        return False
    for begin, end in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")):
        if token.raw.startswith(begin):
            return not token.raw.endswith(end)
    return not token.raw.endswith(">")


def _is_text(token: MarkupToken) -> bool:
    if token.kind == "text":
        return not token.raw.isspace()
    return token.raw.startswith("<![CDATA[")


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
        return any(token.kind != "text" or not token.raw.isspace() for token in self.tokens)

    def named(self, name: str) -> list[XmlElement]:
        """Its children of a name."""
        return [child for child in self.children if child.local_name == name]

    def first(self, name: str) -> XmlElement | None:
        """Its first child of a name."""
        return next((child for child in self.children if child.local_name == name), None)

    def walk(self) -> Iterator[XmlElement]:
        """It and all in it, in order."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            yield one
            waiting.extend(reversed(one.children))


def read_xml_file(content: bytes) -> tuple[str, CharacterEncoding, XmlElement]:
    """The text of a file of XML, its encoding, and its outermost element."""
    declared = _ENCODING.search(content[:1024])
    text, encoding = decode_as(content, declared[1].decode("ascii") if declared else "utf-8")
    return text, encoding, read_elements(text)


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
                    raise DataError(
                        f"XML with more than {_MOST_LEVELS} levels is not read, as at line "
                        f"{line_of(text, place)}"
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
    """A start tag with an attribute, in the place of one that it has."""
    raw = f'{name}="{html.escape(value)}"'
    found = re.search(rf"(?<=\s){re.escape(name)}\s*=\s*(?:\"[^\"]*\"|'[^']*')", tag)
    if found:
        return tag[: found.start()] + raw + tag[found.end() :]
    end = len(tag) - (2 if tag.endswith("/>") else 1)
    return f"{tag[:end].rstrip()} {raw}{tag[end:]}"
