"""Markdown, as CommonMark and GitHub write it."""

from __future__ import annotations

from typing import ClassVar

from typing_extensions import override

from dragoman.core.errors import MissingExtraError
from dragoman.documents.document_format import DocumentFormat, FileLanguages, OpenDocument
from dragoman.text.character_encoding import decode


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
            from dragoman.documents.markdown.markdown_blocks import MarkdownDocument
        except ModuleNotFoundError as error:
            raise MissingExtraError.of("Markdown", "markdown-it-py") from error
        text, encoding = decode(content, is_page=False)
        return MarkdownDocument(text, encoding, is_mdx=self.is_mdx)


class MdxFile(MarkdownFile):
    """Markdown with JSX and JavaScript, which stay as they are."""

    name = "MDX"
    suffixes = (".mdx",)
    media_type = "text/mdx"
    is_mdx = True
