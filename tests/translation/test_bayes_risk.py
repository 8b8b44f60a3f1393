"""Minimum Bayes risk: against its definition, pair by pair, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from parser_model import save_parser
from tiny_model import TINY_LM, save_tiny_model

from dragoman.core.errors import ConfigError, DragomanError
from dragoman.evaluation.metrics import EvaluationConfig, build_metric
from dragoman.evaluation.similarity import PairwiseSimilarity
from dragoman.search.strategy import BayesRiskConfig
from dragoman.translation.bayes_risk import EPSILON, by_expected_utility, sampling_settings
from dragoman.translation.outputs import Translation
from dragoman.translation.translator import Translator

torch.set_num_threads(1)

LINES = ["a b c", "e d", "", "b a c d", "c", "a b c"]
MBR = {"samples": 6}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained one, whose samples all differ."""
    return save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def translator(model: Path) -> Iterator[Translator]:
    with Translator.load(model) as opened:
        yield opened


def translation(text: str, log_probability: float) -> Translation:
    return Translation(text, log_probability, log_probability, text.split(), ended=True)


def expected_utility(text: str, samples: Sequence[str]) -> float:
    """By its definition, one pair after the other."""
    chrf: Any = build_metric("chrf", EvaluationConfig())
    return float(np.mean([chrf.sentence_score(text, [one]).score for one in samples]))


drawn = st.tuples(st.lists(st.sampled_from("abc"), max_size=3).map("".join), st.integers(-4, -1))


@settings(max_examples=30)
@given(candidates=st.lists(drawn, min_size=1, max_size=6), samples=st.lists(drawn, min_size=1))
def test_the_best_has_the_highest_mean_similarity_to_all_samples(
    candidates: list[tuple[str, int]], samples: list[tuple[str, int]]
) -> None:
    found = by_expected_utility(
        [translation(*one) for one in candidates],
        [translation(*one) for one in samples],
        PairwiseSimilarity("chrf"),
    )
    texts = [text for text, _ in samples]
    assert {one.text for one in found} == {text for text, _ in candidates}
    assert len({one.text for one in found}) == len(found)
    for one in found:
        assert one.score == pytest.approx(expected_utility(one.text, texts), abs=1e-9)
        likeliest = max(score for text, score in candidates if text == one.text)
        assert one.log_probability == likeliest
    keys = [(-round(one.score, 9), -one.log_probability, one.text) for one in found]
    assert keys == sorted(keys)


def test_a_sample_counts_as_often_as_it_was_drawn() -> None:
    samples = [translation(text, -1) for text in ("abcd", "xyz", "xyz", "xyz")]
    best, other = by_expected_utility(samples, samples, PairwiseSimilarity("chrf"))
    assert (best.text, best.score, other.score) == ("xyz", 75.0, 25.0)


@pytest.mark.parametrize("utility", ["chrf", "bleu"])
def test_the_samples_are_those_of_sampling(translator: Translator, utility: str) -> None:
    drawn = {"epsilon": EPSILON, "seed": 3}
    samples = translator.translate_nbest(LINES, sampling=drawn, nbest=6)
    mbr = {**MBR, "utility": utility}
    found = translator.translate_nbest(LINES, mbr=mbr, sampling={"seed": 3}, nbest=6)
    similarity = PairwiseSimilarity("bleu" if utility == "bleu" else "chrf")
    assert found == [by_expected_utility(one, one, similarity) for one in samples]
    best = translator.translate(LINES, mbr=mbr, sampling={"seed": 3})
    assert best == [one[0].text for one in found]
    assert best[2] == ""


def test_candidates_of_beam_search(translator: Translator) -> None:
    samples = translator.translate_nbest(LINES, sampling={"epsilon": EPSILON}, nbest=6)
    searched = translator.translate_nbest(LINES, beam=3, nbest=3)
    similarity = PairwiseSimilarity("chrf")
    for candidates in ("beam", "both"):
        mbr = {**MBR, "candidates": candidates}
        found = translator.translate_nbest(LINES, mbr=mbr, beam=3, nbest=3)
        for line, beam, drawn in zip(found, searched, samples, strict=True):
            chosen = beam if candidates == "beam" else [*beam, *drawn]
            assert line == by_expected_utility(chosen, drawn, similarity)[:3]


