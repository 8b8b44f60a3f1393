"""One run from its configuration: the only place that combines corpora, model, trainer and scores.

config.yaml  ->  vocabularies, data/  ->  checkpoints/  ->  model/, scores.json
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch

from dragoman.core.config import parse, read_yaml, to_yaml
from dragoman.core.device import DecidedPrecision, decide_precision, is_emulated
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import atomic_write, check_replaceable
from dragoman.data.alignments import ALIGNMENTS_DIRECTORY, prepare_alignments
from dragoman.data.bulk.bulk_preparation import BULK_DIRECTORY, BulkPreparation, BulkWorkers
from dragoman.data.device_tokens import DeviceTokens
from dragoman.data.origin import InputFile, describe
from dragoman.data.prepare import known_inputs, open_prepared, prepare
from dragoman.data.store import DATA_DIRECTORY, Store
from dragoman.data.vocabularies import WeightedExamples, prepare_vocabularies
from dragoman.evaluation.metrics import is_better
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.low_rank import merged
from dragoman.parents import (
    check_parents,
    completed,
    fix_weights,
    parent_of,
    story_of,
    take_weights,
    weight_digests,
    with_digests,
)
from dragoman.recipe import ExperimentConfig
from dragoman.revision import revised
from dragoman.run_directory import begin, claim
from dragoman.run_tasks import run_tasks
from dragoman.saved.adapter import ADAPTER_FILE, write_adapter
from dragoman.saved.model import (
    CONFIG_FILE,
    MODEL_DIRECTORY,
    MODEL_FILES,
    WEIGHTS_FILE,
    SavedConfig,
    average_weights,
    build_model,
    has_model,
    load_weights,
    save_model,
)
from dragoman.text.cleaning import CleaningReport
from dragoman.text.corpus import CorpusPart
from dragoman.text.transforms.inline_tagging import inline_tags
from dragoman.text.transforms.term_annotating import term_annotation
from dragoman.text.vocabulary import Vocabularies
from dragoman.training.checkpoint import (
    checkpoints,
    chosen_checkpoints,
    moving_average,
    path_of,
    read_progress,
    step_of,
)
from dragoman.training.consolidation import (
    CONSOLIDATION_FILE,
    Penalty,
    general_pairs,
    read_consolidation,
    write_consolidation,
)
from dragoman.training.distributed import World
from dragoman.training.observers import MetricsFile, Observer
from dragoman.training.optimizer import Optimizer, VectorOptimizer
from dragoman.training.tasks import Task
from dragoman.training.trainer import Trainer
from dragoman.training.warm_start import digest_of
from dragoman.training_facts import training_facts
from dragoman.validation import (
    MeanValidation,
    ObjectiveValidation,
    Report,
    Validation,
    figures,
    mean_figures,
    write_scores,
)

log = logging.getLogger(__name__)

METRICS_FILE = "metrics.jsonl"


@dataclass(frozen=True)
class Prepared:
    """The prepared text that training reads."""

    vocabularies: Vocabularies
    store: Store
    report: CleaningReport
    alignments: Store | None = None
    """Word alignments of each row, if the objective reads them."""


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
            SavedError: another process is using the run, or that model is missing or damaged.
            StorageError: the directory cannot be written.
        """
        with begin(run):
            if checkpoints(run):
                raise ConfigError(
                    f"{run}: contains a run with checkpoints; continue it with "
                    f"'dragoman resume {run}', or choose another directory with --run"
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
            SavedError: there is none.
        """
        if not os.path.isfile(run / CONFIG_FILE):  # also False if it cannot be accessed
            raise SavedError(f"{run}: no run here ({CONFIG_FILE} is missing)")
        return cls(parse(ExperimentConfig, read_yaml(run / CONFIG_FILE), run / CONFIG_FILE), run)

    def revise(self, settings: Sequence[str]) -> None:
        """Change settings that may still change in a run that has begun, and save them in the run.

        Args:
            settings: such as ``training.max_steps=4000``.

        Raises:
            ConfigError: another setting would change, or the run has passed a limit.
            SavedError: another process is using the run, or its newest checkpoint is damaged.
            StorageError: the disk refuses.
        """
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
        """Make vocabularies and encoded text; what exists and is unchanged is kept.

        Args:
            progress: called from time to time with the number of pairs read so far.
            workers: clean and encode shard by shard, perhaps on other machines; by default this
                machine does, in one go, with the same result.

        Raises:
            DataError: the text cannot be used.
            ConfigError: the vocabulary does not fit the text.
            SavedError: another process is using the run.
            StorageError: the disk refuses.
        """
        data, directory = self.config.data, self.run / DATA_DIRECTORY
        with begin(self.run):
            parts = self.config.train_parts()
            evaluation = [*data.dev_sets.values(), *data.test.values(), *data.held_out]
            held_out = self.config.held_out(evaluation)
            paths = [path for part in parts for path in part.inputs()]
            inputs = describe(paths, known_inputs(directory))
            shards, examples, encode = None, None, None
            if workers is not None:
                shards = BulkPreparation(
                    self.run / BULK_DIRECTORY,
                    parts,
                    self.config.cleaning,
                    held_out,
                    inputs=inputs,
                    workers=workers,
                )
                examples, encode = shards.examples, shards.encode
            vocabularies = self._vocabularies(inputs, held_out, examples)
            store, report = prepare(
                directory,
                parts,
                vocabularies,
                self.config.cleaning,
                max_pieces=data.max_pieces,
                held_out=held_out,
                inputs=inputs,
                processes=data.processes,
                progress=progress,
                encode=encode,
            )
            if shards is not None:
                shards.remove()
            alignments = None
            if self.config.training.objective.reads_alignments:
                alignments = prepare_alignments(
                    self.run / ALIGNMENTS_DIRECTORY,
                    store,
                    data.train,
                    vocabularies,
                    self.config.cleaning,
                    held_out=held_out,
                )
        return Prepared(vocabularies, store, report, alignments)

    def prepared(self) -> Prepared:
        """Open what another process has prepared for this run.

        Raises:
            SavedError: it is missing or damaged.
        """
        store, report = open_prepared(self.run / DATA_DIRECTORY)
        alignments = None
        if self.config.training.objective.reads_alignments:
            alignments = Store.open(self.run / ALIGNMENTS_DIRECTORY)
        return Prepared(Vocabularies.load(self.run), store, report, alignments)

    def _vocabularies(
        self,
        inputs: Sequence[InputFile],
        held_out: frozenset[int],
        examples: WeightedExamples | None = None,
    ) -> Vocabularies:
        """The vocabularies of the run, fixed once anything was trained with them."""
        if checkpoints(self.run) or has_model(self.run):
            return Vocabularies.load(self.run)
        return prepare_vocabularies(
            self.run,
            self.config.train_parts(),
            self.config.full_vocabulary(),
            self.config.cleaning,
            seed=self.config.seed,
            inputs=inputs,
            held_out=held_out,
            parent=parent_of(self.config),
            sets=self.config.sets_by_key(),
            labels=self.config.model.writes_labels,
            examples=examples,
        )

    def train(
        self,
        prepared: Prepared,
        world: World,
        observe: Callable[[int], list[Observer]],
        tell: Callable[[str], object] = lambda line: None,
    ) -> None:
        """Train, from the newest checkpoint if there is one, and write the finished model.

        ``training.precision: auto`` is decided now, and the run keeps it wherever it is resumed.

        Args:
            prepared: what :meth:`prepare` returned.
            world: the processes that train together.
            observe: from the step at which training starts to further observers.
            tell: called with a line about what training begins with, and about slow work after the
                last step.

        Raises:
            DataError: a line of the dev or test sets is too long for the model.
            InterruptedRunError: a signal came; the run can be resumed.
            TrainingError: the loss stays non-finite.
            SavedError: the newest checkpoint is damaged, or another process is using the run.
            StorageError: the disk refuses, or ``model/`` holds files of another kind.
            WorkerError: another process failed or was killed.
        """
        with claim(self.run):
            self._decide_precision(world)
            self._decide_start(world, prepared.vocabularies)
            self._decide_length_ratio(prepared.store, world)
            self._train(prepared, world, observe, tell)
            self.finish(prepared.vocabularies, world, tell)

    def _train(
        self,
        prepared: Prepared,
        world: World,
        observe: Callable[[int], list[Observer]],
        tell: Callable[[str], object] = lambda line: None,
    ) -> None:
        """Train only; the memory of model and optimizer is free again afterwards."""
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
            name: self._validation(part, prepared.vocabularies, world)
            for name, part in config.dev_sets().items()
        }
        test_sets = [
            self._validation(part, prepared.vocabularies, world)
            for part in config.test_sets().values()
        ]
        for one in (*dev_sets.values(), *test_sets):
            one.check_lengths(model)
            if config.model.writes_labels:
                one.check_labels()
        device_tokens = DeviceTokens(config.training.device_tokens)
        trainer = Trainer(
            model,
            self.tasks(prepared, world, device_tokens),
            MeanValidation(dev_sets, config.bounded_sets()),
            config.training,
            self.run,
            seed=config.seed,
            d_model=config.model.d_model,
            world=world,
            make_penalty=self._penalty if config.training.consolidates else None,
            device_tokens=device_tokens,
        )
        resumed = trainer.resume()

        def attach_observers() -> None:
            self._check_model(resumed)
            step = trainer.progress.step
            trainer.observers = [MetricsFile(self.run / METRICS_FILE, step), *observe(step)]

        world.broadcast(attach_observers)  # a failure ends all processes
        trainer.train()

    def _measure_consolidation(
        self,
        model: TranslationModel,
        vocabularies: Vocabularies,
        world: World,
        tell: Callable[[str], object],
    ) -> None:
        """Measure what general text depends on, once when training begins."""
        config, training = self.config, self.config.training
        consolidation = training.consolidation
        if consolidation is None or not training.consolidates or not self._begins(world):
            return
        part = config.resolved(consolidation.text)
        batches = general_pairs(
            consolidation,
            part,
            vocabularies,
            max_pieces=config.data.max_pieces,
            seed=config.seed,
        )
        if world.is_leader:
            tell(f"measuring what {len(batches):,} pairs of {part.name} depend on")
        path = self.run / CONSOLIDATION_FILE
        write_consolidation(path, model.to(world.device), batches, world)

    def _penalty(self, optimizer: Optimizer) -> Penalty:
        """What holds weights near those that training began with."""
        consolidation = self.config.training.consolidation
        assert consolidation is not None
        one = cast(VectorOptimizer, optimizer)  # the configuration refuses any other with it
        return read_consolidation(self.run / CONSOLIDATION_FILE, one, consolidation.weight)

    def _begins(self, world: World) -> bool:
        """Whether there is no checkpoint to resume from."""
        return bool(world.broadcast(lambda: not checkpoints(self.run)))

    def _decide_start(self, world: World, vocabularies: Vocabularies) -> None:
        """Record what training begins with, of other runs: a repeated start must have the same."""
        if not self._begins(world):
            return
        digests = world.broadcast(lambda: weight_digests(self.config))
        if (config := with_digests(self.config, digests, vocabularies)) != self.config:
            self.config = config
            world.broadcast(self._write_config)

    def _check_model(self, resumed: bool) -> None:
        """Refuse now, rather than at the end, a model that could not be written."""
        check_replaceable(self.run / MODEL_DIRECTORY, MODEL_FILES)
        if not resumed and has_model(self.run):
            raise SavedError(
                f"{self.run}: a finished run without its checkpoints; training it again would "
                "replace its model; train in another directory"
            )

    def _decide_precision(self, world: World) -> None:
        """Choose a precision that the leader's hardware has, for all processes and for resuming."""
        training, device = self.config.training, world.device
        found = world.gather(
            lambda: [decide_precision(training.precision, device), is_emulated("bfloat16", device)]
        )
        precision: DecidedPrecision = found[0][0]
        if training.precision != precision:
            training = training.model_copy(update={"precision": precision})
            self.config = self.config.model_copy(update={"training": training})
            world.broadcast(self._write_config)
        emulated = precision == "bfloat16" and any(emulating for _, emulating in found)
        if world.is_leader and emulated:
            log.warning(
                "%s computes in bfloat16, which this hardware lacks: it is emulated, which is "
                "slow; start a run in float32 with: dragoman train %s --run OTHER "
                "--set training.precision=float32",
                self.run,
                self.run / CONFIG_FILE,
            )

    def _decide_length_ratio(self, store: Store, world: World) -> None:
        """Record how long translations usually are, for search to notice those that are not.

        A run that began without it, or whose text has no sources to translate, has none.
        """
        config, search = self.config, self.config.search
        translates = config.training.objective.translates and not config.model.writes_labels
        if search.length_ratio is not None or not (config.model.reads_source and translates):
            return
        ratio = store.length_ratio() if self._begins(world) else None
        if ratio is not None:
            search = search.model_copy(update={"length_ratio": ratio})
            self.config = config.model_copy(update={"search": search})
            world.broadcast(self._write_config)

    def tasks(
        self, prepared: Prepared, world: World, device_tokens: DeviceTokens | None = None
    ) -> list[Task]:
        """The training tasks; each of the processes that train together reads its share."""
        return run_tasks(
            self.config,
            prepared.vocabularies,
            prepared.store,
            prepared.alignments,
            world,
            device_tokens=device_tokens,
        )

    def _validation(self, part: CorpusPart, vocabularies: Vocabularies, world: World) -> Validation:
        search, evaluation = self.config.decoding, self.config.evaluation_of(part)
        objective = self.config.training.objective
        if not objective.translates:
            return ObjectiveValidation(
                *(part, vocabularies, search, evaluation, world),
                objective=objective,
                model=self.config.model,
            )
        back, learned = self.config.back_tags(part), self.saved_config().inline_tags
        return Validation(
            *(part, vocabularies, search, evaluation, world), back=back, inline_tags=learned
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
        training = self.config.training
        count = training.average_checkpoints if training.ema_decay is None else 1
        steps = world.broadcast(
            lambda: [step_of(path) for path in chosen_checkpoints(self.run, count)]
        )
        chosen = [path_of(self.run, step) for step in steps]
        weights = average_weights(path / WEIGHTS_FILE for path in chosen)
        if training.ema_decay is not None:
            weights |= moving_average(chosen[-1])
        learned, weights = weights, merged(weights)
        model = build_model(self.config.model, vocabularies)
        load_weights(model, weights, chosen[-1])
        model.to(world.device)
        dev_sets = self.config.dev_sets()
        sets = {**dev_sets, **self.config.test_sets()}
        reports = {}
        for name, part in sets.items():
            validation = self._validation(part, vocabularies, world)
            if world.is_leader:
                tell(f"scoring the model on {name}: {len(validation.references):,} sentences")
            reports[name] = validation.report(model)
        if not world.is_leader:
            return reports
        apart = self.config.bounded_sets()
        dev = mean_figures({name: figures(reports[name]) for name in dev_sets if name not in apart})
        self._warn_of_a_bad_mean(chosen, dev)
        write_scores(self.run, [path.name for path in chosen], reports)
        save_model(
            self.run / MODEL_DIRECTORY,
            self.saved_config(),
            vocabularies,
            weights,
            origin=story_of(self.config),
            facts=training_facts(self.config, self.run, read_progress(chosen[-1]), reports, world),
        )
        if training.adapter is not None and training.start_from is not None:
            of = training.start_from.digest or digest_of(training.start_from)
            write_adapter(self.run / ADAPTER_FILE, learned, of)
        return reports

    def _warn_of_a_bad_mean(self, chosen: list[Path], dev: dict[str, float]) -> None:
        """Weights that are far apart have a poor mean, which would otherwise go unnoticed."""
        best = read_progress(chosen[-1]).best
        if best is None or best.metric not in dev:
            return
        value = dev[best.metric]
        # bfloat16 in training and float32 here differ by up to 2 % with the same weights.
        if is_better(best.metric, best.value, value, margin=0.02):
            log.warning(
                "the mean of %d checkpoints has a dev %s of %.4g, the checkpoint of step %d alone "
                "%.4g; make a model from that one with: dragoman average %s --output MODEL",
                len(chosen),
                best.metric,
                value,
                best.step,
                best.value,
                path_of(self.run, best.step),
            )

    def saved_config(self) -> SavedConfig:
        """The content of the model's own ``config.yaml``."""
        return SavedConfig(
            source_language=self.config.source_language,
            target_language=self.config.target_language,
            model=self.config.model,
            search=self.config.decoding.model_dump(),
            directions=tuple(self.config.directions()),
            context=self.config.data.context,
            translates=self.config.training.objective.translates,
            term_annotation=term_annotation(
                one for part in self.config.data.train for one in part.transforms
            ),
            inline_tags=inline_tags(
                one for part in self.config.data.train for one in part.transforms
            ),
        )
