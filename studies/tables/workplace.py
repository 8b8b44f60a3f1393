"""The output directory of a table: where stages and translations lie, and what is done."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

from yaml import YAMLError

from dragoman.core.config import parse, read_yaml
from dragoman.core.errors import DragomanError, SavedError
from dragoman.core.files import (
    content_digest,
    make_directory,
    read_json,
    storage_errors,
    write_json,
)
from dragoman.core.locks import lock
from dragoman.core.strict_yaml import load_yaml
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.run.run_directory import claim, is_run
from dragoman.run.scores_file import SCORES_FILE
from dragoman.saved.model import CONFIG_FILE, MODEL_DIRECTORY, has_model
from dragoman.saved.weights import WEIGHTS_FILE
from dragoman.text.public_corpora import corpora_folder
from dragoman.training.checkpoint import checkpoints
from studies.tables.named_files import described, named_files, other_files
from studies.tables.plan import CORPORA, HERE, Stage, TableConfig, expanded, named_places
from studies.tables.same_recipe import begun_values, changes, other_text

RECORDS = "records"
STAGES, TRANSLATIONS, SCORES = "stages", "translations", "scores"
"""Kinds of records."""

_CHOOSE_BY = {"adapt": ("chrf",), "distill": ("bleu", "chrf")}
"""The scores by which commands choose weights, or among translations, with their recipes'
settings."""

STUDY = ["python", "-m"]
"""How commands begin that are not of ``dragoman`` but of a study beside this one."""


class State(Enum):
    """How far a stage is, or the translations of a row."""

    DONE = "done"
    TO_DO = "to do"
    CHANGED = "made by another recipe or command"


class BusyPlaceError(Exception):
    """Another process is working at a place."""


@dataclass(frozen=True)
class Workplace:
    """A table, its file and the directory of its results."""

    table: TableConfig
    file: Path
    output: Path

    @cached_property
    def places(self) -> dict[str, Path]:
        """Everything that arguments may name in braces."""
        stages = {name: self.output / name for name in self.table.stages}
        return {**stages, HERE: self.file.parent, CORPORA: corpora_folder()}

    def state(self, name: str) -> State:
        """How far a stage is, or that it was made by another recipe or command than the table's.

        Raises:
            ConfigError: its recipe cannot be read.
            SavedError: its run, or its record, is damaged.
        """
        if not self.places[name].exists():
            return State.TO_DO
        if list(self.differences(name)):
            return State.CHANGED
        return State.TO_DO if self.missing_end(name) else State.DONE

    def missing_end(self, name: str) -> Path | None:
        """The first that is missing of the files that a stage ends with; None if it is done."""
        done = self.places[name] / self.table.stages[name].done
        ends = [done]
        # A run makes its model of checkpoints, after its scores; of an old one, scores may be left.
        if done.name == SCORES_FILE and checkpoints(done.parent):
            ends.append(done.parent / MODEL_DIRECTORY / WEIGHTS_FILE)
        return next((end for end in ends if not end.is_file()), None)

    def differences(self, name: str) -> Iterator[str]:
        """What was otherwise when a stage was begun: keys of its recipe, text, command or needs."""
        stage, place = self.table.stages[name], self.places[name]
        if stage.train is not None:
            if checkpoints(place) or has_model(place):
                found = parse(ExperimentConfig, read_yaml(place / CONFIG_FILE), place / CONFIG_FILE)
                wanted = self.recipe(stage)
                yield from changes(found, wanted)
                yield from other_text(place, wanted)
            return
        record = self.record(STAGES, name)
        if not record:
            return  # made by hand
        if record.get("command") != stage.command:
            yield "its command"
        for need, digest in self._digests(stage).items():
            if record.get("needs", {}).get(need) not in {digest, None}:
                yield f"{need}, which it needs"
        for file in other_files(record.get("files", {}), self._other_files(stage)):
            yield f"{file}, which it reads"
        for recipe, wanted in self._recipes(stage).items():
            before = record.get("recipes", {}).get(recipe)
            if before is not None:
                found = parse(ExperimentConfig, before, recipe)
                yield from changes(found, wanted, _scores_of(stage))

    def recipe(self, stage: Stage) -> ExperimentConfig:
        """The configuration that a stage trains.

        Raises:
            ConfigError: the recipe or a setting is wrong.
        """
        return read_experiment(self._recipe_file(stage), self._settings(stage))

    def command(self, name: str) -> list[str]:
        """What is left to do of a stage, as arguments of ``dragoman``."""
        stage, place = self.table.stages[name], self.places[name]
        if stage.command is not None:
            return [expanded(one, self.places) for one in shlex.split(stage.command)]
        if checkpoints(place) or has_model(place):
            return ["resume", str(place)]
        settings = [part for one in self._settings(stage) for part in ("--set", one)]
        return ["train", str(self._recipe_file(stage)), "--run", str(place), *settings]

    def stages_of(self, arguments: str) -> list[str]:
        """The stages that arguments need, each after those that it needs itself."""
        found: list[str] = []

        def visit(name: str) -> None:
            if name in self.table.stages and name not in found:
                for need in dict.fromkeys(self.table.stages[name].names()):
                    if need != name:
                        visit(need)
                found.append(name)

        for name in named_places(arguments):
            visit(name)
        return found

    def begin(self, name: str) -> None:
        """Record what a stage is made with; a record of an earlier try keeps its time."""
        stage = self.table.stages[name]
        if stage.command is None:
            return  # its run has the whole configuration
        before = self.record(STAGES, name) if self.places[name].exists() else {}
        recipes = {recipe: begun_values(config) for recipe, config in self._recipes(stage).items()}
        record = {
            "command": stage.command,
            "needs": self._digests(stage),
            "recipes": recipes,
            "files": described(self._other_files(stage)),
            "seconds": before.get("seconds", 0),
        }
        write_json(self.record_file(STAGES, name), record)

    def add_seconds(self, name: str, seconds: float) -> None:
        """Add the time that a command took to its record."""
        record = self.record(STAGES, name)
        if record:
            record["seconds"] = round(record.get("seconds", 0) + seconds, 3)
            write_json(self.record_file(STAGES, name), record)

    def record_file(self, kind: str, name: str) -> Path:
        """Where the record of a stage is, or that of a row's translations or scores."""
        return self.output / RECORDS / kind / f"{name}.json"

    def record(self, kind: str, name: str) -> dict[str, Any]:
        """A record; empty if there is none.

        Raises:
            SavedError: it is damaged.
        """
        file = self.record_file(kind, name)
        try:
            found = read_json(file)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise SavedError(f"{file}: damaged ({error}); remove it") from error
        if not isinstance(found, dict):
            raise SavedError(f"{file}: damaged; remove it")
        return found

    def digests(self, arguments: str) -> dict[str, str]:
        """A digest of each finished stage that arguments name: of the file that ends it."""
        return {
            name: content_digest(file)
            for name in named_places(arguments)
            if name in self.table.stages
            and (file := self.places[name] / self.table.stages[name].done).is_file()
        }

    def files(self, arguments: str) -> dict[str, Path]:
        """The files that arguments name, by their names there, without those that stages make."""
        return named_files(arguments, self.places, self.table.stages)

    @contextmanager
    def held(self, kind: str, name: str) -> Iterator[None]:
        """Work at a stage, or at a row and a test, that no other process works at.

        Raises:
            BusyPlaceError: another one does.
        """
        file = self.record_file(kind, name).with_suffix(".lock")
        make_directory(file.parent)
        with storage_errors(file), file.open("a") as stream:
            try:
                lock(stream.fileno())
            except BlockingIOError:
                raise BusyPlaceError(name) from None
            if kind == STAGES and is_run(self.places[name]):
                try:
                    with claim(
                        self.places[name]
                    ):  # whoever trains it without a table holds it, too
                        pass
                except SavedError:
                    raise BusyPlaceError(name) from None
            yield

    def _digests(self, stage: Stage) -> dict[str, str]:
        named = " ".join(f"{{{name}}}" for name in stage.names())
        return self.digests(named)

    def _recipe_file(self, stage: Stage) -> Path:
        assert stage.train is not None
        path = Path(expanded(stage.train, self.places))
        return path if named_places(stage.train) else self.file.parent / path

    def _settings(self, stage: Stage) -> list[str]:
        # Text is relative to the recipe, models are relative to where the command runs.
        absolute = {name: path.absolute() for name, path in self.places.items()}
        return [
            f"{key}={_as_setting(expanded(value, absolute if _is_text(key) else self.places))}"
            for key, value in stage.settings.items()
        ]

    def _recipes(self, stage: Stage) -> dict[str, ExperimentConfig]:
        """The recipes beside the table that a command names."""
        found = {}
        for one in _recipes_among(stage.command or ""):
            path = Path(expanded(one, self.places))
            found[one.removeprefix(f"{{{HERE}}}/")] = read_experiment(path)
        return found

    def _other_files(self, stage: Stage) -> dict[str, Path]:
        """The other files that a command names."""
        command = stage.command or ""
        recipes = _recipes_among(command)
        return {name: path for name, path in self.files(command).items() if name not in recipes}


