"""Configurations composed of sections whose keys stand side by side in the file.

A section is a small configuration beside the layer that it configures.  Where a class has a field
``residual: Flat[ResidualConfig]``, code reads ``config.residual.dropout`` and the file says
``dropout``; the name of the field is no key of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel
from pydantic.fields import FieldInfo


class _Mark:
    """What a field is annotated with whose keys stand beside those of its class."""


SectionType = TypeVar("SectionType")
Flat = Annotated[SectionType, _Mark()]
"""A section whose keys stand beside those of the class that has it."""


def flat_sections(kind: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """The flat sections of a class by the names of their fields."""
    found = {}
    for name, field in kind.model_fields.items():
        if any(isinstance(mark, _Mark) for mark in field.metadata):
            assert isinstance(field.annotation, type), f"{name} is one class, never a choice"
            found[name] = field.annotation
    return found


def keys_of(kind: type[BaseModel]) -> dict[str, FieldInfo]:
    """The keys that a file has for a class, in their order, those of flat sections among them."""
    sections, keys = flat_sections(kind), {}
    for name, field in kind.model_fields.items():
        keys.update(keys_of(sections[name]) if name in sections else {name: field})
    return keys


def gathered(kind: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` as a file has them, with those of a flat section in a mapping of their own.

    What is there as a section already, and no plain mapping, is kept.
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
    sections, result = flat_sections(kind), {}
    for name, value in values.items():
        result.update(value if name in sections else {name: value})
    return result
