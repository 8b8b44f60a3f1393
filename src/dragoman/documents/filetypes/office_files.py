"""Documents of Word and PowerPoint, and text documents of LibreOffice and others."""

from __future__ import annotations

from collections.abc import Collection

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import DocumentFormat, FileLanguages, OpenDocument
from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.office.inline_roles import (
    OPEN_DOCUMENT_ROLES,
    OPEN_DOCUMENT_TEXTS,
    OPEN_XML_ROLES,
    OPEN_XML_TEXTS,
)
from dragoman.documents.office.item_reading import ParagraphMarkup
from dragoman.documents.office.office_document import OfficeDocument, read_text
from dragoman.documents.office.part_tokens import attribute, part_tokens
from dragoman.documents.office.zip_package import ZipPackage

_WORD_PARTS = ("header", "footer", "footnotes", "endnotes", "comments", "document.glossary")
_SLIDE_PARTS = ("slide", "notesSlide", "comments")
_TYPE = "application/vnd.oasis.opendocument.text"
_CHART = "application/vnd.oasis.opendocument.chart"
_MANIFEST = "META-INF/manifest.xml"
_SCRIPTS = ("basic/", "scripts/")
_ODT_PARTS = ("content.xml", "styles.xml")
_LONGEST_TYPE = 100
# Attributes of a style that change nothing that one sees.
_UNSEEN_NAMES = """
    country country-asian country-complex language language-asian language-complex paragraph-rsid
    rfc-language-tag rsid script
"""
_UNSEEN = frozenset(_UNSEEN_NAMES.split())
_CONTENT_TYPES = "[Content_Types].xml"
_OPEN_XML_MARKUP = ParagraphMarkup(OPEN_XML_ROLES, OPEN_XML_TEXTS)
_MOST_TYPES = 4 * 2**20
"""Bytes of the part that says what the others are."""

_KINDS = {
    "wordprocessingml": "a document of Word (.docx)",
    "presentationml": "a presentation (.pptx)",
    "spreadsheetml": "a workbook (.xlsx)",
}
_OF_ANY = frozenset(
    [
        "application/vnd.openxmlformats-officedocument.drawingml.chart+xml",
        "application/vnd.openxmlformats-officedocument.drawingml.chartshapes+xml",
        "application/vnd.ms-office.chartex+xml",
        "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml",
        "application/vnd.ms-office.drawingml.diagramDrawing+xml",
        "application/vnd.ms-powerpoint.comments+xml",
    ]
)
"""Parts of any document: charts and shapes on them, diagrams with the picture that is kept of them,
and comments of newer programs."""


class DocxFile(DocumentFormat):
    """Documents of Word: body, headers, footers, notes, comments, text boxes, diagrams and charts.

    Text that is marked as deleted or hidden stays as it is, and so do formulas, and what fields
    show, if it is a number, a date, a name or a citation.
    """

    name = "Word"
    suffixes = (".docx",)
    media_type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> OpenDocument:
        return _read_open_xml(content, "wordprocessingml", "document.main", _WORD_PARTS)


class PptxFile(DocumentFormat):
    """Presentations: slides, notes, comments, tables, charts, and diagrams.

    Layouts stay as they are, and so do the workbooks of charts.
    """

    name = "PowerPoint"
    suffixes = (".pptx",)
    media_type = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> OpenDocument:
        return _read_open_xml(content, "presentationml", "presentation.main", _SLIDE_PARTS)


class OdtFile(DocumentFormat):
    """Text documents: body, headers, footers, notes, comments, text boxes and charts.

    Tracked deletions and formulas stay as they are, and so does what fields show.
    """

    name = "OpenDocument text"
    suffixes = (".odt",)
    media_type = _TYPE

    @override
    def read(self, content: bytes, languages: FileLanguages) -> OpenDocument:
        package = ZipPackage(content)
        _check(package)
        names = [*_ODT_PARTS, *_charts(package)]
        names = [name for name in dict.fromkeys(names) if name in package.names]
        return OfficeDocument(package, names, _markup)


