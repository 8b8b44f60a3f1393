"""Parents of a run: other models and their vocabularies, and files of embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.data.vocabularies import Parent
from dragoman.models.interface import TranslationModel
from dragoman.models.layers.low_rank import add_adapters
from dragoman.recipe import ExperimentConfig
from dragoman.recipe.contradictions import nothing_improved
from dragoman.saved.model import config_of
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.components import (
    check_components,
    described,
    digests_of,
    named_components,
    story_of_components,
    take_components,
)
from dragoman.training.given_embeddings import (
    check_embeddings,
    digest_of_embeddings,
    fix_embeddings,
    take_embeddings,
)
from dragoman.training.warm_start import check_start, digest_of, parent_vocabularies, take_over


def completed(config: ExperimentConfig) -> ExperimentConfig:
    """The configuration with the component models' configurations in place of their paths."""
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
    """Another run's vocabularies that are kept, extended or taken, if any."""
    languages = config.source_language, config.target_language
    start, vocabulary = config.training.start_from, config.vocabulary
    return parent_vocabularies(start, vocabulary, config.model, languages)


def check_parents(config: ExperimentConfig) -> Parent | None:
    """Check before any work is done that other models and embeddings exist and fit.

    Returns:
        See :func:`parent_of`.

    Raises:
        ConfigError: a model does not fit; the message names all differences.
    """
    training = config.training
    for problem in nothing_improved(config):
        raise ConfigError(problem)
    check_start(training.start_from, config.model)
    _check_adapted(config)
    parent = parent_of(config)
    known = None if parent is None else parent.vocabularies
    check_components(training.components, config.model, known)
    check_embeddings(training.embeddings, config.model)
    return parent


def _check_adapted(config: ExperimentConfig) -> None:
    """Check that an adapter can be added to the layers of the model that training starts from.

    Raises:
        ConfigError: it is of another family, whose layers have other names.
    """
    start = config.training.start_from
    if config.training.adapter is None or start is None:
        return
    family = config_of(Path(start.model)).model.family
    if family != config.model.family:
        raise ConfigError(
            f"training.adapter: {start.model} is a {family}, and an adapter is of the same family; "
            f"set model.family: {family}, or remove training.adapter"
        )


def digests_at_start(config: ExperimentConfig) -> dict[str, str]:
    """Digests of the weights that training begins with, by their names in ``training``.

    Vocabularies of another run are included, as ``vocabulary``.  The run's vocabularies may differ,
    such as a classifier's, which have its labels.
    """
    training = config.training
    own = {} if training.start_from is None else {"start_from": digest_of(training.start_from)}
    if training.embeddings is not None:
        own["embeddings"] = digest_of_embeddings(training.embeddings)
    if config.vocabulary.of is not None and (parent := parent_of(config)) is not None:
        own["vocabulary"] = parent.vocabularies.digest
    return own | digests_of(training.components)


def with_digests(config: ExperimentConfig, digests: Mapping[str, str]) -> ExperimentConfig:
    """The configuration with digests of the initial weights, so that a repeated start has the same.

    The digests are those of :func:`digests_at_start`.
    """
    training, vocabulary = config.training, config.vocabulary
    start = training.start_from
    if start is not None:
        start = start.model_copy(update={"digest": digests["start_from"]})
    embeddings = training.embeddings
    if embeddings is not None:
        embeddings = embeddings.model_copy(update={"digest": digests["embeddings"]})
    components = {
        name: component.model_copy(update={"digest": digests[name]})
        for name, component in training.components.items()
    }
    if vocabulary.of is not None:
        vocabulary = vocabulary.model_copy(update={"digest": digests["vocabulary"]})
    training = training.model_copy(
        update={"start_from": start, "components": components, "embeddings": embeddings}
    )
    return config.model_copy(update={"training": training, "vocabulary": vocabulary})


def take_weights(
    config: ExperimentConfig, model: TranslationModel, vocabularies: Vocabularies
) -> list[str]:
    """Give ``model`` the weights of other models and files, if the configuration names any.

    The model has fresh weights, in float32 on the CPU.

    Returns:
        Lines for the user.
    """
    training = config.training
    if training.start_from is not None:
        check_start(training.start_from, config.model)
        take_over(model, vocabularies, training.start_from)
    check_components(training.components, config.model, vocabularies)
    take_components(training.components, model, vocabularies)
    embeddings = training.embeddings
    return [] if embeddings is None else take_embeddings(model, vocabularies, embeddings)


def fix_weights(
    config: ExperimentConfig, model: TranslationModel, vocabularies: Vocabularies
) -> None:
    """Freeze the weights that do not learn, whenever training starts or resumes.

    With ``training.adapter`` these are all weights, and factors that learn are added.
    """
    embeddings, adapter = config.training.embeddings, config.training.adapter
    if embeddings is not None and embeddings.fixed:
        fix_embeddings(model, vocabularies, embeddings)
    if adapter is not None:
        add_adapters(model, adapter, config.seed)


def story_of(config: ExperimentConfig) -> str:
    """The origin of the weights, for the model card; empty if they were drawn at random."""
    training = config.training
    start, embeddings = training.start_from, training.embeddings
    told = story_of_components(training.components) if start is None else start.story()
    return told if embeddings is None else " ".join(filter(None, [told, embeddings.story()]))
