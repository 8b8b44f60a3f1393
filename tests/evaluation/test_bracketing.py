"""Bracketing scores, equal to PYEVALB's, and to EVALB's with the parameters of Collins."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from invented_trees import trees

from dragoman.core.constituency import Tree, TreeError, read_tree
from dragoman.core.errors import DataError
from dragoman.core.linear_trees import symbols
from dragoman.evaluation.bracketing import (
    COLLINS,
    PLAIN,
    Parameters,
    TreeComparison,
    compare,
    compare_all,
)
from dragoman.evaluation.evalb import Summary, summaries, table, to_json
from dragoman.evaluation.metric_names import BUILT_IN
from dragoman.evaluation.metrics import EvaluationConfig, metrics_of, score_corpus
from dragoman.evaluation.significance import compare_systems, difference_interval

GOLD = [
    "(S (NP (PRP She)) (VP (VBD gave) (NP (DT the) (NN cat)) (PRT (RP up)) (, ,) "
    "(ADVP (RB sadly))) (. .))",
    "(S (`` ``) (NP (NNS Dogs)) (VP (VBP chase) (NP (NP (NNS cats)) (PP (IN in) "
    "(NP (NNS trees))))) (. .) ('' ''))",
    "(NP (NP (CD Two) (NNS birds)) (: --) (CONJP (RB as) (RB well) (IN as)) "
    "(NP (CD one) (NN fish)))",
    "(S (NP (NN Rain)) (VP (VBZ falls)) (. .))",
]
TEST = [
    "(S (NP (PRP She)) (VP (VBD gave) (NP (DT the) (NN cat) (ADVP (RB up))) (, ,) "
    "(ADVP (RB sadly))) (. .))",
    "(S (`` ``) (NP (NNP Dogs)) (VP (VBP chase) (NP (NNS cats)) (PP (IN in) "
    "(NP (NNS trees)))) (. .) ('' ''))",
    "(S (NP (CD Two) (NNS birds) (: --) (ADVP (RB as) (RB well))) (PP (IN as) "
    "(NP (CD one) (NN fish))))",
    "(S (NP (NN Rain)) (VP (VBZ falls)) (. .))",
]
# Printed by PYEVALB 0.1.3: constituents of GOLD, of TEST, matched, crossing; words, equal tags.
# It has no parameters: for those of Collins it was given the trees without punctuation, and with
# ADVP for PRT.
BY_PYEVALB = {
    PLAIN: [(6, 6, 4, 0, 8, 7), (7, 6, 6, 0, 8, 7), (4, 5, 1, 2, 8, 8), (3, 3, 3, 0, 3, 3)],
    COLLINS: [(6, 6, 5, 0, 6, 5), (7, 6, 6, 0, 5, 4), (4, 5, 1, 2, 7, 7), (3, 3, 3, 0, 2, 2)],
}


def counts(one: TreeComparison) -> tuple[int, ...]:
    return one.gold, one.test, one.matched, one.crossing, one.words, one.tags


@pytest.mark.parametrize("parameters", BY_PYEVALB, ids=lambda one: one.name)
def test_counts_are_those_of_pyevalb(parameters: Parameters) -> None:
    found = compare_all(TEST, GOLD, parameters)
    assert [counts(one) for one in found] == BY_PYEVALB[parameters]
    assert [one.length for one in found] == [8, 8, 8, 3]
    assert [one.complete for one in found] == [False, False, False, True]


def test_a_summary_is_that_of_pyevalb() -> None:
    assert Summary.of(compare_all(TEST, GOLD, PLAIN)) == Summary(
        sentences=4,
        malformed=0,
        missing=0,
        recall=70.0,
        precision=70.0,
        f1=70.0,
        complete_match=25.0,
        average_crossing=0.5,
        no_crossing=75.0,
        two_or_less_crossing=100.0,
        tagging_accuracy=92.5925925925926,
    )


def test_the_table_is_laid_out_as_evalbs() -> None:
    """The layout of evalb.c: its formats of a row and of a summary."""
    lines = table(compare_all(["", "(S (NN a)", *TEST[2:]], GOLD)).splitlines()
    assert lines[0] == "  Sent.                        Matched  Bracket   Cross        Correct Tag"
    assert lines[3:7] == [
        "   1    8    2    0.00   0.00     0      0    0      0      0     0     0.00",
        "   2    8    1    0.00   0.00     0      0    0      0      0     0     0.00",
        "   3    8    0   25.00  20.00     1      4    5      2      7     7   100.00",
        "   4    3    0  100.00 100.00     3      3    3      0      2     2   100.00",
    ]
    assert lines[8:17] == [
        "=== Summary ===",
        "",
        "-- All --",
        "Number of sentence        =      4",
        "Number of Error sentence  =      1",
        "Number of Skip  sentence  =      1",
        "Number of Valid sentence  =      2",
        "Bracketing Recall         =  57.14",
        "Bracketing Precision      =  50.00",
    ]
    assert "-- len<=40 --" in lines


def test_the_second_summary_is_of_short_sentences() -> None:
    long = f"(S {' '.join(['(NN a)'] * 38)} (, ,) (. .) (X (NN b)))"
    at_most_40 = long.replace("(NN a) ", "", 1)
    every, short = summaries(compare_all([long, at_most_40], [long, at_most_40])).values()
    assert (every.sentences, short.sentences) == (2, 1)


def test_the_same_constituent_twice_counts_twice() -> None:
    """As in EVALB; PYEVALB counts it once."""
    twice, once = "(S (NP (NP (NN a))))", "(S (NP (NN a)))"
    assert counts(compare(twice, twice))[:3] == (3, 3, 3)
    assert counts(compare(once, twice))[:3] == (3, 2, 2)


def test_a_constituent_of_punctuation_does_not_count() -> None:
    found = compare("(S (NN a) (PRN (, ,)))", "(S (NN a) (, ,))")
    assert found.complete
    assert counts(found)[:3] == (1, 1, 1)


def test_function_tags_and_empty_elements_do_not_count() -> None:
    gold = "((S (NP-SBJ-1 (NN a)) (VP (VBD b) (NP (-NONE- *-1)))))"
    assert compare("(S (NP (NN a)) (VP (VBD b)))", gold).complete


@settings(max_examples=40, deadline=None)
@given(trees)
def test_symbols_without_tags_score_as_the_tree(tree: Tree) -> None:
    """The reference's tags alone say what is punctuation."""
    sequence = " ".join(symbols(tree, tags=False))
    found, whole = compare(sequence, str(tree)), compare(str(tree), str(tree))
    assert found.complete and whole.complete
    assert counts(found)[:5] == counts(whole)[:5]
    assert (found.tags, whole.tags) == (0, whole.words)


