"""Paragraphs of Markdown in pieces that join to the same text again.

markdown-it-py parses, as CommonMark and GitHub do.  It gives places of blocks alone, so its rules
are wrapped here to give each token its place.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from markdown_it import MarkdownIt, helpers
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block import reference as _reference
from markdown_it.rules_inline import (
    StateInline,
    autolink,
    backtick,
    emphasis,
    entity,
    escape,
    html_inline,
    image,
    link,
    newline,
    strikethrough,
)
from markdown_it.token import Token

from dragoman.documents.markdown.markdown_dialects import (
    add_blocks,
    attributes,
    formula,
    link_destination,
    role,
    whole_match,
)
from dragoman.documents.markdown.markdown_html import html_lines
from dragoman.documents.markdown.mdx import EXPRESSION, indented_lines, jsx, jsx_lines, module_lines

Environment = MutableMapping[str, Any]
"""The references of a document, by which the parser resolves links."""

Rule = Callable[[StateInline, bool], bool]
Mark = Callable[[StateInline, int, list[Token]], None]
"""Notes the spans of what a rule has added, given where it began."""

_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]+\]")
_SPAN = "span"
_LABEL = "label"


@dataclass(frozen=True)
class InlinePiece:
    """A part of a paragraph."""

    kind: str
    """The type of its token, as markdown-it calls it; ``text`` for text."""
    raw: str
    """As it is written."""
    text: str = ""
    """Of text: what it stands for.  Of code, addresses and tags of HTML: what they hold."""
    shape: str = ""
    """Its meaning, independent of its notation."""
    label: tuple[int, int] | None = None
    """Of an image: where in ``raw`` the text is that describes it."""


def new_parser(*, is_mdx: bool = False) -> MarkdownIt:
    """A parser whose tokens have spans: CommonMark, tables, strikethrough, footnotes, dialects."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.disable(["fragments_join", "text_join"])
    noted: tuple[tuple[str, Rule, Mark], ...] = (
        ("backticks", backtick, _mark_whole),
        ("html_inline", html_inline, _mark_whole),
        ("escape", escape, _mark_whole),
        ("entity", entity, _mark_whole),
        ("newline", newline, _mark_newline),
        ("autolink", autolink, _mark_autolink),
        ("emphasis", emphasis.tokenize, _mark_delimiters),
        ("strikethrough", strikethrough.tokenize, _mark_delimiters),
        ("link", link, _mark_link),
        ("image", image, _mark_image),
    )
    for name, rule, mark in noted:
        parser.inline.ruler.at(name, _noting(rule, mark))
    footnote = whole_match(_FOOTNOTE, "footnote_ref")
    parser.inline.ruler.before("link", "footnote_ref", _noting(footnote, _mark_whole))
    for name, rule in (("formula", formula), ("role", role), ("attributes", attributes)):
        parser.inline.ruler.before("escape", name, _noting(rule, _mark_whole))
    own_helpers: Any = SimpleNamespace(**vars(helpers))
    own_helpers.parseLinkDestination = link_destination
    parser.helpers = own_helpers
    parser.block.ruler.at(
        "html_block", html_lines, {"alt": ["paragraph", "reference", "blockquote"]}
    )
    parser.block.ruler.at("reference", _definition, {"alt": []})
    add_blocks(parser)
    parser.block.ruler.before("fence", "module", module_lines, {"alt": []})
    if is_mdx:
        parser.disable(["code", "html_block", "html_inline"])
        interrupted: RuleOptionsType = {"alt": ["paragraph", "blockquote", "list"]}
        parser.block.ruler.before("table", "indented", indented_lines, {"alt": []})
        parser.block.ruler.before("fence", "jsx_lines", jsx_lines, interrupted)
        parser.inline.ruler.before("autolink", "jsx", _noting(jsx, _mark_whole))
    return parser


def inline_pieces(parser: MarkdownIt, content: str, environment: Environment) -> list[InlinePiece]:
    """The pieces of a paragraph, in order.  They join to ``content``."""
    tokens = parser.parseInline(content, environment)[0].children or []
    return list(_pieces(content, _with_strong(tokens)))


def shape_of(tokens: Sequence[Token]) -> str:
    """The meaning of a paragraph, independent of its notation: its text and markup."""
    return shaped("".join(map(_shape, tokens)))


def is_text(token: Token) -> bool:
    """Whether a token is words and nothing else."""
    return token.type in {"text", "text_special", "softbreak"}


def shaped(text: str) -> str:
    """A meaning, without what white space of Markdown adds to none."""
    return " ".join(text.split())


EMPHASIS = {"em": "em", "strong": "strong", "s": "del"}


