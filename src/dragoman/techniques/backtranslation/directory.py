"""The directory of a back-translation: its settings, and the paths of its files.

``backtranslation.yaml`` has the settings, ``recipe.yaml`` the resolved recipe and
``reverse-recipe.yaml`` that of the reverse model, so that the directory alone suffices to resume.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.claims import claimed
from dragoman.core.config import parse, read_yaml, to_yaml
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import atomic_write, durable_replace, storage_errors
from dragoman.core.recipe_library import found_recipe
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.saved.model import config_of
from dragoman.techniques.backtranslation.backtranslation_config import BackTranslationConfig
from dragoman.techniques.backtranslation.parts import check_begins, with_synthetic
from dragoman.techniques.backtranslation.reversal import INSTEAD, direction_of, reversed_recipe
from dragoman.techniques.teachers.remote_teacher import RemoteTeacher
from dragoman.techniques.teachers.teacher_config import changed_teacher, is_remote, read_teacher
from dragoman.text.examples import Direction

SETTINGS_FILE, RECIPE_FILE = "backtranslation.yaml", "recipe.yaml"
REVERSE_RECIPE_FILE = "reverse-recipe.yaml"
TEXT_DIRECTORY, MODEL_LINK = "text", "model"
_LOCK = ".lock"


@dataclass(frozen=True)
class BackTranslationPlan:
    """All settings of the work."""

    directory: Path
    settings: BackTranslationConfig
    recipe: ExperimentConfig
    """Recipe of the forward model."""
    reverse_recipe: ExperimentConfig | None
    """Recipe of the reverse models; None if only a given model or a teacher is needed."""

    def round(self, number: int) -> Path:
        """The directory of a round, from 1."""
        return self.directory / f"round-{number}"

    def forward(self, number: int) -> Path:
        """The run of the forward model of a round."""
        return self.round(number) / "forward"

    def reverse(self, number: int) -> Path:
        """The run of the reverse model of a round, or the given model."""
        if number == 1 and self.settings.reverse_model is not None:
            return self.settings.reverse_model
        return self.round(number) / "reverse"

    def teacher(self) -> RemoteTeacher | None:
        """The server that translates in place of a reverse model, if any."""
        if self.settings.teacher is None:
            return None
        forward = direction_of(self.recipe)
        return RemoteTeacher(
            self.settings.teacher,
            Direction(
                source_language=forward.target_language, target_language=forward.source_language
            ),
        )

    @property
    def text(self) -> Path:
        """The directory of the chosen lines."""
        return self.directory / TEXT_DIRECTORY


def is_begun(directory: Path) -> bool:
    """Whether ``directory`` is that of a back-translation."""
    return (directory / SETTINGS_FILE).is_file()


@contextmanager
def opened(
    directory: Path, recipe: ExperimentConfig | None, given: Mapping[str, Any]
) -> Iterator[BackTranslationPlan]:
    """Begin in a new directory, or resume; locked for this process within the block.

    Args:
        directory: holds all runs and texts.
        recipe: of the forward model; None to resume with the recorded recipe.
        given: settings of :class:`BackTranslationConfig` by name, with absolute paths.
    """
    if not is_begun(directory):
        _check_empty(directory)
    with claimed(directory / _LOCK, "it; wait until it ends, or choose another --run"):
        if is_begun(directory):
            plan = _read(directory)
            yield _with_given(plan, recipe, given)
            return
        if recipe is None:
            raise SavedError(f"{directory}: no back-translation here; give its recipe first")
        yield _begin(directory, recipe, parse(BackTranslationConfig, dict(given), "backtranslate"))


def _begin(
    directory: Path, recipe: ExperimentConfig, settings: BackTranslationConfig
) -> BackTranslationPlan:
    direction = direction_of(recipe)
    reverse: ExperimentConfig | None = None
    if settings.reverse_model is not None:
        check_reverse_model(settings.reverse_model, direction)
    if settings.reverse_recipe is not None:
        reverse = _read_reverse_recipe(settings.reverse_recipe, direction)
    elif settings.teacher is None and (settings.reverse_model is None or settings.rounds > 1):
        reverse = reversed_recipe(recipe)
    plan = BackTranslationPlan(directory, settings, recipe, reverse)
    _check_learners(plan)
    return plan


def _read(directory: Path) -> BackTranslationPlan:
    """The plan of a directory in which the work has begun."""
    file = directory / SETTINGS_FILE
    settings = parse(BackTranslationConfig, read_yaml(file), file)
    recipe = _read_config(directory / RECIPE_FILE)
    reverse_file = directory / REVERSE_RECIPE_FILE
    reverse = _read_config(reverse_file) if reverse_file.exists() else None
    return BackTranslationPlan(directory, settings, recipe, reverse)


def _with_given(
    plan: BackTranslationPlan, recipe: ExperimentConfig | None, given: Mapping[str, Any]
) -> BackTranslationPlan:
    """The plan, possibly with more rounds or other bounds of its teacher."""
    directory, settings = plan.directory, plan.settings
    instead = "choose another --run, or repeat the command as it was"
    if recipe is not None and recipe != plan.recipe:
        raise ConfigError(
            f"{directory}: its recipe changed since the back-translation began; {instead}"
        )
    values = settings.model_dump()
    wanted = parse(BackTranslationConfig, {**values, **given}, "backtranslate")
    began = _compared(settings)
    for name, value in _compared(wanted).items():
        if value != (before := began.get(name)) and not _may_change(plan, name, value):
            raise ConfigError(f"{directory}: began with {name} {before}, not {value}; {instead}")
    if wanted == settings:
        return plan
    reverse = plan.reverse_recipe
    if reverse is None and wanted.rounds > 1:
        reverse = reversed_recipe(plan.recipe)
    wider = BackTranslationPlan(directory, wanted, plan.recipe, reverse)
    _check_learners(wider)
    return wider


def _compared(settings: BackTranslationConfig) -> dict[str, Any]:
    """The settings by name, those of a teacher as ``teacher.url``, without its bounds."""
    values = settings.model_dump(exclude={"teacher"})
    lasting = {} if settings.teacher is None else settings.teacher.lasting()
    return values | {f"teacher.{name}": value for name, value in lasting.items()}


def _check_learners(plan: BackTranslationPlan) -> None:
    """Check before the work starts that all models can make and learn from synthetic pairs."""
    plan.teacher()  # made only to be checked
    learners, several = [plan.recipe], plan.settings.rounds > 1
    _check_context(plan.recipe, "data.context")
    if several:
        _check_searches(plan.recipe, "the recipe")
    if plan.reverse_recipe is not None:
        _check_searches(plan.reverse_recipe, "the reverse recipe")
        _check_context(plan.reverse_recipe, "the reverse recipe's data.context")
        learners += [plan.reverse_recipe] if several else []
    for learner in learners:
        check_begins(with_synthetic(learner, plan.directory / "pairs.jsonl.gz", plan.settings))


def _check_context(recipe: ExperimentConfig, what: str) -> None:
    """Check that a model reads single lines."""
    if recipe.data.context is not None:
        raise ConfigError(
            f"{what}: synthetic pairs are single lines, apart from their documents; remove it"
        )


def _check_searches(recipe: ExperimentConfig, what: str) -> None:
    """Check that a model translates as ``--method`` says; its own sampling could not be undone."""
    for name in ("sampling", "mbr"):
        if getattr(recipe.decoding, name) is not None:
            raise ConfigError(
                f"{what}'s search.{name} would draw translations, whatever --method says; remove "
                "it, and choose samples with --method"
            )


def record(plan: BackTranslationPlan) -> None:
    """Write the files that resuming needs; from then on, settings are fixed."""
    directory = plan.directory
    if is_begun(directory) and _read(directory) == plan:
        return
    _write_config(directory / RECIPE_FILE, plan.recipe)
    if plan.reverse_recipe is not None:
        _write_config(directory / REVERSE_RECIPE_FILE, plan.reverse_recipe)
    else:
        (directory / REVERSE_RECIPE_FILE).unlink(missing_ok=True)
    with atomic_write(directory / SETTINGS_FILE) as stream:  # last: with it, the work has begun
        stream.write(to_yaml(plan.settings.model_dump(mode="json")))


def recorded_rounds(directory: Path) -> int:
    """The recorded rounds of a begun back-translation, without further rounds of a call."""
    return _read(directory).settings.rounds


def _may_change(plan: BackTranslationPlan, name: str, value: Any) -> bool:
    """Whether a setting may get this value: more rounds, or text that is still unread."""
    if name == "rounds":
        return bool(value > plan.settings.rounds)
    unread = not plan.round(2).exists()
    return name == "monolingual_source" and plan.settings.rounds == 1 and unread


def check_reverse_model(path: Path, direction: Direction) -> None:
    """Refuse a model that does not translate single lines in the opposite direction, by search."""
    config = config_of(path)
    wanted = direction.target_language, direction.source_language
    pairs = [(own.source_language, own.target_language) for own in config.directions]
    pairs = pairs or [(config.source_language, config.target_language)]
    if not config.model.reads_source or wanted not in pairs:
        names = ", ".join(dict.fromkeys(map("-".join, pairs)))
        kind = names if config.model.reads_source else "nothing: it is a language model"
        raise ConfigError(
            f"--reverse {path}: translates {kind}; back-translation for {direction.name} needs "
            f"{'-'.join(wanted)} (source_language and target_language of a recipe name them)"
        )
    if not config.translates:
        raise ConfigError(f"--reverse {path}: a masked language model; give one that translates")
    if config.context is not None:
        raise ConfigError(
            f"--reverse {path}: it reads context, and back-translation is of single lines; give a "
            "model that reads lines alone"
        )
    if any(config.search.get(name) is not None for name in ("sampling", "mbr")):
        raise ConfigError(
            f"--reverse {path}: its own search settings sample; give a model that searches, and "
            "choose samples with --method"
        )


def _read_reverse_recipe(path: Path, direction: Direction) -> ExperimentConfig:
    config = read_experiment(path)
    own = direction_of(config)
    wanted = direction.target_language, direction.source_language
    if (own.source_language, own.target_language) != wanted:
        raise ConfigError(
            f"--reverse {path}: its direction is {own.name}, and that of the recipe "
            f"{direction.name}; {INSTEAD}"
        )
    return config


def reverse_settings(path: Path) -> dict[str, Path]:
    """The setting for ``--reverse``: a directory is a model or run, a file is a recipe."""
    if path.is_dir():
        return {"reverse_model": path.absolute()}
    file = found_recipe(path)
    if not file.exists():
        raise ConfigError(f"--reverse {path}: no such run, model or recipe")
    return {"reverse_recipe": file.absolute()}


def given_teacher(directory: Path, teacher: str | None, settings: Sequence[str]) -> dict[str, Any]:
    """The setting for ``--teacher`` and ``--teacher-set``, or for the latter alone in a resumption.

    Args:
        directory: of the back-translation, which may have a teacher already.
        teacher: an address or a YAML file.
        settings: ``KEY=VALUE`` each.
    """
    if teacher is not None:
        if not is_remote(teacher):
            raise ConfigError(
                f"--teacher {teacher}: neither an address nor a YAML file; a model here is named "
                "with --reverse"
            )
        return {"teacher": read_teacher(teacher, settings).model_dump()}
    if not settings:
        return {}
    recorded = _read(directory).settings.teacher if is_begun(directory) else None
    if recorded is None:
        raise ConfigError("--teacher-set: there is no teacher; name it with --teacher")
    return {"teacher": changed_teacher(recorded, settings).model_dump()}


def link_model(plan: BackTranslationPlan, run: Path) -> Path:
    """Link ``model`` in the directory to the model of ``run``.

    Returns:
        The path to translate with: the directory, or ``run`` where links cannot be made.
    """
    link = plan.directory / MODEL_LINK
    if link.exists() and not link.is_symlink():
        return run
    target = os.path.relpath(run / MODEL_LINK, plan.directory)
    temporary = plan.directory / f".{MODEL_LINK}.link"
    with suppress(OSError):
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(target)
        durable_replace(temporary, link)
        return plan.directory
    return run


def _check_empty(directory: Path) -> None:
    """Refuse a directory with files other than those of a failed first attempt."""
    with storage_errors(directory):
        names = os.listdir(directory) if directory.exists() else []
    ours = {RECIPE_FILE, REVERSE_RECIPE_FILE, TEXT_DIRECTORY}
    strangers = [name for name in names if not name.startswith(".") and name not in ours]
    if strangers:
        raise ConfigError(
            f"{directory}: holds {min(strangers)} and is no back-translation; choose a new or "
            "empty directory with --run"
        )


def _write_config(path: Path, config: ExperimentConfig) -> None:
    with atomic_write(path) as stream:
        stream.write(to_yaml(json.loads(config.model_dump_json())))


def _read_config(path: Path) -> ExperimentConfig:
    return parse(ExperimentConfig, read_yaml(path), path)
