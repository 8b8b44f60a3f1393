"""Questions of binary arithmetic are what Python's integers say, and the curriculum advances."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.neural_gpu.arithmetic import ONE, OPERATOR, TASKS, ZERO, Curriculum, as_bits


def number(ids: list[int]) -> int:
    """Read a number by Python's own parser, which wants the highest bit first."""
    digit = {ZERO: "0", ONE: "1"}
    return int("".join(digit[one] for one in reversed(ids)), 2)


@given(st.integers(1, 40), st.integers(0, 9999), st.sampled_from(sorted(TASKS)))
def test_answers_are_right(bits: int, seed: int, name: str) -> None:
    sources, answers = TASKS[name].draw(bits, 3, Random(seed))
    assert sources.shape == (3, 2 * bits + 1)
    for source, answer in zip(sources.tolist(), answers.tolist(), strict=True):
        assert source[bits] == OPERATOR
        one, other = number(source[:bits]), number(source[bits + 1 :])
        expected = one + other if name == "addition" else one * other
        assert number(answer) == expected
        assert len(answer) == (bits + 1 if name == "addition" else 2 * bits)


def test_bits_begin_with_the_lowest() -> None:
    assert as_bits(6, 4) == [ZERO, ONE, ONE, ZERO]


def test_the_same_seed_draws_the_same_questions() -> None:
    draws = [TASKS["addition"].draw(20, 4, Random(seed))[0].tolist() for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_the_curriculum_grows_after_right_answers_to_the_longest() -> None:
    curriculum = Curriculum(2)
    curriculum.heard(1, 0.0)
    assert curriculum.current == 1
    for _ in range(10):
        curriculum.heard(1, 0.0)
    assert curriculum.current == 2
    for _ in range(20):
        curriculum.heard(2, 0.0)
    assert curriculum.current == 2
    assert {curriculum.draw(Random(seed)) for seed in range(20)} == {1, 2}


@pytest.mark.parametrize(("bits", "wrong"), [(1, 0.2), (0, 0.0)])
def test_the_curriculum_waits(bits: int, wrong: float) -> None:
    curriculum = Curriculum(5)
    for _ in range(50):
        curriculum.heard(bits, wrong)
    assert curriculum.current == 1
