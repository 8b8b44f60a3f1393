"""Codes of templates in HTML: what a program replaces or obeys before a browser sees the page.

They are read before markup is, since they may have any of its signs.  The notations are those of
Jinja, Django, Twig, Liquid, Handlebars, Vue, Angular, Go, Hugo (``{{ }}``, ``{% %}``, ``{# #}``),
ERB, EJS, JSP and ASP (``<% %>``), PHP (``<?php ?>``), Blade (``@if``, ``{!! !!}``), Freemarker
(``<#if>``), Mako, Velocity, Thymeleaf (``[[${ }]]``), Smarty, Latte, Svelte and Fluid (``{ }``),
as their manuals describe them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from functools import cached_property
from typing import Literal, NamedTuple

CodeRole = Literal["value", "control", "comment"]
"""A value is shown as a part of a sentence.  Control decides which text is shown, and ends texts.
A comment is not shown."""


class TemplateCode(NamedTuple):
    """A code at some place of a text."""

    end: int
    """After its last character."""
    role: CodeRole


class TemplateCodes:
    """Finds the codes of a text in linear time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: dict[str, int] = {}
        self._depth = 0  # blocks of Angular that are open
        self._last: tuple[int, TemplateCode | None] = (-1, None)

    def at(self, place: int) -> TemplateCode | None:
        """The code that begins at a place of text.  It is in front of no place asked for before."""
        if self._last[0] != place:
            self._last = place, self._at(place)
        return self._last[1]

    def _at(self, place: int) -> TemplateCode | None:
        code = self.delimited(place)
        if code is not None:
            return code
        for pattern, role in _TAGS:
            if found := pattern.match(self._text, place):
                return TemplateCode(found.end(), role)
        for pattern, role, longest in _BRACES:
            found = pattern.match(self._text, place)
            end = found and _closed(self._text, found.end(), longest)
            behind = _BEHIND.get(self._text[place : place + 2], "")
            if end and self._text.startswith(behind, end):
                return TemplateCode(end + len(behind), role)
        return self._word(place)

    def delimited(self, place: int) -> TemplateCode | None:
        """The code between delimiters that begins at a place, be it in a tag or in text."""
        text = self._text
        for begin, end, longest in _DELIMITERS:
            if not text.startswith(begin, place):
                continue
            inner = place + len(begin)
            stop = self._end(end, inner)
            if not inner <= stop <= inner + longest:
                continue
            content = text[inner:stop]
            if longest < _ANY and begin in content:
                continue
            code = TemplateCode(stop + len(end), self._role(begin, content))
            if begin == "{%" and (name := _VERBATIM.match(content)):
                return self._verbatim(code, name[1])
            return code
        return None

    def first(self, place: int, stop: int) -> tuple[int, TemplateCode] | None:
        """The first code between delimiters that begins in a part of a tag, and its place."""
        for found in _DELIMITER.finditer(self._text, place, stop):
            if (code := self.delimited(found.start())) is not None:
                return found.start(), code
        return None

    def _end(self, end: str, place: int) -> int:
        """Place of the next end delimiter, or -1 if there is none."""
        known = self._ends.get(end, 0)
        if 0 <= known < place:
            known = self._ends[end] = self._text.find(end, place)
        return known

    def _verbatim(self, code: TemplateCode, name: str) -> TemplateCode:
        """A tag of Jinja with the code or comment up to its end tag."""
        ends = self._verbatim_ends[name]
        index = bisect_left(ends, (code.end, 0))
        if index == len(ends):
            return code
        return TemplateCode(ends[index][1], "comment" if name == "comment" else "control")

    @cached_property
    def _verbatim_ends(self) -> defaultdict[str, list[tuple[int, int]]]:
        ends: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for match in _VERBATIM_END.finditer(self._text):
            ends[match[1]].append(match.span())
        return ends

    @cached_property
    def _ended(self) -> frozenset[str]:
        """Names of the tags that have an end."""
        return frozenset(match[1] or match[2] for match in _TAG_END.finditer(self._text))

    @cached_property
    def _has_blade(self) -> bool:
        return _BLADE_END.search(self._text) is not None

    @cached_property
    def _has_velocity(self) -> bool:
        return _VELOCITY_BEGIN.search(self._text) is not None

    def _role(self, begin: str, content: str) -> CodeRole:
        if begin in _COMMENTS:
            return "comment"
        if begin == "{{":
            return self._role_of_braces(content)
        if begin == "{%":
            return self._role_of_tag(content)
        return _role_of_script(begin, content) if begin[0] == "<" else "value"

    def _role_of_braces(self, content: str) -> CodeRole:
        if _BRACES_COMMENT.match(content):
            return "comment"
        if found := _HUGO.match(content):
            return "control" if found[1].startswith("/") or found[1] in self._ended else "value"
        return "control" if _BRACES_CONTROL.match(content) else "value"

    def _role_of_tag(self, content: str) -> CodeRole:
        found = _NAME.match(content)
        if found is None or found[1].startswith("end") or found[1] in _STATEMENTS:
            return "control"
        return "control" if found[1] in self._ended else "value"

    def _word(self, place: int) -> TemplateCode | None:
        """A code that begins with ``@`` or ``#`` and a word, or ends a block of Angular."""
        text = self._text
        sign = text[place : place + 1]
        if sign == "}" and self._depth:
            self._depth -= 1
            return TemplateCode(place + 1, "control")
        if sign not in ("@", "#") or (place and text[place - 1].isalnum()):
            return None
        for pattern, role in _WORDS[sign]:
            found = pattern.match(text, place)
            end = found and found.end()
            if end and text[end - 1] == "(":
                end = _closed(text, end, _LONG, _PARENTHESES)
            if not end:
                continue
            if pattern is _ANGULAR:
                if (opened := _OPENED.match(text, end)) is None:
                    continue
                self._depth += 1
                return TemplateCode(opened.end(), role)
            if pattern in _OF_PAIRS and not (
                self._has_blade if sign == "@" else self._has_velocity
            ):
                continue
            return TemplateCode(end, role)
        return None


