"""Configurations composed of sections: flat in the file, or a choice among several.

A flat section is a small configuration beside the layer that it configures.  If a class has a
field ``residual: Flat[ResidualConfig]``, code reads ``config.residual.dropout`` and the file
contains ``dropout``; the name of the field is not a key of the file.

A field that holds one of several configurations, chosen by a key such as ``family``, is annotated
with an :class:`OneOf`.
"""

from __future__ import annotations

import ast
import difflib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, PydanticKnownError, core_schema
from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.core.plugins import Registry

Model = TypeVar("Model", bound=BaseModel)


class _Mark:
    """The annotation of a field whose keys are beside those of its class."""


SectionType = TypeVar("SectionType")
Flat = Annotated[SectionType, _Mark()]
"""A section whose keys are beside those of the class that has it."""


def flat_sections(kind: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """The flat sections of a class by the names of their fields."""
    sections = {}
    for name, field in kind.model_fields.items():
        if any(isinstance(mark, _Mark) for mark in field.metadata):
            assert isinstance(field.annotation, type), f"{name} is one class, never a choice"
            sections[name] = field.annotation
    return sections


def keys_of(kind: type[BaseModel]) -> dict[str, FieldInfo]:
    """The keys of a class in a file, in their order, including those of flat sections."""
    sections, keys = flat_sections(kind), {}
    for name, field in kind.model_fields.items():
        keys.update(keys_of(sections[name]) if name in sections else {name: field})
    return keys


def key_docstrings(kind: type[BaseModel]) -> dict[str, str]:
    """The docstrings beside the fields of a class by key, including those of flat sections."""
    docstrings: dict[str, str] = {}
    for section in flat_sections(kind).values():
        docstrings |= key_docstrings(section)
    for owner in reversed(kind.__mro__):
        if issubclass(owner, BaseModel) and owner is not BaseModel:
            docstrings |= _docstrings_in(owner)
    return docstrings


@cache
def _docstrings_in(owner: type[BaseModel]) -> dict[str, str]:
    """The docstrings beside the fields that the text of a class itself declares."""
    (definition,) = ast.parse(dedent(inspect.getsource(owner))).body
    assert isinstance(definition, ast.ClassDef)
    docstrings: dict[str, str] = {}
    for statement, following in pairwise(definition.body):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(text))):
                docstrings[name] = inspect.cleandoc(text)
    return docstrings


