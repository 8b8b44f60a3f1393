"""Rewards of outputs against sacrebleu's sentence scores, and GLEU against its definition."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.evaluation.metrics import EvaluationConfig, build_metric
from dragoman.evaluation.rewards import Reward, SentenceReward
from dragoman.evaluation.similarity import Similarity

TEXTS = st.lists(
    st.sampled_from(["der", "Der", "hund", "läuft,", "schnell.", "a"]), max_size=9
).map(" ".join)


def gleu(output: str, reference: str) -> float:
    """The lesser of precision and recall of n-grams of up to four words."""
    found, wanted = (
        Counter(
            tuple(words[start : start + order])
            for order in range(1, 5)
            for start in range(len(words) - order + 1)
        )
        for words in (output.split(), reference.split())
    )
    shared = sum((found & wanted).values())
    return min((shared / total if (total := sum(one.values())) else 0.0) for one in (found, wanted))


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS)
def test_gleu_is_the_lesser_of_precision_and_recall(outputs: list[str], reference: str) -> None:
    reward = SentenceReward("gleu", EvaluationConfig(bleu_tokenize="none"))
    expected = [gleu(output, reference) for output in outputs]
    assert reward(outputs, reference) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_others_are_sacrebleus(name: Similarity) -> None:
    config = EvaluationConfig(lowercase=True)
    metric = build_metric(name, config)
    if name == "bleu":
        metric.effective_order = True  # type: ignore[attr-defined]
    outputs, reference = ["Der Hund läuft.", "ein hund", "", "Hund"], "Der Hund läuft schnell."
    expected = [metric.sentence_score(one, [reference]).score / 100 for one in outputs]
    assert SentenceReward(name, config)(outputs, reference) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["bleu", "chrf", "gleu"])
def test_the_reference_gains_1_and_settings_count(name: Reward) -> None:
    cased = SentenceReward(name)(["Ein Hund.", "ein hund ."], "Ein Hund.")
    assert cased[0] == pytest.approx(1.0) and cased[1] < 1
    lower = SentenceReward(name, EvaluationConfig(lowercase=True))(["ein hund ."], "Ein Hund.")
    assert lower == pytest.approx([1.0]), "13a and chrF see no difference in space"