@pytest.mark.parametrize(
    ("hypothesis", "status"),
    [
        ("", "missing"),
        ("(S (NN Rain) (VBZ falls)", "malformed"),
        ("(S (NN Rain) (VBZ falls))", "malformed"),
        ("(S (NN Snow) (VBZ falls) (. .))", "malformed"),
        ("(S XX XX )S", "malformed"),
        ("(S XX XX XX )S )S", "malformed"),
        ("(S XX XX XX )S", "valid"),
    ],
)
def test_what_is_no_tree_over_the_words_has_no_constituents(hypothesis: str, status: str) -> None:
    found = compare(hypothesis, GOLD[3])
    assert found.status == status
    assert found.gold == 3
    assert (found.test, found.complete) == (int(status == "valid"), False)


def test_metrics_are_rates_over_all_sentences() -> None:
    names = tuple(metrics_of("trees", BUILT_IN))
    config = EvaluationConfig(metrics=names)
    found = score_corpus(["(S (NN a)", *TEST[1:]], [GOLD], config)
    gold, test, matched, words, tags = 20, 14, 10, 20, 13
    assert {name: one.value for name, one in zip(names, found, strict=True)} == {
        "bracketing_f1": pytest.approx(200 * matched / (gold + test)),
        "bracketing_recall": pytest.approx(100 * matched / gold),
        "bracketing_precision": pytest.approx(100 * matched / test),
        "complete_match": 25,
        "tagging_accuracy": pytest.approx(100 * tags / words),
        "malformed_trees": 25,
    }
    assert "parameters:COLLINS" in found[0].signature


def test_metrics_have_intervals_and_tests_of_significance() -> None:
    gold, test = GOLD * 8, TEST * 8
    config = EvaluationConfig(metrics=("bracketing_f1",), confidence_samples=50)
    (score,) = score_corpus(test, [gold], config)
    assert score.confidence is not None and score.confidence.margin > 0
    (better,) = compare_systems(test, {"gold": gold}, [gold], config)
    assert better.value == 100
    assert better.is_significant()
    low, high = difference_interval(test, gold, [gold], config, metric="bracketing_f1", samples=50)
    assert 0 < low <= 100 - score.value <= high


def test_references_must_be_trees() -> None:
    config = EvaluationConfig(metrics=("bracketing_f1",))
    with pytest.raises(DataError, match="no tree"):
        score_corpus(["(S XX )S"], [["Rain falls."]], config)
    with pytest.raises(DataError, match="one reference"):
        score_corpus(["(S XX )S"], [["(S XX )S"], ["(S XX )S"]], config)
    with pytest.raises(DataError, match="line 2"):
        compare_all(["(S XX )S"] * 2, ["(S XX )S", "(S (-NONE- *))"])
    with pytest.raises(TreeError):
        compare("(S XX )S", "")


def test_values_for_scripts() -> None:
    values = to_json(compare_all(TEST, GOLD))
    assert values["sentences"][3] == {
        **{"length": 3, "gold": 3, "test": 3, "matched": 3, "crossing": 0},
        **{"words": 2, "tags": 2, "status": "valid", "complete": True},
    }
    assert values["summaries"]["All"]["f1"] == 75.0
    assert read_tree(GOLD[3]).words == ["Rain", "falls", "."]


def test_a_tree_of_endless_depth_is_malformed() -> None:
    deep = f"{'(S ' * 5000}XX{' )S' * 5000}"
    assert compare(deep, "(S (NP (D a)))").status == "malformed"
