"""The common ground of compared recipes: the test text and its metrics."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.errors import ConfigError, DataError
from dragoman.recipe import ExperimentConfig
from dragoman.text.corpora.corpus import evaluation_examples, own_source, reference_sets
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Example

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CommonTest:
    """The sentences that every system translates."""

    name: str
    sources: dict[str, list[str]]
    """Sources by recipe, each as its model reads them: transformed, with tags in front."""
    targets: dict[str, list[str]]
    """References by recipe, each in the form that its model would write: with context, if the model
    writes context.
    """
    references: list[list[str]]
    """The references that all translations are scored against; usually one of each sentence."""
    own_sources: list[str]
    """Sources of the first recipe, without tags and context."""
    languages: tuple[str, str]
    """Languages of sources and references."""


def read_common_test(configs: Mapping[str, ExperimentConfig], name: str | None) -> CommonTest:
    """The test set ``name``; by default the first one of the first recipe, or else its dev set.

    Raises:
        ConfigError: a recipe is of a classifier, lacks that set or has another one, or has no
            source, other metrics, or other references after its transforms.
    """
    first = next(iter(configs.values()))
    name = name or next(iter({**first.data.test, **first.data.dev_sets}))
    part = _part(first, name)
    if part is None:
        known = ", ".join({**first.data.test, **first.data.dev_sets})
        raise ConfigError(
            f"--test-set {name}: not among the test and dev sets of the recipe ({known})"
        )
    for recipe, config in configs.items():
        if not config.model.reads_source:
            raise ConfigError(f"{recipe}: a language model has no translations to compare")
        if config.model.writes_labels:
            raise ConfigError(
                f"{recipe}: a classifier has no translations to compare; 'dragoman train' scores it"
            )
        _check_measurable(recipe, config)
    if not first.evaluation.metrics:
        raise ConfigError("evaluation.metrics: empty; name at least one metric to compare by")
    for recipe, config in configs.items():
        present = _part(config, name)
        if present is None or _content(present) != _content(part):
            raise ConfigError(
                f"{recipe}: its {name} differs from the first recipe's; use the same text in all"
            )
        if config.evaluation != first.evaluation:
            raise ConfigError(
                f"{recipe}: evaluation differs from the first recipe's; make them equal"
            )
        if _training_text(config) != _training_text(first):
            log.warning("%s is trained on other text than the first recipe", recipe)
    return _read(configs, name)


def _check_measurable(recipe: str, config: ExperimentConfig) -> None:
    """Refuse training whose speed and operations differ from those of a single stream of pairs."""
    tasks = config.tasks()
    if len(tasks) > 1:
        why = f"it learns from several tasks ({', '.join(tasks)})"
    elif any(part.back_translation for part in config.data.train):
        why = "it makes sources by back_translation while it learns"
    else:
        return
    raise ConfigError(
        f"{recipe}: {why}, and compare cannot measure what such a training costs; use 'dragoman "
        "train', and 'dragoman evaluate --baseline' for the translations"
    )


def _read(configs: Mapping[str, ExperimentConfig], name: str) -> CommonTest:
    """The set ``name`` as the transforms of each recipe leave it."""
    common: list[Example] = []
    own_sources: list[str] = []
    sources: dict[str, list[str]] = {}
    targets: dict[str, list[str]] = {}
    for recipe, config in configs.items():
        part = _part(config, name)
        assert part is not None, "it was found before"
        read, scored = (evaluation_examples(example) for example in (part, part.scored()))
        pairs = [
            (example, other)
            for example, other in zip(read, scored, strict=True)
            if example.tagged_source and example.target
        ]
        if not pairs:
            raise DataError(f"{part.name}: no pair of {name} has both sides filled")
        found, compared = (list(side) for side in zip(*pairs, strict=True))
        common = common or compared
        own_sources = own_sources or [own_source(example, part) for example in found]
        if [(o.line, o.target) for o in compared] != [(o.line, o.target) for o in common]:
            raise ConfigError(
                f"{recipe}: its transforms leave other lines or references of {name} than the "
                "first recipe's; use the same filters, and the same changes of the target, in all"
            )
        if [example.source for example in found] != [example.source for example in common]:
            log.warning("%s reads other sources of %s than the first recipe", recipe, name)
        sources[recipe] = [example.tagged_source for example in found]
        targets[recipe] = [example.target for example in found]
    assert part is not None, "the recipes were read"
    languages = common[0].source_language, common[0].target_language
    references = reference_sets(part, common)
    return CommonTest(name, sources, targets, references, own_sources, languages)


def _part(config: ExperimentConfig, name: str) -> CorpusPart | None:
    return {**config.dev_sets(), **config.test_sets()}.get(name)


def _content(part: CorpusPart) -> tuple[list[Path], str | None, str | None, str | None]:
    """The identity of its text, regardless of the spelling of its path and its weight."""
    columns = (None, None) if part.path is None else (part.source, part.target)
    return [file.resolve() for file in part.files()], *columns, part.format


def _training_text(config: ExperimentConfig) -> list[Any]:
    """The identity of the training text before any changes: its files, and its filters."""
    return [
        (_content(part), [transform for transform in part.transforms if transform.can_drop])
        for part in config.data.train
    ]
