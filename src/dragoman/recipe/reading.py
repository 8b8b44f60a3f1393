"""Reading the description of a run from a YAML file, with its bases."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dragoman.core.config import on_base, override, parse, read_yaml
from dragoman.core.errors import ConfigError
from dragoman.core.recipe_library import found_recipe
from dragoman.core.sections import keys_of
from dragoman.core.wording import listed
from dragoman.models import FAMILIES
from dragoman.recipe.contradictions import DECIDED_BY_PARENT, contradictions
from dragoman.recipe.description import RunDescription
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.public_corpora import from_folder
from dragoman.text.vocabularies.vocabulary import DECIDED_ELSEWHERE
from dragoman.training.optimizers import KINDS as OPTIMIZERS

REPLACED = ("data.dev", "data.test", "training.objective", "training.tasks")
"""Sections that replace those of a base as a whole."""


class ExperimentConfig(RunDescription):
    """The complete description of a run.  ``dragoman train FILE`` carries it out."""

    def conflicts(self) -> Iterator[str]:
        """Parts of the run that contradict one another."""
        yield from contradictions(self)


def read_experiment(path: Path | str, settings: Sequence[str] = ()) -> ExperimentConfig:
    """Read the experiment that a YAML file describes, with paths made absolute.

    Its key ``base`` may name another such file; it then contains only the differences.

    Args:
        path: the file; if it does not exist, the name of a bundled recipe.
        settings: overrides such as ``training.step_tokens=4096``.

    Raises:
        ConfigError: the file or a setting is wrong; one line names the key and the remedy.
    """
    path = found_recipe(Path(path))
    config = parse(ExperimentConfig, read_values(path, settings), path)
    if problems := list(_unfit_files(config)):
        raise ConfigError(f"{path}: {listed(problems)}")
    return config


def read_values(path: Path, settings: Sequence[str] = ()) -> dict[str, Any]:
    """The values of a YAML file and its bases, with paths made absolute; not yet validated.

    Overrides are such as ``training.step_tokens=4096``.
    """
    own = read_yaml(path)
    whole = on_base(
        own,
        path,
        relocated,
        replaced=REPLACED,
        families={"model": "transformer", "model.backbone": "transformer"},
        outdate=_forget_other_optimizer,
    )
    _forget_other_optimizer(whole, override(whole, list(settings)))
    # The file's own models are absolute by now. --set is relative to the current directory.
    _forget_inherited(whole, own, _with_implied_vocabulary(override(whole, list(settings))))
    values = _with_implied_vocabulary(_with_models_here(override(whole, list(settings))))
    values = with_stated_penalty(values)
    return relocated(values, Path(os.path.realpath(path)).parent)


def with_train_parts(
    config: ExperimentConfig, parts: Iterable[CorpusPart], what: str
) -> ExperimentConfig:
    """The description of a run that learns from other text, checked like any other."""
    values = json.loads(config.model_dump_json())
    values["data"]["train"] = [json.loads(part.model_dump_json()) for part in parts]
    return parse(ExperimentConfig, values, what)


def _unfit_files(config: ExperimentConfig) -> Iterator[str]:
    """Text that cannot be read, or only once; a missing file is reported when it is read."""
    held_out = (("data.held_out", part) for part in config.data.held_out)
    for name, part in (*config.parts(), *held_out, *config.general_text().items()):
        for file in part.files() if part.sacrebleu is None else ():  # which would download it
            try:
                mode = file.stat().st_mode
            except OSError as error:
                if error.errno not in {errno.ENOENT, errno.ENOTDIR}:
                    yield f"{name}: {str(file)!r:.80}: {error.strerror}"
                continue
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                yield f"{name}: {file} is a pipe or device; save its text to a file"


def relocated(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The values of a configuration, whose relative paths are relative to a folder, made absolute.

    ``parse`` reports misplaced values.
    """
    return from_folder(folder).of(ExperimentConfig, values)


def _with_models_here(values: dict[str, Any]) -> dict[str, Any]:
    """Absolute paths of models alone, which ``--set`` names relative to the current directory."""
    return from_folder(Path.cwd(), "model").of(ExperimentConfig, values)


def _forget_other_optimizer(below: dict[str, Any], above: dict[str, Any]) -> None:
    """Drop the settings of an optimizer that another one, chosen above, does not have.

    Other settings stay, such as ``clip_norm``, which every optimizer has.

    Args:
        below: values with the settings of the first optimizer; changed.
        above: values that may choose another.
    """
    old, new = _optimizer_settings(below), _optimizer_settings(above)
    before = old.get("kind", OPTIMIZERS.default)
    after = new.get("kind", before)
    if before == after:
        return
    # An unknown optimizer, or a broken package, is reported later.
    with suppress(KeyError, TypeError, ConfigError):
        outdated = keys_of(OPTIMIZERS.find(before)).keys() - keys_of(OPTIMIZERS.find(after)).keys()
        for name in outdated & old.keys():
            del old[name]


def _optimizer_settings(values: dict[str, Any]) -> dict[str, Any]:
    """The section ``training.optimizer``; empty if there is none."""
    training = values.get("training")
    settings = training.get("optimizer") if isinstance(training, dict) else None
    return settings if isinstance(settings, dict) else {}


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
    if isinstance(choice, str) and choice in DECIDED_BY_PARENT:
        decided = DECIDED_BY_PARENT[choice]
    elif isinstance(wanted, dict) and wanted.get("of") is not None:
        decided = DECIDED_ELSEWHERE
    if isinstance(inherited, dict):
        for name in decided:
            if not (isinstance(said, dict) and name in said):
                inherited.pop(name, None)


def _with_implied_vocabulary(values: dict[str, Any]) -> dict[str, Any]:
    """Values in which a model composed of trained ones keeps their vocabulary by default."""
    training, vocabulary = values.get("training"), values.get("vocabulary") or {}
    components = component_paths(values.get("model"))
    starts = isinstance(training, dict) and training.get("start_from") is not None
    if starts or not components or not isinstance(vocabulary, dict) or "of" in vocabulary:
        return values
    return {**values, "vocabulary": {**vocabulary, "of": next(iter(components.values()))}}


def with_stated_penalty(values: dict[str, Any]) -> dict[str, Any]:
    """Values in which a length penalty that is stated is not compared with others by default."""
    search, finish = values.get("search"), values.get("finish", {})
    if not isinstance(search, Mapping) or "length_penalty" not in search:
        return values
    if not isinstance(finish, Mapping) or "length_penalties" in finish:
        return values
    return {**values, "finish": {**finish, "length_penalties": []}}


def component_paths(model: Any) -> dict[str, str]:
    """Paths in the section ``model``, by key, in the order of the family's components."""
    if not isinstance(model, Mapping):
        return {}
    kinds = list(FAMILIES.at_hand())
    # The family may come from a base. An unknown family is reported later.
    with suppress(KeyError, TypeError, ConfigError):
        kinds.append(FAMILIES.find(model.get("family", FAMILIES.default)))
    names = dict.fromkeys(name for kind in kinds for name in kind.components)
    return {name: model[name] for name in names if isinstance(model.get(name), str)}
