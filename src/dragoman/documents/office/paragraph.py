"""Paragraphs of office documents, written again with their texts translated."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Union

import regex

from dragoman.documents.marks.mark_placement import unchanged
from dragoman.documents.marks.marked_document import MarkedDocument
from dragoman.documents.marks.marked_text import Mark, MarkedText, escaped, walk

Parts = list[Union[str, "Paragraph"]]
"""Raw text, and paragraphs in it."""
WHITE = re.compile(r"[ \t\r\n]+")
"""White space of XML.  Other spaces, such as no-break ones, are characters like all others."""
HYPHEN = re.compile(r"(?<=\w)-(?=\w)")


@dataclass(frozen=True)
class RunFormat:
    """How words look, and how a run of them is written."""

    begin: str
    """Written in front of the words: the start tag of the run, and its properties."""
    end: str
    words: str
    """Name of the element that has the words, as it is written."""
    key: str
    """The same for formats that look the same."""
    trims: bool
    """Whether white space at the ends of words is lost unless an attribute keeps it."""

    def run(self, words: str, hyphens: int = 0) -> str:
        """A run of words of XML.  No line ends at the first ``hyphens`` hyphens within words."""
        parts = HYPHEN.split(words, hyphens) if hyphens else [words]
        hyphen = f"<{self.words.removesuffix('t')}noBreakHyphen/>"
        return self.begin + hyphen.join(map(self._element, parts)) + self.end

    def _element(self, words: str) -> str:
        is_kept = self.trims and words != WHITE.sub(" ", words).strip(" ")
        space = ' xml:space="preserve"' if is_kept else ""
        return f"<{self.words}{space}>{words}</{self.words}>"


@dataclass(frozen=True)
class Symbol:
    """The markup that a tag in a text with marks stands for: around words, or between them."""

    begin: Parts
    """In front of the words, or all of it."""
    end: str = ""
    """Behind them."""
    format: RunFormat | None = None
    """Of the words within; None: the same as around it."""
    is_shown: bool = False
    """Whether it takes a place in the line, as words do."""
    words: str = ""
    """Written as words are, instead of ``begin``: a line end within a run."""
    rank: int | None = None
    """Place among the symbols of the paragraph whose order stays, or None for others."""


@dataclass
class Initial:
    """The first letter of a paragraph, which is written in front of it, in a frame."""

    begin: Parts
    """In front of the letter: the start of the frame."""
    end: Parts
    """Behind it, up to the paragraph."""
    format: RunFormat
    is_word: bool
    """Whether it is the whole first word."""

    def parted(self, words: str) -> tuple[str, str]:
        """The initial of words, and what is left of them, all as they are written in XML."""
        text = html.unescape(words)
        found = (_FIRST_WORD if self.is_word else _FIRST_LETTER).match(text)
        end = found.end() if found else 1
        return escaped(text[:end].lstrip(" ")), escaped(text[end:])


_FIRST_LETTER = regex.compile(r"\s*[^\p{L}\p{N}\s]*[\p{L}\p{N}]\p{M}*")
_FIRST_WORD = regex.compile(r"\s*\S+")


@dataclass
class Paragraph:
    """A paragraph: texts with tags, ``<0>`` and so on, that stand for symbols."""

    begin: str
    """Its start tag."""
    end: str
    raw: Parts
    """All of it, as it came."""
    document: MarkedDocument
    symbols: list[Symbol]
    format: RunFormat | None
    """Of words outside of symbols; None: words are written without runs."""
    space: str = ""
    """Name of the element that stands for spaces, as it is written; empty: spaces are written."""
    is_attribute: bool = False
    """Whether it is the value of an attribute, in which quotation marks are written as others."""
    initial: Initial | None = None
    hyphens: int = 0
    """How many hyphens no line ends at."""
    keys: list[str] = field(init=False)
    """Of its texts: the same for those that are translated in the same way."""

    def __post_init__(self) -> None:
        self.keys = [_key(text) for text in self.document.texts]

    def written(self, answers: Callable[[str], str | None]) -> str:
        """The paragraph with its texts translated.

        ``answers`` gives the translation of a text by its key, with tags, or None if unchanged.
        """
        given = [answers(key) for key in self.keys]
        if all(translation is None for translation in given):
            return written_parts(self.raw, answers)
        texts = [
            unchanged(text) if translation is None else translation
            for text, translation in zip(self.document.texts, given, strict=True)
        ]
        writing = _Writing(self, answers)
        writing.write(self.document.joined(texts))
        written = self.begin + "".join(writing.parts) + self.end
        return written if self.initial is None else self._with_initial(writing, written)

    def _with_initial(self, writing: _Writing, written: str) -> str:
        """The paragraph as it is written, with the frame of its initial."""
        one = self.initial
        if one is None or not writing.initial:
            return written_parts(self.raw, writing.answers)
        begin, end = (written_parts(parts, writing.answers) for parts in (one.begin, one.end))
        return begin + one.format.run(writing.initial) + end + written


def written_parts(parts: Parts, answers: Callable[[str], str | None]) -> str:
    """Parts with their paragraphs translated.  ``answers`` as for :meth:`Paragraph.written`."""
    return "".join(part if isinstance(part, str) else part.written(answers) for part in parts)


def paragraphs(parts: Parts) -> Iterator[Paragraph]:
    """All paragraphs, those within others included."""
    for part in parts:
        if isinstance(part, Paragraph):
            yield part
            yield from paragraphs(part.raw)


def merged(parts: Parts) -> Parts:
    """The same with neighbouring strings joined."""
    joined: Parts = []
    waiting: list[str] = []
    for part in parts:
        if isinstance(part, str):
            waiting.append(part)
        else:
            joined += ["".join(waiting), part]
            waiting = []
    return [*joined, "".join(waiting)]


def identity(text: MarkedText) -> str:
    """A text as if it were its own translation, without its tags."""
    end = 0
    parts = [text.lead]
    for mark in walk(text.marks):
        if mark.is_atom:
            begin = text.escape(mark.begin) if mark.is_text else mark.begin
            parts += [text.escape(text.text[end : mark.start]), begin]
            end = mark.stop
    return "".join([*parts, text.escape(text.text[end:]), text.tail])


def words_of(written: str) -> str:
    """The words of a text that is written with tags, without tags and white space."""
    return "".join(_SYMBOL.sub("", written).split())


_SYMBOL = re.compile(r"<(?P<close>/?)(?P<number>\d+)(?P<point>/?)>")
_SPACES = re.compile(r"( +)")


def _key(text: MarkedText) -> str:
    marks = [
        replace(mark, children=[Mark("", "", 0, 0)] * len(mark.children))
        for mark in walk(text.marks)
    ]
    return repr((text.text, text.lead, text.tail, text.no_break, marks))


class _Writing:
    """Writes words in runs, and the markup around and between them."""

    def __init__(self, paragraph: Paragraph, answers: Callable[[str], str | None]) -> None:
        self._paragraph, self.answers = paragraph, answers
        self._formats: list[RunFormat | None] = [paragraph.format]
        self._run: RunFormat | None = None
        self._words: list[str] = []  # of the run
        self._is_spaced = True  # whether a space that comes next would not be seen
        self._held: dict[int, Symbol] = {}  # whose time has not come
        self._rank = 0  # of the symbol whose time is next
        self.parts: list[str] = []  # written so far
        self.initial = ""  # written into its frame so far
        self._hyphens = paragraph.hyphens  # left

    def write(self, text: str) -> None:
        end = 0
        for found in _SYMBOL.finditer(text):
            self._write_words(text[end : found.start()])
            end = found.end()
            symbol = self._paragraph.symbols[int(found["number"])]
            if found["close"]:
                self._formats.pop()
                self._write_raw([symbol.end])
            elif symbol.rank is not None:
                self._write_in_order(symbol, symbol.rank)
            elif symbol.words:
                self._write_words(symbol.words)
            else:
                self._write_raw(symbol.begin)
                self._is_spaced = self._is_spaced and not symbol.is_shown
                if not found["point"]:
                    self._formats.append(symbol.format or self._formats[-1])
        self._write_words(text[end:])
        self._end_run()

    def _write_in_order(self, symbol: Symbol, rank: int) -> None:
        self._held[rank] = symbol
        while self._rank in self._held:
            self._write_raw(self._held.pop(self._rank).begin)
            self._rank += 1

    def _write_raw(self, parts: Parts) -> None:
        raw = written_parts(parts, self.answers)
        if raw:
            self._end_run()
            self.parts.append(raw)

    def _write_words(self, words: str) -> None:
        if self._paragraph.initial is not None and words.strip() and not self.initial:
            self.initial, words = self._paragraph.initial.parted(words)
        if not words:
            return
        form = self._formats[-1]
        if form is None:
            self._write_without_run(words)
        elif self._run is not None and self._run.key == form.key:
            self._words.append(words)
        else:
            self._end_run()
            self._run, self._words = form, [words]

    def _end_run(self) -> None:
        form, self._run = self._run, None
        if form is not None:
            words = "".join(self._words)
            self.parts.append(form.run(words, self._hyphens))
            self._hyphens = max(0, self._hyphens - len(HYPHEN.findall(words)))

    def _write_without_run(self, words: str) -> None:
        space = self._paragraph.space
        if self._paragraph.is_attribute:
            words = words.replace('"', "&quot;").replace("'", "&#39;")
        if not space:
            self.parts.append(words)
            return
        prefix = space.rpartition(":")[0]
        count = f"{prefix}:c" if prefix else "c"
        for part in _SPACES.split(words):
            spaces = len(part) if part.startswith(" ") else 0
            if spaces and not self._is_spaced:
                self.parts.append(" ")
                spaces -= 1
            if spaces:
                self.parts.append(f'<{space} {count}="{spaces}"/>')
            elif part and not part.startswith(" "):
                self.parts.append(part)
            self._is_spaced = part.startswith(" ") if part else self._is_spaced


def escaped_words(texts: Sequence[str]) -> str:
    """The words of tokens of text and sections of characters, as they are written in XML."""
    return "".join(
        escaped(text[len("<![CDATA[") : -len("]]>")]) if text.startswith("<![CDATA[") else text
        for text in texts
        if not text.startswith(("<!--", "<?"))
    )
