"""Documents of AsciiDoc: what stays as it is, and texts between."""

from __future__ import annotations

import html
from collections.abc import Sequence

from typing_extensions import override

from dragoman.documents.asciidoc.asciidoc_blocks import BlockReader, Region
from dragoman.documents.asciidoc.asciidoc_inline import (
    EMPTY_ATTRIBUTE,
    AsciidocPiece,
    inline_pieces,
    plain_text,
)
from dragoman.documents.asciidoc.asciidoc_writing import AsciidocPassage, AsciidocPassages
from dragoman.documents.document_format import EncodedDocument
from dragoman.documents.edited_text import edited
from dragoman.documents.marks.marked_document import OutlineBlock, placeholders_of
from dragoman.documents.marks.marked_text import RESERVED, MarkedText
from dragoman.text.character_encoding import CharacterEncoding


class AsciidocDocument(EncodedDocument):
    """A document as the texts of its blocks, and all that is between them."""

    def __init__(self, text: str, encoding: CharacterEncoding) -> None:
        super().__init__(encoding, is_markup=False)
        self._text = text
        self._passages = AsciidocPassages()
        self._edits: list[AsciidocPassage] = []
        self._outline: list[OutlineBlock] = []
        end = 0
        for region in BlockReader(text).regions:
            self._outline.append(OutlineBlock([text[end : region.start]]))
            self._read(region)
            end = region.stop
        self._outline.append(OutlineBlock([text[end:]]))

    def _read(self, region: Region) -> None:
        source = self._text[region.start : region.stop]
        content = self._text[region.start : region.words or region.stop]
        if RESERVED.search(source):
            self._outline.append(OutlineBlock([source]))
            return
        first = len(self.texts)
        passage = AsciidocPassage(region, source, self._passages.read(content))
        texts = self.texts[first:]
        if texts:
            self._edits.append(passage)
        pieces = list(inline_pieces(content))
        codes = [one.shape for one in pieces if _is_code(one)]
        words = "".join(_shown(one) for one in pieces)
        numbers = range(first, len(self.texts))
        block = OutlineBlock(
            [region.setting + region.underline, *codes], words, placeholders_of(texts), numbers
        )
        self._outline.append(block)

    @property
    @override
    def texts(self) -> list[MarkedText]:
        return self._passages.texts

    @property
    @override
    def outline(self) -> Sequence[OutlineBlock]:
        return self._outline

    @override
    def joined(self, translations: Sequence[str]) -> str:
        self._passages.refused.clear()
        text = edited(
            self._text,
            (
                (one.region.start, one.region.stop, self._passages.written(one, translations))
                for one in self._edits
            ),
        )
        self.refused = list(self._passages.refused.items())
        return text


def _is_code(piece: AsciidocPiece) -> bool:
    return piece.kind not in {"text", "footnote"} and piece.raw != EMPTY_ATTRIBUTE


def _shown(piece: AsciidocPiece) -> str:
    if piece.kind == "footnote":
        return piece.content
    return html.unescape(plain_text(piece.raw)) if piece.kind == "text" else ""
