"""The description of a run: one YAML file, read into typed parts."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from dragoman.core.config import Config, on_base, override, parse, read_yaml
from dragoman.core.errors import ConfigError
from dragoman.core.problems import listed
from dragoman.core.recipe_library import found_recipe
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.models import ModelConfig
from dragoman.models.families.transformer import TransformerConfig
from dragoman.search.strategy import SearchConfig
from dragoman.text.cleaning import CleaningConfig
from dragoman.text.context import ContextConfig
from dragoman.text.corpus import CorpusPart, Direction, relocate_part
from dragoman.text.language_agreement import LanguageAgreement
from dragoman.text.tags import missing_tags
from dragoman.text.vocabulary import DECIDED_ELSEWHERE, OF_THE_KIND, VocabularyConfig
from dragoman.training.components import unfit_components
from dragoman.training.given_embeddings import unfit_embeddings
from dragoman.training.named_models import component_paths, relocate_models
from dragoman.training.settings import TrainingConfig

_ONE, _SEVERAL = "one set", "sets by name"


def _how_many_sets(values: Any) -> str:
    """Whether the value of ``dev`` is one set, or several by name."""
    if not isinstance(values, dict) or not values:
        return _ONE
    each = values.values()
    return _SEVERAL if all(isinstance(one, (dict, CorpusPart)) for one in each) else _ONE


DevSets = Annotated[
    Annotated[CorpusPart, Tag(_ONE)] | Annotated[dict[str, CorpusPart], Tag(_SEVERAL)],
    Discriminator(_how_many_sets),
]
"""One dev set, or several by name."""


class DataConfig(Config):
    """The text a model learns from and is evaluated on; paths are relative to the file.

    Paths that begin with `corpora/` are also looked up among the public corpora.
    """

    train: tuple[CorpusPart, ...] = Field(min_length=1)
    """Sentence pairs to learn from."""
    sampling_temperature: float | None = Field(None, ge=1, le=1000)
    """Temperature for mixing directions of unequal size: a direction with n pairs is sampled in
    proportion to n to the power 1/temperature (Arivazhagan et al. 2019, who use 5). The largest is
    seen as its weights say and the others more often. Directions within one language, such as
    copies, are mixed among themselves. By default weights alone decide."""
    dev: DevSets
    """Pairs that decide when to stop and which checkpoint is best; never trained on. With several
    sets by name, such as one per direction, the mean of their figures decides."""
    test: dict[str, CorpusPart] = Field(default_factory=dict)
    """Test sets on which the finished model is scored, by the name of their scores."""
    cleaning: CleaningConfig = CleaningConfig()
    """Which pairs are dropped from the training text."""
    max_pieces: int = Field(256, ge=1)
    """Maximum length in pieces; training pairs with a longer side are dropped."""
    context: ContextConfig | None = None
    """Read each sentence with those before it, in training, evaluation and later translation (see
    [context](context.md)); by default alone."""
    processes: int | None = Field(None, ge=1, le=1024)
    """Number of processes that encode the text. By default one per core."""

    @property
    def dev_sets(self) -> dict[str, CorpusPart]:
        """Dev sets by the name of their scores: ``dev``, or ``dev_NAME`` if there are several."""
        if isinstance(self.dev, CorpusPart):
            return {"dev": self.dev}
        return {f"dev_{name}": part for name, part in self.dev.items()}


class ExperimentConfig(Config):
    """The complete description of a run.  ``dragoman train FILE`` carries it out."""

    seed: int = Field(1, ge=0)
    """Seed of initial weights, dropout, batches and samples."""
    source_language: str = "source"
    """Tag of the source language, such as en."""
    target_language: str = "target"
    """Tag of the target language, such as de."""
    data: DataConfig
    """Training, dev and test text."""
    vocabulary: VocabularyConfig = VocabularyConfig()
    """How text is split into pieces."""
    model: ModelConfig = TransformerConfig()
    """Model family and sizes."""
    training: TrainingConfig = TrainingConfig()
    """How the model is trained."""
    search: SearchConfig = SearchConfig()
    """Search settings: for validation, tests and, by default, later translation."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """How translations are scored."""

    def conflicts(self) -> Iterator[str]:
        """Parts of the run that contradict one another."""
        start = self.training.start_from
        if start is not None and start.vocabulary != "new":
            yield from self._unread_of_vocabulary(start.vocabulary)
        elif self.model.needs_joint_vocabulary and not self.vocabulary.joint:
            yield (
                "model.embeddings: shared needs vocabulary.joint: true; or set model.embeddings: "
                "target"
            )
        if self.search.coverage_penalty and not self.model.attention_layers:
            yield (
                "search.coverage_penalty needs attention over the source, which model.family: "
                f"{self.model.family} lacks; set it to 0"
            )
        for name in self.data.test.keys() & {"dev", *self.data.dev_sets}:
            yield f"data.test: {name} is the name of the scores of data.dev; choose another"
        metric = self.training.best_metric
        if metric != "loss" and metric not in self.evaluation.metrics:
            yield (
                f"training.best_metric {metric} is not among evaluation.metrics; add it there, or "
                "set training.best_metric: loss"
            )
        if self.evaluation.language is not None:
            yield "evaluation.language: each set is scored by its own target_language; remove it"
        for problem in self.training.objective.unfit(self.model):
            yield f"training.objective: {problem}"
        if self.training.embeddings is not None:
            yield from unfit_embeddings(self.training.embeddings, self.model)
        if start is None:
            yield from unfit_components(self.training.components, self.model)
            if self.training.components and self.vocabulary.of is None:
                yield (
                    "vocabulary.of: a model composed of trained ones has their vocabulary; name "
                    "one of them here"
                )
        yield from self._unread_by_objective()
        yield from self._trees_without_symbols()
        yield from self._unread_alignments()
        yield from self._cut_off_while_sending()
        yield from self._context_that_does_not_fit()
        yield from self._sides_that_do_not_fit()
        yield from self._language_agreement().problems()

    def _language_agreement(self) -> LanguageAgreement:
        train = {key: part for key, part in self.parts_by_key().items() if _is_train(key)}
        return LanguageAgreement(
            train,
            self.sets_by_key(),
            self.full_vocabulary().tags,
            self.model.reads_source and self.training.objective.translates,
            self._uses_vocabulary_of_another,
        )

    def _unread_by_objective(self) -> Iterator[str]:
        """What an objective that trains no translator leaves unread."""
        objective = self.training.objective
        if objective.translates:
            return
        if self.evaluation.metrics:
            yield (
                "evaluation.metrics are of translations, and training.objective: "
                f"{objective.kind} trains no translator; set them to [], and "
                "training.best_metric: loss"
            )
        for name, part in self.parts():
            if _is_train(name) and part.cuts_off_source:
                yield (
                    f"{name}: dummy_source with cut_off leaves training.objective: "
                    f"{objective.kind} nothing to learn from; remove the part"
                )

    def _trees_without_symbols(self) -> Iterator[str]:
        """Outputs that must be trees, of pieces that are none of their symbols."""
        if self.search.grammar != "trees":
            return
        if not self.model.reads_source:
            yield "search.grammar: trees are of a source, which a language model does not read"
        elif not self._uses_vocabulary_of_another and self.vocabulary.target_kind != "word":
            yield (
                "search.grammar: trees are written in symbols that are one piece each; set "
                "vocabulary: {joint: false, target_kind: word}"
            )

    def _unread_alignments(self) -> Iterator[str]:
        """Alignments that no objective reads, and an objective that lacks them."""
        objective = self.training.objective
        if objective.reads_alignments and not any(one.is_aligned for one in self.data.train):
            yield (
                f"training.objective: {objective.kind} needs word alignments; name a file of them "
                "in data.train.0.alignments"
            )
        for name, part in self.parts():
            read = objective.reads_alignments and _is_train(name)
            if part.alignments is not None and not read:
                yield (
                    f"{name}.alignments are read in training by objective: {{kind: "
                    "guided_alignment}; remove them"
                )

    def _context_that_does_not_fit(self) -> Iterator[str]:
        """Context that differs from part to part, or that the model does not read or write."""
        context = self.data.context
        for name, part in self.parts():
            if part.context not in {None, context}:
                yield f"{name}.context: all text has the same; set data.context instead"
            elif context is not None:
                for problem in self._resolved(part).context_conflicts():
                    yield f"{name}: {problem}"
        if context is None:
            return
        if not self.model.reads_source or not self.training.objective.translates:
            yield "data.context is for models that translate; remove it"
        if context.target and not self.search.allow_tags:
            yield (
                "data.context.target: translations then have the separator, which is a tag; set "
                "search.allow_tags: true"
            )

    def _cut_off_while_sending(self) -> Iterator[str]:
        """Gradients sent in a backward pass that may not be the last of its batch."""
        cut_off = [name for name, part in self.parts() if _is_train(name) and part.cuts_off_source]
        if cut_off and self.training.send_gradients == "during":
            yield (
                f"{cut_off[0]}: dummy_source with cut_off learns from a batch in two passes, and "
                "training.send_gradients: during needs a single one; set it to after"
            )

    @property
    def _uses_vocabulary_of_another(self) -> bool:
        """Whether another model's vocabulary is kept, extended or taken, with tags unknown here."""
        start = self.training.start_from
        kept = start is not None and start.vocabulary != "new"
        return kept or self.vocabulary.of is not None

    def _unread_of_vocabulary(self, choice: str) -> Iterator[str]:
        """Settings that another model's vocabulary, kept or extended, decides."""
        circumstance = f"with training.start_from.vocabulary: {choice}"
        for problem in self.vocabulary.unread(circumstance, *_DECIDED_BY_PARENT[choice]):
            yield f"vocabulary.{problem}"

    def parts(self) -> Iterator[tuple[str, CorpusPart]]:
        """All text, by its configuration key."""
        for number, part in enumerate(self.data.train):
            yield f"data.train.{number}", part
        if isinstance(self.data.dev, CorpusPart):
            yield "data.dev", self.data.dev
        else:
            for name, part in self.data.dev.items():
                yield f"data.dev.{name}", part
        for name, part in self.data.test.items():
            yield f"data.test.{name}", part

    def train_parts(self) -> list[CorpusPart]:
        """The training parts, each with its languages."""
        return [self._resolved(part) for part in self.data.train]

    def dev_sets(self) -> dict[str, CorpusPart]:
        """The dev sets by the name of their scores, with languages."""
        return {name: self._resolved(part) for name, part in self.data.dev_sets.items()}

    def test_sets(self) -> dict[str, CorpusPart]:
        """The test sets, with languages."""
        return {name: self._resolved(part) for name, part in self.data.test.items()}

    def sets_by_key(self) -> dict[str, CorpusPart]:
        """The dev and test sets by their configuration key, with languages."""
        return {key: part for key, part in self.parts_by_key().items() if not _is_train(key)}

    def parts_by_key(self) -> dict[str, CorpusPart]:
        """All text by its configuration key, with languages."""
        return {key: self._resolved(part) for key, part in self.parts()}

    def _resolved(self, part: CorpusPart) -> CorpusPart:
        part = part.resolved(self.source_language, self.target_language)
        context = self.data.context
        return part if context is None else part.model_copy(update={"context": context})

    def directions(self) -> list[Direction]:
        """The distinct translation directions and their tags, in the order of the parts."""
        found = [part.direction for part in self.train_parts()]
        return [one for number, one in enumerate(found) if one not in found[:number]]

    def evaluation_of(self, part: CorpusPart) -> EvaluationConfig:
        """How translations of a dev or test set are scored, with the language they should be in."""
        if "wrong_language" not in self.evaluation.metrics:
            return self.evaluation
        languages = (
            language
            for one in self.directions()
            for language in (one.source_language, one.target_language)
        )
        language = part.direction.target_language
        candidates = self.evaluation.candidate_languages or (*dict.fromkeys(languages), language)
        return self.evaluation.model_copy(
            update={"language": language, "candidate_languages": candidates}
        )

    def evaluations(self) -> list[EvaluationConfig]:
        """How the dev and test sets are scored: one by one, in their order."""
        return [self.evaluation_of(part) for part in self.sets_by_key().values()]

    @property
    def has_opposite_directions(self) -> bool:
        """Whether a language is the source of one part and the target of another."""
        directions = self.directions()
        sources = {one.source_language for one in directions}
        return any(one.target_language in sources for one in directions)

    def full_vocabulary(self) -> VocabularyConfig:
        """The vocabulary configuration, with the tags that parts and transforms use."""
        used = [tag for part in self.train_parts() for tag in part.symbols()]
        used += self.training.objective.symbols()
        tags = (*self.vocabulary.tags, *missing_tags(used, self.vocabulary.tags))
        return self.vocabulary.model_copy(update={"tags": tags})

    def _sides_that_do_not_fit(self) -> Iterator[str]:
        """A missing source, and a source that the model does not read."""
        reads = self.model.reads_source
        for name, part in self.parts():
            if reads and not part.gives_source:
                yield f"{name} has no source, which this model reads; name it"
            if part.gives_source and not reads:
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


