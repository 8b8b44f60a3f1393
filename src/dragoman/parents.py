"""Other models that a run needs: to start from, to be composed of, or for their vocabulary."""

from __future__ import annotations

from dragoman.core.config import parse
from dragoman.data.vocabularies import Parent
from dragoman.recipe import ExperimentConfig
from dragoman.training.components import (
    check_components,
    described,
    named_components,
)
from dragoman.training.warm_start import check_start, parent_vocabularies


def completed(config: ExperimentConfig) -> ExperimentConfig:
    """The configuration with those of the models that it is composed of in place of their paths.

    Raises:
        ConfigError: one of them does not fit, or its configuration is damaged.
        SavedError: one of them is missing.
    """
    named = named_components(config.model)
    if not named:
        return config
    values = config.model_dump(mode="json")
    del values["model"]["d_model"]  # follows from the components
    for name, path in named.items():
        values["model"][name] = described(path)
        values["training"]["components"][name] = {"model": path}
    if config.training.start_from is None and config.vocabulary.of is None:
        values["vocabulary"]["of"] = next(iter(named.values()))
    return parse(ExperimentConfig, values, ", ".join(named.values()))


def parent_of(config: ExperimentConfig) -> Parent | None:
    """The vocabularies of another run that are kept, extended or taken, if any.

    Raises:
        ConfigError: they do not fit the model.
        SavedError: the other run is missing or damaged, or not the one that training began with.
    """
    languages = config.source_language, config.target_language
    start, vocabulary = config.training.start_from, config.vocabulary
    return parent_vocabularies(start, vocabulary, config.model, languages)


def check_parents(config: ExperimentConfig) -> Parent | None:
    """Check before any work is done that other models exist and fit.

    Args:
        config: :func:`completed`.

    Returns:
        See :func:`parent_of`.

    Raises:
        ConfigError: one of them does not fit; the message names all differences.
        SavedError: one is missing or damaged, or not the one that training began with, or the
            models have different vocabularies.
    """
    training = config.training
    check_start(training.start_from, config.model)
    parent = parent_of(config)
    known = None if parent is None else parent.vocabularies
    check_components(training.components, config.model, known)
    return parent
