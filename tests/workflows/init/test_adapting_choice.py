"""What learns, and for how long, when a model is adapted to a text: from numbers alone."""

from __future__ import annotations

import pytest
from invented import facts, pieces

from dragoman.core.errors import ConfigError
from dragoman.models.cost import Cost
from dragoman.techniques.adaptation.adaptation_plan import MOST_STEPS
from dragoman.workflows.init.adapting_choice import (
    AdaptingPlan,
    ChosenMethod,
    LearningMethod,
    choose_method,
    plan_adapting,
    warnings_of_adapting,
)
from dragoman.workflows.rehearsal import Measured

GB = 1e9


def sizes(weights: float, factors: float | None = None) -> dict[LearningMethod, Cost]:
    found: dict[LearningMethod, Cost] = {"full": Cost({"all": int(weights)}, 1.0, 1.0)}
    if factors is not None:
        parameters = {"all": int(weights + factors)}
        found["lora"] = Cost(parameters, 1.0, 1.0, frozen_parameters=int(weights))
    return found


def chosen(
    weights: float, tokens: float, memory: float, wanted: LearningMethod | None = None
) -> ChosenMethod:
    return choose_method(wanted, sizes(weights, weights / 50), tokens, memory)


@pytest.mark.parametrize(
    ("weights", "tokens", "memory", "method", "why"),
    [
        (2e6, 60_000, 16 * GB, "full", "60,000 target tokens of text suffice"),
        (2e6, 15_000, 16 * GB, "lora", "15,000 target tokens of text are few"),
        (600e6, 7e6, 64 * GB, "full", "suffice"),
        (600e6, 7e6, 16 * GB, "lora", "training all weights takes 10."),
        (600e6, 100_000, 64 * GB, "lora", "are few for 600,000,000 weights"),
    ],
)
def test_all_weights_learn_where_text_and_memory_suffice(
    weights: float, tokens: float, memory: float, method: str, why: str
) -> None:
    found = chosen(weights, tokens, memory)
    assert found.method == method
    assert why in found.why


def test_the_user_may_choose_otherwise() -> None:
    assert chosen(2e6, 60_000, 16 * GB, "lora") == ChosenMethod("lora", "chosen by --method")
    assert "suffice" in chosen(2e6, 60_000, 16 * GB, "full").why


def test_a_model_that_can_have_no_adapter() -> None:
    assert choose_method(None, sizes(2e6), 100, 16 * GB).method == "full"
    with pytest.raises(ConfigError, match="--method full"):
        choose_method("lora", sizes(2e6), 100, 16 * GB)


@pytest.mark.parametrize("wanted", [None, "full", "lora"])
def test_a_model_that_does_not_fit_at_all(wanted: LearningMethod | None) -> None:
    with pytest.raises(ConfigError, match=r"--languages and --text"):
        chosen(3e9, 1e5, 16 * GB, wanted)


def plan(
    minutes: float, *, speed: float = 2000.0, kept: float = 1e4, memory: float = 16 * GB
) -> AdaptingPlan:
    return plan_adapting(
        facts(9_500), pieces(9_500), 128, "full", sizes=sizes(2e6)["full"],
        measured=Measured(speed, kept), available=memory, minutes=minutes,
    )  # fmt: skip


def test_steps_are_those_of_adapt_or_what_the_time_allows() -> None:
    short, long = plan(5), plan(500)
    assert short.is_cut_by_time and not long.is_cut_by_time
    assert short.seconds <= 1.1 * 300 < long.seconds
    assert long.steps == plan(5000).steps == MOST_STEPS
    assert plan(5, speed=4000.0).steps > 1.8 * short.steps


def test_a_step_that_does_not_fit_is_taken_in_parts() -> None:
    assert plan(5).device_tokens is None
    little = plan(5, kept=1e6, memory=1.8 * GB)
    assert little.device_tokens is not None
    assert little.device_tokens < little.step_tokens
    assert little.memory <= 1.8 * GB


def test_warnings_of_pieces_and_of_time() -> None:
    def warned(minutes: float, pieces: int) -> str:
        given = plan(5)
        return " ".join(
            warnings_of_adapting(
                given, minutes, pieces=pieces, used=8_000, weights_to_trim=254_000_000
            )
        )

    assert not warned(5, 24_000)
    assert "up to 254 million weights less" in warned(5, 256_000)
    assert "1 minutes are too few" in warned(1, 24_000)
