"""The training loop: steps, validation, checkpoints, and what to do when something goes wrong.

Everything random is a function of (seed, epoch, step, rank), so that a run which was killed and
resumed gives the same weights as one that was not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from dragoman.config import Config
from dragoman.data.batches import Batch, BatchConfig
from dragoman.data.prefetch import prefetch
from dragoman.device import Precision, keep_freed_memory, working_precision
from dragoman.errors import InterruptedRunError, TrainingError
from dragoman.files import sweep
from dragoman.models.dropout import seed_dropout
from dragoman.models.interface import TranslationModel
from dragoman.saved import CHECKPOINTS_DIRECTORY
from dragoman.training.checkpoint import (
    Best,
    Progress,
    checkpoints,
    path_of,
    prune,
    read_checkpoint,
    step_of,
    write_checkpoint,
)
from dragoman.training.distributed import World
from dragoman.training.health import EARLY_STEPS, learns_nothing
from dragoman.training.interruption import Interruption
from dragoman.training.limits import limit_reached
from dragoman.training.loss import backward
from dragoman.training.optimizer import FlatOptimizer, OptimizerConfig
from dragoman.training.progress import Averages, Observer, Record
from dragoman.training.schedule import ScheduleConfig, learning_rate
from dragoman.training.start import OptionalStart

MAX_ROLLBACKS = 3


class TrainingConfig(Config):
    """How a model is trained; the defaults are the paper's base model (section 5)."""

    batches: BatchConfig = BatchConfig()
    """Size of batches."""
    accumulation: int = Field(1, ge=1, le=10_000)
    """Batches a step on each device: more of them stand in for more memory or more devices."""
    optimizer: OptimizerConfig = OptimizerConfig()
    """Adam's constants."""
    schedule: ScheduleConfig = ScheduleConfig()
    """Learning rate over the steps."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Probability mass given to all pieces alike (section 5.4)."""
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
    best_metric: Literal["bleu", "chrf", "loss"] = "bleu"
    """What tells the best checkpoint: BLEU or chrF of the dev set, or its loss a token."""
    patience: int | None = Field(None, ge=1)
    """Stop after this many validations without a better one."""
    log_steps: int = Field(20, ge=1)
    """Write training figures each time this many steps have passed."""
    non_finite_steps: int = Field(10, ge=1)
    """Go back to the last checkpoint after this many non-finite steps in a row."""

    def conflicts(self) -> Iterator[str]:
        """An end that the schedule needs, and checkpoints that are not kept."""
        if self.max_steps is None and self.schedule.decay in {"linear", "cosine"}:
            yield f"schedule.decay: {self.schedule.decay} needs max_steps"
        if self.average_checkpoints > self.keep_checkpoints:
            yield (
                f"average_checkpoints {self.average_checkpoints} is more than keep_checkpoints "
                f"{self.keep_checkpoints}; raise the latter"
            )


class BatchSource(Protocol):
    """Batches of any epoch, as :class:`dragoman.data.batches.Batches` gives them."""

    def windows(self, epoch: int) -> int:
        """In how many parts ``epoch`` comes."""

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[Batch]:
        """Batches of one part from index ``start`` on."""


Validate = Callable[[TranslationModel], dict[str, float]]
"""From a model to figures of the dev set: at least ``loss``.  It is called in every process, and
gives the same figures in all."""


