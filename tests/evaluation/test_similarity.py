"""Many texts against many others, by sacrebleu's digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.evaluation import shared_ngrams
from dragoman.evaluation.metrics import EvaluationConfig, build_metric
from dragoman.evaluation.similarity import Closest, PairwiseSimilarity, Similarity

METRICS: list[Similarity] = ["bleu", "chrf"]
# Few words, so that texts share n-grams and repeat them.
WORDS = st.sampled_from(
    ["a", "the", "The", "cat", "cats,", "(sat", "on", "é", "\U0001f600", "", "."]
)
TEXTS = st.lists(st.lists(WORDS, max_size=9).map(" ".join), min_size=1, max_size=4)


def by_sacrebleu(
    metric: Similarity, hypotheses: list[str], references: list[str], config: EvaluationConfig
) -> list[list[float]]:
    """One pair after the other."""
    scorer: Any = build_metric(metric, config)
    if metric == "bleu":
        scorer.effective_order = True
    return [
        [scorer.sentence_score(one, [reference]).score for reference in references]
        for one in hypotheses
    ]


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=40)
@given(hypotheses=TEXTS, references=TEXTS, lowercase=st.booleans(), words=st.integers(0, 2))
def test_scores_are_those_of_sacrebleu(
    metric: Similarity, hypotheses: list[str], references: list[str], lowercase: bool, words: int
) -> None:
    config = EvaluationConfig(lowercase=lowercase, chrf_word_order=words)
    found = PairwiseSimilarity(metric, config)(hypotheses, references)
    expected = by_sacrebleu(metric, hypotheses, references, config)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_equal_texts_on_either_side_have_full_marks(metric: Similarity) -> None:
    texts = ["to be or not to be", "a", "to be or not to be"]
    found = PairwiseSimilarity(metric)(texts, texts[1:])
    np.testing.assert_allclose(found[:, 1], [100, found[1, 1], 100])
    np.testing.assert_allclose(found[1], [100, found[1, 1]])
    assert found[1, 1] < 10


@pytest.mark.parametrize("metric", METRICS)
def test_more_ngrams_than_fit_in_memory_are_counted_in_turns(
    metric: Similarity, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["we saw a cat on a mat", "a cat sat on a mat", "a dog"]
    at_once = PairwiseSimilarity(metric)(texts, texts)
    monkeypatch.setattr(shared_ngrams, "_CELLS", 7)
    np.testing.assert_array_equal(PairwiseSimilarity(metric)(texts, texts), at_once)


def test_the_tokenizer_of_bleu_is_the_configured_one() -> None:
    config = EvaluationConfig(bleu_tokenize="char")
    found = PairwiseSimilarity("bleu", config)(["abcdef"], ["abcdeg"])
    np.testing.assert_allclose(found, by_sacrebleu("bleu", ["abcdef"], ["abcdeg"], config))
    assert found[0, 0] > 50


@pytest.mark.parametrize("metric", METRICS)
def test_nothing_to_compare(metric: Similarity) -> None:
    similarity = PairwiseSimilarity(metric)
    assert similarity([], ["a"]).shape == (0, 1)
    assert similarity(["a", "b"], []).shape == (2, 0)
    assert similarity(["", "a"], ["", " "]).tolist() == [[0, 0], [0, 0]]


def test_a_text_is_not_a_list_of_texts() -> None:
    with pytest.raises(DataError, match="put a text into a list"):
        PairwiseSimilarity("chrf")("abc", ["abc"])


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_the_most_similar_is_chosen(metric: Similarity) -> None:
    hypotheses = ["a cat sat here", "the cat sat on a mat", "dogs bark", ""]
    assert Closest(metric)(hypotheses, "the cat sat on the mat") == 1
    assert Closest(metric)(hypotheses, "all dogs bark") == 2


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_of_equals_the_first_is_chosen(metric: Similarity) -> None:
    assert Closest(metric)(["x", "a b", "a b"], "a b") == 1
    assert Closest(metric)(["x", "y"], "a b") == 0, "the one that the model likes best"


def test_text_without_spaces_needs_its_tokenizer() -> None:
    hypotheses = ["今天天气很好", "我喜欢吃苹果和梨"]
    chinese = Closest("bleu", EvaluationConfig(bleu_tokenize="zh"))
    assert chinese(hypotheses, "我喜欢吃苹果") == 1
    assert Closest("bleu")(hypotheses, "我喜欢吃苹果") == 0, "each is one word"


@pytest.mark.parametrize(
    ("metric", "settings", "name"),
    [
        ("bleu", {}, "bleu"),
        ("bleu", {"bleu_tokenize": "zh", "lowercase": True}, "bleu (tokenize zh, lowercase)"),
        ("bleu", {"chrf_word_order": 2}, "bleu"),
        ("chrf", {"bleu_tokenize": "zh"}, "chrf"),
        ("chrf", {"chrf_word_order": 2}, "chrf (word order 2)"),
    ],
)
def test_its_name_has_what_matters(metric: Similarity, settings: dict[str, Any], name: str) -> None:
    assert Closest(metric, EvaluationConfig(**settings)).name == name


def test_short_sentences_have_a_bleu() -> None:
    """Without any n-gram of order 4, BLEU would be 0 for all and the choice arbitrary."""
    assert Closest("bleu")(["quite wrong", "good morning"], "good morning") == 1
