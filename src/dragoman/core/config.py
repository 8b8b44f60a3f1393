"""The base of all configurations: frozen, typed, and strict about keys.

A part declares ``class PartConfig(Config)`` beside the class that it configures.  Values come
from YAML or from ``--set a.b=value``.  Unknown keys, values of the wrong type or out of range and
values that contradict one another raise a :class:`~dragoman.core.errors.ConfigError` of one line
that names each with its key and the remedy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from dragoman.core.errors import ConfigError
from dragoman.core.problems import explain
from dragoman.core.recipe_library import known_recipe
from dragoman.core.sections import flat_sections, flattened, gathered
from dragoman.core.strict_yaml import INTEGER_LIMIT, load_yaml
from dragoman.core.wording import listed

ConfigType = TypeVar("ConfigType", bound="Config")

# A thousand corpora take a tenth of this.  A larger file is not a configuration, or is endless.
_LONGEST_PLACE = 9  # digits of a place in a list
_LARGEST_FILE = 1 << 20  # bytes
_USUAL_NAME = "config.yaml"  # of the configuration in a run or model


class Config(BaseModel):
    """Base of all configurations: immutable, finite; unknown keys are refused."""

    # Not use_attribute_docstrings: pydantic would read source text at import, for a tenth of the
    # time that a command takes to start.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def conflicts(self) -> Iterator[str]:
        """Problems of values that are valid by themselves, a line each; subclasses override this.

        It is called once all values have their type and are within their range.  Every line is
        reported to the user as a problem.
        """
        yield from ()

    def unread(self, circumstance: str, *names: str) -> Iterator[str]:
        """Conflicts of settings that are not read and must therefore keep their defaults.

        Giving the defaults is allowed, so that a resolved configuration can be read again.

        Args:
            circumstance: when the settings are not read, such as "without positions: learned".
            names: names of the settings.
        """
        for name in names:
            value = getattr(self, name)
            if value != type(self).model_fields[name].default:
                shown = ", ".join(map(str, value)) if isinstance(value, tuple) else value
                yield f"{name}: {shown} is not read {circumstance}; remove it"

    def model_copy(
        self: ConfigType, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> ConfigType:
        """A copy with changed values, which are not validated.

        Pydantic would also copy cached properties, which depend on the old values.
        """
        copied: ConfigType = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(copied).model_fields.keys():
            del copied.__dict__[name]
        return copied

    @model_validator(mode="before")
    @classmethod
    def _refuse_truth_values(cls, values: Any) -> Any:
        """Turn Booleans into text, which no number accepts; Pydantic reads them as 0 and 1."""
        if not isinstance(values, dict):
            return values
        numbers = _number_fields(cls)
        return values | {
            name: _spelt_out(values[name])
            for name in numbers.keys() & values.keys()
            # A client may send a list of millions in place of one number.
            if numbers[name] or not isinstance(values[name], (list, tuple, dict))
        }

    @field_validator("*", mode="after")
    @classmethod
    def _fits_the_machine(cls, value: Any) -> Any:
        if isinstance(value, int) and not -INTEGER_LIMIT <= value < INTEGER_LIMIT:
            raise ValueError("Input should fit into 64 bits")
        return value

    @model_validator(mode="after")
    def _refuse_conflicts(self: ConfigType) -> ConfigType:
        problems: list[InitErrorDetails] = [
            {"type": PydanticCustomError("conflict", "{text}", {"text": text}), "input": self}
            for text in self.conflicts()
        ]
        if problems:
            raise ValidationError.from_exception_data(type(self).__name__, problems)
        return self


@cache
def _number_fields(kind: type[BaseModel]) -> dict[str, bool]:
    """The fields that hold numbers but no Booleans, and whether in lists or dictionaries."""
    types = {name: set(_types_in(field.annotation)) for name, field in kind.model_fields.items()}
    return {
        name: not found <= _SINGLE
        for name, found in types.items()
        if found & {int, float} and bool not in found
    }


_SINGLE = {int, float, str, type(None)}


def _types_in(annotation: Any) -> Iterator[type]:
    """The types that a type annotation mentions, through unions and lists, which count as well."""
    arguments = get_args(annotation)
    if arguments:
        if isinstance(origin := get_origin(annotation), type) and origin is not UnionType:
            yield origin
        yield from chain.from_iterable(map(_types_in, arguments))
    elif isinstance(annotation, type):
        yield annotation


def _spelt_out(value: Any) -> Any:
    """``value`` with text in place of Booleans."""
    if isinstance(value, dict):
        return {_spelt_out(key): _spelt_out(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_spelt_out(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else value


class ComposedConfig(Config):
    """A configuration some of whose fields are flat sections, see :mod:`dragoman.core.sections`.

    It is made from the keys of the file, and dumped as these.
    """

    def model_copy(
        self: ConfigType, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> ConfigType:
        """A copy with changed values, by their keys in the file; they are not validated."""
        changes = gathered(type(self), update or {})
        for name in flat_sections(type(self)):
            if isinstance(changes.get(name), dict):
                changes[name] = getattr(self, name).model_copy(update=changes[name], deep=deep)
        return super().model_copy(update=changes, deep=deep)

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        named = [name for name in flat_sections(cls) if isinstance(values.get(name, cls), dict)]
        if named:  # as in the code, not as in the file
            raise ValidationError.from_exception_data(
                cls.__name__,
                [{"type": "extra_forbidden", "loc": (name,), "input": 0} for name in named],
            )
        return gathered(cls, values)

    @model_serializer(mode="wrap")
    def _flatten(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return flattened(type(self), dump(self))


def read_yaml(path: Path | str) -> dict[str, Any]:
    """Read a YAML mapping."""
    path = Path(path)
    try:
        with path.open("rb") as stream:
            content = stream.read(_LARGEST_FILE + 1)
        if len(content) > _LARGEST_FILE:
            raise ConfigError(f"{path}: too large for a configuration; is it another file?")
        values = load_yaml(content.decode("utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such configuration file") from None
    except IsADirectoryError:
        inside = path / _USUAL_NAME
        such = f", such as {inside}" if inside.is_file() else ""
        raise ConfigError(f"{path}: this is a directory; name a configuration file{such}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start + 1}; convert it") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or "cannot be parsed"
        raise ConfigError(f"{place}: not valid YAML: {problem}") from error
    if not isinstance(values, dict):
        found = "nothing" if values is None else f"{values!r:.40}"
        raise ConfigError(f"{path}: expected a mapping such as 'seed: 7', found {found}")
    return values


def override(values: dict[str, Any], settings: list[str] | tuple[str, ...]) -> dict[str, Any]:
    """Apply ``a.b=value`` settings to a copy of nested ``values``; each value is read as YAML.

    Raises:
        ConfigError: settings have no ``=``, or their path runs through a value that is neither a
            mapping nor a list with that place; the message names all of them.
    """
    result = _copy(values)
    problems = []
    for setting in settings:
        try:
            _set(result, setting)
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError(listed(problems))
    return result


def _set(values: dict[str, Any], setting: str) -> None:
    key, equals, text = setting.partition("=")
    if not equals or not key:
        raise ConfigError(
            f"--set {setting:.200}: expected KEY=VALUE, such as training.max_steps=500"
        )
    *parents, last = key.split(".")
    place: Any = values
    for depth, parent in enumerate(parents, 1):
        if isinstance(place, dict) and place.get(parent) is None:  # absent, or left empty
            place[parent] = {}
        place = place[_item(place, parent, setting)]
        if not isinstance(place, (dict, list)):
            whole = ".".join(parents[:depth])
            problem = f"{parent:.80} is not a section; set it as a whole: {whole:.200}=VALUE"
            raise ConfigError(f"--set {setting:.200}: {problem}")
    try:
        place[_item(place, last, setting)] = load_yaml(text)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or "cannot be parsed"
        raise ConfigError(f"--set {setting:.200}: not valid YAML: {problem}") from error


def _item(place: Any, key: str, setting: str) -> Any:
    """The key of a section, or the index of a list, such as 0 in ``data.train.0.weight``."""
    if isinstance(place, dict):
        return key
    # Python refuses to convert numbers of thousands of digits.
    if not (key.isdecimal() and len(key) <= _LONGEST_PLACE and int(key) < len(place)):
        raise ConfigError(
            f"--set {setting:.200}: {key:.20} is no place in a list of {len(place)}; they are "
            "numbered from 0"
        )
    return int(key)


def on_base(
    values: dict[str, Any],
    path: Path,
    relocate: Callable[[dict[str, Any], Path], dict[str, Any]],
    replaced: Collection[str] = (),
    *,
    families: Mapping[str, str] | None = None,
    outdate: Callable[[dict[str, Any], dict[str, Any]], object] = lambda below, above: None,
) -> dict[str, Any]:
    """``values`` merged onto those of the file that their key ``base`` names, and of its base.

    Sections are merged key by key, and an empty section changes nothing.  Lists and single values
    are replaced, as are the sections in ``replaced`` and a section of another ``family``.

    Args:
        values: values of the file ``path``.
        path: the file; a base is looked up beside it, then among the installed recipes.
        relocate: makes the paths in values absolute, given the folder of their file.
        replaced: sections that only make sense as a whole, such as ``data.dev``.
        families: sections with a ``family``, such as ``model`` or ``model.backbone``, and the
            default family of each.
        outdate: drops from the first values, those of a base, what the second make invalid.
    """
    seen = [Path(os.path.realpath(path))]
    layers = [relocate(values, seen[-1].parent)]
    while (base := layers[-1].pop("base", None)) is not None:
        if not isinstance(base, str):
            raise ConfigError(f"{seen[-1]}: base: expected the name of a file, found {base!r:.80}")
        # Unlike pathlib, os.path keeps an unknown user's ~ and a circle of links, so that reading
        # fails.
        file = Path(os.path.realpath(seen[-1].parent / os.path.expanduser(base)))
        if not os.path.exists(file) and (known := known_recipe(base)):
            file = Path(os.path.realpath(known))
        if file in seen:
            raise ConfigError(f"{seen[-1]}: base: {base} is based on this file; break the circle")
        seen.append(file)
        layers.append(relocate(read_yaml(file), file.parent))
    # From the lowest base up: a file in between may leave out the family that its base states.
    whole = layers.pop()
    while layers:
        above = layers.pop()
        for section, family in (families or {}).items():
            _drop_other_family(whole, above, section, family)
        outdate(whole, above)
        whole = laid_over(whole, above, replaced)
    return whole


def _drop_other_family(
    below: dict[str, Any], above: dict[str, Any], section: str, default: str
) -> None:
    """Drop a section whose family differs from that of the section merged onto it."""
    outer, _, inner = section.partition(".")
    present, new = below.get(outer), above.get(outer)
    if inner and isinstance(present, dict) and isinstance(new, dict):
        _drop_other_family(present, new, inner, default)
        return
    if isinstance(present, dict) and isinstance(new, dict):
        family = present.get("family", default)
        if new.get("family", family) != family:
            del below[outer]


def laid_over(
    below: dict[str, Any], above: dict[str, Any], replaced: Collection[str] = (), section: str = ""
) -> dict[str, Any]:
    """``above`` merged onto ``below``: sections key by key, anything else replaced.

    An empty section changes nothing; those in ``replaced`` only make sense as a whole.  ``section``
    is the place of both in the file, with a dot at the end.
    """
    result = _copy(below)
    for key, value in above.items():
        name, present = f"{section}{key}", result.get(key)
        if not isinstance(present, dict) or name in replaced:
            result[key] = value
        elif isinstance(value, dict):
            result[key] = laid_over(present, value, replaced, f"{name}.")
        elif value is not None:
            result[key] = value
    return result


def parse(kind: type[ConfigType], values: dict[str, Any], where: Path | str) -> ConfigType:
    """The configuration with nested plain ``values``, as read from the YAML file ``where``.

    Raises:
        ConfigError: one line that names every problem, with "did you mean" for an unknown key.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{where}: {explain(kind, values, error)}") from error


def to_yaml(values: dict[str, Any]) -> str:
    """``values`` as YAML in the order given, readable and safe to load."""
    text: str = yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


def _copy(values: Any) -> Any:
    """A deep copy of sections and lists, without shared parts.

    A YAML file may have the same section or list at several places, by an alias.
    """
    if isinstance(values, dict):
        return {key: _copy(value) for key, value in values.items()}
    return [_copy(value) for value in values] if isinstance(values, list) else values


class _Dumper(yaml.SafeDumper):
    """Quotes Unicode's line ends, which PyYAML would write unquoted and read as spaces."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        style = '"' if any(sign in data for sign in "\x85\u2028\u2029") else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style)


_Dumper.add_representer(str, _Dumper.represent_str)