class Trainer:
    """Trains one model in one run directory.

    Args:
        model: with fresh weights; moved to the device.
        batches: the training data.
        validate: gives figures of the dev set, among them ``config.best_metric``.
        config: how to train.
        run: directory that holds ``checkpoints/``.
        seed: of dropout.
        d_model: width of the model, which the paper's learning rate depends on.
        world: the processes that train together.
        observers: told about every ``log_steps`` steps and each validation.
    """

    def __init__(
        self,
        model: TranslationModel,
        batches: BatchSource,
        validate: Validate,
        config: TrainingConfig,
        run: Path,
        *,
        seed: int,
        d_model: int,
        world: World,
        observers: Sequence[Observer] = (),
    ) -> None:
        keep_freed_memory()
        self.model = model.to(world.device)
        self.optimizer = FlatOptimizer(
            self.model, config.optimizer, working_precision(config.precision, world.device)
        )
        self.progress = Progress()
        self._batches, self._validate, self._config = batches, validate, config
        self._run, self._seed, self._d_model = run, seed, d_model
        self._world, self.observers = world, observers
        self._interruption = Interruption()
        self._averages = Averages()
        self._non_finite = 0
        self._saved_step: int | None = None
        self._step_seconds = 0.0
        self._stopping = False

    def resume(self) -> bool:
        """Take up the newest checkpoint of the run; False if there is none.

        Raises:
            SavedError: it is damaged or of another configuration.
        """
        newest = self._world.broadcast(self._newest_step)
        if newest is None:
            return False
        progress, weights, moments = read_checkpoint(path_of(self._run, newest))
        self.optimizer.restore(weights, moments)
        self.progress, self._saved_step = progress, progress.step
        if progress.window >= self._batches.windows(progress.epoch):  # the text has become less
            progress.epoch, progress.window, progress.batch = progress.epoch + 1, 0, 0
        if progress.best is not None and progress.best.metric != self._config.best_metric:
            progress.best, progress.stale_validations = None, 0  # values that do not compare
        return True

    def _newest_step(self) -> int | None:
        """Of the newest checkpoint, if there is one."""
        sweep(self._run / CHECKPOINTS_DIRECTORY)
        found = checkpoints(self._run)
        return step_of(found[-1]) if found else None

    def train(self) -> Progress:
        """Train until a limit is reached.

        Raises:
            InterruptedRunError: a signal came; a checkpoint is written.
            TrainingError: the loss stays non-finite after several rollbacks.
        """
        try:
            with self._interruption.listening():
                while self._limit_reached() is None:
                    self._one_window()
                if self.progress.step != self.progress.validated_step:
                    self._validate_and_save(validate=True)
        finally:
            for observer in self.observers:
                observer.close()
        return self.progress

    def _one_window(self) -> None:
        """The rest of the present window, or up to a limit, a rollback or a signal."""
        progress, k = self.progress, self._config.accumulation
        started = time.perf_counter()  # a step's time has its wait for data in it
        present = self._batches.window(progress.epoch, progress.window, progress.batch)
        with prefetch(present) as batches:
            while group := list(islice(batches, k)):
                finite = self._step([batch.to(self._world.device) for batch in group])
                progress.batch += len(group)
                self._step_seconds = time.perf_counter() - started
                self._averages.wait(self._step_seconds)
                if not finite and self._non_finite >= self._config.non_finite_steps:
                    self._roll_back()
                    return
                self._after_step()
                if self._limit_reached() is not None:
                    return
                started = time.perf_counter()
        progress.window, progress.batch = progress.window + 1, 0
        if progress.window >= self._batches.windows(progress.epoch):
            progress.epoch, progress.window = progress.epoch + 1, 0

    def _step(self, batches: list[Batch]) -> bool:
        """One optimizer step; False if it was skipped because the loss is not finite."""
        progress, config = self.progress, self._config
        progress.step += 1
        entropy = (self._seed, progress.step, self._world.rank, progress.rollbacks)
        seed_dropout(*entropy)
        torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1)[0]))
        self.model.train()
        sums = torch.zeros(3, dtype=torch.float64, device=self._world.device)
        for batch in batches:
            sums += self._backward(batch)
            self.optimizer.collect()
        smoothed, nll, tokens = self._share(sums)
        self._world.all_reduce(self.optimizer.gradient)
        norm = self.optimizer.scale(1 / tokens)
        rate = learning_rate(config.schedule, progress.step, self._d_model, config.max_steps)
        rate *= progress.learning_rate_factor
        finite = math.isfinite(norm) and math.isfinite(smoothed)
        if finite:
            self.optimizer.step(rate)
            self._non_finite = 0
            progress.target_tokens += int(tokens)
            self._averages.add(smoothed, nll, tokens, norm, rate)
            if len(progress.early_losses) < EARLY_STEPS:
                progress.early_losses.append(nll / tokens)
        else:
            self.optimizer.clear()
            self._non_finite += 1
            self._warn(f"loss or gradient is not finite ({smoothed}, {norm}); step skipped")
        return finite

    def _share(self, sums: Tensor) -> list[float]:
        """Add up ``sums`` over all processes, and agree on when to stop.

        A signal or the clock may say one thing to one process and another to the next; were
        each to act on its own, those that go on would wait for the others for ever.
        """
        lead = self._step_seconds if self._world.is_leader else 0.0
        common = sums.new_tensor([lead, self._interruption.signal is not None])
        *totals, seconds, stop = self._world.all_reduce(torch.cat([sums, common])).tolist()
        self.progress.seconds += seconds
        self._stopping = stop > 0
        return totals

    def _backward(self, batch: Batch) -> Tensor:
        """Gradients of one batch; its smoothed loss, NLL and tokens, summed."""
        loss = backward(self.model, batch, self._config.label_smoothing)
        tokens = loss.nll.new_tensor(batch.target_tokens)
        return torch.stack([loss.smoothed, loss.nll, tokens]).double()

    def _after_step(self) -> None:
        """Log, validate, save and stop where the time has come."""
        step, config = self.progress.step, self._config
        if step % config.log_steps == 0:
            self._log()
        # At a limit now and not after the loop, which would write the same checkpoint again.
        validate = step % config.validation_steps == 0 or self._limit_reached() is not None
        if validate or step % config.checkpoint_steps == 0:
            self._validate_and_save(validate)
        if self._stopping:
            if step != self._saved_step:
                self._validate_and_save(validate=False)
            received = self._interruption.signal
            reason = received.name if received else "another process"
            raise InterruptedRunError(
                f"stopped at step {step} by {reason}; everything is saved; go on with: "
                f"dragoman resume {self._run}",
                received,
            )

    def _limit_reached(self) -> str | None:
        """Which limit ends the training, if one does."""
        return limit_reached(self.progress, self._config)

    def _log(self) -> None:
        figures = self._averages.figures()
        if not figures or not self._world.is_leader:
            return
        progress = self.progress
        record = {"kind": "training", "step": progress.step, "epoch": progress.epoch, **figures}
        record |= self.model.figures()
        record["target_tokens"] = progress.target_tokens
        record["seconds"] = round(progress.seconds, 3)
        if message := learns_nothing(progress.early_losses, figures["nll"], progress.step):
            self._warn(message)
        self._tell(record)

    def _validate_and_save(self, validate: bool) -> None:
        progress = self.progress
        try:
            if validate:
                self._validate_now()
                progress.validated_step = progress.step
        finally:  # a validation that fails must not cost the steps before it
            # The others wait, so that no process ends while the leading one is writing.
            self._world.broadcast(self._save)
        self._saved_step = progress.step

    def _save(self) -> None:
        """Write a checkpoint and delete old ones."""
        weights, moments = self.optimizer.weights(), self.optimizer.moments()
        write_checkpoint(self._run, self.progress, weights, moments)
        prune(self._run, self._config.keep_checkpoints, self.progress.best)

    def _validate_now(self) -> None:
        progress, metric = self.progress, self._config.best_metric
        self.model.eval()
        figures = self._validate(self.model)
        self._tell({"kind": "validation", "step": progress.step, **figures})
        value = figures[metric]
        better = progress.best is None or (
            value < progress.best.value if metric == "loss" else value > progress.best.value
        )
        if better:
            progress.best = Best(metric, value, progress.step)
            progress.stale_validations = 0
        else:
            progress.stale_validations += 1

    def _roll_back(self) -> None:
        """Return to the last checkpoint with half the learning rate."""
        step, rollbacks = self.progress.step, self.progress.rollbacks + 1
        factor = self.progress.learning_rate_factor / 2
        if rollbacks > MAX_ROLLBACKS or not self.resume():
            raise TrainingError(
                f"step {step}: the loss stays non-finite after {rollbacks - 1} rollbacks; lower "
                "training.schedule.peak_learning_rate, lengthen warmup_steps or set "
                "training.optimizer.clip_norm: 1.0"
            )
        self.progress.rollbacks, self.progress.learning_rate_factor = rollbacks, factor
        self._non_finite = 0
        self._averages = Averages()
        self.model.figures()  # which forgets them
        for observer in self.observers:
            observer.rewind(self.progress.step)
        self._warn(
            f"{self._config.non_finite_steps} non-finite steps in a row up to step {step}: went "
            f"back to the checkpoint of step {self.progress.step}, learning rate now times {factor}"
        )

    def _warn(self, message: str) -> None:
        self._tell({"kind": "warning", "step": self.progress.step, "message": message})

    def _tell(self, record: Record) -> None:
        if self._world.is_leader:
            for observer in self.observers:
                observer.record(record)
