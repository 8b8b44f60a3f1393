"""A document in a zip file: parts with paragraphs, and parts that stay as they are."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import OpenDocument
from dragoman.documents.marks.marked_document import OutlineBlock, placeholders_of
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.documents.marks.markup_tokens import xml_tokens
from dragoman.documents.office.block_reading import read_blocks
from dragoman.documents.office.item_reading import ParagraphMarkup
from dragoman.documents.office.paragraph import (
    Paragraph,
    Parts,
    identity,
    paragraphs,
    words_of,
    written_parts,
)
from dragoman.documents.office.zip_package import ZipPackage
from dragoman.text.character_encoding import CharacterEncoding, decode

_MOST_MARKUP = 32 * 2**20
"""Bytes of all parts that are translated, unpacked: some thousand pages."""
_OF_WORDS = frozenset(["r", "t", "span", "s"])
"""Elements that hold words, by their names without prefix: there may be more or fewer of them."""
_RUN_FORMAT, _PROPERTIES = "rPr", "pPr"
_LEFT_OUT = frozenset(
    [
        *("lastRenderedPageBreak", "noBreakHyphen", "proofErr", "soft-page-break", "softHyphen"),
        *("phoneticPr", "rPh"),
    ]
)
"""Elements that a paragraph loses when it is translated."""


@dataclass(frozen=True)
class ReadPart:
    """A part of a document with its paragraphs."""

    name: str
    encoding: CharacterEncoding
    parts: Parts


class OfficeDocument(OpenDocument):
    """A document in a zip file.

    Texts that are the same are translated once, so that what programs write twice, as they do with
    text boxes, is the same again.

    Args:
        package: the file.
        parts: those that are translated, the main one first.
        consequences: the content of other parts, by their names, if any text changes.
    """

    def __init__(
        self,
        package: ZipPackage,
        parts: Sequence[ReadPart],
        consequences: Mapping[str, bytes] | None = None,
    ) -> None:
        self._package, self._parts = package, parts
        self._consequences = consequences or {}
        self._texts: dict[str, MarkedText] = {}
        for part in self._parts:
            for paragraph in paragraphs(part.parts):
                self._texts.update(zip(paragraph.keys, paragraph.document.texts, strict=True))
        self._identities = [words_of(identity(text)) for text in self._texts.values()]

    @property
    @override
    def texts(self) -> Sequence[MarkedText]:
        return list(self._texts.values())

    @property
    @override
    def outline(self) -> Sequence[OutlineBlock]:
        numbers = {key: number for number, key in enumerate(self._texts)}
        blocks: list[OutlineBlock] = []
        for part in self._parts:
            blocks.append(OutlineBlock(list(_tags(part.parts))))
            for paragraph in part.parts:
                if isinstance(paragraph, Paragraph):
                    blocks += _paragraph_blocks(paragraph, numbers)
        return blocks

    @override
    def written(self, translations: Sequence[str]) -> bytes:
        changed = self._changed(translations)
        replaced = {
            part.name: part.encoding.encode(written_parts(part.parts, changed.get), is_markup=True)
            for part in self._parts
            if any(
                changed[key] is not None
                for paragraph in paragraphs(part.parts)
                for key in paragraph.keys
            )
        }
        if not replaced:
            return self._package.content
        return self._package.written({**self._consequences, **replaced})

    def _changed(self, translations: Sequence[str]) -> dict[str, str | None]:
        """The translations of texts by their keys, or None for those whose words do not change.

        A paragraph whose words stay as they are stays as it is, byte for byte, and so does a part,
        and the file.
        """
        return {
            key: None if words_of(translation) == same else translation
            for key, translation, same in zip(
                self._texts, translations, self._identities, strict=True
            )
        }


def read_parts(
    package: ZipPackage, names: Iterable[str], markup: Callable[[str], ParagraphMarkup]
) -> list[ReadPart]:
    """Parts of a document; ``markup`` says how the paragraphs of a part are written, by its text.

    Raises:
        DataError: one is damaged or hostile, or they are too large.
    """
    names = list(names)
    size = sum(package.size(name) for name in names)
    if size > _MOST_MARKUP:
        raise DataError(
            f"the text of the file has {size:,} bytes when it is unpacked; at most "
            f"{_MOST_MARKUP:,} are read; divide the document"
        )
    return [_read(package, name, markup) for name in names]


def read_text(package: ZipPackage, name: str) -> tuple[str, CharacterEncoding]:
    """The text of a part, and its encoding."""
    content = package.read(name)
    try:
        return decode(content, is_page=True)
    except DataError as error:
        raise _of_part(name, error) from error


def _read(package: ZipPackage, name: str, markup: Callable[[str], ParagraphMarkup]) -> ReadPart:
    text, encoding = read_text(package, name)
    try:
        how = markup(text)
        return ReadPart(name, encoding, read_blocks(how.tokens(text), how))
    except DataError as error:
        raise _of_part(name, error) from error


def _of_part(name: str, error: DataError) -> DataError:
    return DataError(f"the part {name!r}: {error}")


def _paragraph_blocks(paragraph: Paragraph, numbers: Mapping[str, int]) -> Iterator[OutlineBlock]:
    """The blocks of a paragraph, given the indices of the texts of the document by their keys."""
    raw = paragraph.raw
    texts = [numbers[key] for key in paragraph.keys]
    kept = placeholders_of(paragraph.document.texts)
    if paragraph.is_attribute:
        yield OutlineBlock((), html.unescape("".join(map(str, raw))), kept, texts)
        return
    yield OutlineBlock(list(_tags(raw)), _words_within(raw), kept, texts)
    within = [list(_paragraph_blocks(part, numbers)) for part in raw if isinstance(part, Paragraph)]
    # Notes and comments move with the words that they belong to.
    for blocks in sorted(within, key=lambda nested: [sorted(block.codes) for block in nested]):
        yield from blocks


def _without_paragraphs(parts: Parts) -> str:
    return "".join(part for part in parts if isinstance(part, str))


def _tags(parts: Parts) -> Iterator[str]:
    """Start tags as they are written, but those of runs and of their formats."""
    opened: list[str] = []
    for token in xml_tokens(_without_paragraphs(parts)):
        if token.kind == "close":
            if opened:
                opened.pop()
            continue
        if token.kind not in ("open", "empty"):
            continue
        name = token.local_name
        in_format = _RUN_FORMAT in (name, *opened) and _PROPERTIES not in opened
        if not in_format and name not in _OF_WORDS and name not in _LEFT_OUT:
            yield token.raw
        if token.kind == "open":
            opened.append(name)


def _words_within(parts: Parts) -> str:
    tokens = xml_tokens(_without_paragraphs(parts))
    return html.unescape("".join(token.raw for token in tokens if token.kind == "text"))
