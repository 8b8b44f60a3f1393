"""A string of a program, with the key by which its translations are found."""

from __future__ import annotations

from typing import NamedTuple

Key = tuple[str, ...]
"""The names that lead to a string, such as ``("menu", "file", "open")``."""


class KeyedString(NamedTuple):
    """A string of a file."""

    key: Key
    text: str
    """Without the escapes of the file's format."""
