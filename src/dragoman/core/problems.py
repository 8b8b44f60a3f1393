"""Messages about a configuration: every problem, except those that only follow from another.

pydantic finds the problems.  This module names them by the keys of the file, with "did you mean".
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from dragoman.core.sections import choice_of, configs_in, keys_of
from dragoman.core.wording import MOST, listed, shown

Place = tuple[str, ...]
"""A key of a file after the keys of the sections around it, outermost first."""

# Replacements for pydantic's messages about these types, which use Python's terms.
_KINDS = {
    "model_type": "a section of keys",
    "model_attributes_type": "a section of keys",
    "dict_type": "a section of keys",
    "tuple_type": "a list",
    "list_type": "a list",
}
_UNQUOTED = (bool, int, float, date)
"""Types that YAML reads from text such as ``no`` (code of Norwegian) or 2016 (a test set)."""


def explain(
    kind: type[BaseModel],
    values: dict[str, Any],
    error: ValidationError,
    manual: str = "docs/configuration.md",
) -> str:
    """One line that names every problem; several problems are numbered.

    Args:
        kind: the configuration class that ``values`` do not fit.
        values: nested plain values, as read from YAML.
        error: pydantic's report about them.
        manual: document that describes the keys.
    """
    problems = error.errors(include_url=False)
    messages = list(dict.fromkeys(_each(kind, values, problems[:MOST], manual)))
    return listed(messages, len(problems[MOST:]))


def _each(
    kind: type[BaseModel], values: dict[str, Any], found: Sequence[Any], manual: str
) -> Iterator[str]:
    problems = [
        (_place(values, problem["loc"], missing=problem["type"] == "missing"), problem)
        for problem in found
    ]
    misspelt = {
        place: _meant(kind, place, values)
        for place, problem in problems
        if problem["type"] == "extra_forbidden"
    }
    # A section with a misspelt family is read as another family's, whose keys do not apply.
    families = {path for path, field in _keys(kind, values) if field is None}
    astray = [place[:-1] for place, meant in misspelt.items() if meant in families]
    around = {place[:end] for place, _ in problems for end in range(len(place))}
    for place, problem in problems:
        if problem["type"] == "too_short" and place in around:
            continue  # invalid items left too few valid ones
        if place in misspelt:
            meant = misspelt[place]
            if meant in families or place[:-1] not in astray:
                yield f"unknown key {'.'.join(place)!r:.100}; {_hint(place, meant, manual)}"
        elif any(place[: len(section)] == section for section in astray):
            continue
        elif problem["type"] != "missing" or place not in misspelt.values():
            yield _describe(".".join(place), problem)


def _describe(key: str, problem: Mapping[str, Any]) -> str:
    key = f"{key:.200}"
    if problem["type"] == "missing":
        return f"missing key {key!r}; add it"
    if problem["type"] == "unknown_kind":
        return f"{key}.{problem['ctx']['key']}: {problem['ctx']['text']}"
    if problem["type"] == "union_tag_invalid":
        return _describe_tag(key, **problem["ctx"])
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] in _KINDS:
        message = f"Input should be {_KINDS[problem['type']]}"
    found = problem["input"]
    ending = "" if isinstance(found, (dict, BaseModel)) else f", found {shown(found)}"
    if problem["type"] == "string_type" and isinstance(found, _UNQUOTED):
        ending += "; put it in quotes"
    return f"{key or 'configuration'}: {message}{ending}"


def _describe_tag(key: str, discriminator: str, tag: str, expected_tags: str) -> str:
    """An unknown member of a union, such as a kind of transform."""
    known = [name.strip(" '") for name in expected_tags.split(",")]
    close = difflib.get_close_matches(tag[:80], known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    name = discriminator.strip("'")
    return f"{key}.{name}: Input should be one of {expected_tags}, found {tag!r:.80}{hint}"


def _place(values: Any, parts: Sequence[int | str], *, missing: bool) -> Place:
    """The keys in ``parts`` that are in the file, without flat sections and members of unions."""
    place: list[str] = []
    for part in parts:
        in_list = isinstance(values, list) and isinstance(part, int)
        if in_list or (isinstance(values, dict) and part in values):
            # For a key that YAML read as false, pydantic reports 0, which is equal to it.
            name = part if in_list else next(key for key in values if key == part)
            values = values[part]
            place.append(str(name))
    return (*place, str(parts[-1])) if missing else tuple(place)


def _meant(kind: type[BaseModel], place: Place, values: Any) -> Place | None:
    """The probable intention of an unknown key in ``values``.

    It has the same name in another section, or else a similar name in the same or any section.
    Of several sections, the outermost is taken.
    """
    *around, key = place
    section = tuple(part for part in around if not part.isdigit())
    keys = [path for path, _ in _keys(kind, values)]
    sections = {path[:-1] for path in keys}
    while section not in sections:
        section = section[:-1]  # a name that the user chose, such as that of a test set
    elsewhere = [path for path in keys if path[-1] == key]
    beside = [path for path in keys if path[:-1] == section]
    for candidates, likeness in ((elsewhere, 1.0), (beside, 0.6), (keys, 0.7)):
        known = {path[-1]: path for path in sorted(candidates, key=len, reverse=True)}
        if close := difflib.get_close_matches(key[:80], known, n=1, cutoff=likeness):
            path = known[close[0]]
            return (*around, path[-1]) if path[:-1] == section else path
    return None


def _hint(place: Place, meant: Place | None, manual: str) -> str:
    if meant is None:
        return f"remove it or look it up in {manual}"
    return f"did you mean {meant[-1] if meant[:-1] == place[:-1] else '.'.join(meant)!r}?"


def _keys(
    kind: type[BaseModel], values: Any, section: Place = ()
) -> Iterator[tuple[Place, FieldInfo | None]]:
    """All keys and their fields; of alternative sections, those that ``values`` choose.

    The key that chooses is repeated, without a field.
    """
    for name, field in keys_of(kind).items():
        yield (*section, name), field
        inside = values.get(name) if isinstance(values, dict) else None
        choice = choice_of(field)
        if choice is not None:
            yield (*section, name, choice.key), None
            parts = choice.chosen(inside)
        else:
            parts = configs_in(field.annotation, BaseModel)
        for part in parts:
            yield from _keys(part, inside, (*section, name))
