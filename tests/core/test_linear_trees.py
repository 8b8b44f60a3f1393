"""Trees as sequences of symbols."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invented_trees import trees

from dragoman.core.constituency import Leaf, Tree, TreeError, read_tree
from dragoman.core.linear_trees import WORD, read_either, symbols, tree_of

VINYALS = "(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))"


def without_tags(tree: Tree) -> Tree:
    children = (
        Leaf(WORD, child.word) if isinstance(child, Leaf) else without_tags(child)
        for child in tree.children
    )
    return Tree(tree.label, tuple(children))


def test_the_papers_example() -> None:
    tree = read_tree(VINYALS)
    assert " ".join(symbols(tree, tags=False)) == ("(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S")
    assert " ".join(symbols(tree, tags=True)) == ("(S (NP NNP )NP (VP VBZ (NP DT NN )NP )VP . )S")


@settings(max_examples=40, deadline=None)
@given(trees)
def test_sentence_and_symbols_are_the_tree(tree: Tree) -> None:
    assert tree_of(list(symbols(tree, tags=True)), tree.words) == tree
    assert tree_of(list(symbols(tree, tags=False)), tree.words) == without_tags(tree)


@settings(max_examples=40, deadline=None)
@given(trees)
def test_either_notation_is_read(tree: Tree) -> None:
    assert read_either(str(tree)) == tree
    of_symbols = read_either(" ".join(symbols(tree, tags=True)))
    assert of_symbols.tags == tree.tags
    assert list(symbols(of_symbols, tags=True)) == list(symbols(tree, tags=True))


@pytest.mark.parametrize(
    ("sequence", "problem"),
    [
        ("(S XX XX", "(S is not closed"),
        ("(S XX )NP XX )S", "symbol 3, )NP, closes nothing"),
        ("(S XX )S )S", "symbol 4, )S, closes nothing"),
        ("(S XX (NP )NP XX )S", "symbol 4, )NP, closes nothing"),
        ("(S XX XX XX )S", "symbol 4, XX, is of no word"),
        ("(S XX )S", "there are more words"),
        ("(S XX )S (S XX )S", "there is not one root"),
        ("XX XX", "there is not one root"),
        ("(S NN) XX )S", "symbol 2, NN), is neither a tag nor a bracket with a label"),
        ("(S XX ( )S", "symbol 3, (, is neither"),
        ("(S (N(P XX XX )N(P )S", "symbol 2, (N(P, is neither"),
        ("(S XX )S XX", "there is not one root"),
        ("", "there are more words"),
    ],
)
def test_sequences_that_are_no_tree(sequence: str, problem: str) -> None:
    with pytest.raises(TreeError) as caught:
        tree_of(sequence.split(), ["two", "words"])
    assert str(caught.value).startswith(problem)


@given(st.lists(st.sampled_from(["(S", ")S", "XX", "(NP", ")NP"]), max_size=7), st.integers(1, 3))
def test_what_is_accepted_has_the_words_and_the_symbols(sequence: list[str], count: int) -> None:
    words = [f"w{number}" for number in range(count)]
    try:
        tree = tree_of(sequence, words)
    except TreeError:
        return
    assert tree.words == words
    assert list(symbols(tree, tags=True)) == sequence


def test_no_tree_is_deeper_than_one_in_brackets() -> None:
    """So that whatever is read can be written, compared and read again."""

    def nested(depth: int) -> str:
        return f"{'(S ' * depth}XX{' )S' * depth}"

    assert read_tree(str(read_either(nested(199))).replace("(XX )", "(XX a)")).words == ["a"]
    for depth in (200, 5000):
        with pytest.raises(TreeError, match=r"symbol 200, .S: over 200 brackets in one another"):
            read_either(nested(depth))
