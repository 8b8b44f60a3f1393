"""Sequence-level knowledge distillation (Kim & Rush 2016, arXiv:1606.07947).

A teacher, which may be an ensemble, translates every source of a student's training text.  The
student is then trained on these translations.  With several translations per source, the student
gets the one closest to the reference (their section 4.3).

Everything is in the student's run directory: the synthetic text in ``synthetic/``, with its
origin.  The same command resumes a student that was interrupted at any point.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from dragoman.core.errors import ConfigError, InterruptedRunError
from dragoman.core.wording import in_shell
from dragoman.data.vocabularies import check_tags
from dragoman.evaluation.similarity import Closest, Similarity
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig, with_train_parts
from dragoman.run.parents import check_parents, completed
from dragoman.run.revision import as_decided, changed_keys, ended_by, plain_values
from dragoman.run.run_directory import begin
from dragoman.saved.directions import called_there, check_source
from dragoman.saved.model import CONFIG_FILE, config_of, has_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.system import TranslationSystem
from dragoman.techniques.host import Host, train_to_repeat
from dragoman.techniques.teachers.remote_teacher import RemoteTeacher
from dragoman.techniques.teachers.taught_corpus import teach_corpus
from dragoman.techniques.teachers.teacher_config import TeacherConfig
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Direction
from dragoman.text.tags import language_tag
from dragoman.text.transforms import TransformConfig
from dragoman.text.transforms.term_annotating import AnnotateTermsConfig, WithTermsConfig
from dragoman.translation.shards import PAIRS_FILE
from dragoman.translation.synthesis import GivenText, SyntheticCorpus, translate_corpus

SYNTHETIC_DIRECTORY = "synthetic"
_UNNAMED = {"source", "target"}  # the languages of models and recipes that do not name theirs


@dataclass(frozen=True)
class Distilled:
    """A finished student and its synthetic training text."""

    experiment: Experiment
    corpora: dict[int, SyntheticCorpus]
    """The teacher's translations, by the numbers of the training parts."""

    def values(self) -> list[dict[str, Any]]:
        """The translations as plain values."""
        return [
            {**asdict(corpus), "part": f"data.train.{number}", "path": str(corpus.path)}
            for number, corpus in self.corpora.items()
        ]


