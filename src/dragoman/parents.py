"""Other models that a run needs: to start from, to be composed of, or for their vocabulary."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.core.config import parse
from dragoman.data.vocabularies import Parent
from dragoman.models.interface import TranslationModel
from dragoman.recipe import ExperimentConfig
from dragoman.text.vocabulary import Vocabularies
from dragoman.training.components import (
    check_components,
    described,
    digests_of,
    named_components,
    story_of_components,
    take_components,
)
from dragoman.training.warm_start import check_start, digest_of, parent_vocabularies, take_over


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
    where = ", ".join(f"{name} {path}" for name, path in named.items())
    return parse(ExperimentConfig, values, where)


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


def weight_digests(config: ExperimentConfig) -> dict[str, str]:
    """Digests of the weights that training is to begin with, by what names them in ``training``.

    Raises:
        SavedError: a model is missing, or not the one that training began with.
    """
    start, components = config.training.start_from, config.training.components
    own = {} if start is None else {"start_from": digest_of(start)}
    return own | digests_of(components)


def with_digests(
    config: ExperimentConfig, digests: Mapping[str, str], vocabularies: Vocabularies
) -> ExperimentConfig:
    """The configuration with what training begins with recorded: a repeated start has the same.

    Args:
        config: of the run.
        digests: from :func:`weight_digests`.
        vocabularies: of the run.
    """
    training, vocabulary = config.training, config.vocabulary
    start = training.start_from
    if start is not None:
        start = start.model_copy(update={"digest": digests["start_from"]})
    components = {
        name: component.model_copy(update={"digest": digests[name]})
        for name, component in training.components.items()
    }
    if vocabulary.of is not None:
        vocabulary = vocabulary.model_copy(update={"digest": vocabularies.digest})
    training = training.model_copy(update={"start_from": start, "components": components})
    return config.model_copy(update={"training": training, "vocabulary": vocabulary})


def take_weights(
    config: ExperimentConfig, model: TranslationModel, vocabularies: Vocabularies
) -> None:
    """Give ``model`` the weights of other models, where the configuration names some.

    Args:
        config: of the run.
        model: with fresh weights, in float32 on the CPU.
        vocabularies: of the run.

    Raises:
        ConfigError: a weight has another shape, or the other model lacks it.
        SavedError: a model is missing, damaged, has NaN or infinite weights or another vocabulary,
            or is not the one that training began with.
    """
    training = config.training
    if training.start_from is not None:
        check_start(training.start_from, config.model)
        take_over(model, vocabularies, training.start_from)
    check_components(training.components, config.model, vocabularies)
    take_components(training.components, model, vocabularies)


def story_of(config: ExperimentConfig) -> str:
    """Where the weights came from, for the model card; empty if they were drawn at random."""
    start = config.training.start_from
    return story_of_components(config.training.components) if start is None else start.story()
