"""Markdown of site generators: notes, tabs, definitions, tags of templates, formulas.

To CommonMark their lines are parts of paragraphs.  Here they are blocks of their own, so that they
stay in place, and the text between them is read as it will be shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from markdown_it import MarkdownIt, helpers
from markdown_it.common.utils import unescapeAll
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from dragoman.text.placeholder_notations import TEMPLATE_TAG

TITLED = "titled"
"""The type of a token whose ``content`` is the title of a note, a tab or a container, or what an
abbreviation stands for.  If there is one, at the column ``meta[COLUMN]`` of its first line."""
COLUMN = "column"
NO_TEXT = "no_text"
"""The type of a token of lines without a text, which are its ``content``."""
ATTRIBUTES = "attributes"
"""The type of a token of attributes within a line."""

_INDENT = 4
_MOST_LINES = 100  # of a tag that is written over several
_LONGEST_TITLE = 500
_UNCLOSED = "unclosed"
_TAG_BEGINS = ("{%", "{{%", "{{<")
_TAG_ENDS = re.compile(r"%\}|>\}\}")
_ATTRIBUTE = r"(?:[.#][\w-]+|[\w-]+=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'{}]+))"
_ATTRIBUTES = rf"\{{:?[ \t]*{_ATTRIBUTE}(?:[ \t]+{_ATTRIBUTE})*[ \t]*\}}"
_WITHOUT_TEXT = re.compile(
    rf"(?:{TEMPLATE_TAG})(?:\s*(?:{TEMPLATE_TAG}))*"  # Jekyll and Jinja, Hugo
    rf"|\{{:[^{{}}\n]*\}}|{_ATTRIBUTES}"  # of the block above
    r"|\([^()\s]+\)=|\+{3}(?:[ \t].*)?"  # MyST: a target, the end of a block
    r"|%(?![\d({@]|[A-Za-z](?![A-Za-z])|\w+%).*"  # MyST: a comment; a placeholder is none
    r"|-+8<-+(?:[ \t].*)?"  # MkDocs: text from another file
    r"|(?i:\[TOC\]|\[\[_?TOC_?\]\])",
    re.DOTALL,
)
_VERBATIM = re.compile(
    r"\{[{%<]*[%<]-?\s*(?P<name>highlight|raw|verbatim|comment|codeblock|code|mermaid|math|katex)\b"
)
_ABBREVIATION = re.compile(r"\*\[[^\[\]\n]+\]:[ \t]+(?P<title>\S.*)")
_DEFINITION = re.compile(
    r":[ \t]+(?=\S)"
    r"|:[^\s:`{](?:[^:`\n]{0,60}[^\s:`])?:[ \t]+(?=\S)"  # a field of MyST; ":tada: words"
    r"|\[\^[^\[\]\s]+\]:[ \t]*(?=\S|$)"  # a footnote
)
_ROLE = re.compile(
    r"(?:\{[\w:.+-]+\}|:[A-Za-z][\w.+-]*(?::[\w.+-]+)*:)(`+)(?!`)[\s\S]{1,500}?(?<!`)\1(?!`)"
)
_NOTE = re.compile(
    r'(?:!!!|\?\?\?\+?) ?[\w-]+(?: +[\w-]+)*(?: +"(?P<title>.*)")?|===[+!]? +"(?P<tab>.*)"'
)
_CONTAINER = re.compile(r":{3,}(?:(?!:)(?:(?!:{3}).)*)?|/{3,}(?:[ \t]+[\w-]+(?:[ \t]*\|.*)?)?")
_KINDS = (
    "abstract attention bug caution danger details error example failure hint important info note "
    "question quote seealso success summary tip todo warning"
).replace(" ", "|")
_TITLED_DIRECTIVES = f"{_KINDS}|admonition|card|dropdown|grid-item-card|sidebar|tab-item|topic"
"""Directives of MyST whose argument is a text rather than code, a path or a number."""
_CONTAINER_TITLE = re.compile(
    rf":{{3,}}[ \t]*(?:(?:{_KINDS})(?:\[(?P<label>[^\[\]]+)\]|[ \t]+(?P<title>[^\s{{].*?))"
    rf"[ \t]*(?:\{{[^{{}}]*\}})?|\{{(?:{_TITLED_DIRECTIVES})\}}[ \t]+(?P<argument>\S.*?))"
    rf"|/{{3,}}[ \t]+(?:{_KINDS}|admonition|details|tab)[ \t]*\|[ \t]*(?P<heading>\S.*)",  # MkDocs
    re.IGNORECASE,
)
_HIDING = re.compile(
    r"(?P<sign>:{3,})[ \t]*(?:mermaid|math|"
    r"\{(?:code|code-block|code-cell|eval-rst|literalinclude|math|mermaid|raw|sourcecode|toctree)\})"
)
_OPTION = re.compile(r":[\w-]+:(?:[ \t].*)?")  # MyST
_INLINE_ATTRIBUTES = re.compile(rf"(?<!\{{){_ATTRIBUTES}(?!\}})")
_IN_ADDRESS = re.compile(rf"{TEMPLATE_TAG}|\{{\{{[^{{}}\n]*\}}\}}")
_LONGEST_ADDRESS = 2000
# As Pandoc reads them, so that prices are none: no space at an end, and no digit behind.  The
# dollar of a placeholder such as %1$tY begins none.
_FORMULA = re.compile(
    r"(?<!\$)(?<!%\d)(?<!%\d\d)"
    r"(?:\$\$(?!\s)[^$]+?(?<!\s)\$\$|\$(?![\s$])(?:\\.|[^$\\\n])+?(?<!\s)\$(?![\d$]))"
)


def add_blocks(parser: MarkdownIt) -> None:
    """Add the blocks to a parser, each of which ends a paragraph in front of it."""
    for rule in (_without_text, _formula_lines, _container_line, _note, _abbreviation, _definition):
        options: RuleOptionsType = {"alt": ["paragraph", "blockquote", "list"]}
        parser.block.ruler.before("fence", rule.__name__, rule, options)


def whole_match(
    pattern: re.Pattern[str], kind: str, tag: str = ""
) -> Callable[[StateInline, bool], bool]:
    """A rule that makes one token of a part of a line that a pattern matches."""

    def rule(state: StateInline, silent: bool) -> bool:
        found = pattern.match(state.src, state.pos, state.posMax)
        if found is None:
            return False
        if not silent:
            state.push(kind, tag, 0).content = found[0]
        state.pos = found.end()
        return True

    return rule


formula = whole_match(_FORMULA, "code_inline", "code")
role = whole_match(_ROLE, "code_inline", "code")
"""A role of MyST or reStructuredText, such as ``{ref}`a```."""
attributes = whole_match(_INLINE_ATTRIBUTES, ATTRIBUTES)
"""``{ .class key=value }``, which belongs to the link or image in front of it."""


def link_destination(text: str, place: int, maximum: int) -> Any:
    """The address of a link, in which tags of templates may have spaces.

    Instead of ``parseLinkDestination`` of the parser's helpers, and with what that returns.
    """
    window = text[place : min(maximum, place + _LONGEST_ADDRESS)]
    solid = _IN_ADDRESS.sub(lambda tag: "x" * len(tag[0]), window)
    if solid == window:
        return helpers.parseLinkDestination(text, place, maximum)
    destination = helpers.parseLinkDestination(solid, 0, len(solid))
    if destination.ok:
        destination.str = unescapeAll(window[: destination.pos].strip("<>"))
        destination.pos += place
    return destination


def is_line_of_dialect(state: StateBlock, number: int, end: int) -> bool:
    """Whether a line within a block of HTML is of a dialect, so that generators read it first."""
    rules = (_without_text, _container_line, _note)
    return any(rule(state, number, end, True) for rule in rules)


def is_template_line(state: StateBlock, number: int) -> bool:
    """Whether a line begins with a tag of a template."""
    return line_of(state, number).startswith(_TAG_BEGINS)


def line_of(state: StateBlock, number: int) -> str:
    """A line without white space at its ends.  Empty if it is code by its indentation."""
    if state.is_code_block(number):
        return ""
    return state.src[_first(state, number) : state.eMarks[number]].rstrip()


def _first(state: StateBlock, number: int) -> int:
    """Start of the words of a line."""
    return state.bMarks[number] + state.tShift[number]


def _is_within(state: StateBlock, number: int) -> bool:
    """Whether a line still belongs to the list or note that is read."""
    return state.sCount[number] >= state.blkIndent or state.isEmpty(number)


def _closed(
    state: StateBlock, start: int, end: int, name: str, closes: Callable[[str], object]
) -> int | None:
    """The line behind the first closing line of an open block, or None if there is none.

    A failed search is not repeated, which would need quadratic time.
    """
    source, reached = state.env.get(_UNCLOSED, (None, {}))
    if source is not state.src:
        reached = {}
        state.env[_UNCLOSED] = state.src, reached
    key = name, state.blkIndent
    if start < reached.get(key, 0):
        return None
    number = start
    while number < end and _is_within(state, number):
        number += 1
        if closes(line_of(state, number - 1)):
            return number
    reached[key] = number
    return None


def add_lines(state: StateBlock, start: int, stop: int, silent: bool) -> bool:
    """Lines without a text."""
    if not silent:
        token = state.push(NO_TEXT, "", 0)
        token.map, state.line = [start, stop], stop
        token.content = state.src[_first(state, start) : state.eMarks[stop - 1]]
    return True


def _add_title(token: Token, state: StateBlock, start: int, found: re.Match[str] | None) -> None:
    """The title of a line, in one of the groups of a match."""
    if found is not None and (group := found.lastgroup) is not None:
        begin = _first(state, start)
        token.content = found[group]
        token.meta[COLUMN] = begin - state.src.rfind("\n", 0, begin) - 1 + found.start(group)


def lines_without_text(
    line: Callable[[int], str],
    start: int,
    end: int,
    is_within: Callable[[int], bool] = lambda number: True,
) -> int:
    """End of a run of lines with tags of templates, attributes or the like alone.

    ``line`` gives the words of a line, and ``is_within`` whether it still belongs to the block that
    is read.  The end is ``start`` if there are no such lines.
    """
    lines, stop = [line(start)], start + 1
    if lines[0].startswith(_TAG_BEGINS):
        last = min(end, start + _MOST_LINES)
        while not _TAG_ENDS.search(lines[-1]) and stop < last and is_within(stop):
            lines.append(line(stop))
            stop += 1
    text = "\n".join(lines)
    if not _WITHOUT_TEXT.fullmatch(text):
        return start
    return stop


def _without_text(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Lines of tags of templates alone.  A tag may span several lines."""
    stop = lines_without_text(partial(line_of, state), start, end, partial(_is_within, state))
    if stop == start:
        return False
    text = "\n".join(line_of(state, number) for number in range(start, stop))
    if (verbatim := _VERBATIM.match(text)) is not None:
        closing = re.compile(rf"\{{[{{%<]*[%<]-?\s*(?:end|/\s*){verbatim['name']}\b")
        if not closing.search(text):
            stop = _closed(state, stop, end, verbatim["name"], closing.match) or stop
    return add_lines(state, start, stop, silent)


