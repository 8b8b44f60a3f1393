"""JSON with the places of its values in the text, so that single strings can be replaced."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from dragoman.core.errors import DataError
from dragoman.text.character_encoding import line_of

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_MOST_LEVELS = 200
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass
class JsonNode:
    """A value of a JSON document."""

    kind: Literal["object", "array", "string", "other"]
    start: int
    """In characters of the text."""
    stop: int = 0
    value: str = ""
    """Of a string."""
    members: list[JsonMember] = field(default_factory=list)
    """Of an object, in order."""
    items: list[JsonNode] = field(default_factory=list)
    """Of an array."""

    def get(self, name: str) -> JsonNode | None:
        """The value of a member."""
        return next((member.node for member in self.members if member.name == name), None)

    def text(self, name: str) -> str | None:
        """The value of a member that is a string."""
        node = self.get(name)
        return node.value if node is not None and node.kind == "string" else None


@dataclass
class JsonMember:
    """A key with its value."""

    name: str
    key_start: int
    key_stop: int
    node: JsonNode


def read_json(text: str) -> JsonNode:
    """The value of a JSON document.

    Raises:
        DataError: it is not JSON, has a key twice, is nested too deeply, or has a string that is no
            text.  The message has the line.
    """
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise DataError(
            f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}; correct it"
        ) from error
    except RecursionError as error:
        raise DataError(f"JSON with more than {_MOST_LEVELS} levels is not read") from error
    return _Reading(text).node()


def json_string(text: str, *, ascii_only: bool = False) -> str:
    """A string as JSON writes it."""
    return json.dumps(text, ensure_ascii=ascii_only)


class _Reading:
    def __init__(self, text: str) -> None:
        self._text = text
        self._opened: list[JsonNode] = []
        self._names: list[dict[str, int]] = []
        self._key: tuple[str, int, int] | None = None

    def node(self) -> JsonNode:
        root: JsonNode | None = None
        for found in _TOKEN.finditer(self._text):
            sign = found[0]
            if sign in ",:":
                continue
            if sign in "}]":
                self._opened.pop().stop = found.end()
                self._names.pop()
                continue
            node = self._of(found)
            if node is None:
                continue
            root = root or node
            if node.kind in ("object", "array"):
                if len(self._opened) >= _MOST_LEVELS:
                    raise DataError(
                        f"JSON with more than {_MOST_LEVELS} levels is not read, as at line "
                        f"{self._line(node.start)}"
                    )
                self._opened.append(node)
                self._names.append({})
        assert root is not None
        return root

    def _of(self, found: re.Match[str]) -> JsonNode | None:
        """The value that begins with a token, or None if it is a key."""
        sign = found[0]
        parent = self._opened[-1] if self._opened else None
        if sign == "{":
            node = JsonNode("object", found.start())
        elif sign == "[":
            node = JsonNode("array", found.start())
        elif sign.startswith('"'):
            value = self._string(found)
            if parent is not None and parent.kind == "object" and self._key is None:
                self._check_key(value, found.start())
                self._key = value, found.start(), found.end()
                return None
            node = JsonNode("string", found.start(), found.end(), value)
        else:
            node = JsonNode("other", found.start(), found.end())
        if parent is not None and parent.kind == "object":
            assert self._key is not None
            name, start, stop = self._key
            parent.members.append(JsonMember(name, start, stop, node))
            self._key = None
        elif parent is not None:
            parent.items.append(node)
        return node

    def _string(self, found: re.Match[str]) -> str:
        value: Any = json.loads(found[0])
        if _SURROGATE.search(value):
            raise DataError(
                f"a string with half of a surrogate pair at line {self._line(found.start())}; "
                "correct it"
            )
        return str(value)

    def _check_key(self, name: str, place: int) -> None:
        names = self._names[-1]
        if name in names:
            raise DataError(
                f"the key {name[:80]!r} occurs twice, at lines {self._line(names[name])} and "
                f"{self._line(place)}; remove one"
            )
        names[name] = place

    def _line(self, place: int) -> int:
        return line_of(self._text, place)
