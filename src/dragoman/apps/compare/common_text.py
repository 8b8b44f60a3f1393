"""What compared recipes must have in common: the test text and its metrics."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.errors import ConfigError, DataError
from dragoman.recipe import ExperimentConfig
from dragoman.text.corpus import CorpusPart, evaluation_pairs

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CommonTest:
    """The sentences that every system translates."""

    name: str
    sources: list[str]
    references: list[str]


def read_common_test(configs: Mapping[str, ExperimentConfig], name: str | None) -> CommonTest:
    """The test set ``name``; by default the first one of the first recipe, or else its dev set.

    Raises:
        ConfigError: a recipe lacks that set, or has another one, other metrics or no source.
        DataError: the set cannot be read or is empty.
    """
    first = next(iter(configs.values()))
    name = name or next(iter({**first.data.test, **first.data.dev_sets}))
    part = _part(first, name)
    if part is None:
        known = ", ".join(first.data.test) or "none"
        raise ConfigError(f"--test-set {name}: not among the test sets of the recipe ({known})")
    for recipe, config in configs.items():
        if not config.model.reads_source:
            raise ConfigError(f"{recipe}: a language model has no translations to compare")
    if not first.evaluation.metrics:
        raise ConfigError("evaluation.metrics: empty; name at least one metric to compare by")
    for recipe, config in configs.items():
        found = _part(config, name)
        if found is None or _content(found) != _content(part):
            raise ConfigError(
                f"{recipe}: its {name} differs from the first recipe's; use the same text in all"
            )
        if config.evaluation != first.evaluation:
            raise ConfigError(
                f"{recipe}: evaluation differs from the first recipe's; make them equal"
            )
        if [_content(p) for p in config.data.train] != [_content(p) for p in first.data.train]:
            log.warning("%s is trained on other text than the first recipe", recipe)
    pairs = [pair for pair in evaluation_pairs(part) if pair.source and pair.target]
    if not pairs:
        raise DataError(f"{part.name}: no pair with both sides filled")
    return CommonTest(name, [pair.source for pair in pairs], [pair.target for pair in pairs])


def _part(config: ExperimentConfig, name: str) -> CorpusPart | None:
    return {**config.dev_sets(), **config.test_sets()}.get(name)


def _content(part: CorpusPart) -> tuple[list[Path], str | None, str | None, str | None]:
    """What identifies its text, however its path is spelled and whatever its weight."""
    columns = (None, None) if part.path is None else (part.source, part.target)
    return [file.resolve() for file in part.files()], *columns, part.format
