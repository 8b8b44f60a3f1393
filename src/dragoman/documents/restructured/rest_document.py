"""Documents of reStructuredText: what stays as it is, and texts between."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from typing_extensions import override

from dragoman.core.text_tables import display_width
from dragoman.documents.document_format import EMPTY, EncodedDocument
from dragoman.documents.edited_text import edited
from dragoman.documents.marks.mark_placement import unchanged
from dragoman.documents.marks.marked_document import OutlineBlock, placeholders_of
from dragoman.documents.marks.marked_text import (
    KEPT_SPACE,
    RESERVED,
    MarkedText,
    NumberedText,
    text_and_numbers,
)
from dragoman.documents.marks.marking import mark_pieces
from dragoman.documents.restructured.rest_blocks import (
    NAME,
    STARTS,
    RestBlock,
    RestKind,
    rest_blocks,
)
from dragoman.documents.restructured.rest_inline import (
    RestInline,
    UnreadableError,
    codes_of,
    normalised,
)
from dragoman.text.character_encoding import CharacterEncoding

_REFERENCES = re.compile(rf"`([^`<>]+)`__?(?!\w)|(?<!\w)(?<!\w[-._+:])({NAME})__?(?!\w)")
_TARGET = re.compile(r"^[ \t]*\.\. _(?P<name>`[^`]+`|(?:[^:\\\r\n]|\\.)+):", re.MULTILINE)
_NAMED_LINK = re.compile(
    rf"`(?P<words>[^`<>]*[^`<>\s{KEPT_SPACE}])[\s{KEPT_SPACE}]+<(?P<target>[^`<>]+)>`_(?!_)"
)
_ONLY_SIGNS = re.compile(r"[!-/:-@\[-`{-~]+|:.*")
"""Words that no line but the first begins with, as it could be read as another block."""
_SIGN, _BEHIND = "::", f"{KEPT_SPACE}::"
"""At the end of a paragraph: a literal block follows."""
_TITLES: frozenset[RestKind] = frozenset(["title", "overlined"])


@dataclass(frozen=True)
class _Passage:
    """A block with a text."""

    kind: RestKind
    number: int
    """Of the text."""
    start: int
    """Place of its words in the file."""
    stop: int
    sign: str
    """Behind the words: what says that a literal block follows."""
    prefix: str
    """In front of each line but the first."""
    width: int | None
    """Columns of its lines, or None if it is on one line."""
    adornments: Sequence[tuple[int, int]] = ()
    """Places of the lines above and below a title."""
    indent: int = 0
    """Spaces in front of a title."""


class RestDocument(EncodedDocument):
    """reStructuredText with the words of its paragraphs, titles, items and notes."""

    def __init__(self, text: str, encoding: CharacterEncoding) -> None:
        super().__init__(encoding, is_markup=False)
        self._text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._references = frozenset(
            normalised(one or other) for one, other in _REFERENCES.findall(text)
        )
        self._inline = RestInline(self._references)
        self._texts: list[MarkedText] = []
        self._passages: list[_Passage] = []
        self._kept: list[str] = []
        self._outline: list[OutlineBlock] = []
        for block in rest_blocks(text):
            self._outline.append(self._read(block))

    @property
    @override
    def texts(self) -> list[MarkedText]:
        return self._texts

    @property
    @override
    def outline(self) -> Sequence[OutlineBlock]:
        return self._outline

    def _read(self, block: RestBlock) -> OutlineBlock:
        """Read the words of a block, unless it stays."""
        code = f"{block.kind} {block.depth}"
        lines = block.lines
        raw = "\n".join(line.text for line in lines)
        if block.kind == "kept" or RESERVED.search(raw):
            self._kept.append(raw)
            return OutlineBlock([code, raw])
        if block.kind in _TITLES:
            title = lines[1] if block.kind == "overlined" else lines[0]
            code, lines = f"{code} {block.lines[-1].text[0]}", [title]
        words = "\n".join(line.text for line in lines).lstrip()
        sign = ""
        if block.kind == "literal":
            before = words[: -len(_SIGN)]
            words = before.rstrip()
            sign = _BEHIND if words != before else _SIGN
            words += ":" if sign == _SIGN else ""
        try:
            pieces = self._inline.pieces(words)
        except UnreadableError:
            return OutlineBlock([code, raw])
        marked = mark_pieces(pieces, collapses=True)
        codes = [code, *codes_of(pieces, self._inline.marks)]
        is_named = block.kind in _TITLES and normalised(words) in self._references
        if marked is None or marked.is_crowded or is_named:
            return OutlineBlock(codes, words)
        number = len(self._texts)
        self._texts.append(NumberedText(**vars(marked)))
        self._add(block, lines[0].indent, sign)
        return OutlineBlock(codes, marked.text, placeholders_of(self._texts[number:]), [number])

    def _add(self, block: RestBlock, indent: int, sign: str) -> None:
        lines, adornments = block.lines, list[tuple[int, int]]()
        if block.kind in _TITLES:
            lines = block.lines[-2:-1]
            others = [one for one in block.lines if one is not lines[0]]
            adornments = [(one.start, one.stop) for one in others]
        first, last = lines[0], lines[-1]
        width = max(line.column + display_width(line.text) for line in lines)
        passage = _Passage(
            block.kind,
            len(self._texts) - 1,
            first.start + indent,
            last.stop,
            sign,
            " " * lines[-1].column,
            width if len(lines) > 1 else None,
            adornments,
            indent,
        )
        self._passages.append(passage)

    @override
    def joined(self, translations: Sequence[str]) -> str:
        self.refused = []
        words = [self._written(one, translations[one.number]) for one in self._passages]
        names = self._names(words)
        edits: list[tuple[int, int, str]] = []
        for passage, one in zip(self._passages, words, strict=True):
            if one is None:
                continue
            named = _NAMED_LINK.sub(lambda found: _with_own_name(found, names), one)
            edits += self._edits(passage, named)
        return edited(self._text, edits)

    def _names(self, words: Sequence[str | None]) -> dict[str, str]:
        """The names of targets, and what they lead to, in what stays."""
        stays = [
            self._text[one.start : one.stop]
            for one, new in zip(self._passages, words, strict=True)
            if new is None
        ]
        names = {normalised(one.strip("`")): "" for one in _TARGET.findall(self._text)}
        for raw in [*self._kept, *stays]:
            for found in _NAMED_LINK.finditer(raw):
                names.setdefault(normalised(found["words"]), found["target"])
        return names

    def _edits(self, passage: _Passage, words: str) -> Iterator[tuple[int, int, str]]:
        """What replaces a passage, in order, by its place in the file."""
        lines = [words.replace(KEPT_SPACE, " ")]
        if passage.width is not None:
            wrapped = _wrapped(words, passage.width - len(passage.prefix))
            lines = [line.replace(KEPT_SPACE, " ") for line in wrapped]
        new = f"{self._newline}{passage.prefix}".join(lines)
        edits = [(passage.start, passage.stop, new)]
        for start, stop in passage.adornments:
            columns = max(stop - start, _title_width(new) + 2 * passage.indent)
            edits.append((start, stop, self._text[start] * columns))
        yield from sorted(edits)

    def _written(self, passage: _Passage, translation: str) -> str | None:
        """The words of a block, or None if they stay."""
        text = self._texts[passage.number]
        if translation == unchanged(text):
            return None
        said = "".join(one for one in text_and_numbers(translation) if isinstance(one, str))
        if not said.strip() and not text.kept:
            self.refused = [*self.refused, (text.text, EMPTY)]
            return None
        words = self._inline.written(translation.strip(" ")).strip(" ")
        if passage.kind == "term":
            words = re.sub("(?<! ) +:(?= )", "\u00a0:", words)
        is_title = passage.kind in _TITLES
        starts = (one for one in STARTS[2 if is_title else 0 :])
        if passage.kind != "overlined" and any(one.match(words) for one in starts):
            words = f"\\{words}"
        if passage.sign:
            return words + (":" if passage.sign == _SIGN and words.endswith(":") else _BEHIND)
        return f"{words[:-1]}\\:" if words.endswith(_SIGN) else words


def _with_own_name(found: re.Match[str], names: dict[str, str]) -> str:
    """A link, without a name if another one has it."""
    target = found["target"]
    is_own = names.setdefault(normalised(found["words"]), target) == target
    return found[0] if is_own else f"{found[0]}_"


def _title_width(title: str) -> int:
    """Columns of a title, as a terminal and as docutils count them."""
    wide = sum(1 for sign in title if unicodedata.east_asian_width(sign) in "WF")
    return max(display_width(title), len(title) + wide)


def _wrapped(text: str, width: int) -> Iterator[str]:
    line, columns = "", 0
    for word in text.split(" "):
        more = display_width(word) + 1
        if line and columns + more > width and not _ONLY_SIGNS.fullmatch(word):
            yield line
            line, columns = word, more - 1
        else:
            line = f"{line} {word}" if line else word
            columns += more
    yield line