def _check(package: ZipPackage) -> None:
    if not 0 < package.size("mimetype") <= _LONGEST_TYPE:
        raise DataError("the file is not a text document (.odt): it does not say what it is")
    kind = package.read("mimetype").decode("utf-8", "replace").strip()
    if kind != _TYPE:
        raise DataError(f"the file is not a text document (.odt), but {kind!r}")
    if any(name.lower().startswith(_SCRIPTS) for name in package.names):
        raise DataError("the file has macros, which are not taken; save it without them")
    if "content.xml" not in package.names:
        raise DataError("the file has no part 'content.xml': it is damaged")
    manifest, _ = read_text(package, _MANIFEST)
    if any(token.name == "manifest:encryption-data" for token in part_tokens(manifest)):
        raise DataError("the file is encrypted; save it without a password")


def _charts(package: ZipPackage) -> list[str]:
    """Names of the parts that are charts within the document."""
    manifest, _ = read_text(package, _MANIFEST)
    return [
        f"{attribute(token, 'full-path').rstrip('/')}/content.xml"
        for token in part_tokens(manifest)
        if token.name == "manifest:file-entry" and attribute(token, "media-type") == _CHART
    ]


def _markup(text: str) -> ParagraphMarkup:
    return ParagraphMarkup(OPEN_DOCUMENT_ROLES, OPEN_DOCUMENT_TEXTS, frozenset(_plain_styles(text)))


def _plain_styles(text: str) -> set[str]:
    """Names of the styles of a part that change nothing visible.

    LibreOffice makes them to record when words were written.
    """
    plain: set[str] = set()
    style = ""
    for token in part_tokens(text):
        if token.name in ("office:body", "office:master-styles"):
            break
        if token.name == "style:style" and token.kind != "close":
            is_plain = attribute(token, "family") == "text"
            is_plain = is_plain and not attribute(token, "parent-style-name")
            style = attribute(token, "name") if is_plain else ""
            if style:
                plain.add(style)
        elif style and token.kind in ("open", "empty") and not _is_unseen(token):
            plain.discard(style)
    return plain


def _is_unseen(token: MarkupToken) -> bool:
    names = {name.rpartition(":")[2] for name in token.attributes if not name.startswith("xmlns")}
    return token.name == "style:text-properties" and names <= _UNSEEN


def _read_open_xml(content: bytes, kind: str, main: str, others: Collection[str]) -> OfficeDocument:
    """A document of Office Open XML (ECMA-376, part 2).

    Args:
        content: the file.
        kind: of markup, such as ``wordprocessingml``.
        main: type of its main part, as in ``document.main``.
        others: types of the other parts that are translated, such as ``header``.
    """
    package = ZipPackage(content)
    types = _types_of_parts(package)
    if any("macroenabled" in one.lower() or "vbaproject" in one.lower() for one in types.values()):
        raise DataError("the file has macros, which are not taken; save it without them")
    base = f"application/vnd.openxmlformats-officedocument.{kind}."
    first = [name for name, found in types.items() if found == f"{base}{main}+xml"]
    if not first:
        all_types = " ".join(types.values())
        other = next((text for name, text in _KINDS.items() if name in all_types), "something else")
        raise DataError(f"the file is not {_KINDS[kind]}, but {other}; give it the name of that")
    wanted = {f"{base}{name}+xml" for name in others} | _OF_ANY
    rest = [name for name, found in types.items() if found in wanted]
    return OfficeDocument(package, [*first, *rest], lambda text: _OPEN_XML_MARKUP)


def _types_of_parts(package: ZipPackage) -> dict[str, str]:
    if any(name.rpartition("/")[2].lower() == "vbaproject.bin" for name in package.names):
        raise DataError("the file has macros, which are not taken; save it without them")
    if package.size(_CONTENT_TYPES) > _MOST_TYPES:
        raise DataError(f"the part {_CONTENT_TYPES!r} is too large: the file is damaged or hostile")
    text, _ = read_text(package, _CONTENT_TYPES)
    defaults: dict[str, str] = {}
    named: dict[str, str] = {}
    for token in part_tokens(text):
        if token.name == "types:Default":
            defaults[attribute(token, "Extension").lower()] = attribute(token, "ContentType")
        elif token.name == "types:Override":
            name = attribute(token, "PartName").removeprefix("/").lower()
            named[name] = attribute(token, "ContentType")
    return {
        name: named.get(name.lower()) or defaults.get(name.rpartition(".")[2].lower(), "")
        for name in package.names
    }
