"""The families of models: those of this package and those added by other packages.

Another package adds a family through an entry point of the group ``dragoman.families`` (see
:mod:`dragoman.core.plugins`), which has the family's name and refers to a subclass of
:class:`~dragoman.models.interface.TranslationModel`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError, PydanticKnownError
from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.core.plugins import Registry
from dragoman.core.relocation import MODEL_PATH, ModelPath
from dragoman.core.sections import OneOf
from dragoman.models.interface import MAX_LAYERS, FamilyConfig, TranslationModel

GROUP = "dragoman.families"
"""The group of entry points by which other packages add families."""

_BUILT_IN = {
    "transformer": "dragoman.models.families.transformer:Transformer",
    "recurrent": "dragoman.models.families.recurrent:Recurrent",
    "convs2s": "dragoman.models.families.convs2s:ConvS2S",
    "bytenet": "dragoman.models.families.bytenet:ByteNet",
    "transformer_lm": "dragoman.models.families.transformer_lm:TransformerLM",
    "recurrent_lm": "dragoman.models.families.recurrent_lm:RecurrentLM",
    "deep_fusion": "dragoman.models.deep_fusion:DeepFusion",
    "classifier": "dragoman.models.classifier:ClassifierModel",
}

REGISTRY: Registry[TranslationModel] = Registry(
    GROUP, "dragoman.models.interface:TranslationModel", _BUILT_IN, "family"
)


class Families(Mapping[str, type[TranslationModel]], OneOf):
    """Every family by name; classes take (config, source_vocabulary, target_vocabulary)."""

    key = "family"
    default = "transformer"
    question = "is the package missing that provides it?"

    def __getitem__(self, name: str) -> type[TranslationModel]:
        """The model class of a family, imported on demand.

        Raises:
            KeyError: no family has this name.
        """
        if name in _BUILT_IN:
            return REGISTRY.find(name)
        if name not in REGISTRY.added():
            raise KeyError(name)
        return _checked(name, REGISTRY.load_added(name))

    def __iter__(self) -> Iterator[str]:
        """The names of all families, those of this package first."""
        return iter(REGISTRY.names())

    def __len__(self) -> int:
        """Number of families."""
        return len(list(iter(self)))

    @override
    def find(self, name: str) -> type[FamilyConfig]:
        return self[name].Config

    @override
    def at_hand(self) -> Sequence[type[FamilyConfig]]:
        return [self[name].Config for name in _BUILT_IN]

    @override
    def names(self) -> Sequence[str]:
        return list(self)


def _checked(name: str, model: type[TranslationModel]) -> type[TranslationModel]:
    config = getattr(model, "Config", None)
    if not (isinstance(config, type) and issubclass(config, FamilyConfig)):
        raise ConfigError(
            f"{GROUP}: {name}: its class must have a subclass of FamilyConfig as its attribute "
            "Config; correct the package"
        )
    if (named := config.model_fields["family"].default) != name:
        raise ConfigError(
            f"{GROUP}: {name}: its Config must have the family {name!r}, not {named!r}; correct "
            "the package"
        )
    return model


FAMILIES = Families()

ModelConfig = Annotated[FamilyConfig, FAMILIES]
"""The configuration of any family, chosen by its key ``family``; a Transformer's by default."""


class NamedModelConfig(FamilyConfig):
    """A model or run on disk, in place of a configuration that is yet to be read from it.

    It has the properties that no check objects to: the configuration is checked once it is read.
    """

    family: Literal["named"] = "named"
    """No family."""
    path: ModelPath
    """A model, a finished run, or a checkpoint of a run."""

    @property
    def attention_layers(self) -> int:
        """An upper bound for any model."""
        return MAX_LAYERS + 1

    @property
    def encoder_width(self) -> int:
        """An arbitrary width, because it is not known yet whether the model has an encoder."""
        return self.d_model


class Components(Families):
    """Every family by name, or the path of a model: the possible components of a composed model."""

    told = "the path of a model or run, or a section like `model`"

    @override
    def find(self, name: str) -> type[FamilyConfig]:
        return NamedModelConfig if name == "named" else super().find(name)

    def at_hand(self) -> Sequence[type[FamilyConfig]]:
        """Composed families are left out, so that nesting ends."""
        return [kind for kind in super().at_hand() if not kind.components]

    def validate(self, values: Any) -> BaseModel:
        """A path alone names a model."""
        return (
            NamedModelConfig(path=values) if isinstance(values, str) else super().validate(values)
        )


COMPONENTS = Components()

ComponentConfig = Annotated[FamilyConfig, MODEL_PATH, COMPONENTS]
"""The configuration of any family, or of the model at a path."""


def width_as_of(values: Any, component: str, width: Callable[[FamilyConfig], int]) -> Any:
    """Values of a composed model's section, with the width set to that of one of its components.

    They are returned unchanged if they have a width, or if the component is invalid, because the
    component reports its own problems.
    """
    if not isinstance(values, dict) or "d_model" in values:
        return values
    try:
        config = COMPONENTS.validate(values.get(component))
    except (ValidationError, PydanticCustomError, PydanticKnownError):
        return values
    assert isinstance(config, FamilyConfig)
    return {**values, "d_model": width(config)}
