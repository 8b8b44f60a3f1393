"""Subtitles: SubRip and WebVTT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override

from dragoman.documents.character_encoding import CharacterEncoding, decode
from dragoman.documents.filetypes.document_format import DocumentFormat, FileLanguages, OpenDocument
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.documents.subtitles import SubtitleDocument, SubtitleKind


class SubtitleFile(DocumentFormat):
    """Subtitles, whose cues are texts; numbers, times, positions and comments stay."""

    kind: ClassVar[SubtitleKind]

    @override
    def read(self, content: bytes, languages: FileLanguages) -> OpenDocument:
        text, encoding = decode(content, is_page=False)
        return _OpenSubtitles(SubtitleDocument.read(text, self.kind), encoding)


class SubRipFile(SubtitleFile):
    """Subtitles of SubRip."""

    name = "SubRip"
    family = "subtitles"
    suffixes = (".srt",)
    media_type = "application/x-subrip"
    kind = "SubRip"


class WebVttFile(SubtitleFile):
    """Subtitles of pages (W3C, WebVTT)."""

    name = "WebVTT"
    family = "subtitles"
    suffixes = (".vtt",)
    media_type = "text/vtt"
    kind = "WebVTT"


class _OpenSubtitles(OpenDocument):
    def __init__(self, document: SubtitleDocument, encoding: CharacterEncoding) -> None:
        self._document, self._encoding = document, encoding

    @property
    @override
    def texts(self) -> Sequence[MarkedText]:
        return self._document.texts

    @override
    def written(self, translations: Sequence[str]) -> bytes:
        return self._encoding.encode(self._document.joined(translations), is_markup=False)
