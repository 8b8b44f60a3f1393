"""What a run is described by: one YAML file, read into typed parts."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from dragoman.core.config import Config, on_base, override, parse, read_yaml
from dragoman.core.errors import ConfigError
from dragoman.core.files import absolute
from dragoman.core.problems import listed
from dragoman.core.recipe_library import found_recipe
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.models import FAMILIES, ModelConfig
from dragoman.models.families.transformer import TransformerConfig
from dragoman.search.strategy import SearchConfig
from dragoman.text.cleaning import CleaningConfig
from dragoman.text.corpus import CorpusPart, relocate_part
from dragoman.text.vocabulary import VocabularyConfig
from dragoman.training.settings import TrainingConfig


class DataConfig(Config):
    """Which text a model learns from and is measured on; paths are relative to the file.

    Those that begin with `corpora/` are also looked for among the public corpora.
    """

    train: tuple[CorpusPart, ...] = Field(min_length=1)
    """Sentence pairs to learn from."""
    dev: CorpusPart
    """Pairs that tell when to stop and which checkpoint is best; never trained on."""
    test: dict[str, CorpusPart] = Field(default_factory=dict)
    """Pairs to score the finished model on, by the name that the scores get."""
    cleaning: CleaningConfig = CleaningConfig()
    """What is dropped from the training text."""
    max_pieces: int = Field(256, ge=1)
    """Pairs with more pieces on a side are dropped from training."""
    processes: int | None = Field(None, ge=1, le=1024)
    """Processes that encode the text; one a core if not given."""


class ExperimentConfig(Config):
    """A run, wholly described.  ``dragoman train FILE`` carries it out."""

    seed: int = Field(1, ge=0)
    """Of initial weights, dropout, batches and samples."""
    source_language: str = "source"
    """Tag of the source language, such as en."""
    target_language: str = "target"
    """Tag of the target language, such as de."""
    data: DataConfig
    """Text."""
    vocabulary: VocabularyConfig = VocabularyConfig()
    """How text becomes pieces."""
    model: ModelConfig = TransformerConfig()
    """Family and sizes."""
    training: TrainingConfig = TrainingConfig()
    """How the model learns."""
    search: SearchConfig = SearchConfig()
    """How it translates: in validation, in tests and by default afterwards."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """How translations are scored."""

    def conflicts(self) -> Iterator[str]:
        """Parts of the run that do not go together."""
        start = self.training.start_from
        if start is not None and start.vocabulary != "new":
            yield from self._unread_of_vocabulary(start.vocabulary)
        elif self.model.needs_joint_vocabulary and not self.vocabulary.joint:
            yield (
                "model.embeddings: shared needs vocabulary.joint: true; or set model.embeddings: "
                "target"
            )
        if self.search.coverage_penalty and not FAMILIES[self.model.family].has_attention():
            yield (
                "search.coverage_penalty needs attention over the source, which model.family: "
                f"{self.model.family} has not; set it to 0"
            )
        if "dev" in self.data.test:
            yield "data.test: dev is the name of data.dev's scores; choose another"
        metric = self.training.best_metric
        if metric != "loss" and metric not in self.evaluation.metrics:
            yield (
                f"training.best_metric {metric} is not among evaluation.metrics; add it there, or "
                "set training.best_metric: loss"
            )
        for problem in self.training.objective.unfit(self.model):
            yield f"training.objective: {problem}"
        yield from self._unread_alignments()
        yield from self._sides_that_do_not_fit()

    def _unread_alignments(self) -> Iterator[str]:
        """Alignments that no objective reads, and an objective without any."""
        objective = self.training.objective
        if objective.reads_alignments and not any(one.alignments for one in self.data.train):
            yield (
                f"training.objective: {objective.kind} needs word alignments; name a file of them "
                "in data.train.0.alignments"
            )
        for name, part in self.parts():
            read = objective.reads_alignments and name.startswith("data.train.")
            if part.alignments is not None and not read:
                yield (
                    f"{name}.alignments are read in training by objective: {{kind: "
                    "guided_alignment}; remove them"
                )

    def _unread_of_vocabulary(self, choice: str) -> Iterator[str]:
        """What another model's vocabulary, kept or extended, decides."""
        circumstance = f"with training.start_from.vocabulary: {choice}"
        for problem in self.vocabulary.unread(circumstance, *_DECIDED_BY_PARENT[choice]):
            yield f"vocabulary.{problem}"

    def parts(self) -> Iterator[tuple[str, CorpusPart]]:
        """All text, by the key that names it."""
        for number, part in enumerate(self.data.train):
            yield f"data.train.{number}", part
        yield "data.dev", self.data.dev
        for name, part in self.data.test.items():
            yield f"data.test.{name}", part

    def _sides_that_do_not_fit(self) -> Iterator[str]:
        """A source that is not read is a mistake as much as one that is missing."""
        reads = self.model.reads_source
        for name, part in self.parts():
            if reads and not part.has_source:
                yield f"{name} has no source, which this model reads; name it"
            if part.has_source and not reads:
                yield (
                    f"{name} has a source, which a language model does not read; name its target "
                    "alone, or set model.source"
                )
        if reads:
            return
        unfit = {
            "evaluation.metrics are of translations; set them to []": self.evaluation.metrics,
            "vocabulary.joint: false is for two sides; leave it out": not self.vocabulary.joint,
            "data.cleaning.source_scripts are of a source; leave them out": (
                self.data.cleaning.source_scripts
            ),
        }
        for problem in (problem for problem, found in unfit.items() if found):
            yield f"a language model reads no source: {problem}"


