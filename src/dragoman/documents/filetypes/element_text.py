"""Elements of XML whose content is plain text."""

from __future__ import annotations

import html
from collections.abc import Callable

from dragoman.documents.marks.marked_text import escaped
from dragoman.documents.strings.inline_codes import as_section, section_text
from dragoman.documents.xml import XmlElement


def element_text(element: XmlElement | None) -> str:
    """The text of an element, without comments in it; empty if there is no element."""
    if element is None:
        return ""
    return "".join(
        html.unescape(token.raw) if token.kind == "text" else section_text(token) or ""
        for token in element.tokens
    )


def element_writing(element: XmlElement) -> Callable[[str], str]:
    """How the text of an element is written: as a section, if it was one."""
    parts = [token for token in element.tokens if not token.raw.isspace()]
    return as_section if len(parts) == 1 and section_text(parts[0]) is not None else escaped
