"""The training loop: steps, validation, checkpoints, and recovery when something goes wrong.

All randomness is a function of (seed, place, step, rank), so a run that was killed and resumed
gives the same weights as an uninterrupted run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from dragoman.core.device import keep_freed_memory, working_precision
from dragoman.core.errors import InterruptedRunError, TrainingError
from dragoman.core.files import sweep
from dragoman.core.wording import in_shell
from dragoman.data.batches import Batch
from dragoman.data.grouping import DeviceTokens
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.tally import restore_tallies, tallies
from dragoman.saved.model import CHECKPOINTS_DIRECTORY
from dragoman.training.bounds import watch
from dragoman.training.checkpoint import (
    Place,
    Progress,
    checkpoint_to_return_to,
    checkpoints,
    path_of,
    prune,
    read_checkpoint,
    step_of,
    write_checkpoint,
)
from dragoman.training.choose_sharding import chosen_sharding
from dragoman.training.consolidation import Consolidation
from dragoman.training.distributed import World
from dragoman.training.interruption import Interruption
from dragoman.training.observers import (
    EARLY_STEPS,
    Averages,
    Observer,
    Record,
    learns_nothing,
    likelihood,
)
from dragoman.training.recomputation import recompute_layers
from dragoman.training.settings import TrainingConfig
from dragoman.training.sharding.interface import Sharding
from dragoman.training.steady_products import gains_from_steady_products, make_products_steady
from dragoman.training.step_gradients import FittingPasses, StepGradients
from dragoman.training.tasks import LOSS, TOKENS, Task, TaskReaders

MAX_ROLLBACKS = 3

Validate = Callable[[TranslationModel], dict[str, float]]
"""From a model to figures on the dev set: at least ``loss``.  Called in every process, with the
same result in all."""


class Trainer:
    """Trains one model in one run directory.

    Args:
        model: with fresh weights; moved to the device.
        tasks: the tasks to learn; epochs are those of the first.
        validate: returns figures on the dev set, including ``config.best_metric``.
        config: the section ``training``.
        run: directory that holds ``checkpoints/``.
        seed: of dropout.
        d_model: width of the model, on which the paper's learning rate depends.
        world: the processes that train together.
        observers: receive a record every ``log_steps`` steps and at each validation.
        make_sharding: creates the sharding of the model; by default that of ``config``.
        make_penalty: creates the penalty on the weights that is added to the loss; by default none.
        device_tokens: maximum tokens of the tasks' batches, lowered when memory runs out.
        measured: digest of the settings that ``validate`` measures with.
    """

    def __init__(
        self,
        model: TranslationModel,
        tasks: Sequence[Task],
        validate: Validate,
        config: TrainingConfig,
        run: Path,
        *,
        seed: int,
        d_model: int,
        world: World,
        observers: Sequence[Observer] = (),
        make_sharding: Callable[[TranslationModel], Sharding] | None = None,
        make_penalty: Callable[[Sharding], Consolidation] | None = None,
        device_tokens: DeviceTokens | None = None,
        measured: str = "",
    ) -> None:
        self.model = model.to(world.device)
        precision = working_precision(config.precision, world.device)
        if gains_from_steady_products(world.device, precision):
            make_products_steady(self.model)
        self.sharding = (make_sharding or chosen_sharding(config, world))(self.model)
        keep_freed_memory()  # not the old weights, which the sharding's vectors have replaced
        if config.recompute == "layers":
            recompute_layers(self.model)
        self._penalty = None if make_penalty is None else make_penalty(self.sharding)
        self.progress = Progress()
        self._tasks, self._validate, self._config = tasks, validate, config
        self._run, self._seed, self._d_model, self._measured = run, seed, d_model, measured
        self._world, self.observers = world, observers
        self._gradients = StepGradients(self.model, tasks, self.sharding, world.device)
        self._memory = FittingPasses(device_tokens, self.sharding, self._warn)
        self._interruption = Interruption()
        self._averages = Averages(tasks)
        self._readers = TaskReaders(tasks, self.progress.places)
        self._saved_step: int | None = None
        self._saved_places: dict[str, Place] = {}
        self._step_seconds, self._stopping = 0.0, False

    def resume(self) -> bool:
        """Resume from the newest checkpoint of the run; return False if there is none."""
        return self._go_back(lambda run: next(reversed(checkpoints(run)), None))

    def _go_back(self, choose: Callable[[Path], Path | None]) -> bool:
        """Restore the checkpoint that ``choose`` returns; return False if there is none."""
        chosen = self._world.broadcast(lambda: self._chosen_step(choose))
        if chosen is None:
            return False
        progress, weights, moments = read_checkpoint(path_of(self._run, chosen))
        self.sharding.restore(weights, moments)
        self.progress = progress
        self._note_saved()
        self._averages = Averages(self._tasks, progress.unlogged)
        restore_tallies(self.model, progress.unlogged.tallies if progress.unlogged else {})
        self._memory.resume(progress.device_tokens, progress.asked_tokens)
        self._readers.go_to(progress.places)
        progress.forget_incomparable(self._config.best_metric, self._measured)
        return True

    def _chosen_step(self, choose: Callable[[Path], Path | None]) -> int | None:
        sweep(self._run / CHECKPOINTS_DIRECTORY)
        path = choose(self._run)
        return None if path is None else step_of(path)

    def train(self) -> Progress:
        """Train until a limit is reached.

        Raises:
            InterruptedRunError: a signal came; a checkpoint has been written.
            TrainingError: the loss is still non-finite after several rollbacks.
        """
        try:
            with self._interruption.listening():
                step, validated = self.progress.step, self.progress.validated_step
                if self._config.bounds and self.progress.watched is None:
                    self._validate_and_save(validate=True)  # bounds count from this
                elif step > validated and step % self._config.validation_steps == 0:
                    self._validate_and_save(validate=True)  # it failed before
                while self._config.limit_reached(self.progress) is None:
                    self._one_step()
                if self.progress.step != self.progress.validated_step:
                    self._validate_and_save(validate=True)
                elif self.progress.places != self._saved_places:  # the last epoch has ended since
                    self._validate_and_save(validate=False)
                if self._is_interrupted():
                    raise self._stopped()
        finally:
            self._readers.close()
            for observer in self.observers:
                observer.close()
        return self.progress

    def _one_step(self) -> None:
        """Take a step of every task, or end an epoch of the first."""
        started = time.perf_counter()  # a step's time includes waiting for data
        places = self._readers.places
        taken = self._readers.take()
        if taken is None:
            first = self._tasks[0].name
            self.progress.places[first] = self._readers.places[first]  # for max_epochs
            return
        finite = self._step(taken, places)
        self.progress.places = self._readers.places
        self._step_seconds = time.perf_counter() - started
        self._averages.wait(self._step_seconds)
        if not finite and self.progress.non_finite >= self._config.non_finite_steps:
            self._roll_back()
        else:
            self._after_step()

    def _step(self, taken: list[list[Batch]], places: Mapping[str, Place]) -> bool:
        """Take one optimizer step; return False if it was skipped because the loss is not finite.

        A step without tokens to predict, as from unmaskable sentences, keeps the weights.  The
        batches of each task, ``taken``, can be taken again from ``places`` in smaller batches.
        """
        progress, config = self.progress, self._config
        progress.step += 1
        weights = [task.weight_at(progress.step) for task in self._tasks]
        at = (self._seed, progress.step, self._world.rank, progress.rollbacks)
        sums = self._memory.fitting(
            partial(self._gradients.collect, weights=weights, at=at),
            taken,
            partial(self._take_again, places),
        )
        self.sharding.reduce(self._world)
        totals = self._share(sums)
        tokens = sum(weight * one[TOKENS] for weight, one in zip(weights, totals, strict=True))
        if not tokens:
            self.sharding.clear()
            return True
        if self._penalty is not None:
            self._penalty.add_gradient(tokens)
        norm = self.sharding.scale(1 / tokens)
        rate = config.learning_rate(progress.step, self._d_model, progress)
        losses = [own[LOSS] for own in totals]
        finite = all(map(math.isfinite, (norm, *losses)))
        if finite:
            self.sharding.step(rate)
            progress.non_finite = 0
            progress.target_tokens += int(sum(own[TOKENS] for own in totals))
            self._averages.add(totals, norm, rate)
            if len(progress.early_losses) < EARLY_STEPS and totals[0][TOKENS]:
                progress.early_losses.append(likelihood(totals[0]) / totals[0][TOKENS])
        else:
            self.sharding.clear()
            progress.non_finite += 1
            values = ", ".join(map(str, (*losses, norm)))
            self._warn(f"loss or gradient is not finite ({values}); step skipped")
        return finite

    def _take_again(self, places: Mapping[str, Place]) -> list[list[Batch]]:
        """Take the batches at ``places`` again, divided by the current ``device_tokens``."""
        self._readers.go_to(places)
        taken = self._readers.take()
        assert taken is not None, "the same step is there again"
        return taken

    def _share(self, sums: list[Tensor]) -> list[dict[str, float]]:
        """Add up each task's totals over all processes, and agree on batches and on when to stop.

        A signal may reach only some processes, and their clocks differ.  If each acted alone, the
        processes that continue would wait for the others for ever.
        """
        lead = self._step_seconds if self._world.is_leader else 0.0
        own = self._memory.lowered or 0
        limits = [own * (rank == self._world.rank) for rank in range(self._world.size)]
        common = sums[0].new_tensor([*limits, lead, self._interruption.signal is not None])
        *flat, seconds, stop = self._world.all_reduce(torch.cat([*sums, common])).tolist()
        self._agree([int(limit) for limit in flat[-self._world.size :]])
        self.progress.seconds += seconds
        self._stopping = stop > 0
        values = iter(flat)
        return [{name: next(values) for name in task.objective.totals} for task in self._tasks]

    def _agree(self, limits: Sequence[int]) -> None:
        """Lower the batch size to the smallest of all processes, from the next step on."""
        if self._memory.agree(limits):
            self._readers.go_to(self._readers.places)
        self.progress.device_tokens = self._memory.lowered
        self.progress.asked_tokens = self._memory.asked if self._memory.lowered else None

    def _after_step(self) -> None:
        step, config = self.progress.step, self._config
        if step % config.log_steps == 0:
            self._log()
        # Decided here: after the loop, the same checkpoint would be written again.
        is_last = config.limit_reached(self.progress) is not None
        validate = is_last or step % config.validation_steps == 0
        if validate or step % config.checkpoint_steps == 0:
            self._decide_the_end()
            self._validate_and_save(validate)
        if self._stopping:
            if step != self._saved_step:
                self._validate_and_save(validate=False, unplanned=True)
            raise self._stopped()

    def _decide_the_end(self) -> None:
        """End the decay of the learning rate earlier if steps are too slow for the time given."""
        end = self._config.end_in_time(self.progress)
        if end is not None and end != self._config.earlier_end(self.progress):
            self._warn(end.story)
        self.progress.end = end

    def _is_interrupted(self) -> bool:
        """Whether a signal came to any process, even during the validation after the last step."""
        here = torch.tensor(float(self._interruption.signal is not None), device=self._world.device)
        return bool(self._world.all_reduce(here))

    def _stopped(self) -> InterruptedRunError:
        received = self._interruption.signal
        reason = received.name if received else "another process"
        return InterruptedRunError(
            f"stopped at step {self.progress.step} by {reason}; everything is saved; continue "
            f"with: dragoman resume {in_shell(self._run)}",
            received,
        )

    def _log(self) -> None:
        figures = self._averages.figures()
        penalty = None if self._penalty is None else self._penalty.value()
        if not figures or not self._world.is_leader:
            return
        progress = self.progress
        record = {"kind": "training", "step": progress.step, "epoch": progress.epoch}
        record |= figures | self.model.figures()
        if penalty is not None:
            record["penalty"] = penalty
        record["target_tokens"] = progress.target_tokens
        record["seconds"] = round(progress.seconds, 3)
        # A model that starts from trained weights has little to gain, and risk may cost likelihood.
        if LOSS in figures and self._config.start_from is None:
            early, loss = progress.early_losses, likelihood(figures)
            if message := learns_nothing(early, loss, progress.step):
                self._warn(message)
        self._tell(record)

    def _validate_and_save(self, validate: bool, unplanned: bool = False) -> None:
        progress = self.progress
        progress.unplanned, progress.unlogged = unplanned, self._averages.unlogged
        if progress.unlogged is not None:
            progress.unlogged.tallies = tallies(self.model)
        try:
            if validate:
                self._validate_now()
                progress.validated_step = progress.step
        finally:  # a validation that fails must not cost the steps before it
            # In every process, as state may be sharded.
            weights, moments = self.sharding.weights(), self.sharding.moments()
            # The others wait, so that no process ends while the leader is writing.
            self._world.broadcast(lambda: self._save(weights, moments))
        self._note_saved()

    def _note_saved(self) -> None:
        self._saved_step, self._saved_places = self.progress.step, dict(self.progress.places)

    def _save(self, weights: dict[str, Tensor], moments: dict[str, Tensor]) -> None:
        write_checkpoint(self._run, self.progress, weights, moments)
        prune(self._run, self._config.keep_checkpoints, self.progress)

    def _validate_now(self) -> None:
        progress, metric = self.progress, self._config.best_metric
        self.model.eval()
        with self.sharding.averaged() as model:
            figures = self._validate(cast(TranslationModel, model))
        self._tell({"kind": "validation", "step": progress.step, **figures})
        if not self._within_bounds(figures):
            return
        progress.see(metric, figures[metric], self._measured)

    def _within_bounds(self, figures: Mapping[str, float]) -> bool:
        """Whether every dev set is within its bound; warns of those outside or near."""
        progress, bounds = self.progress, self._config.bounds
        if not bounds:
            return True
        best = None if self._config.averaged else progress.best
        best_step = None if best is None else best.step
        progress.watched, warnings = watch(
            progress.watched, bounds, figures, progress.step, best_step
        )
        for warning in warnings:
            self._warn(warning)
        return not progress.watched.passed(bounds)

    def _roll_back(self) -> None:
        """Return to the last checkpoint before the failing steps, with half the learning rate.

        Only checkpoints of an uninterrupted run are used, so that an interrupted run ends the same.
        """
        now = self.progress
        step, rollbacks, factor = now.step, now.rollbacks + 1, now.learning_rate_factor / 2
        if rollbacks > MAX_ROLLBACKS or not self._go_back(
            lambda run: checkpoint_to_return_to(run, now)
        ):
            raise TrainingError(
                f"step {step}: the loss is still non-finite after {rollbacks - 1} rollbacks; lower "
                "training.schedule.peak_learning_rate, lengthen warmup_steps or set "
                "training.optimizer.clip_norm: 1.0"
            )
        self.progress.rollbacks, self.progress.learning_rate_factor = rollbacks, factor
        self.progress.non_finite = 0
        for observer in self.observers:
            observer.rewind(self.progress.step)
        self._warn(
            f"{self._config.non_finite_steps} non-finite steps in a row up to step {step}: went "
            f"back to the checkpoint of step {self.progress.step}; the learning rate is now "
            f"multiplied by {factor}"
        )

    def _warn(self, message: str) -> None:
        self._tell({"kind": "warning", "step": self.progress.step, "message": message})

    def _tell(self, record: Record) -> None:
        if self._world.is_leader:
            for observer in self.observers:
                observer.record(record)
