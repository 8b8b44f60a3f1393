"""MDX: Markdown with JavaScript and JSX in it (mdxjs.com, versions 1 to 3).

Modules (``import``, ``export``), tags and expressions in braces stay as they are.  What is between
is Markdown, however far it is indented.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from dragoman.documents.markdown.markdown_dialects import add_lines, line_of, read_indented

EXPRESSION = "expression"
"""The type of a token of JavaScript within a line, with its braces."""
ESM = "esm"
"""In the ``meta`` of lines that are a part of a module."""

_NAME = r"[A-Za-z_$][\w$]*(?:[.:-][\w$]+)*"
_NAMES = r"(?:[\w$]+|\{[^{}]*\}?|\*\s*as\s+[\w$]+)"
_MODULE = re.compile(
    rf"import\s+(?:['\"]|(?:type\s+)?{_NAMES}(?:\s*,\s*{_NAMES})?(?:\s+from\s+['\"]|(?<=\}})\s*from"
    r"\s*['\"]|$))"
    r"|export\s+(?:(?:const|let|var)\s+[\w${\[][^=]*=|(?:default\s+)?(?:async\s+)?function\b\s*[*\w$(]"
    r"|(?:default\s+)?class\s+[\w${]|default\s+(?:[\w$.]+;?$|[({\[<]|[\w$]+\(|\([^()]*\)\s*=>)"
    r"|(?:type\s+)?\{|\*\s*(?:from|as)\b|(?:type|interface)\s+[\w$]+\s*[={<])"
)
_GOES_ON = re.compile(r"(?:[=,(\[{+&|?:.]|=>|\bfrom)$")
# Of JavaScript: comments, strings, brackets.  Quotation marks that are not closed are words of JSX.
_CODE = re.compile(
    r"(?<![:\\])//[^\n]*|/\*(?:(?!\*/)[\s\S]){0,5000}\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|[`{}()\[\]]|\\."
)
_TEMPLATE = re.compile(r"\\[\s\S]|`|\$\{")
_CLOSING = "})]"
_UNCLOSED = "unclosed module"
_INDENT_OF_CODE = 4
_TAG_BEGIN = re.compile(rf"</?\s*(?P<name>{_NAME})?")
_SPACES = re.compile(r"\s*")
_ATTRIBUTE = re.compile(
    rf"(?:@|v-)?{_NAME}(?P<value>\s*=\s*(?:\"[^\"]*\"|'[^']*'|(?=\{{)|[^\s\"'{{}}<>=`]+))?"
)
_COMMENT = re.compile(r"<!--[\s\S]*?-->")
_NO_CONTENT = re.compile(r"\{\s*(?:/\*[\s\S]*\*/|(['\"`])\s*\1)?\s*\}")
_VOID = frozenset(["area", "br", "col", "embed", "hr", "img", "input", "source", "track", "wbr"])
_VERBATIM = frozenset(["code", "math", "pre", "script", "style", "svg"])


def module_lines(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Lines of ``import`` and ``export``, up to where their brackets are closed."""
    if silent or state.sCount[start] or not _MODULE.match(line_of(state, start)):
        return False
    brackets, stop = _Brackets(), start
    is_bounded = state.env.get(_UNCLOSED) is state.src  # time would grow with the square
    while stop < end:
        line = line_of(state, stop)
        if not line and (is_bounded or not brackets.opened):
            break
        brackets.read(state.src[state.bMarks[stop] : state.eMarks[stop]] + "\n")
        stop += 1
        is_over = not brackets.opened and not _GOES_ON.search(line)
        if is_over and (stop == end or not state.sCount[stop] or state.isEmpty(stop)):
            break
    if brackets.opened:  # it is never closed: up to the first empty line
        stop = next((at for at in range(start, stop) if state.isEmpty(at)), stop)
        state.env[_UNCLOSED] = state.src
    add_lines(state, start, stop, silent)
    state.tokens[-1].meta[ESM] = True
    return True


