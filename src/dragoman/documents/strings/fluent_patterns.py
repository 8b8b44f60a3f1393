r"""Patterns of Fluent, translated as messages of ICU are.

A pattern becomes a message whose arguments stand for its placeables, and whose branches for the
variants of its choices.  So the words around a choice are translated with each variant, and a
choice by number gets the variants of the target language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fluent.syntax import FluentParser, ast
from fluent.syntax.serializer import serialize_expression, serialize_variant_key
from typing_extensions import override

from dragoman.documents.strings.icu_messages import MessageValue
from dragoman.documents.strings.string_values import StringValue, is_code
from dragoman.text.icu_syntax import (
    IcuChoice,
    IcuMessage,
    NoIcuMessageError,
    argument_spans,
    has_choice,
    read_choices,
    unquoted,
)

_CATEGORIES = frozenset(["zero", "one", "two", "few", "many", "other"])
_SIGN = re.compile(r"[{}]")
_LINE_START = re.compile(r"(?:(?<=\n)|\A)([ ]*)([\[*.])")
_NAME = re.compile(r"[A-Za-z][\w-]*")
_INDENT = 4
"""Spaces that a level of a pattern is indented by."""


class FluentValue(StringValue):
    """The pattern of a message, a term or an attribute.

    Args:
        pattern: as it was parsed.
        raw: as it is written, from its first character that is no space.
        language: that it is translated into.
        column: spaces in front of its further lines.
    """

    def __init__(self, pattern: ast.Pattern, raw: str, language: str, column: int) -> None:
        self.source, self.texts, self._column = raw, [], column
        self._encoding = _Encoding()
        self._message: MessageValue | None = None
        try:
            message = self._encoding.message(pattern)
            if has_choice(message) or not is_code(message):
                self._message = MessageValue(message, language, doubles=True)
        except (NoIcuMessageError, RecursionError):
            return
        if self._message is not None:
            self.texts = self._message.texts

    @override
    def joined(self, translations: Sequence[str]) -> str:
        if self._message is None:
            return self.source
        joined = self._message.joined(translations)
        if joined == self._message.source:
            return self.source
        written = self._encoding.written(read_choices(joined), self._column).strip(" \n")
        return written if _is_pattern(written) else self.source


def _is_pattern(written: str) -> bool:
    """Whether a program reads it as one pattern."""
    body = FluentParser(with_spans=False).parse(f"key =\n    {written}\n").body
    if len(body) != 1 or not isinstance(body[0], ast.Message):
        return False
    return body[0].value is not None and not body[0].attributes


class _Encoding:
    """Which arguments and branches of a message stand for what of a pattern."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        """Names of arguments by their expressions."""
        self._keys: dict[tuple[str, str], str] = {}
        """Keys of variants by the names of an argument and a branch."""
        self._selectors: dict[str, str] = {}
        """Selectors by the names of arguments."""

    def message(self, pattern: ast.Pattern) -> str:
        """The message for a pattern."""
        return "".join(
            _quoted(one.value) if isinstance(one, ast.TextElement) else self._part(one.expression)
            for one in pattern.elements
        )

    def _part(self, expression: ast.InlineExpression | ast.Placeable | ast.SelectExpression) -> str:
        if isinstance(expression, ast.Placeable):
            raise NoIcuMessageError("a placeable in a placeable")
        if not isinstance(expression, ast.SelectExpression):
            return f"{{{self._name(expression)}}}"
        keys = [serialize_variant_key(one.key) for one in expression.variants]
        default = next(one for one in expression.variants if one.default)
        default_key = serialize_variant_key(default.key)
        selector = serialize_expression(expression.selector)
        is_number = default_key == "other" and any(
            one in _CATEGORIES or one.isdigit() for one in keys if one != default_key
        )
        is_number = is_number and all(one in _CATEGORIES or one.isdigit() for one in keys)
        name = self._name(_counted(expression.selector) if is_number else expression.selector)
        if self._selectors.setdefault(name, selector) != selector:
            raise NoIcuMessageError("two ways to choose by one argument")
        kind = "select"
        if is_number:
            kind = "selectordinal" if '"ordinal"' in selector else "plural"
        branches = [
            f" {self._branch(name, key, one, is_number=is_number)} {{{self.message(one.value)}}}"
            for key, one in zip(keys, expression.variants, strict=True)
        ]
        return f"{{{name}, {kind},{''.join(branches)}}}"

    def _branch(self, name: str, key: str, variant: ast.Variant, *, is_number: bool) -> str:
        if is_number:
            branch = f"={key}" if key.isdigit() else key
        elif variant.default:
            branch = "other"
        else:
            branch = f"v{len(self._keys)}"
        if self._keys.setdefault((name, branch), key) != key:
            raise NoIcuMessageError("two choices by one argument")
        return branch

    def _name(self, expression: ast.InlineExpression) -> str:
        raw = serialize_expression(expression)
        if raw not in self._names:
            found = _NAME.search(raw.partition("(")[2] or raw)
            name = found[0] if found else "x"
            taken = set(self._names.values())
            number = 2
            unique = name
            while unique in taken:
                unique, number = f"{name}{number}", number + 1
            self._names[raw] = unique
        return self._names[raw]

    def written(self, message: IcuMessage, column: int) -> str:
        """The pattern for a message, whose further lines begin at a column."""
        return "".join(
            self._text(part, column) if isinstance(part, str) else self._choice(part, column)
            for part in message
        )

    def _text(self, raw: str, column: int) -> str:
        expressions = {name: expression for expression, name in self._names.items()}
        parts: list[str] = []
        end = 0
        for start, stop in argument_spans(raw):
            parts.append(_written(unquoted(raw[end:start]), column, is_start=not parts))
            parts.append(f"{{ {expressions[raw[start + 1 : stop - 1].strip()]} }}")
            end = stop
        parts.append(_written(unquoted(raw[end:]), column, is_start=not parts))
        return "".join(parts)

    def _choice(self, choice: IcuChoice, column: int) -> str:
        name = choice.head[1:].partition(",")[0].strip()
        lines = [f"{{ {self._selectors[name]} ->"]
        for branch in choice.branches:
            key = self._keys.get((name, branch.name), branch.name)
            sign = "*" if branch.name == "other" else ""
            text = self.written(branch.message, column + 2 * _INDENT).strip(" \n")
            lines.append(f"{f'{sign}[':>{column + _INDENT + 1}}{key}] {text or _NOTHING}")
        return "\n".join([*lines, f"{'}':>{column + 1}}"])


_NOTHING = '{ "" }'


def _counted(selector: ast.InlineExpression) -> ast.InlineExpression:
    """What a choice by number counts: the argument of ``NUMBER``, if it is one."""
    if isinstance(selector, ast.FunctionReference) and selector.arguments.positional:
        first = selector.arguments.positional[0]
        return selector if isinstance(first, ast.Placeable) else first
    return selector


def _quoted(text: str) -> str:
    """Text as a message has it."""
    return re.sub("[#|]+", lambda found: f"'{found[0]}'", text.replace("'", "''"))


def _written(text: str, column: int, *, is_start: bool) -> str:
    """Text as a pattern has it."""
    text = _SIGN.sub(lambda sign: f'{{ "{sign[0]}" }}', text)
    pattern = _LINE_START if is_start else _LATER_LINE_START
    text = pattern.sub(lambda found: f'{found[1]}{{ "{found[2]}" }}', text)
    return re.sub(r"\n(?=[^\n])", "\n" + " " * column, text)


_LATER_LINE_START = re.compile(r"(?<=\n)([ ]*)([\[*.])")
