"""YAML as configurations need it: plain values, no surprises, in time linear in the text.

Harmful YAML is refused, with its line: a key that occurs twice, aliases that multiply ("billion
laughs") or contain themselves, unlimited nesting, numbers that fit no machine type, characters
that are not text.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

MAX_VALUES = 100_000
"""Maximum values in a text, with aliases expanded."""
MAX_DEPTH = 50
"""Maximum levels of nesting."""
INTEGER_LIMIT = 2**63
"""Bound on whole numbers, which have 64 bits with their sign."""

_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")


def load_yaml(text: str) -> Any:
    """The value of a YAML document: mappings, lists, strings, numbers, booleans, dates, None.

    Raises:
        yaml.YAMLError: not YAML, or refused; with the place of the problem, if known.
    """
    return yaml.load(text, StrictLoader)  # a safe loader: it makes plain values only


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of a YAML document with their places; values and tags are not checked.

    Raises:
        yaml.YAMLError: not YAML, several documents, or refused, as by :func:`load_yaml`; but keys
            may occur twice.
    """
    loader = StrictLoader(text)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


class StrictLoader(yaml.SafeLoader):
    """PyYAML's safe loader with bounds, in which a key occurs once in its mapping.

    A subclass may define the tags of other programs' files.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._sizes: dict[int, int] = {}  # values by the id of a node, with those of aliases
        self._flat: set[int] = set()  # ids of the mappings whose merges are written out

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """The next node; refuses unlimited nesting and expansion."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        alias, mark = isinstance(event, yaml.AliasEvent), event.start_mark
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ComposerError(None, None, f"nested more than {MAX_DEPTH} levels deep", mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is None or id(node) in self._sizes:
            return node
        if alias:  # of a node that is not complete yet
            raise ComposerError(None, None, "an alias is inside what it refers to", mark)
        self._sizes[id(node)] = 1 + sum(self._sizes[id(part)] for part in _parts(node))
        if self._sizes[id(node)] > MAX_VALUES:
            problem = f"more than {MAX_VALUES:,} values, with aliases written out"
            raise ComposerError(None, None, problem, mark)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node; a value that does not fit its tag is a YAML error."""
        try:
            value = super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError, TypeError, ArithmeticError) as error:
            # Errors of PyYAML's own constructors for values such as 2001-99-99 or !!bool 3
            kind = node.tag.rpartition(":")[2]
            raise ConstructorError(
                None, None, f"{node.value!r:.40} cannot be read as {kind}", node.start_mark
            ) from error
        if isinstance(value, int) and not -INTEGER_LIMIT <= value < INTEGER_LIMIT:
            problem = "a whole number that does not fit into 64 bits"
            raise ConstructorError(None, None, problem, node.start_mark)
        if isinstance(value, str) and (found := _NO_CHARACTER.search(value)):
            problem = f"U+{ord(found[0]):04X} is not a character of text"
            raise ConstructorError(None, None, problem, node.start_mark)
        return value

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Expand the merges of a mapping; a key may occur only once outside merges."""
        if id(node) not in self._flat:  # what was written out already has keys of both
            self._flat.add(id(node))
            _check_keys(node)
        super().flatten_mapping(node)


def _check_keys(node: yaml.MappingNode) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value != "<<" and key.value in seen:
            problem = f"the key {key.value!r} occurs twice"
            raise ConstructorError(None, None, problem, key.start_mark)
        seen.add(str(key.value))


def _parts(node: yaml.Node) -> list[yaml.Node]:
    """The nodes in a list or mapping; none for a single value."""
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []
