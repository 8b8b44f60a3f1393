"""The settings to try: some values of each key, in every combination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import yaml

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.core.strict_yaml import load_yaml
from dragoman.saved.system import TranslationSystem
from dragoman.search import SearchConfig

LM_WEIGHT = "language_model.weight"
SEARCH = "search."
_SAME_TEXT = {"nbest", "sampling", "mbr", "batch_tokens", "buffer_lines"}  # or no text to choose
KEYS = (
    LM_WEIGHT,
    *(f"{SEARCH}{name}" for name in SearchConfig.model_fields if name not in _SAME_TEXT),
)
"""Tunable settings, by their names in a description of a system."""

_EXAMPLE = "search.length_penalty=0.6,1.0"
MAX_SETTINGS = 200
"""Maximum number of combinations: each translates the whole dev set."""

Values = dict[str, Any]
"""A value for each key that is tuned."""
Grid = dict[str, tuple[Any, ...]]
"""The values to try, by key."""

_WITH_LANGUAGE_MODEL: Grid = {LM_WEIGHT: (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)}
_WITHOUT: Grid = {f"{SEARCH}length_penalty": (0.0, 0.3, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0)}


def read_grid(given: Sequence[str], *, has_language_model: bool) -> Grid:
    """The values to try, from texts such as ``search.length_penalty=0.6,1.0``.

    Args:
        given: one text for each key, its values separated by commas; if empty, the weight of the
            language model is tuned or, without a language model, the length penalty.

    Raises:
        ConfigError: an unknown key, a key without values or given twice, a value that is not
            YAML, a weight without a language model, or more than :data:`MAX_SETTINGS`
            combinations.
    """
    grid: Grid = {}
    for text in given:
        key, values = _read(text)
        if key in grid:
            raise ConfigError(f"--try {key}: given twice; separate its values by commas")
        grid[key] = values
    if LM_WEIGHT in grid and not has_language_model:
        raise ConfigError(f"--try {LM_WEIGHT} needs a language model; name one with --lm")
    combinations = 1
    for values in grid.values():
        combinations *= len(values)
    if combinations > MAX_SETTINGS:
        raise ConfigError(
            f"--try: these are {combinations:,} combinations, and each translates the whole dev "
            f"set; try at most {MAX_SETTINGS}, such as one key after another"
        )
    return grid or dict(_WITH_LANGUAGE_MODEL if has_language_model else _WITHOUT)


def _read(text: str) -> tuple[str, tuple[Any, ...]]:
    key, equals, listed = text.partition("=")
    if key not in KEYS:
        raise ConfigError(f"--try {key:.100}: not a setting to tune; choose from {', '.join(KEYS)}")
    values = [part.strip() for part in listed.split(",")] if equals else []
    if not values or not all(values):
        raise ConfigError(f"--try {text:.100}: expected KEY=VALUE,VALUE, such as {_EXAMPLE}")
    try:
        loaded = [load_yaml(value) for value in values]
    except yaml.YAMLError as error:
        raise ConfigError(f"--try {text:.100}: not valid YAML") from error
    return key, tuple(value for n, value in enumerate(loaded) if value not in loaded[:n])


def combinations(grid: Grid, present: Values) -> list[Values]:
    """Every combination of the grid, each once: the present values first, then in order."""
    every = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    return [present, *(values for values in every if values != present)]


def search_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The search settings among ``values``, by name."""
    return {
        key.removeprefix(SEARCH): value for key, value in values.items() if key.startswith(SEARCH)
    }


def system_with(system: TranslationSystem, values: Values) -> TranslationSystem:
    """A system with these settings; a language model of weight 0 is left out."""
    plain: dict[str, Any] = dict(system)
    plain["search"] = {**system.search, **search_of(values)}
    if system.language_model is not None:
        weight = values.get(LM_WEIGHT, system.language_model.weight)
        fused = {"path": system.language_model.path, "weight": weight}
        plain["language_model"] = None if weight == 0 else fused
    return parse(TranslationSystem, plain, "--try")
