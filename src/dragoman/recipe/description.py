"""The description of a run: the typed sections of its file, and properties derived from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from dragoman.core.config import Config
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.models import ModelConfig
from dragoman.models.families.transformer import TransformerConfig
from dragoman.recipe.finish import USUAL_LENGTH_PENALTIES, FinishConfig
from dragoman.search.strategy import SearchConfig
from dragoman.text.context import ContextConfig
from dragoman.text.corpora.back_translated import asking_tags
from dragoman.text.corpora.cleaning import CleaningConfig, held_out_keys
from dragoman.text.corpora.corpus import referenced_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Direction
from dragoman.text.tags import missing_tags
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.training.settings import TrainingConfig

_ONE, _SEVERAL = "one set", "sets by name"


def has_sets_by_name(values: Any) -> bool:
    """Whether the value of ``dev``, as read from a file, holds several sets by name."""
    if not isinstance(values, dict) or not values:
        return False
    return all(isinstance(value, (dict, CorpusPart)) for value in values.values())


def _how_many_sets(values: Any) -> str:
    return _SEVERAL if has_sets_by_name(values) else _ONE


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
    proportion to n to the power 1/temperature (Arivazhagan et al. 2019, who use 5). The largest
    direction keeps the frequency that its weights give, smaller ones are sampled more often.
    Directions within one language, such as copies, are mixed separately. By default weights alone
    decide."""
    held_out: tuple[CorpusPart, ...] = ()
    """Further text that is never trained on. As for dev and test sets, a training pair is dropped
    if its source occurs here as a source, or its target as a target. If opposite directions are
    trained, the side does not matter."""
    dev: DevSets
    """Pairs that decide when to stop and which checkpoint is best; never trained on. With several
    sets by name, such as one per direction, the mean of their scores decides."""
    test: dict[str, CorpusPart] = Field(default_factory=dict)
    """Test sets on which the finished model is scored; their scores are reported under these
    names."""
    cleaning: CleaningConfig = CleaningConfig()
    """Which pairs are dropped from the training text."""
    max_pieces: int = Field(256, ge=1)
    """Maximum length in pieces; training pairs with a longer side are dropped."""
    context: ContextConfig | None = None
    """Read each sentence with the sentences before it, in training, evaluation and later
    translation (see [context](context.md)). By default each sentence is read alone."""
    processes: int | None = Field(None, ge=1, le=1024)
    """Number of processes that encode the text. By default one per core."""

    @property
    def dev_sets(self) -> dict[str, CorpusPart]:
        """Dev sets by the name of their scores: ``dev``, or ``dev_NAME`` if there are several."""
        if isinstance(self.dev, CorpusPart):
            return {"dev": self.dev}
        return {f"dev_{name}": part for name, part in self.dev.items()}

    @property
    def never_trained_on(self) -> list[CorpusPart]:
        """Dev and test sets and further text that is held out."""
        return [*self.dev_sets.values(), *self.test.values(), *self.held_out]