def jsx_lines(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Lines of tags and expressions alone."""
    place = state.bMarks[start] + state.tShift[start]
    if state.src[place : place + 1] not in {"<", "{"}:
        return False
    limit, number = state.eMarks[end - 1], start
    while place < limit:
        after = _item_end(state.src, place, limit)
        if after < 0:
            return False
        while number < end and state.eMarks[number] < after:
            number += 1
        if number == end:
            return False
        place = _SPACES.match(state.src, after, state.eMarks[number]).end()  # type: ignore[union-attr]
        if place == state.eMarks[number]:
            return add_lines(state, start, number + 1, silent)
    return False


def indented_lines(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Blocks that are indented so far that they would be code elsewhere."""
    indent = state.sCount[start]
    if silent or indent - state.blkIndent < _INDENT_OF_CODE:
        return False
    stop = start
    while stop < end and (state.isEmpty(stop) or state.sCount[stop] >= indent):
        stop += 1
    read_indented(state, start, stop, indent)
    return True


def jsx(state: StateInline, silent: bool) -> bool:
    """A tag or an expression within a line."""
    sign = state.src[state.pos]
    if sign not in "<{":
        return False
    end = _tag_end(state.src, state.pos, state.posMax)
    if sign == "{":
        end = expression_end(state.src, state.pos, state.posMax)
    if end < 0:
        return False
    if not silent:
        token = state.push("html_inline" if sign == "<" else EXPRESSION, "", 0)
        token.content = state.src[state.pos : end]
    state.pos = end
    return True


def jsx_kind(raw: str) -> tuple[Literal["open", "close", "point"], str]:
    """Whether a tag begins or ends an element, and its name, which is empty for a fragment."""
    found = _TAG_BEGIN.match(raw)
    name = "" if found is None else found["name"] or ""
    if raw.startswith("<!--") or raw.endswith("/>") or name in _VOID:
        return "point", name
    return ("close" if raw.startswith("</") else "open"), name


def has_content(expression: str) -> bool:
    """Whether an expression is neither a comment nor white space."""
    return _NO_CONTENT.fullmatch(expression) is None


def expression_end(text: str, start: int, limit: int) -> int:
    """End of an expression in braces, or -1 if it does not end."""
    known = _known_ends(text)
    if start not in known:
        brackets = _Brackets()
        brackets.read(text, start, limit, ends=known)
    end = known.get(start, -1)
    return end if end <= limit else -1


@lru_cache(maxsize=32)
def _known_ends(text: str) -> dict[int, int]:
    """Ends of the brackets of a text, as far as known: it is read once for all of them."""
    return {}


class _Brackets:
    """The brackets of JavaScript that are open."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, int]] = []

    def read(
        self,
        text: str,
        start: int = 0,
        limit: int | None = None,
        ends: dict[int, int] | None = None,
    ) -> None:
        """Read on in JavaScript, or in a text that it is in.

        If ``ends`` are given, they get the end of each bracket, -1 for those that do not end, and
        reading stops when all are closed.
        """
        limit, place = len(text) if limit is None else limit, start
        while place < limit:
            in_template = bool(self.opened) and self.opened[-1][0] == "`"
            found = (_TEMPLATE if in_template else _CODE).search(text, place, limit)
            if found is None:
                break
            place, sign = found.end(), found[0][-1]
            if (in_template and sign == "`") or (len(found[0]) == 1 and sign in _CLOSING):
                if self.opened:
                    _, at = self.opened.pop()
                    if ends is not None:
                        ends[at] = place
                if ends is not None and not self.opened:
                    return
            elif sign == "{" or (len(found[0]) == 1 and sign in "`(["):
                self.opened.append((sign, place - 1))
        if ends is not None:
            ends.update((at, -1) for _, at in self.opened)


def _item_end(text: str, place: int, limit: int) -> int:
    """End of a tag, an expression or an element without prose, or -1 if there is none."""
    if text[place] == "{":
        return expression_end(text, place, limit)
    end = _tag_end(text, place, limit) if text[place] == "<" else -1
    kind, name = jsx_kind(text[place:end]) if end > 0 else ("point", "")
    if kind == "open" and name in _VERBATIM:
        closing = text.find(f"</{name}>", end, limit)
        return -1 if closing < 0 else closing + len(name) + 3
    return end


def _tag_end(text: str, start: int, limit: int) -> int:
    """End of a tag of JSX, a fragment or a comment, or -1 if there is none."""
    if (comment := _COMMENT.match(text, start, limit)) is not None:
        return comment.end()
    begin = _TAG_BEGIN.match(text, start, limit)
    place = -1 if begin is None else begin.end()
    is_fragment = begin is not None and not begin["name"]
    while 0 <= place < limit:
        place = _SPACES.match(text, place, limit).end()  # type: ignore[union-attr]
        if text.startswith(">", place):
            return place + 1
        if text.startswith("/>", place) and not is_fragment:
            return place + 2
        place = -1 if is_fragment else _attribute_end(text, place, limit)
    return -1


def _attribute_end(text: str, place: int, limit: int) -> int:
    """End of an attribute with its value, or -1 if there is none."""
    if text.startswith("{", place):
        return expression_end(text, place, limit)
    found = _ATTRIBUTE.match(text, place, limit)
    if found is None:
        return -1
    value = found["value"]
    if value is not None and not value.lstrip("= \t\r\n"):
        return expression_end(text, found.end(), limit)
    return found.end()
