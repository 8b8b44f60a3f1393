"""Strings of programs in JSON: nested keys, i18next, messages of Chrome's extensions, ARB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dragoman.core.errors import DataError
from dragoman.text.character_encoding import decode
from dragoman.text.language_codes import is_language_tag
from dragoman.text.string_files.keyed_string import Key, KeyedString

_OF_A_MESSAGE = frozenset(["message", "description", "placeholders"])


def json_entries(content: bytes) -> list[KeyedString]:
    """The strings of a file, in order.

    A key that is the only one at the top and a language, as in files of Rails, is left out.

    Raises:
        DataError: not JSON, or nested too deeply.
    """
    root = loaded_json(content)
    if not isinstance(root, dict):
        return list(nested_entries(root, ()))
    if _is_chrome(root):
        return [KeyedString((name,), one["message"]) for name, one in root.items()]
    if _is_arb(root):
        return [
            KeyedString((name,), one)
            for name, one in root.items()
            if isinstance(one, str) and not name.startswith("@")
        ]
    return list(nested_entries(without_language(root), ()))


def loaded_json(content: bytes) -> Any:
    """The value of a document, in which all numbers are 0, as no string depends on them.

    Raises:
        DataError: not JSON, with its line, or nested too deeply.
    """
    text, _ = decode(content, is_page=False)
    try:
        return json.loads(text, parse_int=_zero, parse_float=_zero)
    except json.JSONDecodeError as error:
        raise DataError(
            f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}; correct it"
        ) from error
    except RecursionError as error:
        raise DataError("JSON with so many levels is not read") from error


def _zero(number: str) -> int:
    """The value of any number; Python refuses to read one with thousands of digits."""
    return 0


def without_language(root: dict[Any, Any]) -> Any:
    """A document, or the only value in it if its key is a language."""
    if len(root) == 1:
        ((name, value),) = root.items()
        if isinstance(value, dict) and is_language_tag(str(name)):
            return value
    return root


def nested_entries(root: Any, key: Key) -> Iterator[KeyedString]:
    """The strings in nested mappings and lists, in order."""
    waiting: list[tuple[Key, Any]] = [(key, root)]
    while waiting:  # no recursion, which fails if nesting is deep
        key, value = waiting.pop()
        if isinstance(value, str):
            yield KeyedString(key, value)
        elif isinstance(value, dict):
            waiting += [((*key, str(name)), one) for name, one in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((*key, str(at)), one) for at, one in reversed(list(enumerate(value)))]


def _is_chrome(root: dict[str, Any]) -> bool:
    """Whether each member has a message, as in ``_locales/en/messages.json``."""
    return bool(root) and all(
        isinstance(one, dict)
        and isinstance(one.get("message"), str)
        and one.keys() <= _OF_A_MESSAGE
        for one in root.values()
    )


def _is_arb(root: dict[str, Any]) -> bool:
    return isinstance(root.get("@@locale"), str) or any(
        name.startswith("@") and isinstance(one, dict) for name, one in root.items()
    )