class RunDescription(Config):
    """The description of a run, and properties derived from it."""

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
    finish: FinishConfig = FinishConfig()
    """Decisions at the end of training."""
    search: SearchConfig = SearchConfig()
    """Search settings: for validation, tests and, by default, later translation."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """How translations are scored."""

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
        return [self.resolved(part) for part in self.data.train]

    def train_by_key(self) -> dict[str, CorpusPart]:
        """The training parts by their configuration keys."""
        return {key: part for key, part in self.parts_by_key().items() if is_train(key)}

    def dev_sets(self) -> dict[str, CorpusPart]:
        """The dev sets by the name of their scores, with languages."""
        return {name: self.resolved(part) for name, part in self.data.dev_sets.items()}

    def bounded_sets(self) -> list[str]:
        """The dev sets with a bounded loss, which do not select the checkpoint."""
        return [f"dev_{name}" for name in self.training.bounds]

    def test_sets(self) -> dict[str, CorpusPart]:
        """The test sets, with languages."""
        return {name: self.resolved(part) for name, part in self.data.test.items()}

    def sets_by_key(self) -> dict[str, CorpusPart]:
        """The dev and test sets by their configuration key, with languages."""
        return {key: part for key, part in self.parts_by_key().items() if not is_train(key)}

    def parts_by_key(self) -> dict[str, CorpusPart]:
        """All text by its configuration key, with languages."""
        return {key: self.resolved(part) for key, part in self.parts()}

    def resolved(self, part: CorpusPart) -> CorpusPart:
        """A part with its context, and the run's languages unless it names its own."""
        part = part.resolved(self.source_language, self.target_language)
        context = self.data.context
        return part if context is None else part.model_copy(update={"context": context})

    def general_text(self) -> dict[str, CorpusPart]:
        """The text that consolidation protects, by its configuration key, with languages."""
        held, key = self.training.consolidation, "training.consolidation.text"
        parts = [] if held is None else [self.resolved(part) for part in held.text]
        if len(parts) == 1:
            return {key: parts[0]}
        return {f"{key}.{number}": part for number, part in enumerate(parts)}

    def directions(self) -> list[Direction]:
        """The distinct translation directions and their tags, in the order of the parts."""
        found = [part.direction for part in self.train_parts()]
        return [one for number, one in enumerate(found) if one not in found[:number]]

    def tasks(self) -> list[str]:
        """The training tasks, in the order of the parts that name them."""
        return list(dict.fromkeys(part.task for part in self.data.train))

    def back_tags(self, part: CorpusPart) -> tuple[str, ...] | None:
        """Tags that request sources for a part to be back-translated; None for other parts."""
        return asking_tags(part, self.train_parts()) if part.back_translation else None

    def evaluation_of(self, part: CorpusPart) -> EvaluationConfig:
        """Evaluation settings for translations of a dev or test set, with its target language."""
        if "wrong_language" not in self.evaluation.metrics:
            return self.evaluation
        return self.evaluation_in(part.direction.target_language)

    def evaluation_in(self, language: str) -> EvaluationConfig:
        """Evaluation settings for translations into ``language`` alone."""
        languages = (
            known
            for direction in self.directions()
            for known in (direction.source_language, direction.target_language)
        )
        candidates = self.evaluation.candidate_languages or (*dict.fromkeys(languages), language)
        return self.evaluation.model_copy(
            update={"language": language, "candidate_languages": candidates}
        )

    def evaluations(self) -> list[EvaluationConfig]:
        """Evaluation settings of the dev and test sets, in their order."""
        return [self.evaluation_of(part) for part in self.sets_by_key().values()]

    @property
    def has_opposite_directions(self) -> bool:
        """Whether a language is the source of one part and the target of another."""
        directions = self.directions()
        sources = {direction.source_language for direction in directions}
        return any(direction.target_language in sources for direction in directions)

    @property
    def cleaning(self) -> CleaningConfig:
        """Criteria for dropping pairs; a text and its label are not compared in length."""
        if not self.model.writes_labels:
            return self.data.cleaning
        return self.data.cleaning.model_copy(
            update={"max_length_ratio": None, "min_identical_words": None, "target_scripts": ()}
        )

    @property
    def decoding(self) -> SearchConfig:
        """Search settings; for a classifier, always for an output of one label."""
        if not self.model.writes_labels:
            return self.search
        one = {"beam": 1, "nbest": 1, "minimum_length": 1, "maximum_length": 1}
        return self.search.model_copy(update={**one, "sampling": None, "mbr": None})

    @property
    def length_penalties(self) -> tuple[float, ...]:
        """Length penalties to try when training ends, besides that of the section ``search``.

        None are tried where none has an effect: without a beam, for labels and for trees.
        """
        search = self.search
        searched = search.beam > 1 and search.sampling is None and search.mbr is None
        if not (searched and self.writes_text):
            return ()
        given = self.finish.length_penalties
        if given is None:
            decides = self.training.average_checkpoints == "dev"
            given = USUAL_LENGTH_PENALTIES if decides else ()
        return tuple(dict.fromkeys(one for one in given if one != search.length_penalty))

    @property
    def writes_text(self) -> bool:
        """Whether the model translates sources into text: not labels, nor trees."""
        model = self.model
        translates = self.training.objective.translates and model.reads_source
        return translates and not model.writes_labels and self.search.grammar == "any"

    def held_out(self, parts: Iterable[CorpusPart]) -> frozenset[int]:
        """Keys of the pairs of dev and test sets, removed by cleaning; none of labels."""
        pairs = (pair for part in parts for pair in referenced_pairs(part))
        if self.model.writes_labels:
            pairs = (pair._replace(target="") for pair in pairs)
        return held_out_keys(pairs, either_side=self.has_opposite_directions)

    def full_vocabulary(self) -> VocabularyConfig:
        """The vocabulary configuration, with the tags that parts and transforms use."""
        used = [tag for part in self.train_parts() for tag in part.symbols()]
        used += self.training.objective.symbols()
        for task in self.training.tasks.values():
            used += () if task.objective is None else task.objective.symbols()
        tags = (*self.vocabulary.tags, *missing_tags(used, self.vocabulary.tags))
        return self.vocabulary.model_copy(update={"tags": tags})


def is_train(key: str) -> bool:
    """Whether text with this configuration key is training text."""
    return key.startswith("data.train.")
