"""Checks that another program can express a model: settings unknown to it are refused.

A program lists the settings that it reads, and their values if it supports only some of them.  All
others must have their defaults, including settings that are added to a family later: their
defaults keep the earlier behaviour.  Settings that matter only in training are ignored.  See
docs/decisions/066-unknown-settings-are-refused.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError
from dragoman.core.sections import flat_sections
from dragoman.core.wording import listed

Known = Mapping[str, Collection[object] | None]
"""The settings that a program reads, by their keys in ``config.yaml``, such as
``model.activation``: the values that it supports, or None if it can express any.
"""

TRAINING_ONLY = frozenset({"dropout", "attention_dropout", "feed_forward_dropout"})
"""Settings of layers that a trained model does not read."""


def check_expressible(
    config: Config, known: Known, program: str, remedy: str, prefix: str = ""
) -> None:
    """Refuse each setting that a program lacks.

    A message begins with the name of the program, such as "ONNX export", and ends with the remedy,
    such as "leave out --engine".

    Raises:
        ConfigError: a setting is not supported; the message names each.
    """
    if problems := list(_unknown(config, known, prefix)):
        raise ConfigError(f"{listed([f'{program} {text}' for text in problems])}; {remedy}")


def _unknown(
    config: Config, known: Known, prefix: str, default: Config | None = None
) -> Iterator[str]:
    """A problem for each unknown setting that differs from its default."""
    family, families = getattr(config, "family", None), known.get(f"{prefix}family") or ()
    if family is not None and family not in families:
        yield _refusal(f"{prefix}family", family, families)
        return  # its other settings are not those that the program reads
    flat = flat_sections(type(config))
    for name, field in type(config).model_fields.items():
        value, key = getattr(config, name), f"{prefix}{name}"
        usual = _default(field) if default is None else getattr(default, name, PydanticUndefined)
        if name in flat:
            yield from _unknown(value, known, prefix, usual if isinstance(usual, Config) else None)
        elif key in known:
            values = known[key]
            if values is not None and value not in values:
                yield _refusal(key, value, values)
        elif name in TRAINING_ONLY or value == usual:
            pass
        elif isinstance(value, Config) and (
            usual is PydanticUndefined or type(value) is type(usual)
        ):
            inner = usual if isinstance(usual, Config) else None
            yield from _unknown(value, known, f"{key}.", inner)
        else:
            yield _refusal(key, value, None if usual is PydanticUndefined else [usual])


def _default(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True)


def _refusal(key: str, value: object, values: Collection[object] | None) -> str:
    only = f", only {' or '.join(map(_shown, values))}" if values else ""
    return f"does not support {key}: {_shown(value)}{only}"


def _shown(value: object) -> str:
    """A value as in YAML; for a section, its keys that are set."""
    if isinstance(value, Config):
        settings = value.model_dump(exclude_defaults=True)
        return "{" + ", ".join(f"{name}: {one}" for name, one in settings.items()) + "}"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(_shown, value)) + "]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