def _formula_lines(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Lines from ``$$`` to ``$$``, or a ``$$`` alone if it is not closed."""
    first, stop = line_of(state, start), start + 1
    if first == "$$":
        stop = _closed(state, stop, end, "$$", lambda line: line.endswith("$$")) or stop
    elif not (first.startswith("$$") and _FORMULA.fullmatch(first)):
        return False
    return add_lines(state, start, stop, silent)


def _container_line(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The line that begins or ends a container: ``:::tip A title``, ``:::``, ``/// note``."""
    line, stop = line_of(state, start), start + 1
    if not _CONTAINER.fullmatch(line):
        return False
    if (hiding := _HIDING.match(line)) is not None:
        sign = hiding["sign"]
        return add_lines(state, start, _closed(state, stop, end, sign, sign.__eq__) or stop, silent)
    if not silent:
        while "{" in line and stop < end and _OPTION.fullmatch(line_of(state, stop)):
            stop += 1
        token = state.push(TITLED, "", 0)
        token.map, state.line = [start, stop], stop
        if len(line) <= _LONGEST_TITLE:
            _add_title(token, state, start, _CONTAINER_TITLE.fullmatch(line))
    return True


def _note(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """``!!! note "A title"`` or ``=== "A tab"``, and the indented blocks that follow it."""
    found = _NOTE.fullmatch(line_of(state, start))
    if found is None:
        return False
    indent = state.sCount[start] + _INDENT
    last = _end_of_run(state, start, end, lambda number: state.sCount[number] >= indent)
    if last == start + 1 or silent:
        return last > start + 1
    token = state.push(TITLED, "", 1)
    token.map = [start, start + 1]
    _add_title(token, state, start, found)
    parent, state.parentType = state.parentType, "admonition"
    read_indented(state, start + 1, last, indent)
    state.parentType = parent
    state.push("note_end", "", -1)
    return True


def _abbreviation(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """``*[HTML]: Hypertext Markup Language``."""
    found = _ABBREVIATION.fullmatch(line_of(state, start))
    if found is not None and not silent:
        token = state.push(TITLED, "", 0)
        token.map, state.line = [start, start + 1], start + 1
        _add_title(token, state, start, found)
    return found is not None


def _definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """``: A definition`` below its term, a field or a footnote, with the indented blocks below."""
    found = _DEFINITION.match(line_of(state, start))
    if found is None or silent:
        return found is not None
    width = found.end()
    indent = state.sCount[start] + min(width, _INDENT)
    last = _end_of_run(state, start, end, lambda number: _goes_on(state, number, end, indent))
    state.push("definition_open", "", 1)
    marks = state.bMarks[start], state.tShift[start], state.sCount[start]
    # As if it began where the lines below do, though what is in front of it may be longer.
    state.bMarks[start] += max(0, width - _INDENT)
    state.tShift[start] += min(width, _INDENT)
    state.sCount[start] = indent
    read_indented(state, start, last, indent)
    state.bMarks[start], state.tShift[start], state.sCount[start] = marks
    state.push("definition_close", "", -1)
    return True


def _end_of_run(state: StateBlock, start: int, end: int, belongs: Callable[[int], bool]) -> int:
    """The line behind the last one that belongs to a line, empty lines between aside."""
    stop = last = start + 1
    while stop < end and (state.isEmpty(stop) or belongs(stop)):
        last = last if state.isEmpty(stop) else stop + 1
        stop += 1
    return last


def read_indented(state: StateBlock, start: int, stop: int, indent: int) -> None:
    """Read the blocks in some lines as if their indentation were none."""
    before = state.lineMax, state.blkIndent
    state.lineMax, state.blkIndent = stop, indent
    state.md.block.tokenize(state, start, stop)
    state.lineMax, state.blkIndent = before
    state.line = stop


def _goes_on(state: StateBlock, number: int, end: int, indent: int) -> bool:
    """Whether a line belongs to the definition in front: it is indented, or ends its paragraph."""
    if state.sCount[number] >= indent:
        return True
    is_term = number + 1 < end and _DEFINITION.match(line_of(state, number + 1)) is not None
    follows = not state.isEmpty(number - 1) and _DEFINITION.match(line_of(state, number)) is None
    return follows and not is_term and state.sCount[number] >= state.blkIndent
