"""Trees as sequences of symbols, as a decoder writes them (Vinyals et al. 2015, arXiv:1412.7449).

``(S (NP John) (VP has (NP a dog)) .)`` becomes ``(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S``.
Closing brackets carry their label.  Words are left out, since the sentence has them; each leaves
its part-of-speech tag or, normalised as in the paper, ``XX``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dragoman.core.constituency import DEEPEST, TOP, Leaf, Tree, TreeError, read_tree

WORD = "XX"
"""The symbol of a word whose tag is left out."""

_CLOSING = re.compile(r"\)[^()\s]+")
_SYMBOL = re.compile(r"[()]?[^()\s]+")


def opened(symbol: str) -> str | None:
    """The label of an opening bracket; None for any other symbol."""
    return symbol[1:] if symbol.startswith("(") and len(symbol) > 1 else None


def closed(symbol: str) -> str | None:
    """The label of a closing bracket; None for any other symbol."""
    return symbol[1:] if symbol.startswith(")") and len(symbol) > 1 else None


def symbols(tree: Tree, *, tags: bool) -> Iterator[str]:
    """The sequence of a tree in which each constituent has a label.

    With ``tags``, a word leaves its tag instead of ``XX``.  :func:`tree_of` is the inverse.
    """
    yield f"({tree.label}"
    for child in tree.children:
        if isinstance(child, Tree):
            yield from symbols(child, tags=tags)
        else:
            yield child.tag if tags else WORD
    yield f"){tree.label}"


def tree_of(sequence: Sequence[str], words: Sequence[str]) -> Tree:
    """The tree over ``words`` that a sequence of symbols describes.

    Raises:
        TreeError: the brackets do not balance or are too deep, a constituent is empty, the number
            of roots is not one, the numbers of words differ, or a symbol contains a bracket, so
            that the tree could not be read again.
    """
    stack: list[tuple[str, list[Tree | Leaf]]] = [(TOP, [])]
    left = iter(words)
    for place, symbol in enumerate(sequence, 1):
        if not _SYMBOL.fullmatch(symbol):
            problem = "is neither a tag nor a bracket with a label"
            raise TreeError(f"symbol {place}, {symbol}, {problem}", (1, place))
        if (label := opened(symbol)) is not None:
            if len(stack) == DEEPEST:  # with a bracket around all, and none around a word
                problem = f"over {DEEPEST} brackets in one another; not a sentence"
                raise TreeError(f"symbol {place}, {symbol}: {problem}", (1, place))
            stack.append((label, []))
        elif (label := closed(symbol)) is not None:
            name, children = stack.pop()
            if not stack or name != label or not children:
                raise TreeError(f"symbol {place}, {symbol}, closes nothing", (1, place))
            stack[-1][1].append(Tree(name, tuple(children)))
        else:
            word = next(left, None)
            if word is None:
                raise TreeError(f"symbol {place}, {symbol}, is of no word", (1, place))
            stack[-1][1].append(Leaf(symbol, word))
    (_, found), *unclosed = stack
    if unclosed:
        raise TreeError(f"({unclosed[0][0]} is not closed", (1, len(sequence)))
    if next(left, None) is not None:
        raise TreeError("there are more words than symbols for them", (1, len(sequence)))
    if len(found) != 1 or isinstance(found[0], Leaf):
        raise TreeError("there is not one root", (1, 1))
    return found[0]


def read_either(text: str) -> Tree:
    """A tree in brackets, or a tree of symbols, whose words are then empty.

    Raises:
        TreeError: the text is neither.
    """
    sequence = text.split()
    if sequence and _CLOSING.fullmatch(sequence[-1]):
        leaves = [s for s in sequence if opened(s) is None and closed(s) is None]
        return tree_of(sequence, [""] * len(leaves))
    return read_tree(text)