def gathered(kind: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` of a file, with those of each flat section in a separate mapping.

    A value that is already a section is kept.
    """
    sections = flat_sections(kind)
    homes = {key: name for name, section in sections.items() for key in keys_of(section)}
    result: dict[str, Any] = {}
    for key, value in values.items():
        if key in homes and not isinstance(values.get(homes[key]), BaseModel):
            result.setdefault(homes[key], {})[key] = value
        else:
            result[key] = value
    return result


def flattened(kind: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """The reverse of :func:`gathered`."""
    sections = flat_sections(kind)
    result: dict[str, Any] = {}
    for name, value in values.items():
        result.update(value if name in sections else {name: value})
    return result


@dataclass(frozen=True)
class OneName:
    """Annotates text that must be a known name; installed packages may add names.

    Errors and the reference read as for a ``Literal``.
    """

    names: Callable[[], Sequence[str]]
    built_in: Collection[str] = ()
    """Names for which no installed packages need to be looked at."""

    def validate(self, value: Any) -> str:
        """Return ``value`` if it is a known name."""
        if isinstance(value, str) and value in self.built_in:
            return value
        known = self.names()
        if isinstance(value, str) and value in known:
            return value
        *others, last = map(repr, known)
        raise PydanticKnownError("literal_error", {"expected": f"{', '.join(others)} or {last}"})

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """The schema by which pydantic reads such a field."""
        return core_schema.no_info_plain_validator_function(self.validate)


class OneOf(ABC):
    """Annotates a field that holds one of several configurations, chosen by ``key``.

    Other packages may provide some of them, and are imported only on request.
    """

    key: str
    """The key that chooses a configuration."""
    default: str
    """The configuration chosen if a file has no such key."""
    question: str = ""
    """Another possible mistake to mention for an unknown name."""
    told: str = ""
    """The reference's text on such a field if it does not list all configurations."""

    @abstractmethod
    def find(self, name: str) -> type[BaseModel]:
        """The configuration class of that name.

        Raises:
            KeyError: it does not exist.
            ConfigError: it exists, but cannot be used.
        """

    @abstractmethod
    def at_hand(self) -> Sequence[type[BaseModel]]:
        """The classes that come with this package."""

    @abstractmethod
    def names(self) -> Sequence[str]:
        """The names of all installed classes."""

    def chosen(self, values: Any) -> Sequence[type[BaseModel]]:
        """The class that ``values`` name, or all built-in classes if they name no usable class."""
        if not isinstance(values, dict):
            return self.at_hand()
        try:
            return [self.find(values.get(self.key, self.default))]
        except (KeyError, TypeError, ConfigError):
            return self.at_hand()

    def validate(self, values: Any) -> BaseModel:
        """The chosen configuration from the values of a file; an instance is kept."""
        if isinstance(values, BaseModel):
            return values
        if not isinstance(values, dict):
            raise PydanticKnownError("model_type", {"class_name": self.key})
        name = values.get(self.key, self.default)
        try:
            kind = self.find(name)
        except (KeyError, TypeError):
            raise self._unknown(name) from None
        except ConfigError as error:
            raise PydanticCustomError("unusable", "{text}", {"text": str(error)}) from error
        return kind.model_validate(values)

    def _unknown(self, name: object) -> PydanticCustomError:
        known = sorted(self.names())
        close = difflib.get_close_matches(name[:80] if isinstance(name, str) else "", known, 1)
        hints = [f"did you mean {close[0]!r}?"] if close else []
        hints += [self.question] if self.question else []
        text = f"Input should be one of {', '.join(map(repr, known))}, found {name!r:.80}"
        told = "; ".join([text, " Or ".join(hints)]) if hints else text
        return PydanticCustomError("unknown_kind", "{text}", {"text": told, "key": self.key})

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        """The schema by which pydantic reads and writes such a field."""
        return core_schema.no_info_plain_validator_function(
            self.validate,
            serialization=core_schema.plain_serializer_function_ser_schema(_dumped, info_arg=True),
        )


class Kinds(OneOf):
    """Annotates a field whose configuration is chosen by ``kind``, also from other packages.

    Args:
        group: group of entry points by which packages add configurations.
        base: base class of the configurations.
        built_in: configurations of this package, by name.
        default: chosen if a file has no key ``kind``; empty if the key is required.
    """

    key = "kind"
    question = "is the package that provides it installed?"

    def __init__(
        self,
        group: str,
        base: type[BaseModel],
        built_in: Mapping[str, type[BaseModel]],
        default: str = "",
    ) -> None:
        self.registry = Registry(group, base, built_in, group.rpartition(".")[2].rstrip("s"))
        self.default = default

    @override
    def find(self, name: str) -> type[BaseModel]:
        if name not in self.registry.built_in and name not in self.registry.added():
            raise KeyError(name)
        return self.registry.find(name)

    @override
    def at_hand(self) -> Sequence[type[BaseModel]]:
        return list(dict.fromkeys(self.registry.built_in.values()))

    @override
    def names(self) -> Sequence[str]:
        return self.registry.names()


def _dumped(config: BaseModel, info: core_schema.SerializationInfo) -> dict[str, Any]:
    return config.model_dump(mode=info.mode)


def choice_of(field: FieldInfo) -> OneOf | None:
    """The field's annotation of a choice of configurations, if any."""
    return next((mark for mark in field.metadata if isinstance(mark, OneOf)), None)


def choice_in(annotation: Any) -> OneOf | None:
    """The same for an annotation within another, such as that of the items of a list."""
    marks = getattr(annotation, "__metadata__", ())
    return next((mark for mark in marks if isinstance(mark, OneOf)), None)


def members(field: FieldInfo, base: type[Model]) -> list[type[Model]]:
    """The configuration classes that a field may hold, restricted to subclasses of ``base``."""
    choice = choice_of(field)
    if choice is not None:
        return [kind for kind in choice.at_hand() if issubclass(kind, base)]
    return configs_in(field.annotation, base)


def configs_in(annotation: Any, base: type[Model]) -> list[type[Model]]:
    """The subclasses of ``base`` that a type annotation mentions, through unions and lists."""
    if (choice := choice_in(annotation)) is not None:
        return [kind for kind in choice.at_hand() if issubclass(kind, base)]
    if isinstance(annotation, type) and issubclass(annotation, base):
        return [annotation]
    return [kind for argument in get_args(annotation) for kind in configs_in(argument, base)]
