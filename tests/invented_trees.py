"""Trees that hypothesis invents."""

from __future__ import annotations

from hypothesis import strategies as st

from dragoman.core.constituency import Leaf, Tree

labels = st.sampled_from(["S", "NP", "VP", "PP", "ADVP", "PRT", "SBAR"])
tags = st.sampled_from(["NN", "VBZ", "PRP$", "-LRB-", ",", "``", "."])
words = st.text("abçß日'`-.,$\\/", min_size=1, max_size=4)
leaves = st.builds(Leaf, tags, words)


def _above(nodes: st.SearchStrategy[Tree | Leaf]) -> st.SearchStrategy[Tree | Leaf]:
    return st.builds(Tree, labels, st.lists(nodes, min_size=1, max_size=4).map(tuple))


nodes: st.SearchStrategy[Tree | Leaf] = st.recursive(leaves, _above, max_leaves=12)
trees: st.SearchStrategy[Tree] = st.builds(
    Tree, labels, st.lists(nodes, min_size=1, max_size=4).map(tuple)
)