_LONG, _ANY = 20_000, 10**9
_DEEPEST = 8
"""Brackets in one another within a code."""
_DELIMITERS = (
    ("{{!--", "--}}", _ANY),
    ("{{--", "--}}", _ANY),
    ("{{{", "}}}", _LONG),
    ("{{", "}}", _LONG),
    ("{%", "%}", _LONG),
    ("{#", "#}", _LONG),
    ("{*", "*}", _LONG),
    ("{!!", "!!}", _LONG),
    ("<%--", "--%>", _ANY),
    ("<%", "%>", _ANY),
    ("<#--", "-->", _ANY),
    ("<?php", "?>", _ANY),
    ("<?=", "?>", _ANY),
    ("<? ", "?>", _ANY),
    ("<?\n", "?>", _ANY),
)
"""How a code begins and ends, and how many characters may be between."""
_COMMENTS = frozenset(["{{!--", "{{--", "{#", "{*", "<%--", "<#--"])
_DELIMITER = re.compile(r"\{[{%#*!]|<[%#?]")
CODE_BEGIN = re.compile(r"[{}]|<(?=[%#@?/{$])|\$!?\{|[#*]\{|\[[\[(]|(?<!\w)[@#](?=[a-z])")
"""Signs with which a code in text may begin."""

_TAGS: tuple[tuple[re.Pattern[str], CodeRole], ...] = (
    # Freemarker and Mako
    (re.compile(r"<@[A-Za-z_](?:\"[^\"]*\"|'[^']*'|[^\"'<>]){0,500}/>"), "value"),
    (
        re.compile(r"</?[#@][A-Za-z_](?:\"[^\"]*\"|'[^']*'|\([^()<]*\)|[^\"'<>(]){0,500}>"),
        "control",
    ),
    (
        re.compile(
            r"</?%\s?(?:def|block|page|include|inherit|namespace|call|text|doc|\w+:\w+)\b"
            r"(?:\s+[\w:]+\s*=\s*(?:\"[^\"]*\"|'[^']*')){0,50}\s*/?>"
        ),
        "control",
    ),
    (re.compile(r"\{(?:else|literal|strip|ldelim|rdelim)\}"), "control"),
)
_BRACES: tuple[tuple[re.Pattern[str], CodeRole, int], ...] = (
    # Thymeleaf, JSP, Freemarker, Mako, Velocity
    (re.compile(r"\[[\[(][$#*@~]\{"), "value", _LONG),
    (re.compile(r"(?:\$!?|[#*])\{"), "value", _LONG),
    # Svelte, Smarty, Latte
    (re.compile(r"\{[#:/](?=[a-z])"), "control", _LONG),
    (
        re.compile(
            r"\{(?:if|elseif|foreach|for|while|section|include|assign|block|extends|capture|switch"
            r"|case|function|var|default)\s(?=[^{}\n]{0,500}[$='\"])"
        ),
        "control",
        _LONG,
    ),
    # Smarty, Svelte, Fluid, and the choices of ICU in Angular
    (re.compile(r"\{(?:\$|=|@html\b|@render\b)"), "value", _LONG),
    (
        re.compile(
            r"\{(?=[A-Za-z_][\w.:]{0,100}(?:[|(\[]|\s*(?:-(?:>|&gt;)|[?!=<>]=|\?\s)))",
        ),
        "value",
        500,
    ),
    (re.compile(r"\{(?=\s*[\w.]{1,100}\s*,\s*(?:plural|select|selectordinal)\s*,)"), "value", 5000),
)
"""How a code between braces begins, its role, and how many characters it may have."""
_BEHIND = {"[[": "]]", "[(": ")]"}
_BRACE, _PARENTHESES = re.compile(r"[{}]"), re.compile(r"[()]")

