"""Constituency trees in brackets, as in treebanks, and the source and target of a parser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dragoman.core.constituency import Tree, TreeError, cleaned, escaped, read_trees
from dragoman.core.errors import ConfigError, DataError
from dragoman.core.linear_trees import closed, opened, symbols, tree_of
from dragoman.text.formats.interface import AddPair, Format, Sides, instead
from dragoman.text.lines import read_lines, write_text
from dragoman.text.pairs import Link, Pair

_VIEWS: dict[str, Callable[[Tree], str]] = {
    "words": lambda tree: " ".join(tree.words),
    "brackets": lambda tree: " ".join(symbols(tree, tags=False)),
    "tagged": lambda tree: " ".join(symbols(tree, tags=True)),
    "tags": lambda tree: " ".join(tree.tags),
    "trees": str,
}
_SEQUENCES = ("brackets", "tagged")
_SENTENCES = ("words", "tags")


class Trees(Format):
    """Trees in brackets, each side of which is one of several views.

    ``words`` is the sentence, ``tags`` its parts of speech. ``brackets`` and ``tagged`` are the
    tree as a sequence of symbols without and with tags, and ``trees`` is the tree itself.  All
    leave out empty elements and function tags.
    """

    name = "trees"
    suffixes = (".trees", ".mrg")
    sides = "views"

    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        """Two views of each tree; a blank line, or a tree of empty elements, is an empty pair."""
        (path,) = files
        source, target = (_view(path, side) for side in sides)
        for number, found in read_trees(read_lines(path), str(path)):
            tree = None if found is None else cleaned(found)
            if tree is None:
                yield Pair("", "", number)
            else:
                yield Pair(source(tree), target(tree), number)

    @contextmanager
    def write(self, files: Sequence[Path], sides: Sides) -> Iterator[AddPair]:
        """Writes trees from ``words`` and ``brackets``, or ``words`` and ``tagged``, one in a line.

        Brackets in words are escaped.  Without tags, that of each word is ``XX``.

        Raises:
            ConfigError: two other views, which do not make a tree.
            DataError: in the block: a target is not a tree over the words of its source.
        """
        (path,) = files
        if sides[0] != "words" or sides[1] not in _SEQUENCES:
            raise ConfigError(
                f"{path}: trees are written from the views words and {' or '.join(_SEQUENCES)}, "
                f"not {sides[0]!r} and {sides[1]!r}"
            )
        with write_text(path) as stream:

            def add(pair: Pair) -> None:
                words = [escaped(word) for word in pair.source.split()]
                try:
                    tree = tree_of(pair.target.split(), words) if words or pair.target else None
                except TreeError as error:
                    raise DataError(
                        f"{path}: the target of the pair of line {pair.line} is no tree over its "
                        f"{len(words)} words: {error}; leave the pair out"
                    ) from error
                stream.write(f"{tree or ''}\n")

            yield add

    def offered_sides(self, path: Path) -> list[str]:
        """The views."""
        return list(_VIEWS)

    def scored_side(self, side: str) -> str:
        """The view with tags, by which scoring recognises punctuation."""
        return "tagged" if side in _SEQUENCES else side

    def aligns(self, sides: Sides) -> bool:
        """Whether a sequence of symbols follows its sentence."""
        return sides[0] in _SENTENCES and sides[1] in _SEQUENCES

    def links(self, pair: Pair) -> list[Link]:
        """Links of words, of opening brackets to the next word, and of closing ones to the last."""
        links, word = [], 0
        for place, symbol in enumerate(pair.target.split()):
            if closed(symbol) is not None:
                links.append((word - 1, place))
            else:
                links.append((word, place))
                word += opened(symbol) is None
        return links


def tree_lines(lines: Sequence[str], path: Path) -> list[str]:
    """Trees unchanged, each in one line, with an empty line for a blank one."""
    found = read_trees(lines, str(path))
    return ["" if tree is None else str(tree) for _, tree in found]


def _view(path: Path, name: str) -> Callable[[Tree], str]:
    if name not in _VIEWS:
        raise DataError(f"{path}: trees have no view {name!r}{instead(name, _VIEWS, 'views')}")
    return _VIEWS[name]
