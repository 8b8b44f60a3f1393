"""Text documents, presentations and spreadsheets of LibreOffice and others."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import DocumentFormat, FileLanguages, OpenDocument
from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.office.cell_tokens import cell_tokens
from dragoman.documents.office.inline_roles import OPEN_DOCUMENT_ROLES, OPEN_DOCUMENT_TEXTS
from dragoman.documents.office.item_reading import ParagraphMarkup
from dragoman.documents.office.named_words import without_named, words_named_in_open_document
from dragoman.documents.office.office_document import OfficeDocument, read_parts, read_text
from dragoman.documents.office.part_tokens import attribute, part_tokens
from dragoman.documents.office.zip_package import ZipPackage

_TYPES = "application/vnd.oasis.opendocument."
_CHART = f"{_TYPES}chart"
_MANIFEST = "META-INF/manifest.xml"
_SCRIPTS = ("basic/", "scripts/")
_CONTENT = "content.xml"
_PARTS = (_CONTENT, "styles.xml")
_LONGEST_TYPE = 100
# Attributes of a style that change nothing that one sees.
_UNSEEN_NAMES = """
    country country-asian country-complex language language-asian language-complex paragraph-rsid
    rfc-language-tag rsid script
"""
_UNSEEN = frozenset(_UNSEEN_NAMES.split())


class OdtFile(DocumentFormat):
    """Text documents: body, headers, footers, notes, comments, text boxes and charts.

    Tracked deletions and formulas stay as they are, and so does what fields show.
    """

    name = "OpenDocument text"
    suffixes: ClassVar[tuple[str, ...]] = (".odt",)
    media_type: ClassVar[str] = f"{_TYPES}text"
    kind: ClassVar[str] = "a text document"
    takes_macros: ClassVar[bool] = False

    @override
    def read(self, content: bytes, languages: FileLanguages) -> OpenDocument:
        package = ZipPackage(content)
        self._check(package)
        names = [*_PARTS, *_charts(package)]
        names = [name for name in dict.fromkeys(names) if name in package.names]
        return self._document(package, names)

    def _document(self, package: ZipPackage, names: list[str]) -> OfficeDocument:
        return OfficeDocument(package, read_parts(package, names, _markup))

    def _check(self, package: ZipPackage) -> None:
        what = f"{self.kind} ({self.suffixes[0]})"
        if not 0 < package.size("mimetype") <= _LONGEST_TYPE:
            raise DataError(f"the file is not {what}: it does not say what it is")
        kind = package.read("mimetype").decode("utf-8", "replace").strip()
        if kind != self.media_type:
            raise DataError(f"the file is not {what}, but {kind!r}")
        names = (name.lower() for name in package.names)
        if not self.takes_macros and any(name.startswith(_SCRIPTS) for name in names):
            raise DataError("the file has macros, which are not taken; save it without them")
        if _CONTENT not in package.names:
            raise DataError(f"the file has no part {_CONTENT!r}: it is damaged")
        manifest, _ = read_text(package, _MANIFEST)
        if any(token.name == "manifest:encryption-data" for token in part_tokens(manifest)):
            raise DataError("the file is encrypted; save it without a password")


class OdpFile(OdtFile):
    """Presentations: slides, notes, comments, tables, charts, headers and footers.

    What is on master slides is translated, too, as slides show it.  Macros stay as they are.
    """

    name = "OpenDocument presentation"
    suffixes = (".odp",)
    media_type = f"{_TYPES}presentation"
    kind = "a presentation"
    takes_macros = True


class OdsFile(OdtFile):
    """Spreadsheets: words in cells, comments, text boxes, charts, headers and footers.

    Formulas and what they give, numbers, dates, names of sheets and macros stay as they are, and so
    do cells with words that a formula, a filter or a list of choices names.
    """

    name = "OpenDocument spreadsheet"
    suffixes = (".ods",)
    media_type = f"{_TYPES}spreadsheet"
    kind = "a spreadsheet"
    takes_macros = True

    @override
    def _document(self, package: ZipPackage, names: list[str]) -> OfficeDocument:
        parts = read_parts(package, names, _markup_of_cells)
        named = {
            words
            for name in names
            for words in words_named_in_open_document(read_text(package, name)[0])
        }
        kept = [replace(one, parts=without_named(one.parts, named)) for one in parts]
        return OfficeDocument(package, kept)


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


def _markup_of_cells(text: str) -> ParagraphMarkup:
    return replace(_markup(text), tokens=cell_tokens)


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
