"""The set ``homeassistant``: strings of a user interface, taken from the program's translations.

Each component of the program has a file of nested strings per language.  A row of the set is an
English string with its translations.  The rules are in :func:`rows` and :func:`split`.  The
held-out rows were drawn once and are listed in ``homeassistant.yaml``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import field_validator

from dragoman.core.config import Config, parse, read_yaml
from dragoman.core.errors import DataError
from dragoman.workflows.corpora.storage import damage_told, members

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pl", "cs", "ru", "ja", "ko", "zh-Hans", "et")
"""Languages of the columns, English first."""

_SELECTION = Path(__file__).with_name("homeassistant.yaml")
_FILE = re.compile(r"[^/]+/homeassistant/components/([^/]+)/translations/([\w-]+)\.json")
_LARGEST_FILE = 2**23  # bytes; the largest has 100,000

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
# A string without any of these letters is not in the language.
_SCRIPTS = {
    "ru": re.compile("[\u0400-\u04ff]"),
    "ja": re.compile("[\u3040-\u30ff\u3400-\u9fff]"),
    "ko": re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]"),
    "zh-Hans": re.compile("[\u3400-\u9fff]"),
}


class Entry(NamedTuple):
    """A string in all languages; empty if untranslated."""

    id: str
    texts: tuple[str, ...]


class Selection(Config):
    """Rows that are assigned to splits by :func:`key`, not by a rule."""

    dev: frozenset[str]
    """Rows of dev."""
    test: frozenset[str]
    """Rows of test."""
    left_out: frozenset[str]
    """Rows that are in no split."""

    @field_validator("*", mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        return value.split() if isinstance(value, str) else value


def key(row: Entry) -> str:
    """The key of a row in :class:`Selection`."""
    return hashlib.sha256(row.id.encode()).hexdigest()[:8]


def derive(archive: Path) -> dict[str, list[bytes]]:
    """The files of the set, as lines, from the source distribution of the package."""
    selection = parse(Selection, read_yaml(_SELECTION), _SELECTION.name)
    header = Entry("id", LANGUAGES)
    with damage_told(archive):
        components = _components(archive)
    splits = split(list(rows(components)), selection)
    return {f"{name}.tsv.gz": [_line(row) for row in (header, *splits[name])] for name in splits}


def _line(row: Entry) -> bytes:
    return "\t".join((row.id, *row.texts)).encode() + b"\n"


def _components(archive: Path) -> dict[str, dict[str, Any]]:
    components: dict[str, dict[str, Any]] = {}
    for name, size, content in members(archive):
        match = _FILE.fullmatch(name)
        if match is None or match[2] not in LANGUAGES:
            continue
        if size > _LARGEST_FILE:
            raise DataError(f"{archive}: {name} claims {size:,} bytes; is it another archive?")
        try:
            components.setdefault(match[1], {})[match[2]] = json.loads(content.read())
        except (ValueError, RecursionError) as error:
            raise DataError(f"{archive}: {name} is not JSON: {error}") from error
    return components


def rows(components: Mapping[str, Mapping[str, Any]]) -> Iterator[Entry]:
    """The rows of all components, by name and then in the order of the English file.

    A translation that copies the English or has no letter of its script becomes empty.  Rows whose
    English has no letter, rows without any translation and repeated rows are left out.
    """
    seen = set()
    for component, languages in sorted(components.items()):
        strings = {
            language: dict(_strings(languages.get(language, {}), component))
            for language in LANGUAGES
        }
        for name, english in strings["en"].items():
            if not any(sign.isalpha() for sign in english):
                continue
            translations = tuple(
                text if text != english and _in_script(text, language) else ""
                for language in LANGUAGES[1:]
                for text in [strings[language].get(name, "")]
            )
            texts = (english, *translations)
            if any(translations) and texts not in seen:
                seen.add(texts)
                yield Entry(name, texts)


def _strings(values: Any, name: str) -> Iterator[tuple[str, str]]:
    """Each nested string, on one line, with the keys that lead to it."""
    if isinstance(values, dict):
        for part, value in values.items():
            yield from _strings(value, f"{name}/{part}")
    elif isinstance(values, str):
        yield name, " ".join(_CONTROL.sub(" ", values).split())


def _in_script(text: str, language: str) -> bool:
    return language not in _SCRIPTS or _SCRIPTS[language].search(text) is not None


def split(entries: Sequence[Entry], selection: Selection) -> dict[str, list[Entry]]:
    """Rows of train, dev and test, in the order in which they come.

    No row of train has the English of one of dev or test, or its translation into any language,
    compared without case.
    """
    dev = [row for row in entries if key(row) in selection.dev]
    test = [row for row in entries if key(row) in selection.test]
    held_out = _cells([*dev, *test])
    named = selection.dev | selection.test | selection.left_out
    train = [row for row in entries if key(row) not in named and held_out.isdisjoint(_cells([row]))]
    return {"train": train, "dev": dev, "test": test}


def _cells(entries: Iterable[Entry]) -> set[tuple[str, str]]:
    """The lower-cased strings of rows, by language."""
    return {
        (language, text.lower())
        for row in entries
        for language, text in zip(LANGUAGES, row.texts, strict=True)
        if text
    }
