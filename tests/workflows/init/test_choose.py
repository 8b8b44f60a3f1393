from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invented import facts, pieces

from dragoman.workflows.init import choose
from dragoman.workflows.init.choose import (
    SIZES,
    Size,
    choose_size,
    choose_step,
    plan_training,
    plan_vocabulary,
    smaller_vocabularies,
    worth_measuring,
)

NAMES = [size.name for size in SIZES]
LAPTOP = {"tiny": 9000.0, "small": 4500.0, "medium": 1500.0, "base": 150.0}
GPU = {"tiny": 2e6, "small": 1.2e6, "medium": 1e6, "base": 5e5}


def chosen(pairs: int, speeds: dict[str, float], minutes: float) -> str:
    return choose_size(facts(pairs), pieces(pairs), speeds, minutes).name


@pytest.mark.parametrize(
    ("pairs", "speeds", "minutes", "name"),
    [
        (500, LAPTOP, 10, "tiny"),
        (9_500, LAPTOP, 10, "tiny"),
        (29_000, LAPTOP, 10, "tiny"),
        (29_000, LAPTOP, 60, "small"),
        (29_000, GPU, 600, "small"),  # more time and speed give no more text
        (200_000, LAPTOP, 10, "tiny"),
        (200_000, LAPTOP, 1200, "medium"),
        (4_500_000, LAPTOP, 10, "tiny"),
        (4_500_000, GPU, 30, "base"),
        (9_500, GPU, 30, "small"),
        (3_400, GPU, 30, "tiny"),  # however often it is seen
    ],
)
def test_the_model_fits_text_and_time(
    pairs: int, speeds: dict[str, float], minutes: float, name: str
) -> None:
    assert chosen(pairs, speeds, minutes) == name


pair_counts = st.integers(50, 3_000_000)
machines = st.floats(0.01, 100).map(
    lambda factor: {name: factor * speed for name, speed in LAPTOP.items()}
)
times = st.floats(1, 100_000)


@given(pair_counts, machines, times)
def test_more_of_anything_never_makes_it_smaller(
    pairs: int, speeds: dict[str, float], minutes: float
) -> None:
    here = NAMES.index(chosen(pairs, speeds, minutes))
    assert NAMES.index(chosen(pairs, speeds, 2 * minutes)) >= here
    faster = {name: 2 * speed for name, speed in speeds.items()}
    assert NAMES.index(chosen(pairs, faster, minutes)) >= here


@given(pair_counts, machines, times)
def test_only_what_can_be_chosen_is_measured(
    pairs: int, speeds: dict[str, float], minutes: float
) -> None:
    known: dict[str, float] = {}
    while size := worth_measuring(facts(pairs), pieces(pairs), known, minutes):
        known[size.name] = speeds[size.name]
    assert NAMES[: len(known)] == list(known)
    assert chosen(pairs, known, minutes) == chosen(pairs, speeds, minutes)
    assert len(known) <= NAMES.index(chosen(pairs, speeds, minutes)) + 2


@settings(max_examples=25)
@given(pair_counts, st.floats(100, 1e6), times, st.sampled_from(SIZES))
def test_a_plan_ends_in_time(pairs: int, speed: float, minutes: float, size: Size) -> None:
    text, sample = facts(pairs), pieces(pairs)
    step_tokens = choose_step(text, sample, size, speed, minutes)
    plan = plan_training(text, sample, size, step_tokens=step_tokens, speed=speed, minutes=minutes)
    assert 1000 <= plan.step_tokens <= size.most_step_tokens
    assert 1 <= plan.warmup_steps < plan.steps
    assert 1 <= plan.validation_steps <= plan.steps
    assert 5 * plan.checkpoint_steps <= plan.steps  # what is averaged
    training = plan.steps * sample.tokens_per_step(step_tokens) / speed
    assert plan.seconds > training
    assert plan.epochs <= choose._MOST_EPOCHS * 1.01 or plan.steps == 10
    # Where neither reading nor scoring alone takes half of the time, all of it fits.
    fixed = 20 + pairs / 8000 + 6 * (3 * sample.dev_tokens + sample.test_tokens) / speed
    if fixed < 0.2 * 60 * minutes and plan.steps > 100:
        assert plan.seconds <= 60 * minutes * 1.05
        assert training < 60 * plan.max_minutes
        if not plan.is_cut_by_epochs:
            assert plan.seconds >= 60 * minutes * 0.8


def test_what_a_speed_means() -> None:
    """By hand: 29,000 pairs of 15 tokens at 5,000 a second for ten minutes."""
    text, sample = facts(29_000), pieces(29_000)
    left = choose.seconds_of_training(text, sample, 10, 5000.0)
    # Start, preparation, five times 500 and then 2,500 sentences of 15 at six times the cost.
    assert left == pytest.approx(600 - 15 - 29_000 / 8000 - (5 * 500 + 2500) * 15 * 6 / 5000)
    plan = plan_training(text, sample, SIZES[0], step_tokens=2000, speed=5000.0, minutes=10)
    per_step = sample.tokens_per_step(2000)
    assert plan.steps == pytest.approx(left * 5000 / per_step, abs=10)
    assert plan.epochs == pytest.approx(plan.steps * per_step / (29_000 * 15), rel=0.01)


@pytest.mark.parametrize(
    ("pairs", "dropout"), [(200_000, 0.0), (29_000, 0.1), (15_000, 0.2), (2_000, 0.3)]
)
def test_dropout_follows_from_the_passes_over_the_text(pairs: int, dropout: float) -> None:
    text, sample = facts(pairs), pieces(pairs)
    plan = plan_training(text, sample, SIZES[0], step_tokens=2000, speed=5000.0, minutes=10)
    assert plan.dropout == dropout


def test_warnings_of_little_text_and_little_time() -> None:
    def said(pairs: int, speed: float) -> str:
        text, sample = facts(pairs), pieces(pairs)
        plan = plan_training(text, sample, SIZES[0], step_tokens=2000, speed=speed, minutes=10)
        return " ".join(choose.warnings(text, plan, 10))

    assert "500 pairs are few" in said(500, 5000.0)
    assert said(29_000, 5000.0) == ""
    assert "--minutes" in said(2_000_000, 5000.0)


@given(pair_counts, st.integers(5, 60), st.integers(20, 5000), st.booleans())
def test_vocabularies(pairs: int, length: int, characters: int, same: bool) -> None:
    text = facts(pairs, length, characters, "Latin" if same else "Han")
    planned = plan_vocabulary(text)
    assert planned.joint == same
    room = planned.size - 256 * planned.byte_fallback
    assert room > characters or planned.character_coverage < 1
    assert planned.byte_fallback or characters <= 300
    assert smaller_vocabularies(planned)[0] == planned
    larger = plan_vocabulary(facts(2 * pairs, length, characters))
    assert larger.size >= planned.size


@pytest.mark.parametrize(
    ("pairs", "length", "size"), [(9_500, 20, 2000), (29_000, 62, 8000), (4_500_000, 130, 32_000)]
)
def test_vocabularies_are_of_the_size_that_recipes_use(pairs: int, length: int, size: int) -> None:
    assert plan_vocabulary(facts(pairs, length, 100)).size == size


def test_the_limit_of_pieces_leaves_out_next_to_nothing() -> None:
    lengths = np.full(10_000, 20)
    lengths[:5] = 900
    sample = choose.Pieces(lengths, lengths, 1.0, 10, 10)
    assert sample.limit == 64
    lengths[:500] = 150
    assert sample.limit == 200
    lengths[:] = 900
    assert sample.limit == 256
