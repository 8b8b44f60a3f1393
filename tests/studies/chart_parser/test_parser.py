"""The chart parser: binarisation, counts, and the best tree against all trees."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from invented_trees import trees

from dragoman.core.constituency import Leaf, Tree, read_tree
from studies.chart_parser.__main__ import chart_parser
from studies.chart_parser.binarisation import ROOT, Markovisation, restored
from studies.chart_parser.chart import ChartParser
from studies.chart_parser.grammar import Grammar, Rule
from studies.chart_parser.lexicon import Lexicon, classes
from studies.chart_parser.parser import Parser

TREES = [
    read_tree("(S (NP (DT the) (JJ big) (JJ old) (NN dog)) (VP (VBZ barks)))"),
    read_tree("(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT the) (NN dog))))"),
    read_tree("(S (NP (NN rain)) (VP (VBZ falls)))"),
]


@given(trees, st.integers(1, 3), st.integers(0, 3))
def test_binarised_trees_come_back(tree: Tree, vertical: int, horizontal: int) -> None:
    binarised = Markovisation(vertical, horizontal).binarised(tree)
    assert all(len(part.children) <= 2 for part in _parts(binarised) if isinstance(part, Tree))
    assert restored(binarised) == tree


def _parts(tree: Tree | Leaf) -> Iterator[Tree | Leaf]:
    yield tree
    if isinstance(tree, Tree):
        for child in tree.children:
            yield from _parts(child)


def test_what_a_binarised_tree_knows() -> None:
    (sentence,) = Markovisation(2, 1).binarised(TREES[0]).children
    assert isinstance(sentence, Tree)
    assert str(sentence.children[0]) == (
        "(NP ^S (DT ^NP the) ( @NP ^S |DT (JJ ^NP big) ( @NP ^S |JJ (JJ ^NP old) (NN ^NP dog))))"
    )
    plain = str(Markovisation(1, 0).binarised(TREES[0]))
    assert "(NP (DT the) ( @NP (JJ big) ( @NP (JJ old) (NN dog))))" in plain


def test_rules_are_counted() -> None:
    grammar = Grammar.estimated(Markovisation(1, 0).binarised(tree) for tree in TREES)
    found = dict(_rules(grammar))
    expected = {
        (ROOT, "S"): 1,
        ("S", "NP", "VP"): 1,
        ("NP", "DT", " @NP"): 1 / 4,
        ("NP", "DT", "NN"): 2 / 4,
        ("NP", "NN"): 1 / 4,
        (" @NP", "JJ", " @NP"): 1 / 2,
        (" @NP", "JJ", "NN"): 1 / 2,
        ("VP", "VBZ"): 2 / 3,
        ("VP", "VBZ", "NP"): 1 / 3,
    }
    assert found.keys() == expected.keys()
    assert [found[rule] for rule in expected] == pytest.approx([*expected.values()])


def _rules(grammar: Grammar) -> Iterator[tuple[tuple[str, ...], float]]:
    for numbers, scores in (
        (grammar.binary, grammar.binary_scores),
        (grammar.unary, grammar.unary_scores),
    ):
        for row, score in zip(zip(*numbers, strict=True), scores, strict=True):
            yield tuple(grammar.symbols[i] for i in row), math.exp(score)


def _all_trees(
    rules: dict[Rule, float], symbol: str, tags: list[dict[str, float]], depth: int = 4
) -> Iterator[float]:
    """Log-probabilities of all trees with chains of up to ``depth`` constituents."""
    if len(tags) == 1 and symbol in tags[0]:
        yield tags[0][symbol]
    for (parent, right), probability in rules.items():
        if parent != symbol:
            continue
        if len(right) == 1 and depth:
            for below in _all_trees(rules, right[0], tags, depth - 1):
                yield math.log(probability) + below
        elif len(right) == 2:
            for split in range(1, len(tags)):
                one = list(_all_trees(rules, right[0], tags[:split]))
                two = list(_all_trees(rules, right[1], tags[split:]))
                for left, second in product(one, two):
                    yield math.log(probability) + left + second


def _log_probability(tree: Tree | Leaf, rules: dict[Rule, float], tags: list[float]) -> float:
    if isinstance(tree, Leaf):
        return tags.pop(0)
    names = tuple(c.tag if isinstance(c, Leaf) else c.label for c in tree.children)
    own = math.log(rules[tree.label, names])
    return own + sum(_log_probability(child, rules, tags) for child in tree.children)


symbols = st.sampled_from(["A", "B", "C"])
right_sides = st.tuples(symbols | st.just("T"), symbols | st.just("T")) | st.tuples(
    symbols | st.just("T")
)


@settings(max_examples=40)
@given(
    st.dictionaries(st.tuples(symbols, right_sides), st.floats(0.01, 0.9), max_size=7),
    st.integers(1, 4),
)
def test_no_tree_is_better(rules: dict[Rule, float], length: int) -> None:
    rules = {**rules, (ROOT, ("A",)): 1.0}
    rules = {rule: one for rule, one in rules.items() if rule[1] != (rule[0],)}
    tags = [{"T": -0.5 - place} for place in range(length)]
    words = [f"w{place}" for place in range(length)]
    found = ChartParser(Grammar.of(rules)).best(words, tags)
    best = max(_all_trees(rules, ROOT, tags), default=None)
    assert (found is None) == (best is None)
    if found is not None and best is not None:
        tree, score = found
        assert score == pytest.approx(best, rel=1e-5)
        assert tree.words == words
        own = _log_probability(tree, rules, [one["T"] for one in tags])
        assert own == pytest.approx(best, rel=1e-5)


def test_tags_of_words() -> None:
    lexicon = Lexicon.estimated(TREES)
    known = lexicon.scores("the", first=False)
    assert max(known, key=lambda tag: known[tag]) == "DT"
    unknown = lexicon.scores("walks", first=False)  # ends as verbs do here
    assert max(unknown, key=lambda tag: unknown[tag]) == "VBZ"
    shares = [score + lexicon.log_share(tag) for tag, score in unknown.items()]
    assert np.exp(shares).sum() == pytest.approx(1)


def test_classes_of_words() -> None:
    assert list(classes("Cat", first=True)) == ["first capital", *_ending("first capital")]
    assert next(classes("Cat", first=False)) == "capital"
    assert next(classes("IBM", first=False)) == "CAPITALS"
    assert next(classes("1,200", first=False)) == "digits"
    assert next(classes("mid-1990s", first=False)) == "digits and letters, hyphen"
    assert next(classes("--", first=False)) == "signs"


def _ending(shape: str) -> list[str]:
    return [f"{shape} -t", f"{shape} -at"]


def test_a_treebank_is_learned() -> None:
    parser = Parser.trained(TREES, Markovisation())
    for tree in TREES:
        assert parser.parse(tree.words) == tree
    assert parser.parse(["the"]) is None
    assert str(parser.flat(["the", "dog"])) == "(S (DT the) (NN dog))"


def test_a_constituent_never_seen() -> None:
    parser = Parser.trained(TREES, Markovisation(vertical=1, horizontal=0))
    assert str(parser.parse(["the", "old", "cat", "walks"])) == (
        "(S (NP (DT the) (JJ old) (NN cat)) (VP (VBZ walks)))"
    )


def _write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_command_scores_trees(tmp_path: Path) -> None:
    bank = _write(tmp_path / "train.trees", "".join(f"{tree}\n" for tree in TREES))
    wrong = _write(tmp_path / "test.trees", "(S (NP (NN rain)) (VP (VBZ falls)))\n(X (DT the))\n")
    output = tmp_path / "out.trees"
    found = CliRunner().invoke(
        chart_parser, [bank, "--input", wrong, "--output", str(output), "--json"]
    )
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert (said["sentences"], said["flat"], said["left_out"]) == (2, 1, 0)
    assert said["scores"]["bracketing_f1"] == pytest.approx(75)
    assert output.read_text(encoding="utf-8").splitlines() == [str(TREES[2]), "(S (DT the))"]


def test_the_command_parses_text(tmp_path: Path) -> None:
    bank = _write(tmp_path / "train.trees", "".join(f"{tree}\n" for tree in TREES))
    text = _write(tmp_path / "text.en", "the dog barks\n\n" + "rain " * 9 + "\n")
    output = tmp_path / "out.trees"
    arguments = [bank, "--input", text, "--output", str(output), "--max-words", "8"]
    assert CliRunner().invoke(chart_parser, arguments).exit_code == 0
    first, *others = output.read_text(encoding="utf-8").split("\n")
    assert first == "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"
    assert others == ["", "", ""]


@pytest.mark.parametrize(
    ("name", "content", "more", "said"),
    [
        ("text.en", "the dog\n", [], "name --output"),
        ("test.trees", "(S (NN dog))\n", ["--tokenize"], "leave it out"),
        ("test.trees", "(S (NN dog)\n", [], "not closed"),
        ("test.trees", "\n", [], "no tree"),
    ],
)
def test_the_command_refuses(
    tmp_path: Path, name: str, content: str, more: list[str], said: str
) -> None:
    bank = _write(tmp_path / "train.trees", f"{TREES[0]}\n")
    text = _write(tmp_path / name, content)
    found = CliRunner().invoke(chart_parser, [bank, "--input", text, *more])
    assert found.exit_code in {2, 3}
    assert said in found.stderr


@pytest.mark.parametrize("output", ["train.trees", "text.en"])
def test_the_command_overwrites_nothing_that_it_reads(output: str, tmp_path: Path) -> None:
    bank = _write(tmp_path / "train.trees", f"{TREES[0]}\n")
    text = _write(tmp_path / "text.en", "the dog\n")
    before = (tmp_path / output).read_bytes()
    given = [bank, "--input", text, "--output", str(tmp_path / output)]
    found = CliRunner().invoke(chart_parser, given)
    assert found.exit_code == 2, found.output
    assert "this is an input" in found.stderr
    assert (tmp_path / output).read_bytes() == before
