"""Pictures of trees."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st
from invented_trees import trees

from dragoman.core.constituency import Leaf, Tree, read_tree
from dragoman.workflows.reports.tree_picture import tree_picture

SVG = "{http://www.w3.org/2000/svg}"


@settings(max_examples=30, deadline=None)
@given(st.lists(trees, min_size=1, max_size=3))
def test_everything_is_drawn_within_the_picture(drawn: list[Tree]) -> None:
    root = ElementTree.fromstring(tree_picture(drawn))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    groups = root.findall(f"{SVG}g")
    assert len(groups) == len(drawn)
    for group, tree in zip(groups, drawn, strict=True):
        texts = [text.text for text in group.findall(f"{SVG}text")]
        assert set(tree.words) <= set(texts)
        assert texts.count(tree.label) >= 1
        left, top = map(float, group.attrib["transform"][10:-1].split(","))
        for text in group.findall(f"{SVG}text"):
            assert 0 < left + float(text.attrib["x"]) < width
            assert 0 < top + float(text.attrib["y"]) <= height


def test_words_are_in_their_order_and_parents_above_their_children() -> None:
    tree = read_tree("(S (NP (NN a) (NN b)) (VP (VBZ c)))")
    group = ElementTree.fromstring(tree_picture([tree])).find(f"{SVG}g")
    assert group is not None
    places = {
        str(text.text): (float(text.attrib["x"]), float(text.attrib["y"]))
        for text in group.findall(f"{SVG}text")
    }
    assert all(places[left][0] < places[right][0] for left, right in pairwise("abc"))
    assert places["a"][1] == places["b"][1] == places["c"][1]
    assert places["NP"][0] == (places["a"][0] + places["b"][0]) / 2
    assert places["S"][1] < places["NP"][1] == places["VP"][1] < places["VBZ"][1] < places["c"][1]


def test_wide_labels_do_not_cover_one_another() -> None:
    group = ElementTree.fromstring(
        tree_picture([read_tree("(S (WHADVP (X a)) (WHADVP (X b)))")])
    ).find(f"{SVG}g")
    assert group is not None
    left, right = (
        float(text.attrib["x"]) for text in group.findall(f"{SVG}text") if text.text == "WHADVP"
    )
    assert right - left > 6 * len("WHADVP")


def test_words_without_tags_are_drawn_alone() -> None:
    picture = tree_picture([read_tree("(S (XX <a>))")])
    assert "XX" not in picture
    assert "&lt;a&gt;" in picture


def test_a_word_of_whatever_characters_is_in_a_picture_that_opens() -> None:
    tree = Tree("S", (Leaf("N\x0bN", "\x1bred"), Leaf("NN", "\ufffe"), Leaf("NN", "a\udc80")))
    picture = tree_picture([tree])
    picture.encode()
    (title,) = ElementTree.fromstring(picture).iter(f"{SVG}title")
    assert title.text == "\ufffdred \ufffd a\ufffd"
