"""Constituency trees: reading and writing brackets, and cleaning a treebank's trees.

A file of trees is in the format of the Penn Treebank (Marcus, Santorini and Marcinkiewicz 1993).  A
bracket is ``(LABEL constituent ...)`` or, for a word, ``(TAG word)``.  A tree takes one line or
several, all but the first indented.  Brackets in the text itself are written ``-LRB-`` and
``-RRB-``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dragoman.core.errors import DataError

EMPTY = "-NONE-"
"""The tag of an empty element, such as a trace."""
TOP = "TOP"
"""The label of a root that joins several constituents."""
DEEPEST = 200
"""Maximum depth of nested brackets, including a word's; newspaper text has at most about 30."""

_UNLABELLED = {"", TOP, "ROOT", "S1"}  # roots that treebanks put around a sentence
_TOKEN = re.compile(r"[()]|[^()\s]+")
_FUNCTION = re.compile(r"(?<=.)[-=|].*")  # NP-SBJ-1, ADVP|PRT; not -LRB-
_ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}


class TreeError(ValueError):
    """Text is not a tree; the message says why, and ``place`` says where."""

    def __init__(self, problem: str, place: tuple[int, int] = (1, 1)) -> None:
        super().__init__(problem)
        self.place = place
        """Line and column, from 1."""


@dataclass(frozen=True)
class Leaf:
    """A word with its part-of-speech tag."""

    tag: str
    word: str

    def __str__(self) -> str:
        return f"({self.tag} {self.word})"


@dataclass(frozen=True)
class Tree:
    """A constituent: a label over one or more constituents and words."""

    label: str
    children: tuple[Tree | Leaf, ...]

    def __str__(self) -> str:
        return f"({self.label} {' '.join(map(str, self.children))})"

    def leaves(self) -> Iterator[Leaf]:
        """The words with their tags, in order."""
        for child in self.children:
            if isinstance(child, Leaf):
                yield child
            else:
                yield from child.leaves()

    @property
    def words(self) -> list[str]:
        """The sentence."""
        return [leaf.word for leaf in self.leaves()]

    @property
    def tags(self) -> list[str]:
        """The tag of each word."""
        return [leaf.tag for leaf in self.leaves()]


def escaped(word: str) -> str:
    """A word as written in trees: ``-LRB-`` for an opening bracket, and so on."""
    if word in _ESCAPES:
        return _ESCAPES[word]
    return word.replace("(", _ESCAPES["("]).replace(")", _ESCAPES[")"])


def cleaned(tree: Tree) -> Tree | None:
    """A tree as parsers learn it and EVALB compares it (Collins 1997, and nearly all since).

    Empty elements are removed, with constituents that had no other content.  Of ``NP-SBJ-1``,
    ``NP=2`` and ``ADVP|PRT`` the first part stays.  A root that only wraps the sentence is removed.
    Chains of constituents over the same words stay.

    Returns:
        The tree; None if nothing is left.
    """
    kept = _cleaned(tree)
    while kept is not None and kept.label in _UNLABELLED:
        (first, *others) = kept.children
        if others or isinstance(first, Leaf):
            return Tree(TOP, kept.children)
        kept = first
    return kept


def _cleaned(tree: Tree) -> Tree | None:
    children: list[Tree | Leaf] = []
    for child in tree.children:
        if isinstance(child, Tree):
            if (below := _cleaned(child)) is not None:
                children.append(below)
        elif child.tag != EMPTY:
            children.append(child)
    return Tree(_FUNCTION.sub("", tree.label), tuple(children)) if children else None


def read_tree(text: str) -> Tree:
    """The tree in ``text``, as written; its outermost bracket may lack a label.

    Raises:
        TreeError: the text is not a tree.
    """
    reader = _Reader()
    first = None
    for number, line in enumerate(text.split("\n"), 1):
        for tree in reader.read(line, number):
            if first is not None:
                raise TreeError("text after the end of the tree", (number, 1))
            first = tree
    reader.check_complete()
    if first is None:
        raise TreeError("there is no tree")
    return first


def read_trees(lines: Iterable[str], name: str) -> Iterator[tuple[int, Tree | None]]:
    """The trees of a file, each with its first line number; None for a blank line.

    Raises:
        DataError: a bracket is not closed, or not opened; the message names line and column.
    """
    reader, begin = _Reader(), 1
    try:
        for number, line in enumerate(lines, 1):
            if reader.place is None:
                begin = number
                if not line.strip():
                    yield number, None
                    continue
            elif line.startswith("("):  # the lines of one tree are indented
                reader.check_complete()
            complete = list(reader.read(line, number))
            if len(complete) > 1:
                raise TreeError("several trees in one line; give each its own", (number, 1))
            if complete:
                if (place := reader.place) is not None:
                    raise TreeError("a tree begins behind another; give it its own line", place)
                yield begin, complete[0]
        reader.check_complete()
    except TreeError as error:
        line_number, column = error.place
        raise DataError(f"{name}:{line_number}:{column}: {error}") from error


@dataclass
class _Open:
    """An open bracket."""

    place: tuple[int, int]
    label: str | None = None
    word: str | None = None
    children: list[Tree | Leaf] = field(default_factory=list)


class _Reader:
    """Reads brackets line by line."""

    def __init__(self) -> None:
        self._stack: list[_Open] = []

    @property
    def place(self) -> tuple[int, int] | None:
        """The start of the current tree, or None if no bracket is open."""
        return self._stack[0].place if self._stack else None

    def check_complete(self) -> None:
        """Refuse open brackets."""
        if self._stack:
            count = len(self._stack)
            which = "this bracket is" if count == 1 else f"{count} brackets, this one first, are"
            raise TreeError(f"{which} not closed; add what is missing", self._stack[0].place)

    def read(self, line: str, number: int) -> Iterator[Tree]:
        """The trees that end on a line."""
        for match in _TOKEN.finditer(line):
            token, place = match[0], (number, match.start() + 1)
            if token == "(":
                self._begin(place)
            elif not self._stack:
                what = "a closing bracket" if token == ")" else f"{token!r:.40}"
                raise TreeError(f"{what} outside a tree, which begins with '('", place)
            elif token == ")":
                ended = self._end(place)
                if self._stack:
                    self._stack[-1].children.append(ended)
                else:
                    yield ended if isinstance(ended, Tree) else Tree("", (ended,))
            else:
                self._name(token, place)

    def _begin(self, place: tuple[int, int]) -> None:
        if len(self._stack) == DEEPEST:
            raise TreeError(f"over {DEEPEST} brackets in one another; not a sentence", place)
        if self._stack:
            above = self._stack[-1]
            if above.word is not None:
                raise TreeError(f"a bracket after the word {above.word!r:.40}", place)
            if above.label is None:
                if len(self._stack) > 1:
                    raise TreeError("a bracket without a label", above.place)
                above.label = ""
        self._stack.append(_Open(place))

    def _name(self, token: str, place: tuple[int, int]) -> None:
        """Take a label, or the word after a tag."""
        above = self._stack[-1]
        if above.label is None:
            above.label = token
        elif above.word is not None or above.children:
            raise TreeError(
                f"the word {token!r:.40} needs a bracket of its own, such as (NN {token:.40})",
                place,
            )
        else:
            above.word = token

    def _end(self, place: tuple[int, int]) -> Tree | Leaf:
        ended = self._stack.pop()
        if ended.word is not None:
            return Leaf(ended.label or "", ended.word)
        if not ended.children:
            raise TreeError("an empty bracket; a bracket has a label and a word or brackets", place)
        return Tree(ended.label or "", tuple(ended.children))
