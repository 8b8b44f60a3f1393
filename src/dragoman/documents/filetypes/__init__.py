"""Formats of documents: one class each, and the table of all.

A built-in format is a module here and a line in :data:`DOCUMENT_FORMATS`.  Another package adds one
by an entry point of the group ``dragoman.documents`` (see :mod:`dragoman.core.plugins`), which
leads to a subclass of :class:`DocumentFormat`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import PurePosixPath

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.plugins import Registry, are_suffixes, installed
from dragoman.documents.document_format import DocumentFormat, FileLanguages, OpenDocument
from dragoman.documents.filetypes.android_files import AndroidFile
from dragoman.documents.filetypes.apple_files import StringsdictFile, StringsFile
from dragoman.documents.filetypes.asciidoc_files import AsciidocFile
from dragoman.documents.filetypes.ass_files import AssFile
from dragoman.documents.filetypes.csv_files import CsvFile
from dragoman.documents.filetypes.epub_files import EpubFile
from dragoman.documents.filetypes.fluent_files import FluentFile
from dragoman.documents.filetypes.json_files import JsonFile
from dragoman.documents.filetypes.markdown_files import MarkdownFile, MdxFile
from dragoman.documents.filetypes.office_files import DocxFile, PptxFile
from dragoman.documents.filetypes.open_document_files import OdpFile, OdsFile, OdtFile
from dragoman.documents.filetypes.po_files import PoFile
from dragoman.documents.filetypes.properties_files import PropertiesFile
from dragoman.documents.filetypes.qt_files import QtFile
from dragoman.documents.filetypes.rest_files import RestFile
from dragoman.documents.filetypes.resx_files import ResxFile
from dragoman.documents.filetypes.subtitle_files import SubRipFile, WebVttFile
from dragoman.documents.filetypes.text_files import HtmlFile, PlainTextFile
from dragoman.documents.filetypes.tmx_files import TmxFile
from dragoman.documents.filetypes.workbook_files import XlsmFile, XlsxFile
from dragoman.documents.filetypes.xcstrings_files import XcstringsFile
from dragoman.documents.filetypes.xliff_files import XliffFile
from dragoman.documents.filetypes.yaml_files import YamlFile

__all__ = [
    "DOCUMENT_FORMATS",
    "GROUP",
    "DocumentFormat",
    "FileLanguages",
    "OpenDocument",
    "document_format",
    "document_formats",
    "file_suffixes",
]

DOCUMENT_FORMATS: tuple[DocumentFormat, ...] = (
    PlainTextFile(),
    HtmlFile(),
    DocxFile(),
    OdtFile(),
    PptxFile(),
    OdpFile(),
    XlsxFile(),
    XlsmFile(),
    OdsFile(),
    EpubFile(),
    MarkdownFile(),
    MdxFile(),
    RestFile(),
    AsciidocFile(),
    SubRipFile(),
    WebVttFile(),
    AssFile(),
    PoFile(),
    XliffFile(),
    TmxFile(),
    JsonFile(),
    YamlFile(),
    AndroidFile(),
    StringsFile(),
    StringsdictFile(),
    XcstringsFile(),
    PropertiesFile(),
    ResxFile(),
    FluentFile(),
    QtFile(),
    CsvFile(),
)
"""The formats that come with Dragoman."""

GROUP = "dragoman.documents"
"""Group of the entry points by which other packages add formats."""

_BUILT_IN = {
    suffix.removeprefix("."): form for form in DOCUMENT_FORMATS for suffix in form.suffixes
}
REGISTRY: Registry[DocumentFormat] = Registry(
    GROUP, "dragoman.documents.document_format:DocumentFormat", _BUILT_IN, "document format"
)


def document_formats() -> tuple[DocumentFormat, ...]:
    """All formats, built-in ones first.  Those of broken packages are left out."""
    added = (one for one in _all_added() if isinstance(one, DocumentFormat))
    return (*DOCUMENT_FORMATS, *added)


def added_format(name: str) -> DocumentFormat:
    """The format that another package adds by that name.

    Raises:
        ConfigError: the package is broken, or all its suffixes are of Dragoman's own formats.
    """
    loaded = _loaded(name, *installed(GROUP)[name])
    if isinstance(loaded, ConfigError):
        raise ConfigError(str(loaded))
    return loaded


def _all_added() -> list[DocumentFormat | ConfigError]:
    return [_loaded(name, *installed(GROUP)[name]) for name in REGISTRY.added()]


def file_suffixes() -> tuple[str, ...]:
    """Suffixes of the files that can be translated here, without formats that lack a package."""
    return tuple(
        suffix for form in document_formats() if form.is_installed for suffix in form.suffixes
    )


def document_format(name: str) -> DocumentFormat:
    """The format of a file, by its name.

    Raises:
        DataError: no format has its suffix.
    """
    suffix = PurePosixPath(name.replace("\\", "/")).suffix.lower()
    form = _of_suffix(suffix, DOCUMENT_FORMATS) or _of_suffix(suffix, document_formats())
    if form is not None:
        return form
    problem = (
        f"files of the format {suffix!r} are not translated"
        if suffix
        else "the name of the file has no suffix, which says the format"
    )
    remedy = _REMEDIES.get(suffix, f"take one that ends in {', '.join(file_suffixes())}")
    broken = "".join(f"; {one}" for one in _all_added() if isinstance(one, ConfigError))
    raise DataError(f"{problem}; {remedy}{broken}")


_REMEDIES = {
    ".pdf": "a PDF has places of letters instead of sentences, so its layout cannot be kept; "
    "translate the document that it was made from, or its text ('pdftotext FILE.pdf FILE.txt')",
    ".doc": "save it as .docx, in Word or LibreOffice",
    ".rtf": "save it as .docx, in Word or LibreOffice",
    ".xls": "save it as .xlsx, in Excel or LibreOffice",
    ".ppt": "save it as .pptx, in PowerPoint or LibreOffice",
}
"""Formats that people try, with what to do instead; a package may add them all the same."""


def _of_suffix(suffix: str, formats: Iterable[DocumentFormat]) -> DocumentFormat | None:
    return next((form for form in formats if suffix in form.suffixes), None)


@cache
def _loaded(name: str, *_: EntryPoint) -> DocumentFormat | ConfigError:
    """The format that another package adds as ``name``, or what is wrong with it.

    It is cached for the entry points that are installed.
    """
    try:
        form = REGISTRY.load_added(name)()
    except ConfigError as error:
        return error
    if not are_suffixes(getattr(form, "suffixes", None)):
        return ConfigError(
            f"{GROUP}: {name}: its class must have suffixes such as ('.{name}',); correct the "
            "package"
        )
    if all(_of_suffix(one, DOCUMENT_FORMATS) for one in form.suffixes):
        return ConfigError(
            f"{GROUP}: {name} of {REGISTRY.packages(name)} is not used, as Dragoman has a format "
            f"for {', '.join(form.suffixes)}; the package must name others"
        )
    return form
