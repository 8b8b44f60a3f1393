"""String catalogues of Xcode (``.xcstrings``): all languages of an app in one file of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dragoman.core.errors import DataError
from dragoman.text.string_files.json_entries import loaded_json
from dragoman.text.string_files.keyed_string import Key

UNDONE = "new"
"""The state of a string without a translation."""
UNREVIEWED = "needs_review"
"""The state of a translation that someone should look at."""
_STALE = "stale"


class CatalogueString(NamedTuple):
    """A string in one language."""

    key: Key
    """The key of the entry, and of variations their names."""
    language: str
    text: str
    is_unreviewed: bool


class StringCatalogue(NamedTuple):
    """The strings of a catalogue."""

    source_language: str
    strings: list[CatalogueString]


def read_catalogue(content: bytes) -> StringCatalogue:
    """The strings of a catalogue in all its languages, without those in the state ``new``.

    An entry that the source language lacks is its own key.

    Raises:
        DataError: not JSON with the strings of a catalogue, with its line if it is known.
    """
    root = loaded_json(content)
    source = root.get("sourceLanguage") if isinstance(root, dict) else None
    entries = root.get("strings") if isinstance(root, dict) else None
    if not isinstance(source, str) or not isinstance(entries, dict):
        raise DataError("no string catalogue: it lacks sourceLanguage or strings")
    found = [one for key, entry in entries.items() for one in _strings(key, entry, source)]
    return StringCatalogue(source, found)


def is_translated(entry: dict[str, Any]) -> bool:
    """Whether an entry is to be translated, and still in the program."""
    return entry.get("shouldTranslate") is not False and entry.get("extractionState") != _STALE


def _strings(key: str, entry: object, source: str) -> Iterator[CatalogueString]:
    if not isinstance(entry, dict) or not is_translated(entry):
        return
    languages = entry.get("localizations")
    languages = languages if isinstance(languages, dict) else {}
    if source not in languages:
        yield CatalogueString((key,), source, key, False)
    for language, localization in languages.items():
        for inner, unit in _units(localization):
            value, state = unit.get("value"), unit.get("state")
            if isinstance(value, str) and (state != UNDONE or language == source):
                yield CatalogueString((key, *inner), language, value, state == UNREVIEWED)


def _units(localization: object) -> Iterator[tuple[Key, dict[str, Any]]]:
    """The units of a localization, each with the names that lead to it."""
    waiting: list[tuple[Key, object]] = [((), localization)]
    while waiting:  # no recursion, which fails if nesting is deep
        key, node = waiting.pop()
        if not isinstance(node, dict):
            continue
        if isinstance(unit := node.get("stringUnit"), dict):
            yield key, unit
        for name in ("substitutions", "variations"):
            if isinstance(members := node.get(name), dict):
                waiting += [((*key, name, one), inner) for one, inner in members.items()]
        if key[-2:-1] == ("variations",):  # plural or device, and their cases
            waiting += [((*key, one), inner) for one, inner in node.items() if one != "variations"]
