"""The hypothesis that is most similar to a reference."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.evaluation.closest import Closest
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.evaluation.similarity import Similarity


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
