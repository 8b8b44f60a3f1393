"""A document in a zip file: parts with paragraphs, and parts that stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.character_encoding import CharacterEncoding, decode
from dragoman.documents.document_format import OpenDocument
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.documents.marks.outline import OutlineBlock
from dragoman.documents.office.block_reading import read_blocks
from dragoman.documents.office.office_outline import part_blocks
from dragoman.documents.office.paragraph import (
    Parts,
    identity,
    paragraphs,
    words_of,
    written_parts,
)
from dragoman.documents.office.paragraph_items import ParagraphMarkup
from dragoman.documents.office.part_tokens import part_tokens
from dragoman.documents.office.zip_package import ZipPackage

_MOST_MARKUP = 32 * 2**20
"""Bytes of all parts that are translated, unpacked: some thousand pages."""


@dataclass(frozen=True)
class _Part:
    name: str
    encoding: CharacterEncoding
    parts: Parts


class OfficeDocument(OpenDocument):
    """A document in a zip file.

    Texts that are the same are translated once, so that what programs write twice, as they do with
    text boxes, is the same again.

    Args:
        package: the file.
        names: of the parts that are translated, the main one first.
        markup: how the paragraphs of a part are written, by its text.

    Raises:
        DataError: a part is damaged or hostile, or all are too large.
    """

    def __init__(
        self,
        package: ZipPackage,
        names: Iterable[str],
        markup: Callable[[str], ParagraphMarkup],
    ) -> None:
        self._package = package
        names = list(names)
        size = sum(package.size(name) for name in names)
        if size > _MOST_MARKUP:
            raise DataError(
                f"the text of the file has {size:,} bytes when it is unpacked; at most "
                f"{_MOST_MARKUP:,} are read; divide the document"
            )
        self._parts = [_read(package, name, markup) for name in names]
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
        return [block for part in self._parts for block in part_blocks(part.parts, numbers)]

    @override
    def written(self, translations: Sequence[str]) -> bytes:
        # A paragraph whose words stay as they are stays as it is, byte for byte, and so does a
        # part, and the file.
        found = {
            key: None if words_of(translation) == same else translation
            for key, translation, same in zip(
                self._texts, translations, self._identities, strict=True
            )
        }
        replaced = {
            part.name: part.encoding.encode(written_parts(part.parts, found.get), is_markup=True)
            for part in self._parts
            if any(
                found[key] is not None
                for paragraph in paragraphs(part.parts)
                for key in paragraph.keys
            )
        }
        return self._package.written(replaced) if replaced else self._package.content


def read_text(package: ZipPackage, name: str) -> tuple[str, CharacterEncoding]:
    """The text of a part, and its encoding."""
    content = package.read(name)
    try:
        return decode(content, is_page=True)
    except DataError as error:
        raise _of_part(name, error) from error


def _read(package: ZipPackage, name: str, markup: Callable[[str], ParagraphMarkup]) -> _Part:
    text, encoding = read_text(package, name)
    try:
        return _Part(name, encoding, read_blocks(part_tokens(text), markup(text)))
    except DataError as error:
        raise _of_part(name, error) from error


def _of_part(name: str, error: DataError) -> DataError:
    return DataError(f"the part {name!r}: {error}")
