"""The models and runs that a configuration names, as plain values before they are checked."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dragoman.core.errors import ConfigError
from dragoman.core.files import absolute
from dragoman.models import FAMILIES


def component_paths(model: Any) -> dict[str, str]:
    """Paths in the section ``model`` by their key, in the order of the family's components."""
    if not isinstance(model, Mapping):
        return {}
    kinds = list(FAMILIES.at_hand())
    # The family may be that of a base; one that there is not is reported later.
    with suppress(KeyError, TypeError, ConfigError):
        kinds.append(FAMILIES.find(model.get("family", FAMILIES.default)))
    names = dict.fromkeys(name for kind in kinds for name in kind.components)
    return {name: model[name] for name in names if isinstance(model.get(name), str)}


def relocate_models(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Make the paths of models absolute; misplaced values are left for others to report.

    Args:
        values: of a configuration; not changed.
        folder: what relative paths are relative to.
    """
    values = dict(values)
    if isinstance(training := values.get("training"), dict):
        start, taken = training.get("start_from"), training.get("components")
        changes: dict[str, Any] = {}
        if isinstance(start, str):
            changes["start_from"] = str(absolute(start, folder))
        elif isinstance(start, dict):
            changes["start_from"] = _moved(start, folder, "model")
        if isinstance(training.get("embeddings"), dict):
            changes["embeddings"] = _moved_files(training["embeddings"], folder)
        if isinstance(taken, dict):
            changes["components"] = {n: _moved(one, folder, "model") for n, one in taken.items()}
        values["training"] = training | changes
    for section, keys in (("vocabulary", ["of"]), ("model", component_paths(values.get("model")))):
        if section in values:
            values[section] = _moved(values[section], folder, *keys)
    return values


def _moved_files(section: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The section ``training.embeddings`` with its paths made absolute."""
    moved = dict(section)
    for side in ("source", "target"):
        if isinstance(files := section.get(side), str):
            moved[side] = str(absolute(files, folder))
        elif isinstance(files, list):
            moved[side] = [
                str(absolute(one, folder)) if isinstance(one, str) else one for one in files
            ]
    return moved


def _moved(section: Any, folder: Path, *keys: str) -> Any:
    """A section with the paths at ``keys`` made absolute."""
    if not isinstance(section, dict):
        return section
    paths = {key: section[key] for key in keys if isinstance(section.get(key), str)}
    return section | {key: str(absolute(path, folder)) for key, path in paths.items()}
