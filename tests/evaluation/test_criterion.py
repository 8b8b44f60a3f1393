from __future__ import annotations

from typing import Any

import pytest

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError
from dragoman.evaluation.criterion import Criterion
from dragoman.evaluation.metrics import sentence_chrf

FOUND = ["a small house", "a house", "a small tree"]
WANTED = ["a small house", "a small house", "the river"]


def test_a_bound_on_chrf_must_be_exceeded() -> None:
    scores = sentence_chrf(FOUND, WANTED)
    assert Criterion(above=scores[1] - 0.01).holds(FOUND, WANTED) == [True, True, False]
    assert Criterion(above=scores[1]).holds(FOUND, WANTED) == [True, False, False]


def test_exact_is_to_the_letter() -> None:
    exact = Criterion(kind="exact")
    assert exact.holds(FOUND, WANTED) == [True, False, False]
    assert exact.holds(["A house"], ["a house"]) == [False]
    with pytest.raises(DataError, match="1 lines, but reference 1 has 3"):
        exact.holds(["a"], WANTED)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"above": 100}, "above: .*less than 100"),
        ({"kind": "exact", "above": 50}, "above: 50.0 is not read with kind: exact"),
    ],
)
def test_what_makes_no_sense_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(Criterion, values, "here")
