r"""Subtitles of SubStation Alpha, ``.ass`` and ``.ssa``: lines of ``Dialogue``."""

from __future__ import annotations

import re

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import FileLanguages
from dragoman.documents.filetypes.subtitle_files import (
    LINE,
    SubtitleDocument,
    SubtitleFile,
    SubtitleKind,
    TagKind,
)
from dragoman.text.character_encoding import decode

_SECTION = re.compile(r"\s*\[(?P<name>[^\]]*)\]\s*")
_FIELDS = 10
"""Of an event, if its section does not list them."""
_BLOCK = re.compile(r"\{[^{}]*\}")
"""Override tags or a comment, neither of which is shown."""
_SWITCH = re.compile(r"\{\\(?P<name>[ibus])(?P<on>[01])\}")
_UNSPOKEN = re.compile(r"\\(?:p[1-9]|[kK][of]?\d)")
"""Drawings, whose text is a path, and karaoke, whose words are in syllables."""
_BREAK = re.compile(r"(\\[Nn])")
_ESCAPE = re.compile(r"\\(?=[Nnh{}])")
_JOINER = "\u2060"
"""Keeps a backslash from beginning a tag, and shows nothing."""


class AssFile(SubtitleFile):
    """Subtitles of SubStation Alpha and Advanced SubStation Alpha."""

    name = "SubStation Alpha"
    family = "subtitles"
    suffixes = (".ass", ".ssa")
    media_type = "text/x-ssa"
    kind = "SubStation Alpha"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> AssDocument:
        text, encoding = decode(content, is_page=False)
        return AssDocument(text, encoding, self.kind)


class AssDocument(SubtitleDocument):
    """Events with the texts of their dialogue.

    Raises:
        DataError: the file has no section of events, or an event lacks fields; with the line.
    """

    tag = _BLOCK

    @override
    def read(self, text: str, kind: SubtitleKind) -> None:
        section, fields, has_events = "", _FIELDS, False
        for number, found in enumerate(LINE.finditer(text), 1):
            line, newline = found[1], found[2]
            if head := _SECTION.fullmatch(line):
                section = head["name"].strip().lower()
                has_events = has_events or section == "events"
            kind_of_line, _, values = line.partition(":")
            if section == "events" and kind_of_line.strip().lower() == "format":
                fields = values.count(",") + 1
            if section != "events" or kind_of_line.strip().lower() != "dialogue":
                self.keep([(line, newline)])
                continue
            parts = values.split(",", fields - 1)
            if len(parts) < fields:
                raise DataError(
                    f"not SubStation Alpha at line {number}: {len(parts)} fields, not {fields}"
                )
            self.keep([(line[: len(line) - len(parts[-1])], "")])
            self._add_event(parts[-1])
            self.keep([("", newline)])
        if text.strip() and not has_events:
            raise DataError("not SubStation Alpha: it has no section [Events]")

    def _add_event(self, text: str) -> None:
        if not text.strip() or any(map(_UNSPOKEN.search, _BLOCK.findall(text))):
            self.keep([(text, "")])
            return
        parts = [*_BREAK.split(text), ""]
        self.add_cue(list(zip(parts[::2], parts[1::2], strict=True)))

    @override
    def kind_of(self, tag: re.Match[str]) -> tuple[TagKind, str]:
        switch = _SWITCH.fullmatch(tag[0])
        if switch is None:
            return "point", ""
        return "open" if switch["on"] == "1" else "close", switch["name"]

    @override
    def safe(self, text: str) -> str:
        text = text.replace("{", "(").replace("}", ")")
        return _ESCAPE.sub(lambda found: found[0] + _JOINER, text)
