"""Folders of files with strings of a program, one file for each language, matched by their keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import ClassVar

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.text.formats.interface import Sides
from dragoman.text.formats.plain import Plain
from dragoman.text.formats.projects.language_places import (
    DEFAULT,
    LanguagePlace,
    Placing,
    android_places,
    apple_places,
    bundle_places,
    suffix_places,
)
from dragoman.text.formats.projects.project_folder import (
    FileToTranslate,
    PlacedFiles,
    ProjectString,
    Report,
)
from dragoman.text.lines import open_bytes
from dragoman.text.string_files.android_entries import android_entries
from dragoman.text.string_files.apple_entries import apple_entries, apple_plural_entries
from dragoman.text.string_files.json_entries import json_entries
from dragoman.text.string_files.keyed_string import Key, KeyedString
from dragoman.text.string_files.properties_entries import properties_entries
from dragoman.text.string_files.resx_entries import resx_entries

_BUNDLE = re.compile(
    r"(?:messages?|bundle|resources?|strings|labels|texts?|i18n|translations?|language)\Z",
    re.IGNORECASE,
)
_LARGEST = 2**28
"""Maximum bytes of a file, which is held in memory."""


class KeyedFiles(PlacedFiles):
    """Files whose strings have keys, by which translations are found."""

    readers: ClassVar[Mapping[str, Callable[[bytes], list[KeyedString]]]]
    """A function for each suffix, from the content of a file to its strings."""

    def __init_subclass__(cls) -> None:
        cls.file_suffixes = tuple(cls.readers)

    @override
    def units(self, folder: Path, sides: Sides, report: Report) -> Iterator[ProjectString]:
        placing = self.placing(folder)
        self.check_languages(folder, placing, sides)
        for both in self.both_files(placing, sides):
            texts, translations = (self._strings(file, report) for file in both if file is not None)
            for key, text in texts.items():
                translation = translations.get(key, "")
                if text.strip() and translation.strip():
                    yield ProjectString(text, translation, both[1], key=key)

    @override
    def files_to_translate(self, folder: Path, sides: Sides) -> list[FileToTranslate]:
        found = self.placed_outputs(folder, sides)
        return [
            FileToTranslate(files[source], output)
            for files, source, output in found
            if source is not None and files[source] != output
        ]

    def _strings(self, path: Path, report: Report) -> dict[Key, str]:
        """The strings of a file by key; none if it is damaged."""
        try:
            with open_bytes(path) as stream:
                content = stream.read(_LARGEST + 1)
            if len(content) > _LARGEST:
                raise DataError(f"over {_LARGEST:,} bytes; divide the file")
            return dict(self.readers[path.suffix.lower()](content))
        except DataError as error:
            report(DataError(f"{path}: {str(error).removeprefix(f'{path}: ')}"))
            return {}


class JsonProject(KeyedFiles):
    """Strings in JSON: i18next, extensions of browsers, Flutter (ARB) and others."""

    name = "json-files"
    title = "JSON or ARB files"
    examples = "locales/LANGUAGE/*.json, LANGUAGE.json, _locales/LANGUAGE/*.json, app_LANGUAGE.arb"
    readers: ClassVar = {".json": json_entries, ".arb": json_entries}


def _yaml_entries(content: bytes) -> list[KeyedString]:
    # Here, because --help lists the formats, and must not wait for YAML.
    from dragoman.text.string_files.yaml_entries import yaml_entries

    return yaml_entries(content)


class YamlProject(KeyedFiles):
    """Strings in YAML, as Rails has them."""

    name = "yaml-files"
    title = "YAML files"
    examples = "config/locales/LANGUAGE.yml"
    readers: ClassVar = {".yml": _yaml_entries, ".yaml": _yaml_entries}


class AndroidProject(KeyedFiles):
    """Resources of an Android app."""

    name = "android-files"
    title = "Android resources"
    examples = "res/values-LANGUAGE/*.xml"
    readers: ClassVar = {".xml": android_entries}

    @override
    def places(self, path: PurePosixPath) -> Iterable[LanguagePlace]:
        return android_places(path)

    @override
    def spelt(self, language: str, others: Iterable[str]) -> str:
        base, *rest = language.replace("_", "-").split("-")
        if not rest:
            return f"-{base}"
        is_region = len(rest) == 1 and len(rest[0]) == 2
        return f"-{base}-r{rest[0].upper()}" if is_region else f"-b+{'+'.join([base, *rest])}"


class AppleProject(KeyedFiles):
    """Strings of an app for Apple's platforms."""

    name = "apple-files"
    title = "iOS strings"
    examples = "LANGUAGE.lproj/*.strings"
    readers: ClassVar = {".strings": apple_entries, ".stringsdict": apple_plural_entries}

    @override
    def places(self, path: PurePosixPath) -> Iterable[LanguagePlace]:
        return apple_places(path)


