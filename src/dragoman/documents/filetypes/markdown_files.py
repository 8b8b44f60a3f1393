"""Markdown, as CommonMark and GitHub write it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from dragoman.core.errors import MissingExtraError
from dragoman.documents.character_encoding import CharacterEncoding, decode
from dragoman.documents.document_format import DocumentFormat, FileLanguages, OpenDocument
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.documents.marks.outline import OutlineBlock

if TYPE_CHECKING:
    from dragoman.documents.markdown.markdown_blocks import MarkdownDocument


class MarkdownFile(DocumentFormat):
    """Markdown with tables, front matter, footnotes, task lists and HTML.

    Translated are paragraphs, headings, cells, descriptions of images, titles of links, the text of
    HTML, and the title and description of front matter.
    """

    name = "Markdown"
    suffixes: ClassVar[tuple[str, ...]] = (".md", ".markdown")
    media_type = "text/markdown"
    packages = ("markdown_it",)
    is_mdx: ClassVar[bool] = False

    @override
    def read(self, content: bytes, languages: FileLanguages) -> OpenDocument:
        try:
            from dragoman.documents.markdown.markdown_blocks import read_markdown
        except ModuleNotFoundError as error:
            raise MissingExtraError.of("Markdown", "markdown-it-py") from error
        text, encoding = decode(content, is_page=False)
        return _OpenMarkdown(read_markdown(text, is_mdx=self.is_mdx), encoding)


class MdxFile(MarkdownFile):
    """Markdown with JSX and JavaScript, which stay as they are."""

    name = "MDX"
    suffixes = (".mdx",)
    media_type = "text/mdx"
    is_mdx = True


class _OpenMarkdown(OpenDocument):
    def __init__(self, document: MarkdownDocument, encoding: CharacterEncoding) -> None:
        self._document, self._encoding = document, encoding

    @property
    @override
    def texts(self) -> Sequence[MarkedText]:
        return self._document.texts

    @property
    @override
    def outline(self) -> Sequence[OutlineBlock]:
        return self._document.outline

    @override
    def written(self, translations: Sequence[str]) -> bytes:
        joined = self._document.joined(translations)
        self.refused = self._document.refused
        return self._encoding.encode(joined, is_markup=True)
