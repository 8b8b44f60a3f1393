"""Pairs get the scores that PyTorch gives, whatever else is in the batch and whoever scores."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
import torch
from filter_models import FORWARD, letters, save_models
from hypothesis import given
from hypothesis import strategies as st
from tiny_model import TINY_LM, save_tiny_model

from dragoman.core.errors import ConfigError
from dragoman.saved.model import load_model
from dragoman.techniques.corpus_filtering.both_directions import scoring_models
from dragoman.techniques.corpus_filtering.expected_lengths import ExpectedLengths
from dragoman.techniques.corpus_filtering.pair_scorer import (
    PairScorer,
    adequacy,
    domain_match,
    length_match,
    scored_in_order,
)
from dragoman.text.formats import Pair
from dragoman.text.vocabularies import BOS, EOS
from dragoman.translation.outputs import Scored
from dragoman.translation.translator import Translator


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return save_models(tmp_path_factory.mktemp("models"))


@pytest.fixture
def scorer(models: dict[str, Path]) -> Iterator[PairScorer]:
    made = PairScorer(scoring_models([models["forward"]], [models["reverse"]], device="cpu"))
    yield made
    made.close()


PAIRS = [Pair(one, other, line) for line, (one, other) in enumerate(letters(), 1)]


def cross_entropy(path: Path, source: str | None, target: str) -> float:
    """Nats per token in float64, by PyTorch alone."""
    saved = load_model(path, torch.device("cpu"))
    model, (read, written) = saved.model.double().eval(), saved.vocabularies
    output = torch.tensor([[*written.encode(target), EOS]])
    given = torch.tensor([[BOS, *written.encode(target)]])
    source_ids = torch.tensor([[*read.encode(source or ""), EOS]])
    with torch.no_grad():
        memory = model.encode(source_ids, torch.ones_like(source_ids, dtype=torch.bool))
        hidden, _ = model.decode(given, memory, model.start(memory))
        scores = model.logits(hidden).log_softmax(-1)
    return -float(scores.gather(2, output.unsqueeze(2)).mean())


def test_rows_have_the_cross_entropies_of_both_models(
    models: dict[str, Path], scorer: PairScorer
) -> None:
    found = scorer.score(PAIRS)
    assert [row["line"] for row in found.rows] == list(range(1, 24))
    checked = 0
    for row in found.rows:
        if row["problem"] is not None:
            continue
        forward = cross_entropy(models["forward"], row["source"], row["target"])
        reverse = cross_entropy(models["reverse"], row["target"], row["source"])
        assert row["forward"] == pytest.approx(forward, abs=1e-4)
        assert row["reverse"] == pytest.approx(reverse, abs=1e-4)
        expected = math.exp(-(abs(forward - reverse) + (forward + reverse) / 2))
        assert row["score"] == pytest.approx(expected, rel=1e-3)
        checked += 1
    assert checked == 21
    assert found.tokens > 4 * checked


@pytest.mark.usefixtures("forked_workers")
def test_an_unusual_length_lowers_the_score(models: dict[str, Path], scorer: PairScorer) -> None:
    usual = ExpectedLengths.of([(5, 6), (7, 7), (9, 8)])
    described = scoring_models([models["forward"]], [models["reverse"]], device="cpu")
    with closing(PairScorer(described, usual)) as by_length:
        (shared,) = scored_in_order(described, by_length, iter([PAIRS]), 2)
        rows = by_length.score(PAIRS).rows
    assert_same(shared.rows, rows)
    for row, plain in zip(rows, scorer.score(PAIRS).rows, strict=True):
        assert "excess_length" not in plain
        if row["problem"] is None:
            excess = usual.excess(len(row["source"]), len(row["target"]))
            assert row["excess_length"] == pytest.approx(excess, abs=1e-6)
            expected = plain["score"] * math.exp(-(excess**2) / 4)
            assert row["score"] == pytest.approx(expected, rel=1e-4)
        else:
            assert (row["score"], row["excess_length"]) == (0.0, None)


def test_a_pair_is_scored_by_itself(scorer: PairScorer) -> None:
    alone = [row for pair in PAIRS for row in scorer.score([pair]).rows]
    assert_same(alone, scorer.score(PAIRS).rows)


@pytest.mark.usefixtures("forked_workers")
def test_processes_score_alike(models: dict[str, Path], scorer: PairScorer) -> None:
    described = scoring_models([models["forward"]], [models["reverse"]], device="cpu")
    (shared,) = scored_in_order(described, scorer, iter([PAIRS]), 2)  # which starts one process
    expected = scorer.score(PAIRS)
    assert shared.tokens == expected.tokens
    assert_same(shared.rows, expected.rows)


def assert_same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        figures = ("score", "forward", "reverse")
        assert {**one, **dict.fromkeys(figures)} == {**other, **dict.fromkeys(figures)}
        for name in figures:
            assert one[name] == (None if other[name] is None else pytest.approx(other[name], 1e-4))


def test_language_models_lower_the_score_of_other_text(
    models: dict[str, Path], scorer: PairScorer
) -> None:
    named = {name: models[name] for name in ("domain", "general")}
    described = scoring_models([models["forward"]], [models["reverse"]], device="cpu", **named)  # type: ignore[arg-type]  # paths
    with_domain = PairScorer(described)
    plain = scorer.score(PAIRS).rows
    lowered = 0
    for row, before in zip(with_domain.score(PAIRS).rows, plain, strict=True):
        if row["problem"] is None:
            expected = cross_entropy(models["domain"], None, row["target"])
            assert row["domain"] == pytest.approx(expected, abs=1e-4)
            match = min(1.0, math.exp(row["general"] - row["domain"]))
            assert row["score"] == pytest.approx(before["score"] * match, rel=1e-3)
            lowered += match < 1
    assert 0 < lowered < 21
    with_domain.close()


def test_pairs_that_teach_nothing_are_not_scored(models: dict[str, Path], tmp_path: Path) -> None:
    short = save_tiny_model(tmp_path / "short", directions=(FORWARD,), max_source_pieces=5)
    scorer = PairScorer(scoring_models([short], [models["reverse"]], device="cpu"))
    texts = {
        "": "empty",
        "a b c d": "identical sides",
        "a " * 300: "length ratio",
        "e a c b d a c e b e": "too long for the model",
        "<2fr> a b": "unknown language tag",
        "b a c": None,
    }
    rows = scorer.score([Pair(text, "a b c d", n) for n, text in enumerate(texts, 1)]).rows
    assert [row["problem"] for row in rows] == list(texts.values())
    assert [row["score"] > 0 for row in rows] == [False] * 5 + [True]
    assert all(row["forward"] is None and row["reverse"] is None for row in rows[:5])
    scorer.close()


def test_scores_that_are_no_numbers(scorer: PairScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a model whose numbers overflow has given them."""
    broken = [Scored(-math.inf, 3), Scored(math.nan, 3)]
    monkeypatch.setattr(Translator, "score_fit", lambda *_: broken)
    rows = scorer.score(PAIRS[:2]).rows
    assert [row["problem"] for row in rows] == ["no finite probability"] * 2
    assert [row["score"] for row in rows] == [0.0, 0.0]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_sides_in_another_language(models: dict[str, Path]) -> None:
    pytest.importorskip("py3langid")
    described = scoring_models(
        [models["forward"]], [models["reverse"]], device="cpu", identify=True
    )
    scorer = PairScorer(described)
    english = "The old man is sitting on a bench in the park with his dog."
    german = "Der alte Mann sitzt mit seinem Hund auf einer Bank im Park."
    french = "Le vieil homme est assis sur un banc dans le parc avec son chien."
    pairs = [Pair(english, german, 1), Pair(english, french, 2), Pair(french, german, 3)]
    rows = scorer.score(pairs).rows
    assert [row["problem"] for row in rows] == [None, "wrong language", "wrong language"]
    scorer.close()


