"""Lines of AsciiDoc that are no text, and what is in front of text on a line (Asciidoctor 2)."""

from __future__ import annotations

import re

VERBATIM = re.compile(r"-{4,}|\.{4,}|\+{4,}|/{4,}|[|,:!]={3,}|```[^\s`]*(?:,[^`]*)?")
"""Fences of code, comments and tables."""
CONTAINER = re.compile(r"={4,}|\*{4,}|_{4,}|--")
"""Fences of examples, sidebars, quotations and open blocks."""
DIRECTIVE = re.compile(r"(?:include|ifn?def|ifeval|endif)::.*\[.*\]")
COMMENT = re.compile(r"//(?!/).*")
ATTRIBUTE = re.compile(r":!?\w[^:\s]*!?:(?:\s.*)?")
ATTRIBUTES = re.compile(r"\[(?:|[\w.#%\"'{,\-].*|\[(?:|[\w:][\w:.-]*(?:,.+)?)\])\]")
"""Attributes or an anchor of the block that follows."""
CAPTION = re.compile(r"\.(?P<text>\.?[^ \t.].*)")
SECTION = re.compile(r"(?P<before>(?P<sign>={1,6}|#{1,6})[ \t]+)(?P<text>\S.*)")
MACRO = re.compile(r"[\w-]+::(?:\S(?:.*\S)?)?\[.*\]")
BREAK = re.compile(r"'{3,}|<{3,}|(?:- ?){2}-|(?:\* ?){2}\*|_ ?_ ?_")
ITEM = re.compile(
    r"(?P<before>[ \t]*(?:-|\*{1,5}|•|\.{1,5}|\d{1,9}\.|[A-Za-z]\.|[ivxIVX]{1,20}\)"
    r"|<(?:\d{1,9}|\.)>)[ \t]+(?:\[[ xX*]\][ \t]+)?)(?P<text>\S.*)"
)
LABEL = re.compile(
    r"(?P<before>(?!//)[ \t]*(?P<label>\S[^\r\n]*?)(?::{2,4}|;;)(?:[ \t]+|$))(?P<text>.*)"
)
"""A term, and the text that describes it."""
NOTICE = re.compile(r"(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+(?=\S)")
UNDERLINE = re.compile(r"(?P<sign>[-=~^+])(?P=sign)*")
QUOTATION = re.compile(r">(?:[ \t].*)?|\"\".*")
CONTINUATION = "+"

_ENDING = (VERBATIM, CONTAINER, ATTRIBUTES, DIRECTIVE, COMMENT)
"""Lines that end a paragraph or part it."""
_BEGINNING = (ATTRIBUTE, CAPTION, SECTION, MACRO, BREAK, ITEM, NOTICE, QUOTATION)
_LABEL_SIGN = re.compile(r"(?::(?=:{1,3}(?:\s|$))|;(?=;(?:\s|$)))")


def is_item(line: str) -> bool:
    """Whether a line begins an item of a list."""
    return any(one.fullmatch(line) for one in (ITEM, LABEL))


def is_other(line: str) -> bool:
    """Whether a line within a paragraph is not of it."""
    return line == CONTINUATION or any(one.fullmatch(line) for one in _ENDING)


def guarded(line: str, guard: str, *, is_first: bool) -> str:
    """A line of text that begins no block.

    Args:
        line: of the translation.
        guard: written where signs would be markup.  It shows nothing.
        is_first: whether other markup is in front of the line.
    """
    bare = line.strip()
    if not is_first and bare.startswith("-- "):
        # A dash takes the line end in front of it, which may be a line break.
        return line.replace("-", "&#45;", 1)
    if not is_first and (
        is_other(bare) or any(map(re.Pattern.match, _BEGINNING, [bare] * len(_BEGINNING)))
    ):
        line = line[: len(line) - len(line.lstrip())] + guard + line.lstrip()
    return _LABEL_SIGN.sub(rf"\g<0>{guard}", line)
