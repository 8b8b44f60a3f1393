"""Attention heads beside syntax, on invented trees and heads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from invented_trees import trees
from parser_model import save_parser
from tiny_model import save_tiny_model

from dragoman.core.constituency import Tree, read_tree
from dragoman.core.errors import DataError
from dragoman.saved.model import load_model
from studies.heads_and_syntax.__main__ import heads_and_syntax
from studies.heads_and_syntax.agreement import Floats, agreement, positional
from studies.heads_and_syntax.attention import between_words, of_words
from studies.heads_and_syntax.head_rules import ROOT, Sentence, head_child, syntax

EXAMPLE = read_tree(
    "(S (NP (NP (DT The) (NNS cats)) (PP (IN of) (NP (NNP Rome)))) "
    "(VP (MD will) (VP (VB sleep) (ADVP (RB well)))) (. .))"
)


def test_syntax_of_a_sentence() -> None:
    found = syntax(EXAMPLE)
    words = dict(zip(found.words, found.heads, strict=True))
    heads = {word: found.words[head] for word, head in words.items() if head != ROOT}
    assert heads == {
        "The": "cats",
        "cats": "will",
        "of": "cats",
        "Rome": "of",
        "sleep": "will",
        "well": "sleep",
        ".": "will",
    }
    assert found.relations == [
        *("DT in NP", "NP in S", "PP in NP", "NP in PP"),
        *("", "VP in VP", "ADVP in VP", ". in S"),
    ]
    assert found.phrases == [(0, 2), (0, 2), (2, 4), (2, 4), (4, 7), (5, 7), (5, 7), (0, 8)]
    assert found.counted == [True] * 7 + [False]


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("VP", "VBD NP PP", 0),
        ("VP", "MD VP", 0),
        ("VP", "TO VP", 0),
        ("S", "PP , NP VP .", 3),
        ("NP", "DT JJ NN NN", 3),
        ("NP", "DT NN POS", 2),
        ("NP", "NP PP", 0),
        ("NP", "$ CD", 0),
        ("NP", "NP CC NP", 0),
        ("NP", "NN CC NN", 0),
        ("VP", "VP CC VP", 0),
        ("PP", "RB IN NP", 1),
        ("SBAR", "IN S", 0),
        ("QP", "IN $ CD CD", 1),
        ("X", ", NP", 1),
        ("X", ", ,", 0),
    ],
)
def test_heads_of_constituents(label: str, children: str, head: int) -> None:
    assert head_child(label, children.split()) == head


@given(trees)
def test_words_form_a_tree_of_dependencies(tree: Tree) -> None:
    found = syntax(tree)
    assert found.heads.count(ROOT) == 1
    for word in range(len(found.words)):
        above = [word]
        while above[-1] != ROOT:
            assert above[-1] not in above[:-1]
            above.append(found.heads[above[-1]])
    for word, (begin, end) in enumerate(found.phrases):
        assert begin <= word < end


def _looking(sentence: Sentence, *places: list[int]) -> Floats:
    """Weights of one layer whose heads look at these places."""
    return np.eye(len(sentence.words))[np.array(places)][None]


def test_a_head_that_knows_syntax() -> None:
    sentences = [syntax(EXAMPLE), syntax(read_tree("(S (NP (DT A) (NN dog)) (VP (VBZ barks)))"))]
    knows = [[max(head, 0) for head in one.heads] for one in sentences]
    following = [[*range(1, len(one.words)), len(one.words) - 2] for one in sentences]
    weights = [_looking(*looks) for looks in zip(sentences, knows, following, strict=True)]
    found = agreement(weights, sentences)
    best, other = found.heads
    assert (best.head, best.to_head, other.head) == (1, 100, 2)
    assert best.gain > best.gain_margin > 0
    # The and A are followed by their head, as is dog; 6 + 2 words have one
    assert other.to_head == found.offsets[1] == 37.5
    assert other.gain < best.gain
    # of the six words on which others depend, only dog looks elsewhere
    assert other.to_dependent == 83.33
    assert found.words == 10
    assert found.random == pytest.approx(100 * (6 / 7 + 2 / 2) / 8, abs=0.01)


def test_attention_within_the_phrase() -> None:
    sentence = syntax(read_tree("(S (NP (DT A) (NN dog)) (VP (VBZ barks)))"))
    even = (1 - np.eye(3))[None, None] / 2
    found = agreement([even], [sentence])
    (head,) = found.heads
    # a and dog have one of two other words in their phrase; barks has both
    assert head.in_phrase == head.in_phrase_by_position == found.in_phrase_evenly == 66.67
    (inside,) = agreement([_looking(sentence, [1, 0, 1])], [sentence]).heads
    assert inside.in_phrase == 100


@given(st.lists(st.integers(2, 6), min_size=1, max_size=4), st.integers(0, 99))
def test_weights_by_distance(lengths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = []
    for length in lengths:
        one = rng.random((2, 3, length, length)) * (1 - np.eye(length))
        weights.append(one / one.sum(-1, keepdims=True))
    found = positional(weights)
    for one in found:
        assert one.sum(-1) == pytest.approx(np.ones(one.shape[:-1]))
        assert (one.diagonal(0, -2, -1) == 0).all()
        # two words on from any place, beside one word on, is as much
        ratio = one[..., :-2, :].diagonal(2, -2, -1) / one[..., :-2, :].diagonal(1, -2, -1)
        assert ratio == pytest.approx(np.broadcast_to(ratio[..., :1], ratio.shape))


def test_nothing_to_ask() -> None:
    sentence = syntax(read_tree("(X (. .) (. .))"))
    with pytest.raises(DataError, match="no word"):
        agreement([_looking(sentence, [1, 0])], [sentence])


def test_pieces_become_words() -> None:
    pieces = np.array([[0.1, 0.2, 0.3], [0.2, 0.5, 0.1], [0.6, 0.2, 0.1]])[None, None]
    found = of_words(pieces, np.array([0, 1, 1]))
    assert found[0, 0] == pytest.approx(np.array([[0, 1], [1, 0]]))
    found = of_words(pieces, np.array([0, 1, 2]))
    assert found[0, 0] == pytest.approx(
        np.array([[0, 0.4, 0.6], [2 / 3, 0, 1 / 3], [0.75, 0.25, 0]])
    )


def test_where_a_model_looks(tmp_path: Path) -> None:
    saved = load_model(save_parser(tmp_path / "parser"), "cpu")
    found = between_words(saved, ["The", "dog", "barks", "."])
    assert found is not None
    assert found.shape == (1, 2, 4, 4)
    assert found.sum(-1) == pytest.approx(np.ones((1, 2, 4)))
    assert (found.diagonal(0, -2, -1) < 1e-6).all()
    assert between_words(saved, ["The big", "dog"]) is None


def test_the_command(tmp_path: Path) -> None:
    model = save_parser(tmp_path / "parser")
    bank, output = tmp_path / "test.trees", tmp_path / "heads"
    tree = "(S (NP (DT The) (NN dog)) (VP (VBZ barks)) (. .))"
    bank.write_text(f"{tree}\n" * 2, encoding="utf-8")
    arguments = [str(model), str(bank), "--output", str(output)]
    found = CliRunner().invoke(heads_and_syntax, [*arguments, "--json"])
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert (said["sentences"], said["words"], len(said["heads"])) == (2, 6, 2)
    assert said == {**json.loads((output / "heads.json").read_text("utf-8")), "left_out": 0}
    page = (output / "heads.md").read_text("utf-8")
    assert "| layer | head |" in page
    pictures = sorted(path.name for path in output.glob("*.svg"))
    assert pictures == ["layer-1-head-1.svg", "layer-1-head-2.svg"]
    assert all(name in page for name in pictures)
    refused = CliRunner().invoke(heads_and_syntax, [str(tmp_path / "nothing"), str(bank)])
    assert refused.exit_code == 4


def test_a_translation_model_reads_brackets_and_quotes_as_text_has_them(tmp_path: Path) -> None:
    """Not as the treebank writes them, which a parser has learned and a translator has not."""
    lines = ['" a ( b ) c "', "c b a"] * 9
    model = save_tiny_model(tmp_path / "model", lines)
    tree = "(S (`` ``) (NP (DT a) (PRN (-LRB- -LRB-) (NN b) (-RRB- -RRB-))) (VP (VBZ c)) ('' ''))"
    bank = tmp_path / "test.trees"
    bank.write_text(f"{tree}\n", encoding="utf-8")
    saved, sentence = load_model(model, "cpu"), syntax(read_tree(tree))
    found = CliRunner().invoke(heads_and_syntax, [str(model), str(bank), "--json"])
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    as_text = between_words(saved, lines[0].split())
    as_it_is = between_words(saved, sentence.words)
    assert as_text is not None and as_it_is is not None
    assert said == {**agreement([as_text], [sentence]).values(), "left_out": 0}
    assert np.abs(as_text - as_it_is).max() > 1e-3
