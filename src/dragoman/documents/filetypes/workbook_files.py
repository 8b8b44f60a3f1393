"""Workbooks of Excel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import DocumentFormat, FileLanguages, OpenDocument
from dragoman.documents.office.inline_roles import OPEN_XML_ROLES, OPEN_XML_TEXTS
from dragoman.documents.office.item_reading import ParagraphMarkup
from dragoman.documents.office.named_words import without_named, words_named
from dragoman.documents.office.office_document import read_parts, read_text
from dragoman.documents.office.open_xml_package import (
    OPEN_XML,
    PARTS_OF_ANY,
    check_main,
    parts_of,
    types_of_parts,
)
from dragoman.documents.office.workbook import Workbook
from dragoman.documents.office.zip_package import ZipPackage
from dragoman.documents.xml import with_attribute

_SPREADSHEET = f"{OPEN_XML}spreadsheetml."
_SHEETS = frozenset([f"{_SPREADSHEET}{name}+xml" for name in ("worksheet", "dialogsheet")])
_TABLES = frozenset([f"{_SPREADSHEET}table+xml"])
_NAMING = frozenset(
    [
        f"{_SPREADSHEET}pivotCacheDefinition+xml",
        f"{_SPREADSHEET}queryTable+xml",
        "application/vnd.ms-excel.slicerCache+xml",
        "application/vnd.ms-excel.timelineCache+xml",
    ]
)
"""Parts that name words of cells, besides sheets and tables."""
_THREADS = "application/vnd.ms-excel.threadedcomments+xml"
_WITH_TEXT = frozenset(
    [
        f"{_SPREADSHEET}sharedStrings+xml",
        f"{_SPREADSHEET}comments+xml",
        f"{OPEN_XML}drawing+xml",
        _THREADS,
        *_TABLES,
        *PARTS_OF_ANY,
    ]
)
_MOST_CELLS = 256 * 2**20
"""Bytes of all sheets, unpacked."""
_MARKUP = ParagraphMarkup(OPEN_XML_ROLES, OPEN_XML_TEXTS)
_STRING_IN_CELL = re.compile(r"<(?:\w+:)?is\b")
_RESULT = re.compile(r"<(?:\w+:)?c\s[^<>]*\bt=[\"']str[\"']")
"""A cell that shows the text that its formula gave."""
_CALCULATION = re.compile(r"<(?:\w+:)?calcPr\b[^<>]*>")
_MENTION = re.compile(r"<(?:\w+:)?mention\s")
"""Someone who is named in a comment, by the place in its text."""


class XlsxFile(DocumentFormat):
    """Workbooks: words in cells, headers of tables, comments, text boxes, diagrams and charts.

    Formulas, numbers, dates, names of sheets and what formulas give stay as they are, and so do
    cells with words that a formula, a filter or a list of choices names.
    """

    name = "Excel"
    suffixes: ClassVar[tuple[str, ...]] = (".xlsx",)
    media_type = f"{_SPREADSHEET}sheet"
    main: ClassVar[str] = f"{_SPREADSHEET}sheet.main+xml"
    """Type of the main part."""

    @override
    def read(self, content: bytes, languages: FileLanguages) -> OpenDocument:
        package = ZipPackage(content)
        types = types_of_parts(package)
        check_main(types, self.main)
        return _read(package, types, self.main)


class XlsmFile(XlsxFile):
    """Workbooks with macros, which stay as they are."""

    name = "Excel with macros"
    suffixes = (".xlsm",)
    media_type = "application/vnd.ms-excel.sheet.macroEnabled.12"
    main = "application/vnd.ms-excel.sheet.macroEnabled.main+xml"


def _read(package: ZipPackage, types: Mapping[str, str], main: str) -> Workbook:
    sheets, tables = parts_of(types, _SHEETS), parts_of(types, _TABLES)
    naming = [*parts_of(types, {main}), *sheets, *tables, *parts_of(types, _NAMING)]
    size = sum(map(package.size, naming))
    if size > _MOST_CELLS:
        raise DataError(
            f"the sheets of the file have {size:,} bytes when they are unpacked; at most "
            f"{_MOST_CELLS:,} are read; divide the workbook"
        )
    names = [one for one in parts_of(types, _WITH_TEXT) if not _has_mentions(package, types, one)]
    named: set[str] = set()
    has_results = False
    for name in naming:
        text, _ = read_text(package, name)
        named.update(words_named(text))
        if name in sheets and _STRING_IN_CELL.search(text):
            names.append(name)
        has_results = has_results or _RESULT.search(text) is not None
    parts = [
        replace(one, parts=without_named(one.parts, named))
        for one in read_parts(package, names, lambda text: _MARKUP)
    ]
    consequences = _calculated(package, parts_of(types, {main})[0]) if has_results else {}
    return Workbook(package, parts, tables, consequences)


def _has_mentions(package: ZipPackage, types: Mapping[str, str], name: str) -> bool:
    return types[name] == _THREADS and _MENTION.search(read_text(package, name)[0]) is not None


def _calculated(package: ZipPackage, main: str) -> dict[str, bytes]:
    """The main part of a workbook, which says that texts of formulas have to be made again.

    Without settings of calculation, programs do so in any case.
    """
    text, encoding = read_text(package, main)
    settings = _CALCULATION.search(text)
    if settings is None:
        return {}
    start, stop = settings.span()
    tag = with_attribute(settings[0], "fullCalcOnLoad", "1")
    return {main: encoding.encode(text[:start] + tag + text[stop:], is_markup=True)}