def test_models_that_do_something_else(models: dict[str, Path], tmp_path: Path) -> None:
    forward, reverse = [models["forward"]], [models["reverse"]]
    wrong = scoring_models(
        forward, reverse, device="cpu", domain=models["forward"], general=models["general"]
    )
    with pytest.raises(ConfigError, match="forward: not a language model"):
        PairScorer(wrong)
    language_model = save_tiny_model(tmp_path / "lm", config=TINY_LM)
    with pytest.raises(ConfigError, match="reads no source"):
        scoring_models([language_model], reverse)


NATS = st.floats(0, 30)


def test_adequacy_is_the_formula_of_the_paper() -> None:
    assert adequacy(2.0, 3.0) == pytest.approx(math.exp(-(1.0 + 2.5)), rel=1e-12)
    assert adequacy(0.0, 0.0) == 1.0


@given(NATS, NATS, st.floats(0.01, 5))
def test_both_models_and_their_agreement_count(one: float, other: float, more: float) -> None:
    score = adequacy(one, other)
    assert 0 < score <= 1
    assert score == adequacy(other, one)
    assert adequacy(one + more, other + more) < score
    mean = (one + other) / 2
    assert adequacy(mean, mean) >= score, "of equal means, the closer two are better"


@given(NATS, NATS)
def test_text_of_the_domain_is_never_punished(wanted: float, general: float) -> None:
    match = domain_match(wanted, general)
    assert match == pytest.approx(min(1.0, math.exp(general - wanted)))
    assert (match == 1) == (wanted <= general or math.exp(general - wanted) == 1)


@given(st.floats(-6, 6))
def test_the_length_counts_as_the_root_of_a_normal_density(excess: float) -> None:
    normal = NormalDist()
    expected = math.sqrt(normal.pdf(excess) / normal.pdf(0))
    assert length_match(excess) == pytest.approx(expected, rel=1e-9)
