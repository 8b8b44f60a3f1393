"""Trained models as components of a new model.

A recipe names them by their paths in its section ``model``.  Their configurations replace the paths
when a run begins, and ``training.components`` keeps the paths for their weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import Field

from dragoman.core.config import Config
from dragoman.core.errors import SavedError
from dragoman.core.relocation import ModelPath
from dragoman.models.interface import FamilyConfig, TranslationModel
from dragoman.models.registry import NamedModelConfig
from dragoman.saved.model import CONFIG_FILE, home_of, model_directory, read_config, vocabularies_of
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.warm_start import StartConfig, check_start, digest_of, take_over


class TakenComponent(Config):
    """A trained model that another one is composed of."""

    model: ModelPath
    """A model, a finished run, or a checkpoint of a run."""
    digest: str | None = Field(None, pattern="^[0-9a-f]{64}$")
    """Digest of its weights, which the run records when training begins; other weights are then
    refused. No need to set it."""

    def as_start(self) -> StartConfig:
        """All weights of the component, as a start."""
        return StartConfig(model=self.model, digest=self.digest)


TakenComponents = Mapping[str, TakenComponent]
"""Trained models by the field of the model that holds their configuration."""


def named_components(model: FamilyConfig) -> dict[str, str]:
    """Paths of the components whose configuration is yet to be read, by field."""
    components = {name: getattr(model, name) for name in model.components}
    return {n: c.path for n, c in components.items() if isinstance(c, NamedModelConfig)}


def described(path: str) -> dict[str, Any]:
    """The values of the section ``model`` of a trained model."""
    home = home_of(model_directory(Path(path)))
    return read_config(home / CONFIG_FILE).model.model_dump(mode="json")


def unfit_components(taken: TakenComponents, model: FamilyConfig) -> Iterator[str]:
    """Components that do not exist, and components that lack the weights they need."""
    for name in taken.keys() - set(model.components):
        yield (
            f"training.components: {name} is no component of model.family: {model.family}; "
            "remove it"
        )
    for name in model.frozen_components:
        if name not in taken and name not in named_components(model):
            yield (
                f"model.{name} does not learn, so it needs trained weights; write the path of a "
                f"model or run there, as in {name}: runs/my"
            )


def check_components(
    taken: TakenComponents, model: FamilyConfig, vocabularies: Vocabularies | None
) -> None:
    """Check before the work starts that components exist and fit.

    ``vocabularies`` are those of the run, if already known.
    """
    for name, component in taken.items():
        check_start(component.as_start(), getattr(model, name), f"training.components.{name}")
        if vocabularies is not None:
            _check_vocabulary(component, _sides(model, getattr(model, name)), vocabularies)


def take_components(
    taken: TakenComponents, model: TranslationModel, vocabularies: Vocabularies
) -> None:
    """Give the components of ``model`` the weights that :func:`check_components` has checked."""
    for name, component in taken.items():
        part = cast(TranslationModel, getattr(model, name))
        key = f"training.components.{name}"
        take_over(part, vocabularies, component.as_start(), key)


def digests_of(taken: TakenComponents) -> dict[str, str]:
    """Digests that identify the weights of the components."""
    return {
        name: digest_of(component.as_start(), f"training.components.{name}")
        for name, component in taken.items()
    }


def story_of_components(taken: TakenComponents) -> str:
    """A sentence for the model card, without this machine's paths; empty without components."""
    models = [
        f"the {name.replace('_', ' ')} {Path(component.model).name} (weights {component.digest})"
        for name, component in taken.items()
    ]
    return f"Training began with {' and '.join(models)}." if models else ""


def _sides(model: FamilyConfig, component: FamilyConfig) -> tuple[str, ...]:
    """The sides whose pieces a component of ``model`` reads or writes."""
    if model.writes_labels:
        return ("source",)
    return ("source", "target") if component.reads_source else ("target",)


def _check_vocabulary(
    component: TakenComponent, sides: Sequence[str], vocabularies: Vocabularies
) -> None:
    own = vocabularies_of(Path(component.model))
    for side in sides:
        if getattr(own, side).fingerprint != getattr(vocabularies, side).fingerprint:
            raise SavedError(
                f"{component.model}: its vocabulary is not the {side} vocabulary of this run, "
                "which takes that of vocabulary.of; train it with the same vocabulary.of, or name "
                "it there if the other models have its vocabulary"
            )
