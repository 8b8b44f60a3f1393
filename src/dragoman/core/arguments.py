"""Checks of arguments from programs: a value of the wrong kind is one clear error.

Without them, Python would treat a string as a list of its characters, and report a number among
lines only from deep inside, in terms of another library.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from dragoman.core.errors import UsageError
from dragoman.core.wording import shown

Item = TypeVar("Item")


def check_text(text: object, name: str) -> str:
    """Return ``text`` if it is a string; ``name`` is its name in the error.

    Raises:
        UsageError: it is not a string.
    """
    if isinstance(text, str):
        return text
    if isinstance(text, (bytes, bytearray, memoryview)):
        raise UsageError(f"{name}: expected a string, not bytes; decode them: .decode('utf-8')")
    raise UsageError(f"{name}: expected a string, found {_described(text)}")


def check_lines(lines: Iterable[str], name: str = "line") -> Iterator[str]:
    """Iterate over ``lines``, checking that each is a string, called ``name`` in the error.

    Raises:
        UsageError: at once, if it is a single string or not iterable; later, if an item is not a
            string.
    """
    given: object = lines
    if isinstance(given, str):
        raise UsageError(
            f"expected a list of strings, not one string, {shown(given)}; put it into a list: "
            "[text]"
        )
    if isinstance(given, (bytes, bytearray, memoryview)):
        raise UsageError(
            "expected a list of strings, not bytes; decode them: .decode('utf-8').splitlines()"
        )
    try:
        each = iter(lines)
    except TypeError as error:
        raise UsageError(
            f"expected a list of strings or another iterable, found {_described(given)}"
        ) from error
    return (check_text(line, f"{name} {number}") for number, line in enumerate(each, 1))


def check_function(function: object, name: str) -> None:
    """Check that ``function`` can be called; ``name`` is its name in the error.

    Raises:
        UsageError: it cannot be called.
    """
    if not callable(function):
        raise UsageError(f"{name}: expected a function, found {_described(function)}")


def check_list(values: Iterable[Item], name: str, items: str) -> Iterator[Item]:
    """Iterate over ``values``, whose items the caller checks.

    ``name`` and ``items`` name the values and the expected kind of items in the error.

    Raises:
        UsageError: at once, if it is not iterable.
    """
    try:
        return iter(values)
    except TypeError as error:
        raise UsageError(
            f"{name}: expected a list of {items}, found {_described(values)}"
        ) from error


def check_languages(languages: object) -> tuple[str, str]:
    """Return a source and a target language, if these are two strings.

    Raises:
        UsageError: it is anything else, such as one string for both.
    """
    given = tuple(languages) if isinstance(languages, (list, tuple)) else ()
    if len(given) == 2 and all(isinstance(language, str) for language in given):
        return given
    raise UsageError(
        "languages: expected a source and a target language, such as ('en', 'de'), found "
        f"{_described(languages)}"
    )


def check_path(path: object, name: str = "model or run") -> Path:
    """Return ``path`` as a :class:`~pathlib.Path`; ``name`` is its name in the error.

    Raises:
        UsageError: it is not a path, or it is empty.
    """
    if isinstance(path, (str, os.PathLike)):
        given = os.fspath(path)
        if isinstance(given, str):
            if not given:
                raise UsageError(f"an empty name is not a path; name a {name}")
            return Path(given)
    is_list = isinstance(path, (list, tuple, set, frozenset))
    several = "; give several one by one: load('one', 'two')" if is_list else ""
    raise UsageError(
        f"expected the path of a {name} as a string or pathlib.Path, found "
        f"{_described(path)}{several}"
    )


def _described(value: object) -> str:
    return "None" if value is None else f"{shown(value)} ({type(value).__name__})"
