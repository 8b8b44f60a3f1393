"""How a model is adapted to a text: all weights or an adapter, and how long; measures nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dragoman.core.errors import ConfigError
from dragoman.models.cost import Cost
from dragoman.techniques.adaptation.adaptation_plan import planned
from dragoman.workflows.init.choose import (
    Pieces,
    affordable_validations,
    minutes_in_words,
    minutes_of_steps,
    seconds_beside_steps,
    seconds_of_training,
)
from dragoman.workflows.init.look import Facts
from dragoman.workflows.rehearsal import Measured
from dragoman.workflows.training_needs import (
    MOST_PARAMETERS_PER_TOKEN,
    bytes_in_words,
    static_memory,
)

LearningMethod = Literal["full", "lora"]
"""All weights, or a low-rank adapter."""
_SHARE_OF_MEMORY = 0.5  # for weights and moments; activations and other programs need the rest
_FILLED_MEMORY = 0.8
_MANY_PIECES = 20_000
_SPARE = 3  # pieces of the vocabulary for each that the text uses


@dataclass(frozen=True)
class ChosenMethod:
    """What learns, and why."""

    method: LearningMethod
    why: str


def choose_method(
    wanted: LearningMethod | None,
    sizes: Mapping[LearningMethod, Cost],
    tokens: float,
    available: float,
) -> ChosenMethod:
    """All weights where memory and text suffice, otherwise an adapter.

    Args:
        wanted: what the user chose; None for neither.
        sizes: the model with each method; without ``lora`` if it can have no adapter.
        tokens: target tokens of the text.
        available: bytes of memory.

    Raises:
        ConfigError: the model can have no adapter, or takes more memory than there is.
    """
    if wanted == "lora" and "lora" not in sizes:
        raise ConfigError(
            "--method lora: the model has no linear layers that an adapter can change; choose "
            "--method full"
        )
    weights, memory = sizes["full"].total_parameters, static_memory(sizes["full"])
    there = f"{bytes_in_words(available)} of memory are available"
    if memory > _SHARE_OF_MEMORY * available:
        found = ChosenMethod(
            "lora", f"training all weights takes {bytes_in_words(memory)} and more, and {there}"
        )
    elif weights > MOST_PARAMETERS_PER_TOKEN * tokens:
        found = ChosenMethod(
            "lora", f"{tokens:,.0f} target tokens of text are few for {weights:,} weights"
        )
    else:
        why = f"{tokens:,.0f} target tokens of text suffice for {weights:,} weights, and {there}"
        found = ChosenMethod("full", why)
    if wanted is not None and wanted != found.method:
        found = ChosenMethod(wanted, "chosen by --method")
    elif "lora" not in sizes:
        found = ChosenMethod("full", "the model can have no adapter")
    if (needed := static_memory(sizes[found.method])) > available:
        raise ConfigError(
            f"weights and moments alone take {bytes_in_words(needed)}, and {there}; adapt a "
            "smaller model, such as one that was imported with --languages and --text"
        )
    return found


@dataclass(frozen=True)
class AdaptingPlan:
    """Training that adapts a model in time."""

    step_tokens: int
    device_tokens: int | None
    """What fits into memory at once; None if a whole step does."""
    steps: int
    warmup_steps: int
    validation_steps: int
    peak_learning_rate: float
    passes: float
    """How often the text is read."""
    seconds: float
    """Seconds from ``dragoman train`` to its last score."""
    memory: float
    """Bytes that training takes."""
    max_minutes: float
    is_cut_by_time: bool
    """Whether the time, rather than the amount of text, limits the training."""

    @property
    def minutes(self) -> str:
        """The time in words."""
        return minutes_in_words(self.seconds)


def step_tokens_for(pieces: Pieces, d_model: int, method: LearningMethod) -> int:
    """Tokens of a step, which follow from the amount of text."""
    return planned(round(pieces.epoch_tokens), d_model, 0.0, method).step_tokens


def plan_adapting(
    facts: Facts,
    pieces: Pieces,
    d_model: int,
    chosen: LearningMethod,
    *,
    sizes: Cost,
    measured: Measured,
    available: float,
    minutes: float,
) -> AdaptingPlan:
    """The steps of an adaptation as ``dragoman adapt`` chooses them, cut to the time.

    Args:
        facts: of the text.
        pieces: lengths of the text in the pieces of the model.
        d_model: width of the model.
        chosen: what learns.
        sizes: of the model with it.
        measured: its speed and memory on this machine.
        available: bytes of memory.
        minutes: for all of it.
    """
    usual = planned(round(pieces.epoch_tokens), d_model, 0.0, chosen)
    speed, per_step = measured.tokens_per_second, pieces.tokens_per_step(usual.step_tokens)
    training_seconds = seconds_of_training(facts, pieces, minutes, speed)
    in_time = training_seconds * speed / per_step
    steps = max(10, min(usual.steps, round(in_time)))
    static = static_memory(sizes)
    fitting = max(100.0, (_FILLED_MEMORY * available - static) / measured.bytes_per_token)
    at_once = min(usual.step_tokens, int(fitting) // 100 * 100)
    validations = affordable_validations(pieces, speed, minutes)
    beside = seconds_beside_steps(facts, pieces, minutes, speed)
    return AdaptingPlan(
        step_tokens=usual.step_tokens,
        device_tokens=at_once if at_once < usual.step_tokens else None,
        steps=steps,
        warmup_steps=max(1, min(usual.warmup_steps, steps // 10)),
        validation_steps=math.ceil(steps / validations),
        peak_learning_rate=usual.peak_learning_rate,
        passes=steps * per_step / pieces.epoch_tokens,
        seconds=steps * per_step / speed + beside,
        memory=static + measured.bytes_per_token * at_once,
        max_minutes=minutes_of_steps(max(training_seconds, steps * per_step / speed)),
        is_cut_by_time=steps < usual.steps,
    )


def warnings_of_adapting(
    plan: AdaptingPlan, minutes: float, *, pieces: int, used: int, weights_to_trim: int
) -> list[str]:
    """Warnings to read before waiting for training.

    Args:
        plan: the training.
        minutes: what it should take.
        pieces: of the model's vocabulary.
        used: how many of them the text uses.
        weights_to_trim: parameters of the other pieces.
    """
    texts = []
    if pieces > max(_MANY_PIECES, _SPARE * used):
        texts.append(
            f"the text uses {used:,} of the model's {pieces:,} pieces; imported with --languages "
            f"and --text, it has up to {weights_to_trim / 1e6:,.0f} million weights less, and "
            "takes less memory and time"
        )
    if plan.seconds > 120 * minutes:
        texts.append(
            f"{minutes:g} minutes are too few for this model: even a few steps with their scores "
            f"take {plan.minutes}; give smaller sets with --dev and --test, or --minutes"
        )
    return texts
