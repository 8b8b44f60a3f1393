"""Trees with at most two children and annotated labels, and back.

Johnson (1998), PCFG Models of Linguistic Tree Representations, and Klein and Manning (2003),
Accurate Unlexicalized Parsing, sections 2 and 4: a constituent or tag also has the labels of its
nearest ancestors (``vertical``), and the children of a constituent depend on their nearest left
siblings only (``horizontal``).  With 2 and 1, ``(NP (DT a) (JJ big) (NN dog))`` below S becomes
``(NP^S (DT^NP a) (@NP^S|DT (JJ^NP big) (NN^NP dog)))``.
"""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.core.constituency import Leaf, Tree

# No label has a space, so that these are told from it.
_INSIDE, _PARENT, _SIBLING = " @", " ^", " |"
ROOT = "ROOT"
"""The parent of a tree, and the start of the grammar."""


@dataclass(frozen=True)
class Markovisation:
    """What the children of a constituent depend on."""

    vertical: int = 2
    """Labels from the constituent or tag upwards; 1 is its own alone."""
    horizontal: int = 2
    """Siblings to the left of a child."""

    def binarised(self, tree: Tree) -> Tree:
        """A tree whose constituents have one or two children, below a constituent ``ROOT``."""
        return Tree(ROOT, (self._binarised(tree, ()),))

    def _binarised(self, tree: Tree | Leaf, above: tuple[str, ...]) -> Tree | Leaf:
        """``above`` are the labels of the ancestors, the nearest first."""
        name = tree.tag if isinstance(tree, Leaf) else tree.label
        line = (name, *above)
        label = _PARENT.join(line[: self.vertical])
        if isinstance(tree, Leaf):
            return Leaf(label, tree.word)
        children = [self._binarised(child, line) for child in tree.children]
        if len(children) <= 2:
            return Tree(label, tuple(children))
        names = [child.tag if isinstance(child, Leaf) else child.label for child in tree.children]
        right = children.pop()
        for place in range(len(children) - 1, 0, -1):
            seen = names[max(0, place - self.horizontal) : place]
            right = Tree(_SIBLING.join([_INSIDE + label, *seen]), (children[place], right))
        return Tree(label, (children[0], right))


def restored(tree: Tree) -> Tree:
    """The tree of which :meth:`Markovisation.binarised` made this one."""
    (below,) = _restored(tree.children[0])
    assert isinstance(below, Tree)
    return below


def _restored(tree: Tree | Leaf) -> tuple[Tree | Leaf, ...]:
    if isinstance(tree, Leaf):
        return (Leaf(_plain(tree.tag), tree.word),)
    children = tuple(one for child in tree.children for one in _restored(child))
    if tree.label.startswith(_INSIDE):
        return children
    return (Tree(_plain(tree.label), children),)


def _plain(label: str) -> str:
    return label.split(_PARENT, 1)[0]
