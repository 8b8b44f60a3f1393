"""Which word a word depends on, and in which phrase it is, by the constituents of a treebank.

The head of a constituent is found by the rules of Collins (1999), Head-Driven Statistical Models
for Natural Language Parsing, appendix A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.core.constituency import Leaf, Tree
from dragoman.evaluation.bracketing import COLLINS

ROOT = -1
"""The head of the word on which all others depend."""

_LEFT, _RIGHT = 1, -1  # from which end children are searched
_RULES: dict[str, tuple[int, str]] = {
    "ADJP": (
        _LEFT,
        "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB",
    ),
    "ADVP": (_RIGHT, "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": (_RIGHT, "CC RB IN"),
    "FRAG": (_RIGHT, ""),
    "INTJ": (_LEFT, ""),
    "LST": (_RIGHT, "LS :"),
    "NAC": (_LEFT, "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": (_RIGHT, "IN TO VBG VBN RP FW"),
    "PRN": (_LEFT, ""),
    "PRT": (_RIGHT, "RP"),
    "QP": (_LEFT, "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": (_RIGHT, "VP NP ADVP ADJP PP"),
    "S": (_LEFT, "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": (_LEFT, "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": (_LEFT, "SQ S SINV SBARQ FRAG"),
    "SINV": (_LEFT, "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": (_LEFT, "VBZ VBD VBP VB MD VP SQ"),
    "UCP": (_RIGHT, ""),
    "VP": (_LEFT, "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": (_LEFT, "CC WRB JJ ADJP"),
    "WHADVP": (_RIGHT, "CC WRB"),
    "WHNP": (_LEFT, "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": (_RIGHT, "IN TO FW"),
}
_NOUN_PHRASES = {"NP", "NX"}
# Searched in this order: from which end, and any of which labels.
_IN_NOUN_PHRASES = (
    (_RIGHT, {"NN", "NNP", "NNPS", "NNS", "NX", "POS", "JJR"}),
    (_LEFT, {"NP"}),
    (_RIGHT, {"$", "ADJP", "PRN"}),
    (_RIGHT, {"CD"}),
    (_RIGHT, {"JJ", "JJS", "RB", "QP"}),
)


@dataclass(frozen=True)
class Sentence:
    """A sentence with its syntax; each list has an entry for every word."""

    words: list[str]
    counted: list[bool]
    """Whether the word is no punctuation, which is not asked about."""
    heads: list[int]
    """The word on which it depends; :data:`ROOT` for one."""
    relations: list[str]
    """The largest constituent, or tag, that the word heads, and that in which it depends, as in
    ``DT in NP``; empty for the root."""
    phrases: list[tuple[int, int]]
    """Begin and end of the smallest constituent that has another word too."""


def _name(node: Tree | Leaf) -> str:
    return node.tag if isinstance(node, Leaf) else node.label


def head_child(label: str, children: Sequence[str]) -> int:
    """Which child of a constituent is its head.

    Args:
        label: of the constituent.
        children: labels and tags of its children.
    """
    found = _in_noun_phrase(children) if label in _NOUN_PHRASES else _by_rule(label, children)
    # (NP (NP the dog) (CC and) (NP the cat)): the first of those that are joined.
    if found > 1 and children[found - 1] in {"CC", "CONJP"} and children[found - 2] not in _SIGNS:
        return found - 2
    return found


_SIGNS = COLLINS.deleted


def _by_rule(label: str, children: Sequence[str]) -> int:
    direction, priorities = _RULES.get(label, (_LEFT, ""))
    places = range(len(children))[::direction]
    for wanted in priorities.split():
        for place in places:
            if children[place] == wanted:
                return place
    return next((place for place in places if children[place] not in _SIGNS), places[0])


def _in_noun_phrase(children: Sequence[str]) -> int:
    words = [place for place, name in enumerate(children) if name not in _SIGNS]
    last = words[-1] if words else len(children) - 1
    if children[last] == "POS":
        return last
    for direction, wanted in _IN_NOUN_PHRASES:
        for place in range(len(children))[::direction]:
            if children[place] in wanted:
                return place
    return last


def syntax(tree: Tree) -> Sentence:
    """The syntax of a tree without empty elements."""
    count = len(tree.words)
    found = Sentence(
        words=tree.words,
        counted=[tag not in COLLINS.deleted for tag in tree.tags],
        heads=[ROOT] * count,
        relations=[""] * count,
        phrases=[(0, count)] * count,
    )
    _visit(tree, 0, found)
    return found


def _visit(node: Tree | Leaf, start: int, found: Sentence) -> tuple[int, int]:
    """Fill in what is within a node that begins at ``start``; its head word and its end."""
    if isinstance(node, Leaf):
        return start, start + 1
    end, heads = start, []
    if (count := len(node.words)) > 1:  # smaller constituents come later, and overwrite this
        found.phrases[start : start + count] = [(start, start + count)] * count
    for child in node.children:
        head, end = _visit(child, end, found)
        heads.append(head)
    names = [_name(child) for child in node.children]
    chosen = heads[head_child(node.label, names)]
    for head, name in zip(heads, names, strict=True):
        if head != chosen:
            found.heads[head] = chosen
            found.relations[head] = f"{name} in {node.label}"
    return chosen, end