def shell(arguments: list[str]) -> str:
    """The command that a person would type."""
    return shlex.join(arguments if is_study(arguments) else ["dragoman", *arguments])


def is_study(arguments: Sequence[str]) -> bool:
    """Whether arguments are a command of a study, which is not one of ``dragoman``."""
    return list(arguments[: len(STUDY)]) == STUDY


def problem_of(error: DragomanError) -> str:
    """The text of an error, on one line."""
    return " ".join(str(error).split())


def _recipes_among(arguments: str) -> list[str]:
    named = shlex.split(arguments)
    return [one for one in named if one.startswith(f"{{{HERE}}}/") and one.endswith(".yaml")]


def _scores_of(stage: Stage) -> tuple[str, ...]:
    """The scores by which the command of a stage chooses, whatever its recipe says."""
    return _CHOOSE_BY.get(shlex.split(stage.command or "")[0], ())


def _is_text(key: str) -> bool:
    return key == "data" or key.startswith("data.")


def _as_setting(value: Any) -> str:
    """A value as ``--set`` reads it: text as it is where YAML reads the same, otherwise JSON."""
    if isinstance(value, str):
        try:
            if load_yaml(value) == value:
                return value
        except YAMLError:
            pass
    return json.dumps(value, ensure_ascii=False)


def same(record: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a record says what is wanted; it may say more."""
    return all(record.get(key) == value for key, value in wanted.items())
