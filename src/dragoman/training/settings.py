"""How a model is trained, as the section ``training`` of a configuration says it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, model_validator

from dragoman.core.config import Config
from dragoman.core.device import Precision
from dragoman.training.objectives.choice import AnyObjective
from dragoman.training.objectives.cross_entropy import CrossEntropyConfig
from dragoman.training.optimizer import OptimizerConfig
from dragoman.training.schedule import ScheduleConfig
from dragoman.training.warm_start import OptionalStart


class TrainingConfig(Config):
    """How a model is trained; the defaults are the paper's base model (section 5)."""

    step_tokens: int = Field(25_000, gt=0)
    """Maximum padded tokens of a step on either side, over all devices, end symbols counted:
    sentences times the longest of them (section 5.1: about 25,000 source and 25,000 target
    tokens). A single pair that is longer is a step of its own."""
    device_tokens: int | None = Field(None, gt=0)
    """Maximum padded tokens on a device at once; it takes its share of a step in as many passes
    as that needs. By default it takes its share at once."""
    optimizer: OptimizerConfig = OptimizerConfig()
    """Adam's constants."""
    schedule: ScheduleConfig = ScheduleConfig()
    """Learning rate over the steps."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Probability mass given to all pieces alike (section 5.4)."""
    objective: AnyObjective = CrossEntropyConfig()
    """What is minimised on sentence pairs, by its `kind`."""
    start_from: OptionalStart = None
    """Another model, whose weights training begins with instead of fresh ones: its name, or a
    section that says which of them."""
    precision: Precision = "auto"
    """What the model computes in; auto is bfloat16 where the hardware has it, decided once when
    training begins and written into the run."""
    max_steps: int | None = Field(100_000, ge=1)
    """Stop after this many steps."""
    max_epochs: int | None = Field(None, ge=1)
    """Stop after this many passes over the data."""
    max_minutes: float | None = Field(None, gt=0)
    """Stop after this much time of training, validation left out."""
    validation_steps: int = Field(1000, ge=1)
    """Validate each time this many steps have passed, and at the end."""
    checkpoint_steps: int = Field(1000, ge=1)
    """Write a checkpoint each time this many steps have passed."""
    keep_checkpoints: int = Field(5, ge=1)
    """Newest checkpoints to keep; the best one is kept besides."""
    average_checkpoints: int = Field(5, ge=0)
    """Newest checkpoints whose mean becomes the model (5 for base, 20 for big in the paper);
    0 takes the best one."""
    ema_decay: float | None = Field(None, gt=0, lt=1)
    """Decay per step of an exponential moving average of the weights, such as 0.999. The average is
    what is validated, and becomes the model instead of the mean of checkpoints."""
    best_metric: Literal["bleu", "chrf", "ter", "loss"] = "bleu"
    """What tells the best checkpoint: a score of the dev set, or its loss per token."""
    patience: int | None = Field(None, ge=1)
    """Stop after this many validations without a better one."""
    send_gradients: Literal["after", "during"] = "after"
    """When several processes sum their gradients: after the backward pass, or part by part while it
    runs. The result is the same."""
    log_steps: int = Field(20, ge=1)
    """Write training figures each time this many steps have passed."""
    non_finite_steps: int = Field(10, ge=1)
    """Go back to the last checkpoint after this many non-finite steps in a row."""

    @model_validator(mode="before")
    @classmethod
    def _read_r_drop(cls, values: Any) -> Any:
        """Runs of before ``objective`` have ``r_drop``, which was its alpha."""
        if not (isinstance(values, dict) and "r_drop" in values):
            return values
        alpha = values["r_drop"]
        values = {name: value for name, value in values.items() if name != "r_drop"}
        if alpha == 0:
            return values
        if "objective" in values:
            raise ValueError(
                "r_drop is an older name of objective: {kind: r_drop}; remove one of the two"
            )
        return {"objective": {"kind": "r_drop", "alpha": alpha}, **values}

    def conflicts(self) -> Iterator[str]:
        """An end that the schedule needs, and checkpoints that are not kept."""
        if self.max_steps is None and self.schedule.decay in {"linear", "cosine"}:
            yield f"schedule.decay: {self.schedule.decay} needs max_steps"
        if self.average_checkpoints > self.keep_checkpoints:
            yield (
                f"average_checkpoints {self.average_checkpoints} is more than keep_checkpoints "
                f"{self.keep_checkpoints}; raise the latter"
            )