def _shape(token: Token) -> str:
    name, _, end = token.type.rpartition("_")
    if name in EMPHASIS:
        return f"<{'/' * (end == 'close')}{EMPHASIS[name]}>"
    shapes = {
        "link_open": f"<a {token.attrGet('href')}>",
        "link_close": "</a>",
        "image": f"<img {token.attrGet('src')}>",
        "code_inline": f"<`>{html.escape(token.content, quote=False)}</`>",
        "softbreak": " ",
        "hardbreak": " <br> ",
        "footnote_ref": f"<sup {token.content}>",
        "html_inline": token.content,
        EXPRESSION: f"<{{>{html.escape(token.content, quote=False)}",
    }
    return shapes.get(token.type) or text_shape(token.content)


def text_shape(text: str) -> str:
    """The meaning of text without markup."""
    return html.escape(text, quote=False).replace("`", "&#96;")


def _noting(rule: Rule, mark: Mark) -> Rule:
    """A rule whose tokens have spans."""

    def noted(state: StateInline, silent: bool) -> bool:
        start = state.pos
        if silent:
            return rule(state, True)
        added = _new_tokens(rule, state)
        if added:
            mark(state, start, added)
        return added is not None

    return noted


def _new_tokens(rule: Rule, state: StateInline) -> list[Token] | None:
    """Tokens that a rule adds, without the text that was waiting, or None if it does not apply."""
    count, waited = len(state.tokens), bool(state.pending)
    if not rule(state, False):
        return None
    added = state.tokens[count:]
    if waited and added and added[0].type == "text" and _SPAN not in added[0].meta:
        added = added[1:]
    return added


def _mark_whole(state: StateInline, start: int, added: list[Token]) -> None:
    for token in added:
        token.meta[_SPAN] = (start, state.pos)


def _mark_newline(state: StateInline, start: int, added: list[Token]) -> None:
    before = state.src[:start]
    _mark_whole(state, len(before.rstrip(" ")), added)


def _mark_autolink(state: StateInline, start: int, added: list[Token]) -> None:
    added[0].meta |= {_SPAN: (start, state.pos), "autolink": "".join(map(_shape, added))}


def _mark_delimiters(state: StateInline, start: int, added: list[Token]) -> None:
    """Signs that may begin or end a pair, a token each."""
    for token in added:
        token.meta[_SPAN] = (start, start + len(token.content))
        start += len(token.content)


def _mark_link(state: StateInline, start: int, added: list[Token]) -> None:
    end = state.md.helpers.parseLinkLabel(state, start, True)
    added[0].meta[_SPAN] = (start, start + 1)
    added[-1].meta[_SPAN] = (end, state.pos)


def _mark_image(state: StateInline, start: int, added: list[Token]) -> None:
    end = state.md.helpers.parseLinkLabel(state, start + 1, False)
    added[0].meta |= {_SPAN: (start, state.pos), _LABEL: (2, end - start)}


def _definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Definitions of references, without footnotes, which are blocks."""
    if state.src.startswith("[^", state.bMarks[start] + state.tShift[start]):
        return False
    return _reference(state, start, end, silent)


_Spanned = tuple[int, int, Token]


def _with_strong(tokens: Sequence[Token]) -> list[_Spanned]:
    """Tokens with their spans.  The parser leaves half of a ``**`` beside it as an empty token."""
    marked = sorted(
        ((*token.meta[_SPAN], token) for token in tokens if _SPAN in token.meta),
        key=lambda one: one[:2],
    )
    spanned: list[_Spanned] = []
    for index, (start, end, token) in enumerate(marked):
        first, last = start, end
        if token.type == "strong_open" and index:
            first = marked[index - 1][0]
        elif token.type == "strong_close" and index + 1 < len(marked):
            last = marked[index + 1][1]
        elif token.type == "text" and not token.content:
            continue
        spanned.append((first, last, token))
    return spanned


def _pieces(content: str, tokens: Sequence[_Spanned]) -> Iterator[InlinePiece]:
    edges = [(0, 0, None), *tokens, (len(content), len(content), None)]
    for (_, end, _), (start, after, token) in pairwise(edges):
        if end < start:
            between = content[end:start]
            yield InlinePiece("text", between, between, text_shape(between))
        if token is not None:
            yield _piece(content[start:after], token)


def _piece(raw: str, token: Token) -> InlinePiece:
    if "autolink" in token.meta:
        return InlinePiece("autolink", raw, raw[1:-1], token.meta["autolink"])
    kind = "text" if token.type == "text_special" else token.type
    return InlinePiece(kind, raw, token.content, _shape(token), token.meta.get(_LABEL))
