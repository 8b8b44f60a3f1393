"""Words of workbooks by which formulas, filters, lists of choices and the like find cells.

A translation of such a cell would change what they find, so it stays as it is.
"""

from __future__ import annotations

import html
import re
from collections.abc import Container, Iterator

from dragoman.documents.marks.markup_tokens import xml_tokens
from dragoman.documents.office.paragraph import Paragraph, Parts, merged

_TAG = r"<(?:[\w.-]+:)?"
_REST = r"((?:\"[^\"<]*\"|'[^'<]*'|[^\"'<>])*)>"
"""Of a tag.  XML has no ``<`` within one, so that a search takes linear time."""
_FORMULA = re.compile(
    _TAG + "(f|formula[12]?|calculatedColumnFormula|totalsRowFormula|definedName)"
    rf"(?=[\s/>]){_REST}([^<]*)<"
)
_LIST = "formula1"
"""Of a list of choices, which are written with commas between."""
_NAMING = {
    "cacheField": "name",  # of pivot tables
    "queryTableField": "name",
    "slicerCacheDefinition": "sourceName",
    "timelineCacheDefinition": "sourceName",
    "filter": "val",
    "customFilter": "val",
    "cfRule": "text",
}
"""Attributes that name the words of cells, by their elements (ECMA-376, part 1, chapter 18)."""
_NAMING_TAG = re.compile(rf"{_TAG}({'|'.join(_NAMING)})(?=[\s/>]){_REST}")
_ODF_FORMULA = re.compile(
    r"\s[\w-]+:(?:formula|condition|expression|value)\s*=\s*(\"[^\"<]*\"|'[^'<]*')"
)
_ODF_NAMING_TAG = re.compile(rf"{_TAG}(filter-condition|filter-set-item|data-pilot-field){_REST}")
_ODF_NAMES = ("value", "source-field-name")
_LITERAL = re.compile(r'"((?:[^"]|"")*)"')
_COLUMN = re.compile(r"\[([^\[\]]*)\]")
_QUOTED_SIGN = re.compile("'(.)")
_OPERATORS = "=<>"
_CHARACTER = re.compile("_x([0-9A-Fa-f]{4})_")
_READING = "rPh"


def words_named(text: str) -> Iterator[str]:
    """The words that formulas and the like in a part of Office Open XML name, as :func:`folded`."""
    for name, _, raw in _FORMULA.findall(text):
        yield from _named_in_formula(html.unescape(raw), is_list=name == _LIST)
    for name, rest in _NAMING_TAG.findall(text):
        yield from map(folded, _values(rest, (_NAMING[name],)))


def words_named_in_open_document(text: str) -> Iterator[str]:
    """The same in a part of OpenDocument."""
    for found in _ODF_FORMULA.findall(text):
        yield from _named_in_formula(html.unescape(found[1:-1]))
    for _, rest in _ODF_NAMING_TAG.findall(text):
        yield from map(folded, _values(rest, _ODF_NAMES))


def folded(words: str) -> str:
    """Words as they are compared: without differences of case and white space."""
    plain = _CHARACTER.sub(lambda found: chr(int(found[1], 16)), words)
    return " ".join(plain.split()).casefold()


def words_of_paragraph(paragraph: Paragraph) -> str:
    """All words of a paragraph without its markup and readings, as :func:`folded`."""
    raw = "".join(part for part in paragraph.raw if isinstance(part, str))
    words = [raw] if paragraph.is_attribute else _words_beside_readings(raw)
    return folded(html.unescape("".join(words)))


def without_named(parts: Parts, named: Container[str]) -> Parts:
    """Parts in which paragraphs that are named words are no texts."""
    kept: Parts = []
    for part in parts:
        if isinstance(part, Paragraph) and words_of_paragraph(part) in named:
            kept += part.raw
        else:
            kept.append(part)
    return merged(kept)


def _words_beside_readings(raw: str) -> Iterator[str]:
    depth = 0  # within a reading
    for token in xml_tokens(raw):
        if token.kind in ("open", "close") and (depth or token.local_name == _READING):
            depth += 1 if token.kind == "open" else -1
        elif token.kind == "text" and not depth:
            yield token.raw


def _named_in_formula(formula: str, *, is_list: bool = False) -> Iterator[str]:
    for literal in _LITERAL.findall(formula):
        words = literal.replace('""', '"')
        yield folded(words)
        yield folded(words.lstrip(_OPERATORS))  # of a criterion such as "<>North"
        if is_list:
            yield from map(folded, words.split(","))
    for column in _COLUMN.findall(_LITERAL.sub("", formula)):
        yield folded(_QUOTED_SIGN.sub(r"\1", column).lstrip("@"))


def _values(tag: str, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        found = re.search(rf"\b{name}\s*=\s*(\"[^\"]*\"|'[^']*')", tag)
        if found:
            yield html.unescape(found[1][1:-1])
