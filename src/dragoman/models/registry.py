"""Which families of models there are: those of this package and those that others provide.

A package provides a family by an entry point of the group ``dragoman.families``, whose name is the
family's and whose value is its model, in ``pyproject.toml``::

    [project.entry-points."dragoman.families"]
    my_family = "my_package.my_module:MyModel"

A family is imported when it is asked for, so that one that fails disturbs no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated

from dragoman.core.errors import ConfigError
from dragoman.core.sections import OneOf
from dragoman.models.interface import FamilyConfig, TranslationModel

GROUP = "dragoman.families"

_BUILT_IN = {
    "transformer": "dragoman.models.families.transformer:Transformer",
    "recurrent": "dragoman.models.families.recurrent:Recurrent",
    "convs2s": "dragoman.models.families.convs2s:ConvS2S",
    "bytenet": "dragoman.models.families.bytenet:ByteNet",
    "transformer_lm": "dragoman.models.families.transformer_lm:TransformerLM",
    "recurrent_lm": "dragoman.models.families.recurrent_lm:RecurrentLM",
}


class Families(Mapping[str, type[TranslationModel]], OneOf):
    """Every family by its name; each is made of (config, source_vocabulary, target_vocabulary)."""

    key = "family"
    default = "transformer"
    question = "is the package missing that provides it?"

    def __init__(self) -> None:
        self._imported: dict[str, type[TranslationModel]] = {}

    def __getitem__(self, name: str) -> type[TranslationModel]:
        """The model of a family.

        Raises:
            KeyError: there is no such family.
            ConfigError: a package provides it, and it cannot be imported or is none.
        """
        if name not in self._imported:
            self._imported[name] = _imported(_entry_point(name))
        return self._imported[name]

    def __iter__(self) -> Iterator[str]:
        """Names, those of this package first."""
        installed = sorted(entry_points(group=GROUP).names)
        return iter(dict.fromkeys([*_BUILT_IN, *installed]))

    def __len__(self) -> int:
        """How many there are."""
        return len(list(iter(self)))

    def find(self, name: str) -> type[FamilyConfig]:
        """See :meth:`OneOf.find`."""
        return self[name].Config

    def at_hand(self) -> Sequence[type[FamilyConfig]]:
        """See :meth:`OneOf.at_hand`."""
        return [self[name].Config for name in _BUILT_IN]

    def names(self) -> Sequence[str]:
        """See :meth:`OneOf.names`."""
        return list(self)


def _entry_point(name: str) -> EntryPoint:
    """Where a family is; a name of this package is nobody else's."""
    if name in _BUILT_IN:
        return EntryPoint(name, _BUILT_IN[name], GROUP)
    found = sorted(entry_points(group=GROUP, name=name), key=_provider)
    if not found:
        raise KeyError(name)
    if len(found) > 1:
        packages = " and ".join(map(_provider, found))
        raise ConfigError(f"family {name}: {packages} both provide it; uninstall one of them")
    return found[0]


def _imported(point: EntryPoint) -> type[TranslationModel]:
    """The model that an entry point names.

    Raises:
        ConfigError: it cannot be imported, or is no family of that name.
    """
    where = f"family {point.name}, which {_provider(point)} provides as {point.value},"
    try:
        model = point.load()
    except Exception as error:  # another package's code, which may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigError(
            f"{where} cannot be imported: {reason:.300}; repair or uninstall that package"
        ) from error
    if not (isinstance(model, type) and issubclass(model, TranslationModel)):
        raise ConfigError(f"{where} is no subclass of TranslationModel")
    config = getattr(model, "Config", None)
    if not (isinstance(config, type) and issubclass(config, FamilyConfig)):
        raise ConfigError(f"{where} has no subclass of FamilyConfig as its attribute Config")
    named = config.model_fields["family"].default
    if named != point.name:
        raise ConfigError(f"{where} calls itself {named!r} in its Config; name both alike")
    return model


def _provider(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "a package"


FAMILIES = Families()

ModelConfig = Annotated[FamilyConfig, FAMILIES]
"""The configuration of any family, told apart by its key ``family``; a Transformer's without it."""