_OF_THE_KIND = ("kind", "joint", "byte_fallback", "normalization")
_DECIDED_BY_PARENT = {
    "keep": (*_OF_THE_KIND, "size", "character_coverage", "tags", "training_pairs"),
    "extend": _OF_THE_KIND,
}
"""Settings of the vocabulary that are not read, by ``training.start_from.vocabulary``."""


def read_experiment(path: Path | str, settings: Sequence[str] = ()) -> ExperimentConfig:
    """The experiment that a YAML file describes, with paths made absolute.

    Its key ``base`` may name another such file, of which it then says the differences only.

    Args:
        path: the file; where there is none, the name of a recipe that comes with Dragoman.
        settings: overrides such as ``training.step_tokens=4096``.

    Raises:
        ConfigError: the file or a setting is wrong; one line names the key and the remedy.
    """
    path = found_recipe(Path(path))
    own = read_yaml(path)
    whole = on_base(
        own,
        path,
        _relocate,
        replaced=("data.dev", "data.test", "training.objective"),
        families={"model": "transformer"},
    )
    # The file's own start is absolute by now; --set names a run from where the user is.
    _forget_inherited(whole, own, override(whole, list(settings)))
    values = _relocate_start(override(whole, list(settings)), Path.cwd())
    values = _relocate(values, Path(os.path.realpath(path)).parent)
    config = parse(ExperimentConfig, values, path)
    if problems := list(_unfit_files(config)):
        raise ConfigError(f"{path}: {listed(problems)}")
    return config


def _unfit_files(config: ExperimentConfig) -> Iterator[str]:
    """Text that cannot be read, or only once; what is missing is left to whoever reads it."""
    for name, part in config.parts():
        for file in part.files():
            try:
                mode = file.stat().st_mode
            except OSError as error:
                if error.errno not in {errno.ENOENT, errno.ENOTDIR}:
                    yield f"{name}: {str(file)!r:.80}: {error.strerror}"
                continue
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                yield f"{name}: {file} is a pipe or device; save its text to a file"


def _relocate(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Relative paths made absolute; what is misplaced is left for ``parse`` to tell."""
    values = _relocate_start(values, folder)
    data = values.get("data")
    if not isinstance(data, dict):
        return values
    data = dict(data)
    if isinstance(data.get("train"), list):
        data["train"] = [relocate_part(part, folder) for part in data["train"]]
    if isinstance(data.get("test"), dict):
        data["test"] = {name: relocate_part(part, folder) for name, part in data["test"].items()}
    if "dev" in data:
        data["dev"] = relocate_part(data["dev"], folder)
    return {**values, "data": data}


def _forget_inherited(whole: dict[str, Any], own: dict[str, Any], final: dict[str, Any]) -> None:
    """Drop what bases say of a vocabulary that is another model's: the natural base is its recipe.

    Args:
        whole: the file with its bases; changed.
        own: the file alone.
        final: ``whole`` with the settings of the command line.
    """
    training, said = final.get("training"), own.get("vocabulary")
    start = training.get("start_from") if isinstance(training, dict) else None
    choice = start.get("vocabulary", "keep") if isinstance(start, dict) else start and "keep"
    inherited = whole.get("vocabulary")
    if isinstance(choice, str) and isinstance(inherited, dict):
        for name in _DECIDED_BY_PARENT.get(choice, ()):
            if not (isinstance(said, dict) and name in said):
                inherited.pop(name, None)


def _relocate_start(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The same of the model that training starts from."""
    training = values.get("training")
    start = training.get("start_from") if isinstance(training, dict) else None
    if isinstance(start, str):
        start = str(absolute(start, folder))
    elif isinstance(start, dict) and isinstance(start.get("model"), str):
        start = {**start, "model": str(absolute(start["model"], folder))}
    else:
        return dict(values)
    return {**values, "training": {**values["training"], "start_from": start}}
