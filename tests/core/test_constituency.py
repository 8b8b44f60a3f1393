"""Reading trees in brackets, and what is removed from those of a treebank."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from invented_trees import trees

from dragoman.core.constituency import Tree, TreeError, cleaned, escaped, read_tree, read_trees
from dragoman.core.errors import DataError

PENN = (
    "((S (NP-SBJ-1 (DT The) (NN loss)) (VP (VBD was) (VP (VBN cut) (NP (-NONE- *-1)) "
    "(PRT|ADVP (RP down)) (SBAR (-NONE- 0) (S (-NONE- *T*-2))))) (-LRB- -LRB-) (. .)))"
)


def read(lines: Iterable[str]) -> list[tuple[int, str | None]]:
    return [(n, None if tree is None else str(tree)) for n, tree in read_trees(lines, "file")]


@settings(max_examples=40, deadline=None)
@given(trees)
def test_a_tree_is_read_as_it_was_written(tree: Tree) -> None:
    assert read_tree(str(tree)) == tree
    assert read_tree(str(tree).replace(" (", "\n   (")) == tree


def test_a_treebanks_tree_is_cleaned() -> None:
    tree = cleaned(read_tree(PENN))
    assert str(tree) == (
        "(S (NP (DT The) (NN loss)) (VP (VBD was) (VP (VBN cut) (PRT (RP down)))) "
        "(-LRB- -LRB-) (. .))"
    )
    assert tree is not None
    assert tree.words == ["The", "loss", "was", "cut", "down", "-LRB-", "."]
    assert tree.tags == ["DT", "NN", "VBD", "VBN", "RP", "-LRB-", "."]
    assert cleaned(tree) == tree


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(TOP (ROOT (S (NN a))))", "(S (NN a))"),
        ("((NP (NN a)) (NP (NN b)))", "(TOP (NP (NN a)) (NP (NN b)))"),
        ("((NN a))", "(TOP (NN a))"),
        ("(NN a)", "(TOP (NN a))"),
        ("(NP=2 (NP-SBJ (NN a)))", "(NP (NP (NN a)))"),
        ("(S (-NONE- *))", "None"),
    ],
)
def test_roots_and_chains(text: str, expected: str) -> None:
    assert str(cleaned(read_tree(text))) == expected


def test_a_tree_takes_a_line_or_several() -> None:
    lines = ["(S (NN a))", "", "( (S", "    (NN b)", "", "    (NN c)))", "(NP (NN d))"]
    assert read(lines) == [
        (1, "(S (NN a))"),
        (2, None),
        (3, "( (S (NN b) (NN c)))"),
        (7, "(NP (NN d))"),
    ]


@pytest.mark.parametrize(
    ("lines", "place", "problem"),
    [
        (["(S (NN a))", "(S (NN a)"], "2:1", "this bracket is not closed"),
        (["(S (NP (NN a)", "(S (NN b))"], "1:1", "2 brackets, this one first, are not closed"),
        (["(S (NN a)))"], "1:11", "a closing bracket outside a tree"),
        (["(S (NN a)) b"], "1:12", "'b' outside a tree"),
        (["(S (NN a)) (S (NN b))"], "1:1", "several trees in one line"),
        (["(S (NN a)) (S", "  (NN b))"], "1:12", "a tree begins behind another"),
        (["(S (NN a b))"], "1:10", "the word 'b' needs a bracket of its own"),
        (["(S (NN a) b)"], "1:11", "the word 'b' needs a bracket of its own"),
        (["(S (NP))"], "1:7", "an empty bracket"),
        (["(())"], "1:3", "an empty bracket"),
        (["(S ((NN a)))"], "1:4", "a bracket without a label"),
        (["(S (NN a (NN b)))"], "1:10", "a bracket after the word 'a'"),
        (["(S " * 201], "1:601", "over 200 brackets"),
    ],
)
def test_what_is_no_tree_is_refused_with_its_place(
    lines: list[str], place: str, problem: str
) -> None:
    with pytest.raises(DataError) as caught:
        read(lines)
    assert str(caught.value).startswith(f"file:{place}: {problem}")


@pytest.mark.parametrize("text", ["", "  ", "(S (NN a)) (S (NN b))", "(S (NN a)", "a"])
def test_text_that_is_not_one_tree(text: str) -> None:
    with pytest.raises(TreeError):
        read_tree(text)


def test_brackets_in_words_are_escaped() -> None:
    assert [escaped(word) for word in ("(", ")", "{", "f(x)", "-LRB-", "a")] == [
        *("-LRB-", "-RRB-", "-LCB-", "f-LRB-x-RRB-", "-LRB-", "a")
    ]
