"""In-domain text from a recipe, which has ``data`` and any other values to override."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.core.recipe_library import found_recipe
from dragoman.recipe import read_values
from dragoman.recipe.description import has_sets_by_name
from dragoman.techniques.adaptation.domain import DOMAIN, Domain
from dragoman.techniques.adaptation.parent import ParentModel
from dragoman.text.corpora.corpus_part import CorpusPart


def read_domain(path: Path, parent: ParentModel, settings: Sequence[str] = ()) -> Domain:
    """The in-domain text that a recipe describes.

    A part of one direction without tags gets the tags of the model for that direction.

    Args:
        path: the recipe.
        parent: the model to adapt.
        settings: overrides such as ``training.max_steps=100``.

    Raises:
        ConfigError: it has no text, or a value is wrong.
    """
    path = found_recipe(path)
    values = read_values(path, settings)
    data = values.pop("data", None)
    if not isinstance(data, dict) or not isinstance(data.get("train"), list) or not data["train"]:
        raise ConfigError(f"{path}: data.train: name the in-domain pairs there")
    if "model" in values:
        raise ConfigError(f"{path}: model: is that of {parent.path}; remove it")
    languages = (
        _language(values, "source_language", parent.config.source_language, path),
        _language(values, "target_language", parent.config.target_language, path),
    )

    def part(given: Any, key: str) -> CorpusPart:
        if not isinstance(given, dict):
            raise ConfigError(f"{path}: {key}: should be a section of keys, found {given!r}")
        found = parse(CorpusPart, given, f"{path}: {key}").resolved(*languages)
        known = [one for one in parent.directions if _is_same(one, found)]
        if known and not found.tags and not found.transforms:
            found = found.model_copy(update={"tags": known[0].tags})
        return found

    train = tuple(part(one, f"data.train.{n}") for n, one in enumerate(data.pop("train")))
    dev = data.pop("dev", None)
    sets = dev if has_sets_by_name(dev) else {} if dev is None else {DOMAIN: dev}
    tests = data.pop("test", None) or {}
    if tests and not has_sets_by_name(tests):
        raise ConfigError(
            f"{path}: data.test: give each set a name, as in test: {{ui: {{path: ui.tsv, source: "
            "en, target: de}}"
        )
    overrides = {**values, "data": data} if data else values
    return Domain(
        train,
        {str(name): part(one, f"data.dev.{name}") for name, one in sets.items()},
        {str(name): part(one, f"data.test.{name}") for name, one in tests.items()},
        overrides,
        path,
    )


def _language(values: dict[str, Any], key: str, known: str, path: Path) -> str:
    """The language that a recipe names; by default, that of the model."""
    found = values.get(key, known)
    if not isinstance(found, str):  # YAML takes no for a truth value
        raise ConfigError(f"{path}: {key}: should be a text, found {found}; put it in quotes")
    return found


def _is_same(direction: Any, part: CorpusPart) -> bool:
    own = part.direction
    names = direction.source_language, direction.target_language
    return names == (own.source_language, own.target_language)
