"""Shares of lines that match exactly, and of degenerate ones."""

from __future__ import annotations

import pytest

from dragoman.evaluation.line_shares import is_degenerate
from dragoman.evaluation.metrics import EvaluationConfig, score_corpus
from dragoman.evaluation.significance import compare_systems

CONFIG = EvaluationConfig(metrics=("exact_match", "degenerate"), confidence_samples=50)


def test_shares_are_percentages_with_intervals_and_tests() -> None:
    references = ["Hund", "Katze", "eine Maus", "Tür"] * 10
    translations = ["Hund", " Katze ", "Maus", "Tür Tür Tür Tür"] * 10
    exact, degenerate = score_corpus(translations, [references], CONFIG)
    assert (exact.value, degenerate.value) == (50, 25)
    assert exact.confidence is not None and exact.confidence.margin > 0
    assert "times:3" in degenerate.signature and exact.signature != degenerate.signature
    compared = compare_systems(translations, {"good": references}, [references], CONFIG)
    assert compared


def test_of_several_references_the_one_that_suits_best_counts() -> None:
    sets = ["Hund", "zu", "ja"], ["Köter", "offen", "ja ja ja ja"]
    outputs = ["Köter", "zu", "ja ja ja ja"]
    for references in (sets, sets[::-1]):
        exact, degenerate = score_corpus(outputs, references, CONFIG)
        assert (exact.value, degenerate.value) == (100, 0)
        assert "nrefs:2" in exact.signature
    exact, degenerate = score_corpus(outputs, sets[:1], CONFIG)
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
