"""Carrying out an adaptation: text, recipe, training and report, all in the run of the new model.

The same command resumes an interrupted adaptation, whose settings are recorded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.core.errors import ConfigError, DataError, SavedError
from dragoman.core.files import content_digest, read_json, storage_errors, write_json
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig
from dragoman.run.revision import ended_by, progress_of
from dragoman.run.run_directory import begin
from dragoman.saved.model import CONFIG_FILE, MODEL_DIRECTORY, has_model
from dragoman.saved.weights import weights_digest
from dragoman.techniques.adaptation.adaptation_plan import (
    ChosenVocabulary,
    Method,
    VocabularyChoice,
    choose_vocabulary,
    planned,
    recipe,
)
from dragoman.techniques.adaptation.domain import Domain, domain_text
from dragoman.techniques.adaptation.domain_texts import (
    TEXT_DIRECTORY,
    filled_pairs,
    language_warnings,
)
from dragoman.techniques.adaptation.general import GeneralChoice, general_text
from dragoman.techniques.adaptation.parent import ParentModel
from dragoman.techniques.adaptation.report import (
    AdaptationReport,
    measure,
    scores_before,
    unlearned,
    write_report,
)
from dragoman.techniques.host import Host, train_to_repeat
from dragoman.text.vocabularies.saved_vocabularies import FILE_NAMES
from dragoman.training.checkpoint import checkpoints

RECORD_FILE = "adaptation.json"
_SEED = 1


@dataclass(frozen=True)
class Adapted:
    """A finished adaptation."""

    experiment: Experiment
    report: AdaptationReport


@dataclass(frozen=True)
class Adaptation:
    """A model, in-domain text, and a bound on the loss of general text."""

    model: Path
    domain: Domain
    run: Path
    """Directory of the adapted model's run."""
    general: GeneralChoice = field(default_factory=GeneralChoice)
    may_lose: float | None = None
    """chrF that each general dev set may lose; None for the default."""
    ratio: float = 1.0
    """Weight of general text relative to the in-domain text, 0 to learn from none."""
    method: Method = "full"
    any_language: bool = False
    """Whether to continue if most of the text seems to be in another language."""
    vocabulary: VocabularyChoice = "auto"
    """Whether the model keeps its vocabulary or extends it; by default, extended if useful."""

    def carry_out(self, host: Host) -> Adapted:
        """Do the remaining work."""
        parent = ParentModel.open(self.model)
        settings = self._settings(parent)
        with begin(self.run):
            if (self.run / CONFIG_FILE).is_file():
                record = self._record(settings)
                experiment = Experiment.open(self.run)
            else:
                self._forget_a_beginning()
                config, notes, chosen = self._planned(parent, host)
                record = {"settings": settings, "notes": notes}
                write_json(self.run / RECORD_FILE, record)
                if chosen.extended is not None:
                    chosen.extended.save(self.run)  # which the run then has as given
                experiment = Experiment.create(config, self.run)
            if not (has_model(self.run) and ended_by(experiment.config, self.run)):
                self._train(experiment, host)
            report = self._report(parent, experiment, record, host)
        return Adapted(experiment, report)

    def _train(self, experiment: Experiment, host: Host) -> None:
        try:
            train_to_repeat(experiment, host)
        except (ConfigError, DataError):
            if not checkpoints(self.run):  # its text was refused: it may begin otherwise
                self._forget_a_beginning()
            raise

    def _settings(self, parent: ParentModel) -> dict[str, Any]:
        """The settings that decide the result, for comparison when the command is repeated."""
        texts = [*self.domain.train, *self.domain.dev.values(), *self.domain.test.values()]
        texts += [*self.general.pairs, *filter(None, [self.general.dev])]
        files = {str(path) for part in texts for path in part.inputs()}
        files |= {str(self.general.replay)} if self.general.replay is not None else set()
        return {
            "model": parent.digest,
            "files": {path: _digest(path) for path in sorted(files)},
            "parts": [part.model_dump(mode="json") for part in texts],
            "uses": {
                "train": len(self.domain.train),
                "dev": list(self.domain.dev),
                "test": list(self.domain.test),
                "general": len(self.general.pairs),
                "general_dev": self.general.dev is not None,
            },
            "overrides": dict(self.domain.overrides),
            "may_lose": self.may_lose,
            "ratio": self.ratio,
            "method": self.method,
            "vocabulary": self.vocabulary,
        }

    def _record(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The record with which the run was begun; refuses a run with other settings."""
        path = self.run / RECORD_FILE
        if not path.is_file():
            raise ConfigError(f"{self.run}: holds another run; choose another with --run")
        try:
            record = dict(read_json(path))
            recorded = dict(record["settings"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SavedError(f"{path}: damaged; choose another directory with --run") from error
        wanted = _as_json(settings)
        if "uses" not in recorded:  # an earlier Dragoman did not record them
            del wanted["uses"]
        if changed := [name for name in wanted if recorded.get(name) != wanted[name]]:
            raise ConfigError(
                f"{self.run}: was begun with other settings ({', '.join(changed)}); repeat "
                "the command as it was, or choose another directory with --run"
            )
        return record

    def _forget_a_beginning(self) -> None:
        """Remove the files of an adaptation that was recorded, and then refused or killed.

        None of it was trained, and the next may have other settings.
        """
        record = self.run / RECORD_FILE
        if record.is_file():  # or a vocabulary would be the user's
            for name in (CONFIG_FILE, *FILE_NAMES, RECORD_FILE):
                with storage_errors(self.run / name):
                    (self.run / name).unlink(missing_ok=True)

    def _planned(
        self, parent: ParentModel, host: Host
    ) -> tuple[ExperimentConfig, list[str], ChosenVocabulary]:
        """Read and write the text, and choose everything."""
        text = domain_text(self.domain, self.run / TEXT_DIRECTORY)
        train, dev = text.train, text.dev
        notes = [*language_warnings(train, refuse=not self.any_language), *text.notes]
        pairs = [pair for part in train for pair in filled_pairs(part)]
        vocabularies = parent.vocabularies()
        targets = vocabularies.target.encode_batch([pair.target for pair in pairs])
        tokens = sum(len(ids) + 1 for ids in targets)
        plan = planned(tokens, parent.config.model.d_model, self.ratio, self.method)
        longest = 0
        if text.repeats:
            sources = vocabularies.source.encode_batch([pair.source for pair in pairs])
            longest = max(map(len, [*sources, *targets]))
        general = general_text(
            self.general,
            parent,
            train[0].direction,
            size=plan.general_pairs,
            folder=self.run / TEXT_DIRECTORY,
            learned=train,
            without=[*dev.values(), *text.test.values()],
            seed=_SEED,
            host=host,
        )
        host.tell(f"in-domain text: {len(pairs):,} pairs; {plan.described(self.ratio)}")
        host.tell(f"general text: {general.described()}")
        own = general.parts if general.origin == "given" else ()
        watched = general.dev_sets.values() if own or self.general.dev is not None else ()
        notes += [*language_warnings([*own, *watched], refuse=False), *general.notes]
        chosen = choose_vocabulary(
            self.vocabulary,
            vocabularies,
            pairs,
            tags=[tag for part in train for tag in part.symbols()],
            general=(pair for part in general.parts for pair in filled_pairs(part)),
            seed=_SEED,
        )
        if chosen.extended is not None:
            notes += chosen.notes
        for note in notes:
            host.tell(f"note: {note}")
        if self.method == "lora":
            chosen.check_adapter()
        planned_run = partial(
            recipe,
            parent,
            text=text,
            general=general,
            plan=plan,
            method=self.method,
            may_lose=general.may_lose if self.may_lose is None else self.may_lose,
            longest=longest,
            vocabulary=chosen.section(),
            overrides=dict(self.domain.overrides),
            where=self.domain.where,
        )
        config = planned_run()
        if chosen.extended is not None:  # even before the first step, the run has another model
            before = scores_before(parent.path, config, tuple(general.dev_sets), host)
            config = planned_run(before=before)
        return config, notes, chosen

    def _report(
        self, parent: ParentModel, experiment: Experiment, record: dict[str, Any], host: Host
    ) -> AdaptationReport:
        """The report, measured once for each model with which training ends."""
        progress, weights = progress_of(self.run), weights_digest(self.run / MODEL_DIRECTORY)
        if "report" in record:
            report = AdaptationReport.from_json(record["report"])
            # Older versions of Dragoman did not record the weights that were scored.
            if record.get("weights", weights) == weights and report.steps == progress.step:
                return report
        notes = (*record.get("notes", ()), *unlearned(experiment))
        report = measure(parent.path, experiment, progress, notes, host)
        write_report(self.run, report)
        measured = {"report": report.to_json(), "weights": weights}
        write_json(self.run / RECORD_FILE, {**record, **measured})
        return report


def _as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as recorded, with text for keys that are numbers in YAML.

    A value that JSON lacks, such as a date, cannot have been recorded: no run begins with it.
    """
    values: dict[str, Any] = json.loads(json.dumps(settings, default=str, skipkeys=True))
    return values


def _digest(path: str) -> str | None:
    """Digest of a file's content; None without a file, which the reader of the file reports."""
    try:
        return content_digest(Path(path))
    except OSError:
        return None
