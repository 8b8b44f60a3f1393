"""Codes and tags that end a text: line breaks, paragraphs, items of lists, cells of tables.

They may separate words without white space: "euros<br/>nine" has two texts. Sources: XLIFF 1.2
(``ctype`` of ``x`` and ``ph``), XLIFF 2.1 (``subType``), TMX 1.4b (``type``), the placeholders of
Angular (its ``PlaceholderRegistry``), the elements of HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

import regex

_NAMES = """
    article blockquote br caption dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre section table tbody
    td tfoot th thead tr ul
"""
BREAKING_TAGS = frozenset(_NAMES.split())
"""Elements of HTML that begin and end a text, even in strings.  ``<button>``, ``<link>`` and the
like are left out, since strings mark words with them."""

_TAGS = "|".join(sorted(BREAKING_TAGS))
_OF_ANGULAR = (
    "LINE_BREAK|PARAGRAPH|HEADING_LEVEL[1-6]|(?:UN)?ORDERED_LIST|LIST_ITEM|HORIZONTAL_RULE"
    "|TABLE(?:_(?:BODY|CELL|FOOTER|HEADER|HEADER_CELL|ROW))?"
    "|TAG_(?:ARTICLE|BLOCKQUOTE|CAPTION|DD|DIV|DL|DT|PRE|SECTION|TABLE)"
)
_SHOWN = re.compile(
    rf"</?(?:{_TAGS})(?:\s[^<>]*)?/?>|</?(?:w|a|text):(?:br|cr|p|line-break)(?:\s[^<>]*)?/?>"
    r"|\[/?br\s*/?\]|(?:\\r)?\\n|\\(?:line|par)|[↵⏎¶]|\s*[\n\r\u2028\u2029]\s*"
    r"|(?:xlf:|x-)?(?:lb|pb|cb|br|line-?break|new-?line|paragraph)"
    rf"|x-(?:{_TAGS})|(?:(?:START|CLOSE)_)?(?:{_OF_ANGULAR})(?:_\d+)?",
    re.IGNORECASE,
)
_OF_CODES = """
    ctype type subType subTypeStart subTypeEnd id xid equiv-text equiv equivStart equivEnd disp
    dispStart dispEnd
"""
_SAYING = tuple(_OF_CODES.split())
"""Attributes that may name the meaning of a code."""


def is_breaking(shown: str) -> bool:
    """Whether the meaning of a code ends a text, such as ``<br/>``, ``lb`` or ``LINE_BREAK``."""
    return _SHOWN.fullmatch(shown.strip(" \t") or shown) is not None


def is_breaking_code(attributes: Mapping[str, str], content: str = "") -> bool:
    """Whether a text ends at an inline code of XLIFF or TMX.

    Args:
        attributes: of the code, without namespaces.
    """
    said = [attributes.get(name, "") for name in _SAYING]
    return any(is_breaking(html.unescape(one)) for one in (*said, content) if one)


_SENTENCE_END = regex.compile(r"[.!?:;…。！？：；।؟۔][\"'”’»)\]]*$")
_BEGIN = regex.compile(r"[^\P{L}\p{Ll}]|[¿¡\"“„«]")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


def ends_sentence(before: str, after: str) -> bool:
    """Whether a sentence ends between two texts that only a code separates."""
    return _SENTENCE_END.search(before[-8:]) is not None and _BEGIN.match(after) is not None


def would_glue(before: str, after: str) -> bool:
    """Whether two words would join without the code between them."""
    one, other = before[-1:], after[:1]
    if _UNSPACED.match(one) or _UNSPACED.match(other):
        return False
    return one.isalnum() and other.isalnum()


POINT, BREAK = "\0", "\1"
"""Signs outside the characters of XML, for a code that is not text, and one that ends a text."""
_CODES = re.compile(f"([^{POINT}{BREAK}]?)([{POINT}{BREAK}]+)(?=(.?))", re.DOTALL)
_CLOSING = ".,;:!?)]"


def without_points(text: str) -> str:
    """A text with a space for each run of codes that separates words; other codes are removed.

    It is not a line break, which files of pairs cannot hold.
    """

    def filled(found: re.Match[str]) -> str:
        before, after = text[max(0, found.end(1) - 8) : found.end(1)], found[3]
        if BREAK in found[2] and after and after not in _CLOSING:
            return f"{found[1]} "
        is_glued = ends_sentence(before, after) or would_glue(before, after)
        return found[1] + (" " if is_glued else "")

    return _CODES.sub(filled, text) if POINT in text or BREAK in text else text
