"""What every part's configuration has in common: frozen, typed, and strict about its keys.

A part declares ``class PartConfig(Config)`` beside the class that it configures.  Values come
from YAML or from ``--set a.b=value``; an unknown key, a value of the wrong type or one out of
range is a :class:`~dragoman.errors.ConfigError` of one line that names the key and the remedy.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from dragoman.errors import ConfigError


class Config(BaseModel):
    """Base of all configurations: immutable; keys that nobody reads are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    def refuse_unread(self, circumstance: str, *names: str) -> None:
        """For validators: settings that nothing reads must stay as they are by default.

        A default may stand there, so that a resolved configuration can be read again.

        Args:
            circumstance: when they are not read, such as "without positions: learned".
            names: of the settings.

        Raises:
            ValueError: one of them has another value.
        """
        for name in names:
            value = getattr(self, name)
            if value != type(self).model_fields[name].default:
                raise ValueError(f"{name}: {value} is not read {circumstance}; remove it")


ConfigType = TypeVar("ConfigType", bound=Config)


def read_yaml(path: Path | str) -> dict[str, Any]:
    """Read a YAML mapping.

    Raises:
        ConfigError: the file is missing, not UTF-8, not YAML, or not a mapping.
    """
    path = Path(path)
    try:
        values = _load_yaml(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such configuration file") from None
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
    """Apply ``a.b=value`` settings to nested ``values``; each value is read as YAML.

    Returns a new mapping; ``values`` stays as it was.

    Raises:
        ConfigError: a setting has no ``=``, or its path runs through something not a mapping.
    """
    result = _copy(values)
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key:
            raise ConfigError(f"--set {setting}: expected KEY=VALUE, such as training.seed=7")
        *parents, last = key.split(".")
        place = result
        for depth, parent in enumerate(parents, 1):
            if place.get(parent) is None:  # absent, or a section that is left empty
                place[parent] = {}
            place = place[parent]
            if not isinstance(place, dict):
                whole = ".".join(parents[:depth])
                raise ConfigError(
                    f"--set {setting}: {parent} is no section; set it as a whole: {whole}=VALUE"
                )
        try:
            place[last] = _load_yaml(text)
        except yaml.YAMLError as error:
            raise ConfigError(f"--set {setting}: the value is not valid YAML") from error
    return result


def on_base(
    values: dict[str, Any],
    path: Path,
    relocate: Callable[[dict[str, Any], Path], dict[str, Any]],
    replaced: Collection[str] = (),
    families: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """``values`` laid over those of the file that their key ``base`` names, and of its base.

    Sections are laid over one another key by key, and an empty one says nothing; lists and single
    values replace, and so do the sections in ``replaced`` and one of another ``family``.

    Args:
        values: of the file ``path``.
        path: a base is looked for beside it.
        relocate: from values and the folder of their file to values whose paths are absolute.
        replaced: sections that only make sense as a whole, such as ``data.dev``.
        families: sections with a ``family``, and which is meant where none is named.

    Raises:
        ConfigError: a base is missing, wrong in itself, or based on a file that it is a base of.
    """
    seen = [path.resolve()]
    whole = relocate(values, seen[-1].parent)
    while (base := whole.pop("base", None)) is not None:
        if not isinstance(base, str):
            raise ConfigError(f"{seen[-1]}: base: expected the name of a file, found {base!r:.80}")
        file = (seen[-1].parent / Path(base).expanduser()).resolve()
        if file in seen:
            raise ConfigError(f"{seen[-1]}: base: {base} is based on this file; break the circle")
        seen.append(file)
        below = relocate(read_yaml(file), file.parent)
        for section, family in (families or {}).items():
            _drop_other_family(below, whole, section, family)
        whole = _laid_over(below, whole, replaced)
    return whole


def _drop_other_family(
    below: dict[str, Any], above: dict[str, Any], section: str, default: str
) -> None:
    """Forget a section whose keys are of another family than the one that is laid over it."""
    present, new = below.get(section), above.get(section)
    if isinstance(present, dict) and isinstance(new, dict):
        family = present.get("family", default)
        if new.get("family", family) != family:
            del below[section]


def _laid_over(
    below: dict[str, Any], above: dict[str, Any], replaced: Collection[str], section: str = ""
) -> dict[str, Any]:
    result = _copy(below)
    for key, value in above.items():
        name, present = f"{section}{key}", result.get(key)
        if not isinstance(present, dict) or name in replaced:
            result[key] = value
        elif isinstance(value, dict):
            result[key] = _laid_over(present, value, replaced, f"{name}.")
        elif value is not None:
            result[key] = value
    return result


def parse(kind: type[ConfigType], values: dict[str, Any], where: Path | str) -> ConfigType:
    """Check ``values`` against the configuration class ``kind``.

    Args:
        kind: the configuration class.
        values: nested plain values, as YAML gives them.
        where: the file or place they came from, for error messages.

    Raises:
        ConfigError: one line for the first problem; with "did you mean" for an unknown key.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{where}: {_explain(kind, values, error)}") from error


def to_yaml(values: dict[str, Any]) -> str:
    """``values`` as YAML in the order given, readable and safe to load."""
    text: str = yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


def _copy(values: dict[str, Any]) -> dict[str, Any]:
    return {k: _copy(v) if isinstance(v, dict) else v for k, v in values.items()}


class _StrictLoader(yaml.SafeLoader):
    """YAML in which a key stands once in its mapping; PyYAML would let the last one win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<" and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} stands twice", key.start_mark
                )
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """Quotes Unicode's line ends, which PyYAML would write bare and read as spaces."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        style = '"' if any(sign in data for sign in "\x85\u2028\u2029") else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style)


_Dumper.add_representer(str, _Dumper.represent_str)


def _load_yaml(text: str) -> Any:
    return yaml.load(text, _StrictLoader)  # a safe loader: it makes plain values only


def _explain(kind: type[Config], values: dict[str, Any], error: ValidationError) -> str:
    problems = error.errors()
    # A misspelt key is often also a missing one; the spelling is what helps.
    misspelt = [problem for problem in problems if problem["type"] == "extra_forbidden"]
    first = [*misspelt, *problems][0]
    location = _location(values, first["loc"], missing=first["type"] == "missing")
    key = ".".join(location)
    if misspelt:
        return f"unknown key {key!r}{_suggestion(kind, location, first['loc'])}"
    if first["type"] == "union_tag_invalid":
        return _explain_tag(key, **first["ctx"])
    if first["type"] == "missing":
        return f"missing key {key!r}; add it"
    more = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
    message = first["msg"].removeprefix("Value error, ")
    found = "" if isinstance(first["input"], dict) else f", found {first['input']!r:.80}"
    return f"{key or 'configuration'}: {message}{found}{more}"


def _explain_tag(key: str, discriminator: str, tag: str, expected_tags: str) -> str:
    """A member of a union that there is not, such as a family of models."""
    known = [name.strip(" '") for name in expected_tags.split(",")]
    close = difflib.get_close_matches(tag, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    name = discriminator.strip("'")
    return f"{key}.{name}: Input should be one of {expected_tags}, found {tag!r:.80}{hint}"


def _location(values: Any, parts: tuple[int | str, ...], *, missing: bool) -> list[str]:
    """The keys in ``parts`` that stand in the file.

    pydantic also names the members of unions there, such as a model's family.
    """
    location: list[str] = []
    for part in parts:
        in_list = isinstance(values, list) and isinstance(part, int)
        if in_list or (isinstance(values, dict) and part in values):
            values = values[part]
            location.append(str(part))
    return [*location, str(parts[-1])] if missing else location


def _suggestion(kind: type[Config], location: list[str], where: tuple[int | str, ...]) -> str:
    """ "; did you mean ...?" for an unknown key: of its section if possible, else of any.

    ``where`` also names the members of unions on the way.
    """
    parent = [part for part in location[:-1] if not part.isdigit()]
    keys = _keys(kind, where)
    for candidates in ([key for key in keys if key[0][:-1] == parent], keys):
        known = {name: path for path, name in candidates}
        close = difflib.get_close_matches(location[-1], known, n=1)
        if close:
            path = known[close[0]]
            return f"; did you mean {close[0] if path[:-1] == parent else '.'.join(path)!r}?"
    return "; remove it or look it up in docs/configuration.md"


def _keys(
    kind: type[Config], where: tuple[int | str, ...], prefix: tuple[str, ...] = ()
) -> list[tuple[list[str], str]]:
    """Paths and names of all keys; of a union that ``where`` leads into, the chosen member's."""
    keys: list[tuple[list[str], str]] = []
    for name, field in kind.model_fields.items():
        keys.append(([*prefix, name], name))
        members = _configs_in(field.annotation)
        chosen = [member for member in members if _tags(member, field) & set(where)]
        for part in chosen or members:
            keys += _keys(part, where, (*prefix, name))
    return keys


def _tags(member: type[Config], field: FieldInfo) -> set[Any]:
    """What tells this member of a union from the others: values of its discriminator."""
    key = field.discriminator
    return set(get_args(member.model_fields[key].annotation)) if isinstance(key, str) else set()


def _configs_in(annotation: Any) -> list[type[Config]]:
    """The configuration classes that a type annotation mentions, through unions and lists."""
    if isinstance(annotation, type) and issubclass(annotation, Config):
        return [annotation]
    found: list[type[Config]] = []
    for argument in getattr(annotation, "__args__", ()):
        found += _configs_in(argument)
    return found
