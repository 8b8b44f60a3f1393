"""Documents of Markdown: what stays as it is, and passages between."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import yaml
from markdown_it.token import Token
from typing_extensions import override

from dragoman.documents.document_format import EncodedDocument
from dragoman.documents.edited_text import edited
from dragoman.documents.markdown.markdown_dialects import COLUMN, NO_TEXT, TITLED
from dragoman.documents.markdown.markdown_html import read_html_block
from dragoman.documents.markdown.markdown_inline import Environment, is_text, new_parser, shape_of
from dragoman.documents.markdown.markdown_text import MarkdownPassages
from dragoman.documents.markdown.markdown_writing import Passage, Setting
from dragoman.documents.markdown.mdx import ESM
from dragoman.documents.marks.marked_document import OutlineBlock, placeholders_of
from dragoman.documents.marks.marked_text import RESERVED, MarkedText, NumberedText, PageText
from dragoman.documents.marks.marking import mark_pieces
from dragoman.documents.marks.markup_pieces import MarkupPiece
from dragoman.text.character_encoding import CharacterEncoding

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_FENCES = {"---": ("---", "..."), "+++": ("+++",)}
"""Of front matter, in YAML and in TOML."""
_TRANSLATED_KEYS = "description excerpt subtitle summary tagline title"
_SCALAR = re.compile(
    rf"(?P<key>(?:{'|'.join(_TRANSLATED_KEYS.split())}):[ ]+)(?P<value>\S(?:.*\S)?)\s*"
)
# In front of the words of a paragraph: the kind of a notice, a box to tick.
_LABEL = re.compile(r"(?:\[![A-Za-z]+\][+-]?[ \t]*\n)?(?:\[[ xX]\][ \t]+)?")
_TITLED_NOTICE = re.compile(r"(?P<kind>\[![A-Za-z]+\][+-]?[ \t]+)(?P<title>\S[^\n]*)(?:\n|$)")
_COLUMN = re.compile(r"(?<!\\)\|")
_ATTRIBUTES = re.compile(r"\s*\{:?\s*[#.][^{}]*\}$")  # of a heading: ``{#anchor .class}``
_CODE_BLOCKS = frozenset(["code_block", "fence", NO_TEXT])


@dataclass(frozen=True)
class _Scalar:
    """A value of front matter, and the number of its text."""

    text: int
    source: str


class _BlockText(PageText):
    """A text in a block of HTML, which an empty line would end."""

    def escape(self, text: str) -> str:
        return super().escape(" ".join(text.splitlines()))


@dataclass(frozen=True)
class _Html:
    """A block of HTML, with numbers for its texts."""

    parts: Sequence[str | int]
    source: str


_Part = Passage | _Scalar | _Html
"""Parts that are written again."""


class MarkdownDocument(EncodedDocument):
    """Markdown, or MDX, as it is in any case if it has an ``import`` or ``export``."""

    def __init__(self, text: str, encoding: CharacterEncoding, *, is_mdx: bool) -> None:
        super().__init__(encoding, is_markup=True)
        self._text = text
        self._lines = _LINE.findall(text)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self._newline = next((line[len(line.rstrip("\r\n")) :] for line in self._lines), "") or "\n"
        self._first = _front_matter_lines(self._lines)
        content = "".join(self._lines[self._first :])
        parser, environment = new_parser(is_mdx=is_mdx), dict[str, Any]()
        tokens = parser.parse(content, environment)
        if not is_mdx and any(ESM in token.meta for token in tokens):
            is_mdx = True
            parser, environment = new_parser(is_mdx=True), {}
            tokens = parser.parse(content, environment)
        self._passages = MarkdownPassages(parser, environment, is_mdx)
        self._edits: list[tuple[int, int, _Part]] = []
        self._outline: list[OutlineBlock] = []
        if self._first:
            self._read_front_matter()
        for index, token in enumerate(tokens):
            count = len(self.texts)
            blocks = self._read(tokens, index)
            texts = range(count, len(self.texts))
            kept = placeholders_of(self.texts[count:])
            cells = _cells(tokens, index) if token.type == "tr_open" else ()
            self._outline += blocks or [block_of(token, texts, kept, cells)]
        self._outline.append(OutlineBlock(references_of(environment)))

    def _read(self, tokens: Sequence[Token], index: int) -> Sequence[OutlineBlock]:
        """Read a block.  Returns the blocks within it."""
        token = tokens[index]
        if token.map is None or RESERVED.search(token.content):
            return ()
        if token.type == "html_block":
            return self._read_html(token)
        if token.type == "inline" and tokens[index - 1].type == "heading_open":
            self._read_heading(tokens[index - 1], token)
        elif token.type == "inline" and tokens[index - 1].type == "paragraph_open":
            self._read_lines(token, "paragraph")
        elif token.type == TITLED and token.content:
            self._read_title(token)
        elif token.type == "tr_open":
            self._read_row(token, _cells(tokens, index))
        return ()

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
        parts = sorted(self._edits, key=lambda edit: edit[0])
        text = edited(
            self._text,
            ((start, stop, self._written(part, translations)) for start, stop, part in parts),
        )
        self.refused = list(self._passages.refused.items())
        return text

    def _written(self, part: _Part, translations: Sequence[str]) -> str:
        if isinstance(part, Passage):
            return self._passages.written(part, translations)
        numbers = [part.text] if isinstance(part, _Scalar) else _numbers(part.parts)
        if not self._passages.are_written_again(numbers, translations):
            return part.source
        if isinstance(part, _Scalar):
            return _as_scalar(translations[part.text], part.source)
        return "".join(one if isinstance(one, str) else translations[one] for one in part.parts)

    def _line(self, token: Token) -> int:
        assert token.map is not None
        return self._first + token.map[0]

    def _read_front_matter(self) -> None:
        self._outline.append(OutlineBlock([f"front matter {self._first}"]))
        if not self._lines[0].startswith("---"):
            return
        for number in range(1, self._first - 1):
            found = _SCALAR.fullmatch(self._lines[number])
            value = None if found is None else _text_of_scalar(found["value"])
            if found is None or value is None or self._goes_on(number):
                continue
            marked = mark_pieces([MarkupPiece("text", html.escape(value))], collapses=True)
            texts = [] if marked is None else [NumberedText(**vars(marked))]
            numbers = range(len(self.texts), len(self.texts) + len(texts))
            self._outline.append(
                OutlineBlock([found["key"]], value, placeholders_of(texts), numbers)
            )
            if marked is None:
                continue
            start = self._starts[number]
            self.texts.extend(texts)
            part = _Scalar(len(self.texts) - 1, found["value"])
            self._edits.append((start + found.start("value"), start + found.end("value"), part))

    def _goes_on(self, number: int) -> bool:
        """Whether the value in a line of front matter has more of it in the lines that follow."""
        following = map(self._lines.__getitem__, range(number + 1, self._first - 1))
        return next((line[0] in " \t" for line in following if line.strip()), False)

    def _read_html(self, token: Token) -> Sequence[OutlineBlock]:
        assert token.map is not None
        lines = self._lines[self._line(token) : self._first + token.map[1]]
        contents = _LINE.findall(token.content)
        for line, content in zip(lines, contents, strict=False):
            if line.strip().removesuffix(content.strip()):
                return ()  # in a quotation, whose signs are in front of each line
        start = self._starts[self._line(token)]
        parts: list[str | int] = []
        blocks = [OutlineBlock([token.type])]
        for found in read_html_block(lines):
            if isinstance(found, str):
                parts.append(found)
                blocks.append(OutlineBlock([found]))
                continue
            count = len(self.texts)
            for block in found.blocks:
                blocks.append(replace(block, texts=[count + at for at in block.texts]))
            for part in found.parts:
                if isinstance(part, MarkedText):
                    self.texts.append(_BlockText(**vars(part)))
                    parts.append(len(self.texts) - 1)
                else:
                    parts.append(part)
        source = "".join(lines)
        self._edits.append((start, start + len(source), _Html(parts, source)))
        return blocks

    def _read_title(self, token: Token) -> None:
        start = self._starts[self._line(token)] + token.meta[COLUMN]
        self._add((start, start + len(token.content)), token.content, "heading")

    def _read_heading(self, opening: Token, token: Token) -> None:
        if not opening.markup.startswith("#"):
            self._read_lines(token, "underlined")
            return
        number = self._line(token)
        line = self._lines[number]
        signs = line.find(opening.markup)
        at = line.find(token.content, signs + len(opening.markup))
        words = _ATTRIBUTES.sub("", token.content)
        if words and signs >= 0 and at >= 0:
            start = self._starts[number] + at
            self._add((start, start + len(words)), words, "heading")

    def _read_lines(self, token: Token, setting: Setting) -> None:
        """A paragraph, whose lines may have signs of lists and quotations in front."""
        number = self._line(token)
        places, ends = [], []
        for line, content in zip(self._lines[number:], token.content.split("\n"), strict=False):
            shown, words = line.rstrip(), content.strip()
            if not shown.endswith(words):
                return
            places.append(len(shown) - len(words))
            ends.append(len(shown))
        label = _TITLED_NOTICE.match(token.content)
        if label is not None:
            start = self._starts[number] + places[0] + label.start("title")
            self._add((start, self._starts[number] + ends[0]), label["title"].rstrip(), "heading")
        label = label or _LABEL.match(token.content)
        assert label is not None
        skipped = label[0].count("\n")
        if skipped >= len(places):
            return
        begin = places[skipped] + len(label[0].rpartition("\n")[2])
        span = (
            self._starts[number + skipped] + begin,
            self._starts[number + len(places) - 1] + ends[-1],
        )
        prefix, width = "", None
        if len(places) > skipped + 1:
            prefix = self._lines[number + skipped + 1][: places[skipped + 1]]
            width = max(ends[skipped:])
        self._add(span, token.content[label.end() :], setting, prefix, width)

    def _read_row(self, row: Token, cells: Sequence[Token]) -> None:
        number = self._line(row)
        line = self._lines[number].rstrip()
        edges = [0, *(found.end() for found in _COLUMN.finditer(line)), len(line) + 1]
        spans = [(start, end - 1) for start, end in pairwise(edges)]
        contents = [cell.content for cell in cells]
        is_bare = bool(contents[0]) and _ends_with(line, spans[0], contents[0])
        if not is_bare:
            spans = spans[1:]
        if not all(
            _ends_with(line, span, content) for span, content in zip(spans, contents, strict=False)
        ):
            return
        for index, ((_, end), content) in enumerate(zip(spans, contents, strict=False)):
            words = content.replace("|", r"\|")
            end = len(line[:end].rstrip())  # noqa: PLW2901
            place = self._starts[number] + end
            if content and not RESERVED.search(content):
                setting: Setting = "cell" if index or not is_bare else "bare"
                self._add((place - len(words), place), content, setting)

    def _add(
        self,
        span: tuple[int, int],
        content: str,
        setting: Setting,
        prefix: str = "",
        width: int | None = None,
    ) -> None:
        count = len(self.texts)
        segments = self._passages.read(content)
        if len(self.texts) == count:
            return  # nothing to translate
        source = self._text[span[0] : span[1]]
        passage = Passage(source, segments, setting, prefix, self._newline, width)
        self._edits.append((*span, passage))


def _ends_with(line: str, span: tuple[int, int], content: str) -> bool:
    return line[span[0] : span[1]].rstrip().endswith(content.replace("|", r"\|"))


def _numbers(parts: Sequence[str | int]) -> list[int]:
    return [part for part in parts if isinstance(part, int)]


def _cells(tokens: Sequence[Token], row: int) -> list[Token]:
    cells = []
    for token in tokens[row:]:
        if token.type == "tr_close":
            break
        if token.type == "inline":
            cells.append(token)
    return cells


def _front_matter_lines(lines: Sequence[str]) -> int:
    """Number of lines of the front matter, or 0."""
    ends = _FENCES.get(lines[0].rstrip()) if lines else None
    for number, line in enumerate(lines[1:] if ends else (), 2):
        if ends and line.rstrip() in ends:
            return number
    return 0


def _text_of_scalar(written: str) -> str | None:
    """A value of YAML, if it is text alone."""
    if written[0] in "|>&*![{#" or " #" in written:
        return None
    try:
        value = yaml.safe_load(written)
    except (yaml.YAMLError, ValueError):  # of dates and numbers that there are not
        return None
    return value if isinstance(value, str) and not RESERVED.search(value) else None


def _as_scalar(text: str, source: str) -> str:
    """A text as a value of YAML, in the quotes of another one if that is possible."""
    quote = source[0] if source[0] in "'\"" else ""
    written = {"'": "'" + text.replace("'", "''") + "'", "": text}.get(quote)
    if written is not None and _text_of_scalar(written or "|") == text:
        return written
    return json.dumps(text, ensure_ascii=False)


def block_of(
    token: Token, texts: Sequence[int], kept: Sequence[str], cells: Sequence[Token] = ()
) -> OutlineBlock:
    """The outline of a block: a token of the parser, its texts by index, and their placeholders.

    A row has the texts of all its cells.
    """
    if token.type == "inline":
        children = token.children or []
        codes = [shape_of([child]) for child in children if not is_text(child)]
        return OutlineBlock(codes, "".join(_words_of(children)), kept, texts)
    content = token.content if token.type in _CODE_BLOCKS else ""
    attributes = " ".join(f"{name}={value}" for name, value in token.attrs.items())
    code = f"{token.type} {token.tag} {attributes} {token.info} {content}"
    words = [one for cell in cells for one in _words_of(cell.children or [])]
    return OutlineBlock([code], "".join(words) if cells else token.content, kept, texts)


def references_of(environment: Environment) -> list[str]:
    """The definitions of references of a document."""
    references = environment.get("references", {})
    return [f"[{label}]: {reference['href']}" for label, reference in references.items()]


def _words_of(tokens: Iterable[Token]) -> Iterator[str]:
    """The text of a paragraph, with that of images and titles."""
    for token in tokens:
        yield " " if token.type in {"softbreak", "hardbreak"} else ""
        yield from _words_of(token.children) if token.children else [token.content]
        if title := token.attrGet("title"):
            yield f" {title} "
