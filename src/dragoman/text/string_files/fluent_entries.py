"""Strings of Mozilla's Fluent: ``main.ftl`` (Fluent Syntax 1.0)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from dragoman.core.errors import DataError, MissingExtraError
from dragoman.text.character_encoding import decode, line_of
from dragoman.text.string_files.keyed_string import Key, KeyedString

if TYPE_CHECKING:
    from fluent.syntax import ast

_UNSEEN = frozenset(
    ["accesskey", "class", "commandkey", "data", "href", "key", "keycode", "src", "style", "width"]
)
"""Attributes of messages whose values are for programs."""


class FluentString(NamedTuple):
    """The pattern of a message, a term or an attribute."""

    key: Key
    pattern: ast.Pattern


def read_fluent(text: str) -> list[FluentString]:
    """The strings of a file, in order, without attributes that nobody reads.

    Raises:
        DataError: it is damaged; with the line.
        MissingExtraError: the parser is missing.
    """
    try:
        from fluent.syntax import FluentParser, ast
    except ModuleNotFoundError as error:
        raise MissingExtraError.of("Fluent", "fluent.syntax") from error
    try:
        resource = FluentParser(with_spans=True).parse(text)
    except RecursionError:
        raise DataError("placeables are nested too deeply") from None
    found: list[FluentString] = []
    for entry in resource.body:
        if isinstance(entry, ast.Junk):
            problem = entry.annotations[0] if entry.annotations else None
            place = problem.span.start if problem and problem.span else 0
            reason = f": {problem.message}" if problem else ""
            raise DataError(f"not Fluent at line {line_of(text, place)}{reason}")
        if not isinstance(entry, (ast.Message, ast.Term)):
            continue
        is_term = isinstance(entry, ast.Term)
        name = f"-{entry.id.name}" if is_term else entry.id.name
        if entry.value is not None:
            found.append(FluentString((name,), entry.value))
        found += [
            FluentString((name, f".{one.id.name}"), one.value)
            for one in entry.attributes
            if not is_term and one.id.name.lower() not in _UNSEEN
        ]
    return found


def fluent_entries(content: bytes) -> list[KeyedString]:
    """The strings of a file, in order; of a choice, each variant.

    Strings with a choice among other words are left out.

    Raises:
        DataError: it is damaged; with the line.
    """
    text, _ = decode(content, is_page=False)
    return [entry for one in read_fluent(text) for entry in _entries(one.key, one.pattern)]


def _entries(key: Key, pattern: ast.Pattern) -> Iterator[KeyedString]:
    from fluent.syntax import ast
    from fluent.syntax.serializer import serialize_expression, serialize_variant_key

    parts: list[str] = []
    for one in pattern.elements:
        if isinstance(one, ast.TextElement):
            parts.append(one.value)
        elif isinstance(one.expression, ast.SelectExpression):
            if len(pattern.elements) == 1:
                for variant in one.expression.variants:
                    name = serialize_variant_key(variant.key)
                    yield from _entries((*key, name), variant.value)
            return
        elif isinstance(one.expression, ast.Placeable):
            return
        else:
            parts.append(f"{{ {serialize_expression(one.expression)} }}")
    yield KeyedString(key, "".join(parts))
