"""Formats of documents: one class each, and the table of all."""

from __future__ import annotations

from pathlib import PurePosixPath

from dragoman.core.errors import DataError
from dragoman.documents.filetypes.android_files import AndroidFile
from dragoman.documents.filetypes.apple_files import StringsdictFile, StringsFile
from dragoman.documents.filetypes.document_format import DocumentFormat, FileLanguages, OpenDocument
from dragoman.documents.filetypes.docx_files import DocxFile
from dragoman.documents.filetypes.json_files import JsonFile
from dragoman.documents.filetypes.markdown_files import MarkdownFile, MdxFile
from dragoman.documents.filetypes.odt_files import OdtFile
from dragoman.documents.filetypes.po_files import PoFile
from dragoman.documents.filetypes.pptx_files import PptxFile
from dragoman.documents.filetypes.subtitle_files import SubRipFile, WebVttFile
from dragoman.documents.filetypes.text_files import HtmlFile, PlainTextFile
from dragoman.documents.filetypes.tmx_files import TmxFile
from dragoman.documents.filetypes.xliff_files import XliffFile
from dragoman.documents.filetypes.yaml_files import YamlFile

__all__ = [
    "DOCUMENT_FORMATS",
    "FILE_FORMATS",
    "DocumentFormat",
    "FileLanguages",
    "OpenDocument",
    "document_format",
]

DOCUMENT_FORMATS: tuple[DocumentFormat, ...] = (
    PlainTextFile(),
    HtmlFile(),
    DocxFile(),
    OdtFile(),
    PptxFile(),
    MarkdownFile(),
    MdxFile(),
    SubRipFile(),
    WebVttFile(),
    PoFile(),
    XliffFile(),
    TmxFile(),
    JsonFile(),
    YamlFile(),
    AndroidFile(),
    StringsFile(),
    StringsdictFile(),
)
"""All formats."""

FILE_FORMATS = tuple(
    suffix for one in DOCUMENT_FORMATS if one.is_installed for suffix in one.suffixes
)
"""Suffixes of the files that can be translated here: formats that lack a package are left out."""


def document_format(name: str) -> DocumentFormat:
    """The format of a file, by its name.

    Raises:
        DataError: no format has its suffix.
    """
    suffix = PurePosixPath(name.replace("\\", "/")).suffix.lower()
    for one in DOCUMENT_FORMATS:
        if suffix in one.suffixes:
            return one
    problem = (
        f"files of the format {suffix!r} are not translated"
        if suffix
        else "the name of the file has no suffix, which says the format"
    )
    raise DataError(f"{problem}; take one that ends in {', '.join(FILE_FORMATS)}")
