"""Trees as pictures: SVG, laid out without a library.

Words are in one row at the bottom, each below its tag.  A constituent is centred over its children
and lies above all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from dragoman.core.constituency import Leaf, Tree
from dragoman.core.linear_trees import WORD
from dragoman.core.text_tables import display_width
from dragoman.workflows.reports import plain

_CHARACTER, _FONT, _ROW, _GAP, _MARGIN = 7.4, 13, 42, 14, 12  # pixels
_LABEL, _TAG, _TEXT, _EDGE = "#1f3b73", "#8a5a00", "#111", "#9aa5b1"


@dataclass
class _Canvas:
    """The shapes of one tree, from its upper left corner."""

    height: int
    """Rows of constituents above the words."""
    right: float = 0.0
    """Position of the next word."""
    edges: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, text: str, colour: str, weight: str = "normal") -> None:
        self.texts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-weight="{weight}">'
            f"{escape(plain(text))}</text>"
        )

    def edge(self, above: tuple[float, float], below: tuple[float, float]) -> None:
        """Draw a line from below a text to above another."""
        (x, y), (to_x, to_y) = above, below
        self.edges.append(f"M{x:.1f} {y + 5:.1f}L{to_x:.1f} {to_y - _FONT:.1f}")


def tree_picture(trees: Sequence[Tree]) -> str:
    """The trees as an ``<svg>`` element, one below another; identical for identical trees."""
    parts, width, top = [], 0.0, float(_MARGIN)
    for tree in trees:
        canvas = _Canvas(_height(tree))
        _draw(tree, canvas, 0)
        path = f'<path d="{"".join(canvas.edges)}" fill="none" stroke="{_EDGE}"/>'
        shapes = "\n".join([path, *canvas.texts])
        title = escape(plain(" ".join(tree.words)))
        parts.append(
            f'<g transform="translate({_MARGIN},{top:.1f})"><title>{title}</title>\n{shapes}\n</g>'
        )
        width = max(width, canvas.right)
        top += _ROW * (canvas.height + 1) + 2 * _FONT
    size = f"{width + 2 * _MARGIN:.0f}", f"{top:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {size[0]} {size[1]}" font-family="sans-serif" font-size="{_FONT}" '
        'text-anchor="middle">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _height(tree: Tree) -> int:
    return 1 + max(
        (_height(child) for child in tree.children if isinstance(child, Tree)), default=0
    )


def _width(text: str) -> float:
    return _CHARACTER * display_width(text)


def _room(node: Tree | Leaf) -> float:
    """Width in pixels, with a gap."""
    if isinstance(node, Leaf):
        return max(_width(node.word), _width(_tag(node))) + _GAP
    return max(_width(node.label) + _GAP, sum(map(_room, node.children)))


def _tag(leaf: Leaf) -> str:
    """The tag to draw; empty if the parser writes no tags."""
    return "" if leaf.tag == WORD else leaf.tag


def _draw(node: Tree | Leaf, canvas: _Canvas, depth: int) -> tuple[float, float]:
    """Draw ``node`` and everything below it; return its position."""
    if isinstance(node, Leaf):
        return _draw_word(node, canvas)
    y = depth * _ROW + _FONT
    end = canvas.right + _room(node)
    # Below a label that is wider than they are, children are in the middle.
    canvas.right = (canvas.right + end - sum(map(_room, node.children))) / 2
    places = [_draw(child, canvas, depth + 1) for child in node.children]
    canvas.right = end
    x = (places[0][0] + places[-1][0]) / 2
    canvas.text(x, y, node.label, _LABEL, "bold")
    for place in places:
        canvas.edge((x, y), place)
    return x, y


def _draw_word(leaf: Leaf, canvas: _Canvas) -> tuple[float, float]:
    """Draw a word with its tag above; return the position of the upper one."""
    tag, width = _tag(leaf), _room(leaf)
    x, y = canvas.right + width / 2, canvas.height * _ROW + _FONT
    canvas.right += width
    if tag:
        canvas.text(x, y, tag, _TAG)
    below = y + _FONT + 3 if tag else y
    canvas.text(x, below, leaf.word, _TEXT)
    return x, y
