"""Accuracy and macro-F1 against their definitions."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.evaluation.metrics import EvaluationConfig, score_corpus
from dragoman.evaluation.significance import SignificanceConfig, compare_systems

CONFIG = EvaluationConfig(metrics=("accuracy", "macro_f1"))


def macro_f1(found: list[str], expected: list[str]) -> float:
    """From precision and recall of each label, counted one by one."""
    scores = []
    for label in {*found, *expected}:
        given, wanted = found.count(label), expected.count(label)
        both = sum(a == b == label for a, b in zip(found, expected, strict=True))
        precision, recall = both / given if given else 0.0, both / wanted if wanted else 0.0
        total = precision + recall
        scores.append(2 * precision * recall / total if total else 0.0)
    return 100 * sum(scores) / len(scores)


labels = st.sampled_from(["de", "en", "fr", "zh-Hans"])


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=12))
def test_figures_are_those_of_their_definition(pairs: list[tuple[str, str]]) -> None:
    found, expected = [a for a, _ in pairs], [b for _, b in pairs]
    accuracy, f1 = score_corpus(found, [expected], CONFIG)
    right = sum(a == b for a, b in pairs)
    assert accuracy.value == pytest.approx(100 * right / len(pairs))
    assert f1.value == pytest.approx(macro_f1(found, expected))


def test_of_several_references_any_label_is_right() -> None:
    found, sets = ["de", "fr", "en"], [["nl", "fr", "de"], ["de", "oc", "de"]]
    for references in (sets, sets[::-1]):
        accuracy, f1 = score_corpus(found, references, CONFIG)
        assert accuracy.value == pytest.approx(200 / 3)
        assert f1.value == pytest.approx(macro_f1(found, ["de", "fr", "de"]))


def test_signatures_intervals_and_significance() -> None:
    expected = ["de", "en"] * 40
    good, bad = ["de", "en"] * 38 + ["en", "de"] * 2, ["de"] * 80
    config = CONFIG.model_copy(update={"confidence_samples": 100})
    accuracy, f1 = score_corpus(good, [expected], config)
    assert (accuracy.name, f1.name) == ("accuracy", "macro-F1")
    assert "average:macro" in f1.signature
    for score in (accuracy, f1):
        assert score.confidence is not None
        assert score.confidence.mean == pytest.approx(95, abs=2)
        assert 1 < score.confidence.margin < 10
    tests = compare_systems(bad, {"good": good}, [expected], CONFIG, SignificanceConfig())
    assert all(one.is_significant() for one in tests)


def test_systems_with_different_labels_are_compared_label_by_label() -> None:
    """By every way to swap the lines of two systems, one of which gives a label of its own."""
    expected = ["de", "en", "de", "en", "fr", "fr", "de", "en"]
    first = ["de", "xx", "xx", "en", "fr", "de", "de", "en"]
    second = ["de", "en", "yy", "yy", "fr", "fr", "yy", "en"]
    observed = abs(macro_f1(first, expected) - macro_f1(second, expected))
    as_large = 0
    for swaps in product([False, True], repeat=len(expected)):
        both = zip(first, second, swaps, strict=True)
        one, other = zip(*((b, a) if swap else (a, b) for a, b, swap in both), strict=True)
        found = abs(macro_f1(list(one), expected) - macro_f1(list(other), expected))
        as_large += found >= observed - 1e-9
    config = CONFIG.model_copy(update={"metrics": ("macro_f1",)})
    test = SignificanceConfig(test="randomization", samples=4000)
    for baseline, system in ((first, second), (second, first), (expected, second)):
        (result,) = compare_systems(baseline, {"other": system}, [expected], config, test)
        assert result.value == pytest.approx(macro_f1(system, expected))
        if baseline is not expected:
            assert result.p_value == pytest.approx(as_large / 2 ** len(expected), abs=0.03)
