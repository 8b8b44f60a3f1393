"""XML, as documents and as fragments of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler

from defusedxml import DefusedXmlException
from defusedxml.sax import parseString

from dragoman.core.errors import DataError
from dragoman.documents.marked_document import (
    Elements,
    MarkedDocument,
    MarkupOptions,
    MarkupReading,
    find_elements,
    mark_document,
)
from dragoman.documents.markup_tokens import MarkupToken, xml_tokens

_PROLOGUE = re.compile(r"\s*(<\?xml\b|<!DOCTYPE\b)")
_SUBSET = re.compile(r"<!DOCTYPE[^<>]*\[")
_DECLARATION = re.compile(r"\A(\s*<\?xml\b[^>]*?)\sencoding\s*=\s*(?:'[^']*'|\"[^\"]*\")")


def read_xml(text: str, options: MarkupOptions | None = None) -> MarkedDocument:
    """The texts of a document, or of a fragment: text and elements without one around them.

    Without options, an element is a text of its own if no text is beside it, which tells
    paragraphs from what is within them.  Nothing that the document names is ever opened.

    Args:
        text: as it was sent.
        options: names of elements, with their prefix if they have one.

    Raises:
        DataError: it is not well-formed, declares entities, or names a document type elsewhere.
    """
    options = options or MarkupOptions()
    check_xml(text)
    tokens = list(xml_tokens(text))
    elements = find_elements(tokens)
    splitting = _structure(tokens, elements) if options.finds_structure else set()
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

    return mark_document(tokens, elements, MarkupReading(splits, hides, collapses=False))


def check_xml(text: str) -> None:
    """Refuse what is not well-formed, and what could expand or name files.

    Args:
        text: a document or a fragment, decoded.

    Raises:
        DataError: it is not well-formed, declares entities, or names a document type elsewhere.
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
        raise DataError(
            f"not well-formed XML: {error.getMessage()} at line {line}, column {column + 1}"
        ) from error
    except (DefusedXmlException, ValueError) as error:
        raise DataError(
            "XML that declares entities, or names a document type elsewhere, is not read; write "
            "what entities stand for, and leave the type out"
        ) from error


def _structure(tokens: Sequence[MarkupToken], elements: Elements) -> set[int]:
    """Indices of the tags of elements that stand beside no text."""
    beside: list[list[int]] = [[]]
    has_text = [False]
    found: set[int] = set()
    for index, token in enumerate(tokens):
        if token.kind in ("open", "empty"):
            beside[-1].append(index)
        if token.kind == "open":
            beside.append([])
            has_text.append(False)
        elif token.kind == "close":
            siblings = beside.pop()
            if not has_text.pop():
                found.update(siblings)
        elif _is_text(token):
            has_text[-1] = True
    if not has_text[0]:
        found.update(beside[0])
    return found


def _is_text(token: MarkupToken) -> bool:
    if token.kind == "text":
        return not token.raw.isspace()
    return token.raw.startswith("<![CDATA[")