class PropertiesProject(KeyedFiles):
    """Resource bundles of Java programs.

    A file without a language and without translations beside it counts only if its name is that of
    a bundle, such as ``messages.properties``.  Others are settings.
    """

    name = "properties-files"
    title = "Java properties"
    examples = "messages_LANGUAGE.properties, LANGUAGE/*.properties"
    readers: ClassVar = {".properties": properties_entries}

    @override
    def places(self, path: PurePosixPath) -> Iterable[LanguagePlace]:
        return bundle_places(path, "_")

    @override
    def placing(self, folder: Path) -> Placing:
        return {
            template: files
            for template, files in super().placing(folder).items()
            if files.keys() != {DEFAULT} or _BUNDLE.search(files[DEFAULT].stem)
        }

    @override
    def spelt(self, language: str, others: Iterable[str]) -> str:
        spelt = [one for one in others if "-" in one or "_" in one]
        return super().spelt(language, spelt or ["_"])


def _fluent_entries(content: bytes) -> list[KeyedString]:
    # Here, because --help lists the formats, and must not wait for the parser.
    from dragoman.text.string_files.fluent_entries import fluent_entries

    return fluent_entries(content)


class FluentProject(KeyedFiles):
    """Strings of programs that use Mozilla's Fluent."""

    name = "fluent-files"
    title = "Fluent files"
    examples = "locales/LANGUAGE/*.ftl, LANGUAGE.ftl"
    readers: ClassVar = {".ftl": _fluent_entries}


class ResxProject(KeyedFiles):
    """Resources of .NET programs."""

    name = "resx-files"
    title = ".NET resources"
    examples = "Resources.LANGUAGE.resx, Strings/LANGUAGE/Resources.resw"
    readers: ClassVar = {".resx": resx_entries, ".resw": resx_entries}

    @override
    def places(self, path: PurePosixPath) -> Iterable[LanguagePlace]:
        return bundle_places(path, ".")

    @override
    def spelt(self, language: str, others: Iterable[str]) -> str:
        return language.replace("_", "-")


class PlainProject(PlacedFiles):
    """Files of lines, aligned by their numbers: ``news.en`` and ``news.de``."""

    name = "plain-files"
    title = "files of lines"
    examples = "NAME.LANGUAGE"
    _form = Plain()

    @override
    def places(self, path: PurePosixPath) -> Iterable[LanguagePlace]:
        return suffix_places(path)

    @override
    def placing(self, folder: Path) -> Placing:
        # A single suffix may mean anything, such as that of a program.
        placing = super().placing(folder)
        return {name: files for name, files in placing.items() if len(files) > 1}

    @override
    def units(self, folder: Path, sides: Sides, report: Report) -> Iterator[ProjectString]:
        placing = self.placing(folder)
        self.check_languages(folder, placing, sides)
        for both in self.both_files(placing, sides):
            pairs = self._form.read([file for file in both if file is not None], sides)
            try:
                found = list(pairs)
            except DataError as error:
                report(error)
                continue
            for pair in found:
                yield ProjectString(pair.source, pair.target, both[1])
