"""A run from its configuration: the only place that combines corpora, model, trainer and scores.

config.yaml  ->  vocabularies, data/  ->  checkpoints/  ->  model/, scores.json
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import torch

from dragoman.core.config import parse, read_yaml, to_yaml
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import atomic_write, check_replaceable
from dragoman.core.wording import in_shell
from dragoman.data.bulk.bulk_preparation import BulkWorkers
from dragoman.data.grouping import DeviceTokens
from dragoman.models.interface import TranslationModel
from dragoman.recipe import ExperimentConfig
from dragoman.run.finishing import finish_run
from dragoman.run.parents import (
    check_parents,
    completed,
    digests_at_start,
    fix_weights,
    take_weights,
    with_digests,
)
from dragoman.run.prepared_text import Prepared, check_positions, open_prepared_run, prepare_run
from dragoman.run.revision import measuring_digest, revised, with_length_ratio, with_precision
from dragoman.run.run_directory import begin, claim
from dragoman.run.set_scoring import validation_of
from dragoman.run.task_list import run_tasks
from dragoman.saved.model import (
    CONFIG_FILE,
    MODEL_DIRECTORY,
    MODEL_FILES,
    build_model,
    has_model,
)
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.checkpoint import (
    checkpoints,
)
from dragoman.training.consolidation import (
    CONSOLIDATION_FILE,
    Consolidation,
    general_pairs,
    read_consolidation,
    write_consolidation,
)
from dragoman.training.distributed import World
from dragoman.training.observers import MetricsFile, Observer
from dragoman.training.sharding.interface import Sharding
from dragoman.training.sharding.vector import VectorSharding
from dragoman.training.tasks import Task
from dragoman.training.trainer import Trainer
from dragoman.validation import MeanValidation, Report, ShowTranslations

METRICS_FILE = "metrics.jsonl"


class Experiment:
    """A configuration and the directory of its run."""

    def __init__(self, config: ExperimentConfig, run: Path) -> None:
        self.config = config
        self.run = run

    @classmethod
    def create(cls, config: ExperimentConfig, run: Path) -> Experiment:
        """Begin a run; its directory must hold neither a trained run nor other files.

        Raises:
            ConfigError: the run exists and was trained, its directory holds something else, or the
                model to start from is of another kind.
        """
        with begin(run):
            if checkpoints(run):
                raise ConfigError(
                    f"{run}: contains a run with checkpoints; continue it with "
                    f"'dragoman resume {in_shell(run)}', or choose another directory with --run"
                )
            if has_model(run):
                raise ConfigError(f"{run}: contains a finished run; choose another one with --run")
            config = completed(config)
            check_parents(config)
            experiment = cls(config, run)
            experiment._write_config()
        return experiment

    @classmethod
    def open(cls, run: Path) -> Experiment:
        """Open an existing run.

        Raises:
            SavedError: the run does not exist.
        """
        if not os.path.isfile(run / CONFIG_FILE):  # also False if it cannot be accessed
            raise SavedError(f"{run}: no run here ({CONFIG_FILE} is missing)")
        return cls(parse(ExperimentConfig, read_yaml(run / CONFIG_FILE), run / CONFIG_FILE), run)

    def revise(self, settings: Sequence[str]) -> None:
        """Change settings of a run that has begun, where they may still change, and save them."""
        with claim(self.run):
            config = revised(self.config, settings, self.run)
            if config != self.config:
                self.config = config
                self._write_config()

    def _write_config(self) -> None:
        with atomic_write(self.run / CONFIG_FILE) as stream:
            stream.write(to_yaml(json.loads(self.config.model_dump_json())))

    def prepare(
        self,
        progress: Callable[[int], None] | None = None,
        workers: BulkWorkers | None = None,
    ) -> Prepared:
        """Make vocabularies and encoded text, keeping those that exist and are unchanged.

        Args:
            progress: called from time to time with the number of pairs read so far.
            workers: clean and encode shard by shard, perhaps on other machines; by default this
                machine does, in one go, with the same result.
        """
        with begin(self.run):
            return prepare_run(self.config, self.run, progress, workers)

    def prepared(self) -> Prepared:
        """Open the text that another process has prepared for this run."""
        return open_prepared_run(self.config, self.run)

    def train(
        self,
        prepared: Prepared,
        world: World,
        observe: Callable[[int], list[Observer]],
        tell: Callable[[str], object] = lambda line: None,
        show: ShowTranslations | None = None,
    ) -> None:
        """Train, from the newest checkpoint if it exists, and write the finished model.

        ``training.precision: auto`` is decided now; the run keeps it on other machines as well.

        Args:
            prepared: returned by :meth:`prepare`.
            world: the processes that train together.
            observe: maps the step at which training starts to further observers.
            tell: called with a line about the initial weights, and about slow work after the last
                step.
            show: called in the leading process with the translations of each dev set, before
                observers get its figures.

        Raises:
            DataError: a pair, or a line of the dev or test sets, is too long for the model.
            InterruptedRunError: a signal came; the run can be resumed.
            TrainingError: the loss stays non-finite.
            SavedError: the newest checkpoint is damaged, or another process is using the run.
            StorageError: a file cannot be written, or ``model/`` holds files of another kind.
            WorkerError: another process failed or was killed.
        """
        with claim(self.run):
            self._decide_precision(world)
            self._decide_start(world)
            if self._begins(world):
                self._keep(with_length_ratio(self.config, prepared.store), world)
            self._train(prepared, world, observe, tell, show)
            self.finish(prepared.vocabularies, world, tell)

    def _keep(self, config: ExperimentConfig, world: World) -> None:
        """Keep a configuration with more decided settings; a resumed run has the same."""
        if config != self.config:
            self.config = config
            world.broadcast(self._write_config)

    def _train(
        self,
        prepared: Prepared,
        world: World,
        observe: Callable[[int], list[Observer]],
        tell: Callable[[str], object] = lambda line: None,
        show: ShowTranslations | None = None,
    ) -> None:
        """Train only; the memory of model and optimizer is freed on return."""
        config = self.config
        torch.manual_seed(config.seed)
        model = build_model(config.model, prepared.vocabularies)
        if self._begins(world):
            for line in take_weights(config, model, prepared.vocabularies):
                if world.is_leader:
                    tell(line)
        fix_weights(config, model, prepared.vocabularies)
        self._measure_consolidation(model, prepared.vocabularies, world, tell)
        dev_sets = {
            name: validation_of(config, part, prepared.vocabularies, world)
            for name, part in config.dev_sets().items()
        }
        test_sets = [
            validation_of(config, part, prepared.vocabularies, world)
            for part in config.test_sets().values()
        ]
        check_positions(config, prepared.store)
        for one in (*dev_sets.values(), *test_sets):
            one.check_lengths(model)
            if config.model.writes_labels:
                one.check_labels()
        device_tokens = DeviceTokens(config.training.device_tokens)
        trainer = Trainer(
            model,
            self.tasks(prepared, world, device_tokens),
            MeanValidation(dev_sets, config.bounded_sets(), show if world.is_leader else None),
            config.training,
            self.run,
            seed=config.seed,
            d_model=config.model.d_model,
            world=world,
            make_penalty=self._penalty if config.training.consolidates else None,
            device_tokens=device_tokens,
            measured=measuring_digest(config),
        )
        resumed = trainer.resume()

        def attach_observers() -> None:
            self._check_model(resumed)
            step = trainer.progress.step
            kept = step if resumed else -1  # validation before the first step is repeated
            trainer.observers = [MetricsFile(self.run / METRICS_FILE, kept), *observe(step)]

        world.broadcast(attach_observers)  # a failure ends all processes
        trainer.train()

    def _measure_consolidation(
        self,
        model: TranslationModel,
        vocabularies: Vocabularies,
        world: World,
        tell: Callable[[str], object],
    ) -> None:
        """Measure the weights that general text depends on, once when training begins."""
        config, training = self.config, self.config.training
        consolidation = training.consolidation
        if consolidation is None or not training.consolidates or not self._begins(world):
            return
        parts = list(config.general_text().values())
        longest, positions = config.data.max_pieces, config.model.position_limit
        if positions is not None:
            longest = min(longest, positions - 1)  # one is for the end symbol
        batches = general_pairs(
            consolidation, parts, vocabularies, max_pieces=longest, seed=config.seed
        )
        if world.is_leader:
            names = ", ".join(part.name for part in parts)
            tell(f"measuring what {len(batches):,} pairs of {names} depend on")
        path = self.run / CONSOLIDATION_FILE
        write_consolidation(path, model.to(world.device), batches, world)

    def _penalty(self, sharding: Sharding) -> Consolidation:
        """The penalty that holds weights near those that training began with."""
        consolidation = self.config.training.consolidation
        assert consolidation is not None
        vectors = cast(VectorSharding, sharding)  # the configuration refuses any other
        return read_consolidation(self.run / CONSOLIDATION_FILE, vectors, consolidation.weight)

    def _begins(self, world: World) -> bool:
        """Whether training begins without a checkpoint."""
        return bool(world.broadcast(lambda: not checkpoints(self.run)))

    def _decide_start(self, world: World) -> None:
        """Record digests of the other runs that training begins with, for a repeated start."""
        if self._begins(world):
            digests = world.broadcast(lambda: digests_at_start(self.config))
            self._keep(with_digests(self.config, digests), world)

    def _decide_precision(self, world: World) -> None:
        self._keep(with_precision(self.config, self.run, world), world)

    def _check_model(self, resumed: bool) -> None:
        """Refuse a model that could not be written, before training rather than at its end."""
        check_replaceable(self.run / MODEL_DIRECTORY, MODEL_FILES)
        if not resumed and has_model(self.run):
            raise SavedError(
                f"{self.run}: a finished run without its checkpoints; training it again would "
                "replace its model; train in another directory"
            )

    def tasks(
        self, prepared: Prepared, world: World, device_tokens: DeviceTokens | None = None
    ) -> list[Task]:
        """The training tasks; each process of ``world`` reads its share."""
        return run_tasks(
            self.config,
            prepared.vocabularies,
            prepared.store,
            prepared.alignments,
            world,
            device_tokens=device_tokens,
        )

    def finish(
        self,
        vocabularies: Vocabularies,
        world: World,
        tell: Callable[[str], object] = lambda line: None,
    ) -> dict[str, Report]:
        """Make the model of the run from its checkpoints, and score it on dev and test sets.

        Every process scores its share, on its device; the leading one writes the model.

        Returns:
            Reports by set, as also written to ``scores.json``.
        """
        return finish_run(self.config, self.run, vocabularies, world, tell)
