"""The section ``training`` of a configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, model_validator

from dragoman.core.config import Config
from dragoman.core.device import Precision
from dragoman.core.sections import OneName
from dragoman.evaluation.metric_names import added_metrics
from dragoman.models.interface import Part
from dragoman.models.layers.low_rank import AdapterConfig
from dragoman.training.bounds import BoundConfig
from dragoman.training.checkpoint import Progress
from dragoman.training.components import TakenComponent
from dragoman.training.consolidation import ConsolidationConfig
from dragoman.training.given_embeddings import EmbeddingsConfig
from dragoman.training.objectives import AnyObjective
from dragoman.training.objectives.cross_entropy import CrossEntropyConfig
from dragoman.training.optimizers import AnyOptimizer
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.schedule import (
    EarlierEnd,
    ScheduleConfig,
    between_points,
    end_in_time,
    learning_rate,
)
from dragoman.training.warm_start import OptionalStart

_SELECTING = ("bleu", "chrf", "ter", "accuracy", "macro_f1", "bracketing_f1", "loss", "round_trip")


def _selecting() -> list[str]:
    """Validation figures by which the best checkpoint can be selected."""
    return [*_SELECTING, *added_metrics()]


_MEAN_OF = 5
"""Checkpoints whose mean is a candidate with ``average_checkpoints: dev``."""
ShardingKind = Literal["none", "state", "gradients", "parameters"]


Weight = Annotated[float, Field(ge=0, le=1e6)]


class TaskConfig(Config):
    """Settings of a task, which learns from the parts of `data.train` that name it."""

    weight: Weight | dict[Annotated[int, Field(ge=0)], Weight] = 1.0
    """Weight of a target token relative to those of other tasks: a number, or numbers by step, such
    as `{0: 1, 3000: 0.1}`, with linear interpolation between them, the first number before and the
    last one after. At weight 0 nothing is learned from the task."""
    objective: AnyObjective | None = None
    """The loss of this task; by default `training.objective`."""

    def conflicts(self) -> Iterator[str]:
        """A weight that is never above 0."""
        weights = self.weight.values() if isinstance(self.weight, dict) else [self.weight]
        if not any(weights):
            yield "weight is never above 0; remove the task and its text"

    @property
    def weights(self) -> dict[int, float]:
        """The weight by step: the points between which it changes linearly."""
        return self.weight if isinstance(self.weight, dict) else {0: self.weight}


class TrainingConfig(Config):
    """How a model is trained; the defaults are the paper's base model (section 5)."""

    step_tokens: int = Field(25_000, gt=0)
    """Maximum padded tokens per step and side over all devices: sentences times the longest length,
    with end symbols (section 5.1: about 25,000 source and 25,000 target tokens). A longer pair
    makes a step of its own."""
    device_tokens: int | None = Field(None, gt=0)
    """Maximum padded tokens per side that a device processes at once; its share of a step is split
    into as many passes as needed. By default the share is not split; if memory runs out, it is
    halved until it fits, and the run keeps that size."""
    optimizer: AnyOptimizer = AdamConfig()
    """Hyperparameters of the optimizer."""
    schedule: ScheduleConfig = ScheduleConfig()
    """Learning rate over the steps."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Label smoothing: probability mass spread evenly over all pieces (section 5.4)."""
    objective: AnyObjective = CrossEntropyConfig()
    """The loss that is minimised on sentence pairs, chosen by `kind`."""
    tasks: dict[str, TaskConfig] = Field(default_factory=dict)
    """Settings of the tasks of parts of `data.train`, by name; a task without settings has weight
    1. A step takes `step_tokens` tokens of every task and adds up their gradients."""
    start_from: OptionalStart = None
    """A model whose weights initialise this one: its path, or a section that says which weights to
    take. By default weights are drawn at random."""
    adapter: AdapterConfig | None = None
    """Keep the weights of `start_from` fixed, and learn a small adapter for them (see
    [adapters](adapters.md)). By default all weights learn."""
    consolidation: ConsolidationConfig | None = None
    """Hold weights near those of `start_from`, more strongly if the general text depends on them
    (see [adapters](adapters.md#elastic-weight-consolidation)). By default nothing holds the
    weights."""
    components: dict[str, TakenComponent] = Field(default_factory=dict)
    """The trained models that the model is composed of, by their key in `model`. No need to set it:
    the run takes them from the paths there."""
    embeddings: EmbeddingsConfig | None = None
    """Files of vectors that initialise embeddings, such as those of `dragoman embed`. By default
    embeddings are drawn at random."""
    precision: Precision = "auto"
    """Number type of computations. auto is bfloat16 where the hardware has it; the choice is made
    when training begins and written to the run."""
    max_steps: int | None = Field(100_000, ge=1)
    """Stop after this many steps; `null` for no such limit."""
    max_epochs: int | None = Field(None, ge=1)
    """Stop after this many passes over the data; `null` for no such limit."""
    max_minutes: float | None = Field(None, gt=0)
    """Stop after this many minutes of training, without validation; `null` for no such limit. At
    each checkpoint after the warm-up, the speed so far decides whether a linear or cosine decay
    must end earlier to end in time; this is written to the checkpoint."""
    validation_steps: int = Field(1000, ge=1)
    """Steps between validations; the last step is validated too."""
    checkpoint_steps: int = Field(1000, ge=1)
    """Steps between checkpoints."""
    keep_checkpoints: int = Field(5, ge=1)
    """Number of newest checkpoints to keep; the best one is always kept as well."""
    average_checkpoints: Annotated[int, Field(ge=0)] | Literal["dev"] = "dev"
    """Number of newest checkpoints to average into the model (5 for base, 20 for big in the paper);
    0 takes the best one. `dev` takes the mean of the newest five or the best one, whichever is
    better on the dev sets at [the end of the run](runs-and-models.md#the-end-of-a-run). With
    `bounds` it takes the best one."""
    ema_decay: float | None = Field(None, gt=0, lt=1)
    """Decay per step of an exponential moving average of the weights, such as 0.999; `null` for no
    average. The average is validated. The newest average becomes the model in place of the mean of
    checkpoints; with `average_checkpoints: 0`, the best average does. `average_checkpoints: dev`
    compares both with the mean of checkpoints. A checkpoint used as a model has the weights without
    averaging."""
    best_metric: Annotated[str, OneName(_selecting)] = "bleu"
    """Selects the best checkpoint: a metric on the dev set, or its loss per token. round_trip is
    the BLEU of dev sets with the transform `back_translation`, which have no source text."""
    patience: int | None = Field(None, ge=1)
    """Stop after this many validations without improvement; `null` for no such limit."""
    bounds: dict[str, BoundConfig] = Field(default_factory=dict)
    """How much worse the scores of dev sets may become, by their names in `data.dev`, such as
    `{general: {may_lose: 1}}` (see [bounds](adaptation.md#a-bound-in-any-recipe)). Scores are
    measured before the first step; weights outside of a bound never become the model."""
    send_gradients: Literal["after", "during"] = "after"
    """When processes sum their gradients: after the backward pass, or part by part during it. The
    result is the same."""
    sharding: ShardingKind = "none"
    """State that is split among the processes, so that each needs less memory (see [training in
    several processes](scaling.md#training-in-several-processes)): `state`, float32 weights and
    moments of the optimizer; `gradients`, also the gradient; `parameters`, also the weights of
    layers. The result is the same, apart from rounding."""
    recompute: Literal["none", "layers"] = "none"
    """`layers` keeps only the input of each layer and recomputes the rest in the backward pass:
    less memory, more time, and the same result, bit for bit."""
    log_steps: int = Field(20, ge=1)
    """Steps between logged training figures."""
    non_finite_steps: int = Field(10, ge=1)
    """Go back to the last checkpoint after this many non-finite steps in a row."""

    @model_validator(mode="before")
    @classmethod
    def _read_r_drop(cls, values: Any) -> Any:
        """Translate ``r_drop`` of runs that predate ``objective``; it held the alpha of R-Drop."""
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
        """A schedule without its end, averaged checkpoints deleted, two sources of weights."""
        if self.start_from is not None and self.components:
            yield "start_from takes all weights, those of components, too; remove one of the two"
        start = self.start_from
        yield from self._unfit_adaptation()
        if self.embeddings is not None and start is not None and "embeddings" in start.parts:
            yield (
                "embeddings and start_from both give embeddings; set start_from.parts without "
                "them, or remove embeddings"
            )
        if self.max_steps is None and self.schedule.ends_at_zero:
            yield f"schedule.decay: {self.schedule.decay} needs max_steps"
        if self.sharding != "none" and self.send_gradients == "during":
            yield (
                f"send_gradients: during is for sharding: none, and {self.sharding} sends them at "
                "its own times; remove one of the two"
            )
        optimizer = self.optimizer
        keeps_matrices = optimizer.elementwise_beyond_layers and self.sharding != "parameters"
        if self.sharding != "none" and not (optimizer.elementwise or keeps_matrices):
            other = "gradients" if optimizer.elementwise_beyond_layers else "none"
            yield (
                f"sharding: {self.sharding} cuts parameters into pieces, and optimizer.kind: "
                f"{optimizer.kind} needs them whole; set sharding: {other}"
            )
        yield from self._unfit_parameter_sharding()
        if self.averaged > self.keep_checkpoints:
            yield (
                f"average_checkpoints {self.average_checkpoints} is more than keep_checkpoints "
                f"{self.keep_checkpoints}; raise the latter"
            )

    def limit_reached(self, progress: Progress) -> str | None:
        """The limit that ends the training, if one is reached."""
        if progress.watched is not None and progress.watched.is_lost(self.bounds):
            return "bounds"
        if (end := self.earlier_end(progress)) is not None and progress.step >= end.last:
            return "max_minutes"
        done = _done(progress) | {"patience": progress.stale_validations}
        return next((name for name, value in done.items() if value >= self._limit(name)), None)

    def earlier_end(self, progress: Progress) -> EarlierEnd | None:
        """The end of the decay that a run has decided for these limits, if any."""
        end = progress.end
        return end if end is not None and end.holds(self.max_steps, self.max_minutes) else None

    def end_in_time(self, progress: Progress) -> EarlierEnd | None:
        """The end of the decay that fits into the time at the speed of the steps so far, if any."""
        if self.limit_reached(progress) is not None:
            return progress.end
        return end_in_time(
            self.schedule,
            step=progress.step,
            seconds=progress.seconds,
            max_steps=self.max_steps,
            max_minutes=self.max_minutes,
            end=self.earlier_end(progress),
        )

    def learning_rate(self, step: int, d_model: int, progress: Progress) -> float:
        """The learning rate of a step of a run that has come so far."""
        end = self.earlier_end(progress)
        rate = learning_rate(self.schedule, step, d_model, self.max_steps, end)
        return rate * progress.learning_rate_factor

    def limits_passed(self, progress: Progress) -> Iterator[tuple[str, str]]:
        """Limits that training has passed, with messages: "max_steps 20: 25 steps are done"."""
        words = {"max_steps": "steps", "max_epochs": "epochs", "max_minutes": "minutes"}
        for name, value in _done(progress).items():
            if value > self._limit(name):
                yield name, f"{name} {self._limit(name):g}: {value:g} {words[name]} are done"

    def _limit(self, name: str) -> float:
        limit: float | None = getattr(self, name)
        return float("inf") if limit is None else limit

    @property
    def averaged(self) -> int:
        """Newest checkpoints to average, perhaps as one of several candidates; 0: the best one."""
        if self.average_checkpoints != "dev":
            return self.average_checkpoints
        return 0 if self.bounds else min(_MEAN_OF, self.keep_checkpoints)

    @property
    def consolidates(self) -> bool:
        """Whether a setting holds weights near those of ``start_from``."""
        return self.consolidation is not None and self.consolidation.weight > 0

    def _unfit_parameter_sharding(self) -> Iterator[str]:
        """Settings that need whole weights in every process."""
        if self.sharding != "parameters":
            return
        for name in ("adapter", "consolidation"):
            if getattr(self, name) is not None:
                yield (
                    f"{name} needs all weights in every process; set sharding: gradients, or "
                    f"remove {name}"
                )
        if self.embeddings is not None and self.embeddings.fixed:
            yield (
                "embeddings.fixed needs all weights in every process; set sharding: gradients, or "
                "fixed: false"
            )

    def _unfit_adaptation(self) -> Iterator[str]:
        """An adapter or consolidation without a model, and settings unfit for an adapter."""
        start = self.start_from
        for name in ("adapter", "consolidation"):
            if getattr(self, name) is not None and start is None:
                yield f"{name} is of a trained model; name it in start_from, or remove {name}"
        if self.adapter is None:
            return
        if start is not None and set(start.parts) != set(get_args(Part)):
            yield "adapter needs all weights of start_from; remove start_from.parts"
        if start is not None and start.vocabulary != "keep":
            yield (
                f"adapter keeps the embeddings fixed, so start_from.vocabulary: "
                f"{start.vocabulary} gives it pieces that it cannot learn; set it to keep"
            )
        if self.consolidation is not None:
            yield "consolidation holds weights that an adapter keeps fixed; remove one of the two"
        if self.embeddings is not None:
            yield "adapter keeps the embeddings of start_from; remove embeddings"


def _done(progress: Progress) -> dict[str, float]:
    minutes = progress.seconds / 60
    return {"max_steps": progress.step, "max_epochs": progress.epoch, "max_minutes": minutes}


def task_problems(tasks: Mapping[str, TaskConfig], used: Collection[str]) -> Iterator[str]:
    """Settings of tasks without text, and steps in which nothing would be learned.

    The tasks in ``used`` have text.
    """
    for name in tasks:
        if name not in used:
            yield (
                f"training.tasks.{name}: no part of data.train has task: {name}; tasks there: "
                f"{', '.join(used)}"
            )
        elif (objective := tasks[name].objective) is not None and objective.reads_alignments:
            yield (
                f"training.tasks.{name}.objective: {objective.kind} learns from all pairs or none; "
                "set it in training.objective"
            )
    points = [tasks[name].weights if name in tasks else {0: 1.0} for name in used]
    # A sum of piecewise linear weights, nowhere below 0, vanishes at one of the points or nowhere.
    for step in sorted({max(step, 1) for weights in points for step in weights}):
        if not any(between_points(weights, step) for weights in points):
            yield f"training.tasks: every weight is 0 at step {step}; raise one of them there"
            return