@dataclass(frozen=True)
class Distillation:
    """A student's recipe and its teacher."""

    student: ExperimentConfig
    teacher: TranslationSystem | TeacherConfig
    """The teacher; each part of the text sets the languages and, for a system here, adds tags."""
    run: Path
    """Directory of the student's run."""
    closest: Similarity | None = None
    """Of ``nbest`` translations, choose the one closest to the reference by this metric, with the
    settings of the student's ``evaluation``."""
    references: float | None = None
    """Also train on the real pairs, each repeated this many times as often as its translation."""

    def carry_out(self, host: Host) -> Distilled:
        """Translate and train what is not finished."""
        check(self.student, self.teacher)
        config = self.recipe()
        with begin(self.run):
            experiment = self._begun(config)  # refused before hours of translation
            corpora = self._translated(host)
            experiment = experiment or Experiment.create(config, self.run)
            if not _is_finished(experiment):
                train_to_repeat(experiment, host)
        return Distilled(experiment, corpora)

    def _translated(self, host: Host) -> dict[int, SyntheticCorpus]:
        """The translations of the training parts, by their numbers."""
        parts = dict(distilled_parts(self.student))
        try:
            return {number: self._translate(number, part, host) for number, part in parts.items()}
        except KeyboardInterrupt:
            raise InterruptedRunError(
                f"{self.run}: interrupted while the teacher was translating; finished shards are "
                "kept; repeat the command to continue"
            ) from None

    def _translate(self, number: int, part: CorpusPart, host: Host) -> SyntheticCorpus:
        name = f"data.train.{number}"
        # The student's annotations depend on the translations that it learns from.
        text = GivenText(_without(part, AnnotateTermsConfig), "source")
        progress = partial(_counting, host, f"translating {name}")
        if isinstance(self.teacher, TeacherConfig):
            corpus = teach_corpus(
                RemoteTeacher(self.teacher, part.prepared_direction),
                text,
                self._directory(number),
                known="source",
                closest=self.closest and Closest(self.closest, self.student.evaluation),
                progress=progress,
                tell=host.tell,
            )
            left_out = f"{corpus.refused:,} without a good answer"
        else:
            corpus = translate_corpus(
                asked_for(self.teacher, part),
                text,
                self._directory(number),
                known="source",
                closest=self.closest,
                evaluation=self.student.evaluation,
                progress=progress,
            )
            left_out = f"{corpus.refused:,} too long"
        left_out += f" and {corpus.empty:,} empty lines left out"
        host.tell(f"{name}: {corpus.lines:,} pairs by {corpus.origin['method']}; {left_out}")
        return corpus

    def _directory(self, number: int) -> Path:
        """The directory of the translations of a training part."""
        return self.run / SYNTHETIC_DIRECTORY / f"train-{number}"

    def recipe(self) -> ExperimentConfig:
        """The student's recipe with the teacher's translations as its training text."""
        train: list[CorpusPart] = []
        for number, part in enumerate(self.student.data.train):
            if not part.has_source:
                train.append(part)
                continue
            chosen = _without(part, WithTermsConfig)  # by the references
            train.append(chosen.kept_in(self._directory(number) / PAIRS_FILE))
            if self.references is not None:
                weight = part.weight * self.references
                train.append(part.model_copy(update={"weight": weight}))
        return with_train_parts(self.student, train, "the recipe with translations")

    def _begun(self, config: ExperimentConfig) -> Experiment | None:
        """The student's run, or None if it does not exist or is still being translated."""
        if not (self.run / CONFIG_FILE).is_file():
            _check_begins(config)
            return None
        experiment = Experiment.open(self.run)
        begun = experiment.config
        wanted = plain_values(as_decided(completed(config), begun))
        if changed := list(changed_keys(plain_values(begun), wanted)):
            raise ConfigError(
                f"{self.run}: was begun with other settings ({', '.join(changed)}); continue it "
                f"with 'dragoman resume {in_shell(self.run)}', or choose another directory with "
                "--run"
            )
        return experiment


def _check_begins(config: ExperimentConfig) -> None:
    """Check that training can begin with the models and the vocabulary that a recipe names."""
    parent = check_parents(completed(config))
    tagged = {**config.parts_by_key(), **config.general_text()}
    check_tags(config.full_vocabulary(), parent, tagged)


def _counting(host: Host, what: str, start: int, total: int) -> AbstractContextManager[Any]:
    host.tell(f"{what}: {total - start:,} of {total:,} lines are left")
    return host.counting(what, "lines", total, start)


def check(student: ExperimentConfig, teacher: TranslationSystem | TeacherConfig) -> None:
    """Check before the work starts that the teacher fits the student's text."""
    _check_student(student)
    for number, part in distilled_parts(student):
        if isinstance(teacher, TeacherConfig):
            RemoteTeacher(teacher, part.prepared_direction)
        else:
            _check_system(teacher, number, part)


def _check_student(student: ExperimentConfig) -> None:
    """Check that a student can learn from any teacher."""
    model, objective = student.model, student.training.objective
    other = None
    if not model.reads_source:
        other = f"the student is a language model (model.family: {model.family})"
    elif model.writes_labels:
        other = "the student is a classifier, which writes labels"
    elif not objective.translates:
        other = f"training.objective: {objective.kind} trains no translator"
    if other is not None:
        raise ConfigError(f"{other}; a teacher's translations are for a model that translates")
    if objective.reads_alignments:
        raise ConfigError(
            f"training.objective: {objective.kind} needs word alignments, which a teacher's "
            "translations lack; choose another objective"
        )
    if student.data.context is not None:
        raise ConfigError(
            "data.context: a teacher's translations are of single lines, apart from their "
            "documents; remove it"
        )
    if not any(distilled_parts(student)):
        raise ConfigError("data.train: no part has sources for a teacher to translate; add one")


def _check_system(teacher: TranslationSystem, number: int, part: CorpusPart) -> None:
    """Check that the models of a teacher translate a training part."""
    if teacher.chooses_route and part.direction.source_language in _UNNAMED:
        raise ConfigError(
            f"data.train.{number}: its source language chooses among the teacher's routes; "
            "give the part a source_language"
        )
    for path, wanted in _asked_directions(_routed(teacher, part), part.direction):
        config = config_of(path)
        if not config.model.reads_source:
            raise ConfigError(f"{path}: a language model; a teacher is a model that translates")
        _check_direction(config, path, number, wanted)


