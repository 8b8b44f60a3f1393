"""Strings of programs in YAML, as Rails has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import yaml

from dragoman.core.errors import DataError
from dragoman.core.strict_yaml import compose_yaml
from dragoman.text.character_encoding import decode
from dragoman.text.language_codes import is_language_tag
from dragoman.text.string_files.keyed_string import Key, KeyedString

_STRING = "tag:yaml.org,2002:str"


def yaml_entries(content: bytes) -> list[KeyedString]:
    """The strings of a file, in order.

    The language at the top of a file of Rails is left out.

    Raises:
        DataError: not YAML.
    """
    text, _ = decode(content, is_page=False)
    root = read_nodes(text)
    key = language_key(root)
    return list(_entries(root if key is None else root.value[0][1]))  # type: ignore[union-attr]


def read_nodes(text: str) -> yaml.Node | None:
    """The nodes of a YAML document.

    Raises:
        DataError: not YAML that is read, with its line.
    """
    try:
        return compose_yaml(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise DataError(f"not YAML that is read: {error.problem}{place}; correct it") from error
    except yaml.YAMLError as error:
        raise DataError(f"not YAML: {' '.join(str(error).split())}; correct it") from error


def language_key(root: yaml.Node | None) -> yaml.ScalarNode | None:
    """The only key of a document, if it is a language."""
    if not isinstance(root, yaml.MappingNode) or len(root.value) != 1:
        return None
    key, value = root.value[0]
    if not isinstance(key, yaml.ScalarNode) or not isinstance(value, yaml.MappingNode):
        return None
    return key if is_language_tag(str(key.value)) else None


def is_string(node: yaml.Node) -> TypeGuard[yaml.ScalarNode]:
    """Whether a node is a string, and no number, date or truth value."""
    return isinstance(node, yaml.ScalarNode) and node.tag == _STRING


def _entries(root: yaml.Node | None) -> Iterator[KeyedString]:
    waiting: list[tuple[Key, yaml.Node]] = [] if root is None else [((), root)]
    seen: set[int] = set()  # collections, whose aliases would multiply
    while waiting:
        key, node = waiting.pop()
        if is_string(node):
            yield KeyedString(key, node.value)
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            waiting += [
                ((*key, name.value), value)
                for name, value in reversed(node.value)
                if isinstance(name, yaml.ScalarNode)
            ]
        elif isinstance(node, yaml.SequenceNode):
            waiting += [((*key, str(at)), one) for at, one in reversed([*enumerate(node.value)])]
