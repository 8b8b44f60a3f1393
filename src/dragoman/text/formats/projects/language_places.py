"""Languages in the paths of files: ``locale/de/LC_MESSAGES/django.po``, ``app_pt_BR.arb``."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from dragoman.text.language_codes import is_language_tag, spelling

LANGUAGE = "{language}"
"""Stands for the language in the path of a file."""
DEFAULT = ""
"""The language of files that have no language in their path, such as ``values/strings.xml``."""
_MESSAGES = "LC_MESSAGES"
_SKIPPED = frozenset(["node_modules", "__pycache__"])
_SCRIPTS = {"latin": "Latn", "cyrillic": "Cyrl"}
_ANDROID = re.compile(r"values(?:-(?:([a-z]{2,3})(?:-r([A-Z]{2}))?|b\+([A-Za-z0-9+]+)))?")


class LanguagePlace(NamedTuple):
    """A possible reading of a path."""

    template: str
    """The path with :data:`LANGUAGE` in it, which translations share."""
    language: str


Placed = dict[str, Path]
"""Files of one template by language."""
Placing = dict[str, Placed]
"""Files by template and language."""


def language_places(path: PurePosixPath) -> Iterator[LanguagePlace]:
    """The places of a path at which a language can be: folders, then the name of the file.

    Names below ``LC_MESSAGES`` are those of gettext's domains.
    """
    folders = folder_places(path)
    if _MESSAGES in path.parts:
        above = folder_places(PurePosixPath(*path.parts[: path.parts.index(_MESSAGES) + 1]))
        if above:
            yield from folders[: len(above)]
            return
    yield from folders
    yield from name_places(path)


def folder_places(path: PurePosixPath) -> list[LanguagePlace]:
    """The folders of a path that are languages, from the top."""
    parts = path.parts
    return [
        _place(parts, at, LANGUAGE, part) for at, part in enumerate(parts[:-1]) if is_language(part)
    ]


def name_places(path: PurePosixPath) -> Iterator[LanguagePlace]:
    """The language in the name of a file: all of its stem, or the end of it."""
    stem, suffix = path.stem, path.suffix
    for start in (0, *(found.end() for found in re.finditer(r"[._-]", stem))):
        if is_language(stem[start:]):
            name = f"{stem[:start]}{LANGUAGE}{suffix}"
            yield LanguagePlace(str(path.with_name(name)), stem[start:])
            return


def suffix_places(path: PurePosixPath) -> Iterator[LanguagePlace]:
    """The language as the suffix of a file: ``train.de``."""
    language = path.suffix[1:]
    if is_language(language):
        yield LanguagePlace(str(path.with_name(f"{path.stem}.{LANGUAGE}")), language)


def android_places(path: PurePosixPath) -> Iterator[LanguagePlace]:
    """The language of a folder of resources: ``values-de``, ``values-pt-rBR``, ``values-b+sr``."""
    found = _ANDROID.fullmatch(path.parent.name)
    if found is None:
        return
    base, region, tag = found.groups()
    language = tag.replace("+", "-") if tag else "-".join(filter(None, (base, region)))
    if language and not is_language(language):
        return  # another quality of the device, such as values-night
    yield _place(path.parts, len(path.parts) - 2, f"values{LANGUAGE}", language)


def apple_places(path: PurePosixPath) -> Iterator[LanguagePlace]:
    """The language of a folder of localisations: ``de.lproj``, or ``Base.lproj``."""
    name, sign, _ = path.parent.name.partition(".lproj")
    if sign and (name == "Base" or is_language(name)):
        language = DEFAULT if name == "Base" else name
        yield _place(path.parts, len(path.parts) - 2, f"{LANGUAGE}.lproj", language)


def bundle_places(path: PurePosixPath, sign: str) -> Iterator[LanguagePlace]:
    """The language at the end of a file's name, ``messages_pt_BR.properties``, or of a folder.

    ``messages.properties`` is the default; the sign is ``_`` there.  Of readings that share as many
    languages, it comes before that of a folder further up, such as ``io`` in the name of a package.
    """
    folders, in_name = folder_places(path), list(name_places(path))
    before = len(folders) - is_language(path.parent.name)
    yield from folders[:before]
    if not in_name:
        template = path.with_name(f"{path.stem}{sign}{LANGUAGE}{path.suffix}")
        yield LanguagePlace(str(template), DEFAULT)
    yield from folders[before:]
    yield from in_name


def is_language(name: str) -> bool:
    """Whether a part of a path is a language, perhaps with a modifier of gettext (``sr@latin``)."""
    return bool(name) and is_language_tag(name.partition("@")[0])


def usual_spelling(language: str) -> str:
    """A canonical spelling of a language in a path: ``sr-latn`` for ``sr@latin``."""
    base, _, modifier = language.partition("@")
    return spelling("-".join(filter(None, (base, _SCRIPTS.get(modifier, modifier)))))


def fitting_language(wanted: str, offered: Iterable[str]) -> str | None:
    """The offered language that is the wanted one, or the only one with a region or script of it.

    ``pt`` is ``pt_BR`` where there is no other Portuguese.
    """
    spelt = {one: usual_spelling(one) for one in offered if one != DEFAULT}
    name = usual_spelling(wanted)
    if same := [one for one, spelling_of in spelt.items() if spelling_of == name]:
        return same[0]
    near = [one for one, spelling_of in spelt.items() if spelling_of.startswith(f"{name}-")]
    return near[0] if len(near) == 1 else None


def files_below(folder: Path, suffixes: Collection[str]) -> list[Path]:
    """The files of a folder and the folders in it, in order; a file alone is itself one.

    Hidden folders, and those of installed packages of JavaScript, are left out.

    Args:
        suffixes: in lower case; none: any file.
    """
    if folder.is_file():
        return [folder]
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if one[0] != "." and one not in _SKIPPED)
        for name in sorted(names):
            if not suffixes or os.path.splitext(name)[1].lower() in suffixes:
                found.append(Path(place, name))
    return found


def most_shared(readings: Iterable[tuple[Path, Sequence[LanguagePlace]]]) -> Placing:
    """Files by template, of which each file has the one that most languages share.

    So ``de/as.po`` beside ``fr/as.po`` is German, and not Assamese.  Neighbours without a language
    count against a place: beside ``de/main.po`` and ``de/menu.po``, ``de/as.po`` and ``de/sc.po``
    are German as well, if there is a second language.  The last of equals is taken.
    """
    found = list(readings)
    beside = _Neighbours(path for path, _ in found)
    known = [(path, places) for path, places in found if places]
    languages: dict[str, set[str]] = {}
    for _, places in known:
        for place in places:
            languages.setdefault(place.template, set()).add(place.language)
    placing: Placing = {}
    for path, places in known:
        best = max(
            reversed(places),
            key=lambda place: max(1, len(languages[place.template]) * beside.share(path, place)),
        )
        placing.setdefault(best.template, {})[best.language] = path
    return placing


class _Neighbours:
    """The names in each folder: those of files, and those of folders with such files in them."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._names: dict[tuple[Path, bool], set[str]] = {}
        self._shares: dict[tuple[Path, bool, str, str], float] = {}
        for path in paths:
            below = path
            for folder in path.parents:
                self._names.setdefault((folder, below is path), set()).add(below.name)
                below = folder

    def share(self, path: Path, place: LanguagePlace) -> float:
        """The share of languages among names that differ from the one in a template by theirs."""
        parts = PurePosixPath(place.template).parts
        at = next(at for at, part in enumerate(parts) if LANGUAGE in part)
        begin, _, end = parts[at].partition(LANGUAGE)
        folder, is_file = path.parents[len(parts) - at - 1], at == len(parts) - 1
        key = folder, is_file, begin, end
        if key not in self._shares:
            others = [
                name[len(begin) : len(name) - len(end)]
                for name in self._names[folder, is_file]
                if name.startswith(begin) and name.endswith(end)
            ]
            self._shares[key] = sum(map(is_language, others)) / len(others) if others else 1.0
        return self._shares[key]


def _place(parts: Sequence[str], at: int, name: str, language: str) -> LanguagePlace:
    return LanguagePlace(str(PurePosixPath(*parts[:at], name, *parts[at + 1 :])), language)
