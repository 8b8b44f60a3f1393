"""Metrics that compare translations with their sources."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError
from dragoman.evaluation.kept_items import is_degenerate
from dragoman.evaluation.metrics import (
    EvaluationConfig,
    SourceSide,
    check_installed,
    score_corpus,
)
from dragoman.evaluation.significance import (
    SignificanceConfig,
    compare_systems,
    difference_interval,
)

CONFIG = EvaluationConfig(metrics=("terms",), glossary="some/terms.tsv")


def count(source: str, translation: str) -> tuple[int, int]:
    """Digits of the source that are in the translation."""
    digits = re.findall(r"\d", source)
    return sum(one in translation for one in digits), len(digits)


def side(sources: list[str]) -> SourceSide:
    return SourceSide(sources, dict.fromkeys(["terms", "placeholders", "numbers"], count))


lines = st.lists(st.tuples(st.text("ab12", max_size=4), st.text("ab12", max_size=4)), min_size=1)


@given(lines)
def test_the_rate_is_over_all_items_of_all_sources(pairs: list[tuple[str, str]]) -> None:
    sources, translations = map(list, zip(*pairs, strict=True))
    (score,) = score_corpus(translations, [[""] * len(pairs)], CONFIG, side(sources))
    found = [count(*pair) for pair in pairs]
    wanted = sum(all_of for _, all_of in found)
    kept = sum(one for one, _ in found)
    assert score.value == pytest.approx(100 * kept / wanted if wanted else 100)
    assert "glossary:terms.tsv" in score.signature and "nrefs" not in score.signature


@pytest.mark.parametrize("name", ["12:30.tsv", "a|b.tsv"])
def test_a_glossary_may_have_any_name(name: str) -> None:
    config = EvaluationConfig(metrics=("terms",), glossary=name, confidence_samples=9)
    (score,) = score_corpus(["1", ""], [["", ""]], config, side(["1", "2"]))
    assert f"glossary:{name}|" in score.signature
    assert score.value == 50 and score.confidence is not None


SOURCES = [f"{n % 3} and {n % 5}" for n in range(60)]
GOOD = SOURCES
BAD = [line.replace("2", "x") for line in SOURCES]
REFERENCES = [["anything"] * 60]


def test_intervals_and_tests_are_those_of_other_metrics() -> None:
    config = EvaluationConfig(metrics=("chrf", "numbers", "placeholders"), confidence_samples=100)
    chrf, *rates = score_corpus(BAD, [GOOD], config, side(SOURCES))
    assert rates[0].confidence is not None and rates[0].confidence.margin > 0
    assert 0 < rates[0].value < 100 and rates[0].value == rates[1].value
    assert chrf.signature.startswith("nrefs:1")
    compared = compare_systems(BAD, {"good": GOOD}, REFERENCES, config, source=side(SOURCES))
    assert [one.metric for one in compared] == ["chrF2", "numbers", "placeholders"]
    alone = compare_systems(BAD, {"good": GOOD}, REFERENCES, EvaluationConfig(metrics=("chrf",)))
    assert compared[0] == alone[0], "the other metrics change nothing"
    assert compared[1].value == 100 and compared[1].is_significant()
    low, high = difference_interval(
        BAD, GOOD, REFERENCES, config, metric="numbers", samples=100, source=side(SOURCES)
    )
    assert 0 < low < compared[1].difference < high


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_systems_are_compared_in_the_order_of_the_metrics(test: str) -> None:
    config = EvaluationConfig(metrics=("numbers", "chrf", "placeholders", "bleu"))
    how = parse(SignificanceConfig, {"test": test, "samples": 9}, "test")
    given = {"good": GOOD, "bad": BAD}
    compared = compare_systems(BAD, given, REFERENCES, config, how, source=side(SOURCES))
    scores = [score_corpus(lines, REFERENCES, config, side(SOURCES)) for lines in given.values()]
    assert [(one.system, one.metric, round(one.value, 9)) for one in compared] == [
        (system, one.name, round(one.value, 9))
        for system, found in zip(given, scores, strict=True)
        for one in found
    ]
    numbers, chrf, *_ = compared
    assert "case:" in chrf.signature and "case:" not in numbers.signature


def test_what_they_lack_is_said() -> None:
    with pytest.raises(ConfigError, match="terms: name the source text"):
        score_corpus(GOOD, REFERENCES, CONFIG)
    with pytest.raises(ConfigError, match="terms: name the glossary"):
        score_corpus(GOOD, REFERENCES, CONFIG, SourceSide(SOURCES, {}))
    with pytest.raises(DataError, match="59 sources, but 60 references"):
        score_corpus(GOOD, REFERENCES, CONFIG, side(SOURCES[1:]))
    check_installed(CONFIG)  # needs nothing


SHARES = EvaluationConfig(metrics=("exact_match", "degenerate"), confidence_samples=50)


def test_shares_are_percentages_with_intervals_and_tests() -> None:
    references = ["Hund", "Katze", "eine Maus", "Tür"] * 10
    translations = ["Hund", " Katze ", "Maus", "Tür Tür Tür Tür"] * 10
    exact, degenerate = score_corpus(translations, [references], SHARES)
    assert (exact.value, degenerate.value) == (50, 25)
    assert exact.confidence is not None and exact.confidence.margin > 0
    assert "times:3" in degenerate.signature and exact.signature != degenerate.signature
    compared = compare_systems(translations, {"good": references}, [references], SHARES)
    assert compared


def test_of_several_references_the_one_that_suits_best_counts() -> None:
    sets = ["Hund", "zu", "ja"], ["Köter", "offen", "ja ja ja ja"]
    outputs = ["Köter", "zu", "ja ja ja ja"]
    for references in (sets, sets[::-1]):
        exact, degenerate = score_corpus(outputs, references, SHARES)
        assert (exact.value, degenerate.value) == (100, 0)
        assert "nrefs:2" in exact.signature
    exact, degenerate = score_corpus(outputs, sets[:1], SHARES)
    assert degenerate.value == pytest.approx(100 / 3)
    assert exact.value == pytest.approx(100 / 3)
    assert "nrefs" not in exact.signature


@pytest.mark.parametrize(
    ("translation", "reference", "expected"),
    [
        ("no no no no", "nein nein nein nein", False),
        ("ha ha ha ha ha", "ha ha ha ha", True),
        ("the door the door the door", "die Tür", True),
        ("ninininini", "nini", False),
        ("x" + "ni" * 9, "eine lange Zeile", True),
        ("ドアのドアのドアのドアのドア", "ドアのドアなどなど", True),
        ("A man in a blue shirt stands on a ladder.", "Hund", True),
        ("In Ordnung", "OK", False),
        ("", "", False),
        ("", "Hund", False),
    ],
)
def test_what_is_degenerate(translation: str, reference: str, expected: bool) -> None:
    assert is_degenerate(translation, reference) == expected