_ANGULAR = re.compile(
    r"@(?:(?:if|else\s+if|for|foreach|while|switch|case|defer|placeholder|loading)\s*\("
    r"|(?:else|empty|default|defer|placeholder|loading|error)(?=\s*\{))"
)
"""Also of Razor."""
_OPENED = re.compile(r"\s*\{")
_BLADE_ENDS = (
    r"end(?:if|unless|isset|empty|auth|guest|foreach|forelse|for|while|switch|section|push|prepend"
    r"|can|cannot|component|slot|php|verbatim|error|once|env|production|session|fragment)"
)
_BLADE_END = re.compile(rf"@{_BLADE_ENDS}\b")
_BLADE = re.compile(
    rf"@(?:[a-z][A-Za-z]+\s?\(|(?:{_BLADE_ENDS}|else|show|parent|stop|overwrite|append|default|break"
    r"|continue|php|once|auth|guest|verbatim|empty)\b)"
)
_VELOCITY_BEGIN = re.compile(r"#(?:if|foreach|set|macro)\s?\(")
_VELOCITY = re.compile(
    r"#(?:(?:if|elseif|foreach|set|parse|include|macro)\s?\(|(?:else|end)(?![\w-]))"
)
_OF_PAIRS = (_BLADE, _VELOCITY)
"""Codes that are some only where a text has what ends or begins their blocks."""
_WORDS: dict[str, tuple[tuple[re.Pattern[str], CodeRole], ...]] = {
    "@": (
        (_ANGULAR, "control"),
        (re.compile(r"@let\s+\w+\s*=[^;<>\n]{0,500};"), "control"),
        (
            re.compile(
                r"@csrf\b|@(?:lang|choice|yield|include(?:If|When|First)?|extends|method|json|stack"
                r"|vite|each)\s?\((?=\s*[\['\"$])"
            ),
            "value",
        ),
        (_BLADE, "control"),
    ),
    "#": ((_VELOCITY, "control"),),
}

_NAME = re.compile(r"[-+~]?\s*([A-Za-z_]\w*)")
_TAG_END = re.compile(r"\{%[-+~]?\s*end_?(\w+)|\{\{[<%]\s*/\s*([\w./-]+)")
_NAMES_OF_STATEMENTS = """
    assign autoescape block break call case continue do else elif elseif elsif embed empty extends
    filter for from if ifchanged import load macro plural pluralize set spaceless switch trim unless
    use when with
"""
_STATEMENTS = frozenset(_NAMES_OF_STATEMENTS.split())
"""Tags of Jinja, Django, Twig and Liquid that show nothing.  Others, such as ``url``, show
something, unless a text has an end of them."""
_VERBATIM = re.compile(r"[-+~]?\s*(comment|highlight|schema|javascript|stylesheet)\b")
_VERBATIM_END = re.compile(
    r"\{%[-+~]?\s*end(comment|highlight|schema|javascript|stylesheet)\b[^%{}]{0,100}%\}"
)
_BRACES_CONTROL = re.compile(
    r"[-~]?\s*(?:[#/^:]|(?:else|end|break|continue)\b"
    r"|(?:if|range|with|define|block|for|unless|each)\s+[^\s|.])"
)
_BRACES_COMMENT = re.compile(r"[-~]?\s*(?:!|/\*)")
_HUGO = re.compile(r"[<%]\s*(/?[\w./-]*)")
_SCRIPT_CONTROL = re.compile(
    r"\s*(?:(?:if|unless|else|elsif|elseif|end\w*|foreach|for|while|case|when|switch|default|begin"
    r"|break|do)\b|\})"
)
_SCRIPT_OPEN = re.compile(r"(?:[{:]|\bdo(?:\s*\|[^|]*\|)?)\s*-?\Z")


def _role_of_script(begin: str, content: str) -> CodeRole:
    """Of a code of ERB, EJS, JSP or PHP."""
    if begin == "<%":
        if content.startswith("#"):
            return "comment"
        is_shown = content.startswith(("=", ":", "-")) and not _is_open(content)
        is_shown &= not content.startswith("-") or _SCRIPT_CONTROL.match(content[1:]) is None
        return "value" if is_shown else "control"
    is_control = "\n" in content.strip() or _SCRIPT_CONTROL.match(content) or _is_open(content)
    return "control" if is_control and begin != "<?=" else "value"


def _is_open(content: str) -> bool:
    """Whether a code of a script goes on behind it, as ``form_for do |f|`` does."""
    return _SCRIPT_OPEN.search(content.rstrip()[-100:]) is not None


def _closed(text: str, place: int, longest: int, signs: re.Pattern[str] = _BRACE) -> int:
    """End of a bracket that was opened in front of a place, or 0 if it is too far."""
    depth = 1
    for found in signs.finditer(text, place, place + longest):
        depth += 1 if found[0] in "{(" else -1
        if not depth:
            return found.end()
        if depth > _DEEPEST:
            break
    return 0