def test_neither_batches_nor_neighbours_matter(translator: Translator) -> None:
    found = translator.translate(LINES, mbr=MBR)
    assert translator.translate(LINES, mbr=MBR, batch_tokens=1) == found
    numbers = [3, 0]
    lines = [LINES[number] for number in numbers]
    alone = list(translator.stream(lines, mbr=MBR, numbers=numbers))
    assert alone == [found[number] for number in numbers]


def test_progress_is_told_once(translator: Translator) -> None:
    for candidates in ("samples", "both"):
        told: list[int] = []
        mbr = {**MBR, "candidates": candidates}
        translator.translate_nbest(LINES, mbr=mbr, progress=told.append, batch_tokens=40)
        assert told[-1] == len(LINES)
        assert told == sorted(set(told))


def test_lines_are_answered_one_by_one(translator: Translator) -> None:
    read: list[str] = []

    def lines() -> Iterator[str]:
        for line in LINES:
            read.append(line)
            yield line

    mbr = {**MBR, "candidates": "both"}
    found = translator.stream(lines(), mbr=mbr, buffer_lines=1)
    next(found)
    assert len(read) == 1


def test_a_line_that_is_too_long_is_refused(translator: Translator) -> None:
    for candidates in ("samples", "both"):
        mbr = {**MBR, "candidates": candidates}
        (long,), (short, *_) = translator.translate_nbest(
            ["a b c d e", "a"], mbr=mbr, max_source_pieces=5
        )
        assert (long.refused is not None, long.text, long.score) == (True, "", -math.inf)
        assert short.refused is None


def test_epsilon_is_for_samples_that_nothing_else_truncates(translator: Translator) -> None:
    for sampling, epsilon in (({}, EPSILON), ({"epsilon": 0.0}, 0.0), ({"min_p": 0.5}, None)):
        drawn = sampling_settings(translator.configure(mbr=MBR, sampling=sampling)).sampling
        assert drawn is not None
        assert drawn.epsilon == epsilon


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"mbr": {"samples": 1}}, "mbr.samples"),
        ({"mbr": {"utility": "bleu"}}, "mbr.samples"),
        ({"mbr": {**MBR, "utility": "comet"}}, "mbr.utility"),
        ({"mbr": MBR, "nbest": 7}, "nbest 7 is more than the 6 candidates"),
        ({"mbr": {**MBR, "candidates": "both"}, "beam": 2, "nbest": 9}, "than the 8 candidates"),
        ({"mbr": MBR, "grammar": "trees"}, "mbr compares texts"),
        ({"mbr": MBR, "glossary": {"a": "b"}}, "glossary"),
    ],
)
def test_what_cannot_be_chosen_is_refused(
    translator: Translator, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(DragomanError, match=problem):
        translator.translate_nbest(["a"], **options)


def test_a_language_model_and_a_parser_are_refused(tmp_path: Path) -> None:
    save_tiny_model(tmp_path / "lm", config=TINY_LM)
    save_parser(tmp_path / "parser", grammar="any")
    for name, problem in (("lm", "a language model translates nothing"), ("parser", "trees")):
        with (
            Translator.load(tmp_path / name) as opened,
            pytest.raises(ConfigError, match=f"mbr: .*{problem}"),
        ):
            opened.translate(["a"], mbr=MBR)


def test_settings_of_a_model_are_changed_one_by_one(tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model", mbr={**MBR, "utility": "bleu"})
    with Translator.load(model, search={"mbr": {"samples": 3}}) as opened:
        assert opened.search.mbr == BayesRiskConfig(samples=3, utility="bleu")
        assert len(opened.translate_nbest(["a b c d"], nbest=3)[0]) > 1