def _is_train(key: str) -> bool:
    return key.startswith("data.train.")


_DECIDED_BY_PARENT = {
    "keep": (*DECIDED_ELSEWHERE, "of", "digest"),
    "extend": (*OF_THE_KIND, "of", "digest"),
}
"""Vocabulary settings that are ignored, by ``training.start_from.vocabulary``."""


def read_experiment(path: Path | str, settings: Sequence[str] = ()) -> ExperimentConfig:
    """Read the experiment that a YAML file describes, with paths made absolute.

    Its key ``base`` may name another such file; it then contains only the differences.

    Args:
        path: the file or, if there is none, the name of a bundled recipe.
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
    # The file's own models are absolute by now; --set is relative to the current directory.
    _forget_inherited(whole, own, _with_implied_vocabulary(override(whole, list(settings))))
    values = _with_implied_vocabulary(relocate_models(override(whole, list(settings)), Path.cwd()))
    values = _relocate(values, Path(os.path.realpath(path)).parent)
    config = parse(ExperimentConfig, values, path)
    if problems := list(_unfit_files(config)):
        raise ConfigError(f"{path}: {listed(problems)}")
    return config


def _unfit_files(config: ExperimentConfig) -> Iterator[str]:
    """Text that cannot be read, or only once; whatever reads a missing file reports it."""
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
    """Make relative paths absolute; ``parse`` reports misplaced values."""
    values = relocate_models(values, folder)
    data = values.get("data")
    if not isinstance(data, dict):
        return values
    data = dict(data)
    if isinstance(data.get("train"), list):
        data["train"] = [relocate_part(part, folder) for part in data["train"]]
    if isinstance(data.get("test"), dict):
        data["test"] = {name: relocate_part(part, folder) for name, part in data["test"].items()}
    if _how_many_sets(data.get("dev")) == _SEVERAL:
        data["dev"] = {name: relocate_part(part, folder) for name, part in data["dev"].items()}
    elif "dev" in data:
        data["dev"] = relocate_part(data["dev"], folder)
    return {**values, "data": data}


def _forget_inherited(whole: dict[str, Any], own: dict[str, Any], final: dict[str, Any]) -> None:
    """Drop vocabulary settings of bases if another model's is used: the base is often its recipe.

    Args:
        whole: the file with its bases; changed.
        own: the file alone.
        final: ``whole`` with the settings of the command line.
    """
    training, said = final.get("training"), own.get("vocabulary")
    start = training.get("start_from") if isinstance(training, dict) else None
    choice = start.get("vocabulary", "keep") if isinstance(start, dict) else start and "keep"
    inherited, wanted = whole.get("vocabulary"), final.get("vocabulary")
    decided: tuple[str, ...] = ()
    if isinstance(choice, str) and choice in _DECIDED_BY_PARENT:
        decided = _DECIDED_BY_PARENT[choice]
    elif isinstance(wanted, dict) and wanted.get("of") is not None:
        decided = DECIDED_ELSEWHERE
    if isinstance(inherited, dict):
        for name in decided:
            if not (isinstance(said, dict) and name in said):
                inherited.pop(name, None)


def _with_implied_vocabulary(values: dict[str, Any]) -> dict[str, Any]:
    """A model composed of trained ones has their vocabulary, unless ``values`` say otherwise."""
    training, vocabulary = values.get("training"), values.get("vocabulary") or {}
    components = component_paths(values.get("model"))
    starts = isinstance(training, dict) and training.get("start_from") is not None
    if starts or not components or not isinstance(vocabulary, dict) or "of" in vocabulary:
        return values
    return {**values, "vocabulary": {**vocabulary, "of": next(iter(components.values()))}}