def _asked_directions(
    teacher: TranslationSystem, wanted: Direction
) -> Iterator[tuple[Path, Direction]]:
    """Each model of a teacher, with its direction of translation."""
    ends = [wanted.source_language, wanted.target_language]
    if teacher.pivot is not None:
        if (middle := teacher.pivot.language) in ends:
            raise ConfigError(
                f"pivot.language {middle}: {wanted.name} text needs no translation through it; "
                "choose a teacher with another pivot, or without one"
            )
        ends.insert(1, middle)
    for leg, (source, target) in zip(teacher.legs(), pairwise(ends), strict=True):
        for path in leg.models:
            yield path, Direction(source_language=source, target_language=target)


def _check_direction(config: SavedConfig, path: Path, number: int, wanted: Direction) -> None:
    known = _directions(config)
    if _is_unnamed(wanted):
        return
    if config.names_source:
        for language in (wanted.source_language, wanted.target_language):
            check_source(config, language)  # any of its languages may be either
        return
    names = {own.name for own in known}
    if _called_there(config, wanted).name not in names and not any(map(_is_unnamed, known)):
        raise ConfigError(
            f"data.train.{number} needs {wanted.name}, and {path} was trained for "
            f"{', '.join(sorted(names))}; choose a teacher of the student's directions"
        )


def _called_there(config: SavedConfig, direction: Direction) -> Direction:
    """A direction with the model's own names of its languages."""
    return Direction(
        source_language=called_there(config, direction.source_language),
        target_language=called_there(config, direction.target_language),
    )


def _directions(config: SavedConfig) -> list[Direction]:
    own = Direction(source_language=config.source_language, target_language=config.target_language)
    return list(config.directions) or [own]


def _is_unnamed(direction: Direction) -> bool:
    return bool(_UNNAMED & {direction.source_language, direction.target_language})


def distilled_parts(student: ExperimentConfig) -> Iterator[tuple[int, CorpusPart]]:
    """The training parts with sources, by number and with languages; others stay unchanged."""
    for number, part in enumerate(student.train_parts()):
        if part.has_source:
            yield number, part


def asked_for(teacher: TranslationSystem, part: CorpusPart) -> TranslationSystem:
    """The teacher with the languages and tags of ``part``.

    The teacher's own tags set the target language, independently of the student's tags.
    """
    # A description may name other languages; check has compared the languages of the models.
    teacher = _routed(teacher, part).model_copy(update={"source_language": None})
    config = config_of(teacher.models[0])
    direction = part.prepared_direction
    there = _called_there(config, direction)
    language = there.target_language
    if not any(own.target_language == language for own in _directions(config)):
        tags = (*teacher.tags, *direction.tags)  # languages without names
        return teacher.model_copy(update={"tags": tuple(dict.fromkeys(tags))})
    told = {"target_language": language}
    if config.names_source:
        told["source_language"] = there.source_language
    named = {language, direction.target_language, *told.values()}
    others = (tag for tag in direction.tags if tag not in set(map(language_tag, named)))
    tags = tuple(dict.fromkeys([*teacher.tags, *others]))
    return teacher.model_copy(update={**told, "tags": tags})


def _routed(teacher: TranslationSystem, part: CorpusPart) -> TranslationSystem:
    """The system that translates ``part``: of routes by language, that of its language."""
    return teacher.route(part.direction.source_language) if teacher.chooses_route else teacher


def _without(part: CorpusPart, kind: type[TransformConfig]) -> CorpusPart:
    """The part without those transforms of class ``kind`` that run once."""
    once = len(part.prepared_transforms)
    others = (change for change in part.transforms[:once] if not isinstance(change, kind))
    return part.model_copy(update={"transforms": (*others, *part.transforms[once:])})


def _is_finished(experiment: Experiment) -> bool:
    """Whether only printing the scores is left."""
    # The model is written after the scores.
    return has_model(experiment.run) and ended_by(experiment.config, experiment.run) is not None
