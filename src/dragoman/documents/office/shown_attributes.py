"""Attributes whose text people read, such as alternative text, as parts that are translated."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.documents.marks.marked_document import DocumentMarking
from dragoman.documents.marks.markup_pieces import MarkupPiece
from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.office.paragraph import Paragraph, Parts, read_words
from dragoman.documents.office.part_tokens import attribute

_LINE_END = re.compile(r"(&#(?:10|13|[xX]0*[aAdD]);)")
_FILE_OR_ADDRESS = re.compile(
    r"\w+://\S*|\\\\\S.*|[A-Za-z]:[\\/].*|mailto:\S*"
    r"|.*\.(?:bmp|emf|eps|gif|html?|jpe?g|pdf|png|svgz?|tiff?|webp|wmf|docx?|pptx?|xlsx?)",
    re.IGNORECASE | re.DOTALL,
)
"""Programs write these where nobody has written a text."""


def attribute_parts(token: MarkupToken, names: Sequence[str]) -> Parts:
    """A tag as it is written, with its attributes as texts.

    Args:
        token: the tag.
        names: of the attributes that people read, without prefixes.
    """
    if attribute(token, "type") == "autoText":  # the value is the name of an entry
        return [token.raw]
    local = "|".join(map(re.escape, names))
    value = re.compile(rf"(?<=\s)(?:[\w.-]+:)?(?:{local})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
    parts: Parts = []
    end = 0
    for found in value.finditer(token.raw):
        start, stop = found.span(1 if found[1] is not None else 2)
        parts += [token.raw[end:start], *_text(token.raw[start:stop])]
        end = stop
    return [*parts, token.raw[end:]]


def _text(raw: str) -> Parts:
    """The value of an attribute, whose lines are texts."""
    if _FILE_OR_ADDRESS.fullmatch(read_words(raw).strip()):
        return [raw]
    marking = DocumentMarking(collapses=False)
    for number, part in enumerate(_LINE_END.split(raw)):
        if number % 2:
            marking.split(part)
        elif part:
            marking.add(MarkupPiece("text", part))
    marking.finish()
    return [Paragraph("", "", [raw], marking.document, [], None, is_attribute=True)]
