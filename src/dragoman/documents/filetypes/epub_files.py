"""Books."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import (
    DocumentFormat,
    FileLanguages,
    OpenDocument,
    is_same_language,
)
from dragoman.documents.epub_package import Book, XmlPart, read_book
from dragoman.documents.html import read_html
from dragoman.documents.marks.marked_document import DocumentMarking, MarkedDocument, OutlineBlock
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.documents.office.office_document import read_text
from dragoman.documents.xml import XmlElement, is_well_formed_page
from dragoman.text.character_encoding import CharacterEncoding
from dragoman.text.language_codes import is_language_tag

_LABELS = ("docTitle", "navLabel", "navInfo")
_ROOT = re.compile(r"<(?:[\w-]+:)?(?:html|package|ncx)\b(?:\"[^\"<]*\"|'[^'<]*'|[^\"'<>])*>")
_ATTRIBUTE = re.compile(r"(\s(?:xml:)?lang\s*=\s*)(\"[^\"]*\"|'[^']*')")
_LANGUAGE = re.compile(r"(<(?:[\w-]+:)?language\b[^<>]*>\s*)([^<>\s]+)(?=\s*</)")
_UNKNOWN = ("und", "mul", "mis", "zxx")
"""Codes of no language (ISO 639-2)."""


class EpubFile(DocumentFormat):
    """Books: pages, tables of contents, and title and language in the description.

    Fonts, pictures, styles, scripts and all other parts stay as they are.
    """

    name = "EPUB"
    suffixes = (".epub",)
    media_type = "application/epub+zip"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> OpenDocument:
        return _EpubDocument(read_book(content), languages)


@dataclass(frozen=True)
class _Part:
    name: str
    text: str
    encoding: CharacterEncoding
    document: MarkedDocument
    is_well_formed: bool


class _EpubDocument(OpenDocument):
    def __init__(self, book: Book, languages: FileLanguages) -> None:
        self._package, self._target = book.package, languages.target
        self._descriptions = [part.name for part in book.descriptions]
        self._parts = [
            *(_xml_part(part, _titles(part.root)) for part in book.descriptions),
            *(_xml_part(part, _labels(part.root)) for part in book.contents),
            *(_page(book, name) for name in book.pages),
        ]
        said = [found[2] for part in book.descriptions for found in _LANGUAGE.finditer(part.text)]
        self.source_language = next(filter(_is_known, said), None)
        self._sources = [one for one in (languages.source, *said[:1]) if one]

    @property
    @override
    def texts(self) -> Sequence[MarkedText]:
        return [text for part in self._parts for text in part.document.texts]

    @property
    @override
    def outline(self) -> Sequence[OutlineBlock]:
        blocks: list[OutlineBlock] = []
        first = 0
        for part in self._parts:
            after = first + len(part.document.texts)
            codes = [part.name, "well-formed" if part.is_well_formed else ""]
            blocks.append(OutlineBlock(codes, texts=range(first, after)))
            for block in part.document.blocks:
                codes = [_ROOT.sub(_without_language, code) for code in block.codes]
                texts = [first + at for at in block.texts]
                blocks.append(replace(block, codes=codes, texts=texts))
            first = after
        return blocks

    @override
    def written(self, translations: Sequence[str]) -> bytes:
        waiting = iter(translations)
        joined = {
            part.name: part.document.joined([next(waiting) for _ in part.document.texts])
            for part in self._parts
        }
        changed = {part.name for part in self._parts if joined[part.name] != part.text}
        if not changed:
            return self._package.content
        changed.update(self._descriptions)
        return self._package.written(
            {
                part.name: part.encoding.encode(
                    self._in_target(part.name, joined[part.name]), is_markup=True
                )
                for part in self._parts
                if part.name in changed
            }
        )

    def _in_target(self, name: str, text: str) -> str:
        """A part that says that it is in the target language, as far as it says so at all."""
        text = _ROOT.sub(lambda tag: _ATTRIBUTE.sub(self._attribute, tag[0]), text, count=1)
        if name not in self._descriptions:
            return text
        only = len(_LANGUAGE.findall(text)) == 1
        return _LANGUAGE.sub(
            lambda found: found[1] + (self._target if only else self._instead(found[2])), text
        )

    def _attribute(self, found: re.Match[str]) -> str:
        return f'{found[1]}"{self._instead(found[2][1:-1])}"'

    def _instead(self, language: str) -> str:
        is_source = any(is_same_language(language, one) for one in self._sources)
        return self._target if is_source else language


def _page(book: Book, name: str) -> _Part:
    text, encoding = read_text(book.package, name)
    try:
        is_well_formed = is_well_formed_page(text)
    except DataError as error:
        raise DataError(f"the part {name!r}: {error}") from error
    document = read_html(text, is_xhtml=is_well_formed)
    return _Part(name, text, encoding, document, is_well_formed)


def _xml_part(part: XmlPart, elements: Iterable[XmlElement]) -> _Part:
    """A part in which the words of some elements are translated."""
    marking = DocumentMarking(collapses=True, is_page=True)
    end = 0
    for one in sorted(elements, key=lambda element: element.inner):
        if all(token.kind == "text" for token in one.tokens) and one.inner < one.end:
            marking.split(part.text[end : one.inner])
            marking.add_text(part.text[one.inner : one.end])
            end = one.end
    marking.finish()
    document = marking.document
    document.parts.append(part.text[end:])
    document.blocks = [block for block in document.blocks if block.texts]  # the others are raw
    return _Part(part.name, part.text, part.encoding, document, is_well_formed=True)


def _titles(package: XmlElement) -> Iterator[XmlElement]:
    metadata = package.first("metadata")
    if metadata is not None:
        yield from (one for one in metadata.walk() if one.local_name == "title")


def _labels(contents: XmlElement) -> Iterator[XmlElement]:
    for one in contents.walk():
        if one.local_name in _LABELS:
            yield from one.named("text")


def _is_known(language: str) -> bool:
    return is_language_tag(language) and language.lower() not in _UNKNOWN


def _without_language(tag: re.Match[str]) -> str:
    return _ATTRIBUTE.sub("", tag[0])
