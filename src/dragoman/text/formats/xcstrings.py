"""String catalogues of Xcode (``.xcstrings``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.core.wording import named
from dragoman.text.formats.interface import Format, Sides
from dragoman.text.lines import open_bytes
from dragoman.text.pairs import Pair
from dragoman.text.string_files.keyed_string import Key
from dragoman.text.string_files.xcstrings_entries import StringCatalogue, read_catalogue

_LARGEST = 2**28
"""Maximum bytes of a file, which is held in memory."""


class Xcstrings(Format):
    """A catalogue with all languages of an app."""

    name = "xcstrings"
    suffixes = (".xcstrings",)
    counts = "string"
    sides = "languages"
    has_states = True

    @override
    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        (path,) = files
        found = False
        for number, (source, target, is_unreviewed) in enumerate(self.units(path, sides), 1):
            if self.reads_unreviewed or not is_unreviewed:
                found = True
                yield Pair(source, target, number)
        if not found:
            offered = named(self.offered_sides(path))
            raise DataError(
                f"{path}: no string has a finished translation from {sides[0]!r} into "
                f"{sides[1]!r}; languages there: {offered}"
            )

    def units(self, path: Path, sides: Sides) -> Iterator[tuple[str, str, bool]]:
        """Sources and translations, and whether these are unreviewed."""
        by_language: dict[str, dict[Key, tuple[str, bool]]] = {}
        for key, language, text, is_unreviewed in _catalogue(path).strings:
            by_language.setdefault(language, {})[key] = text, is_unreviewed
        sources, targets = (by_language.get(side, {}) for side in sides)
        for key, (source, _) in sources.items():
            target, is_unreviewed = targets.get(key, ("", False))
            if source.strip() and target.strip():
                yield source, target, is_unreviewed

    @override
    def offered_sides(self, path: Path) -> list[str]:
        catalogue = _catalogue(path)
        languages = dict.fromkeys([catalogue.source_language])
        return list(languages | dict.fromkeys(one.language for one in catalogue.strings))


def _catalogue(path: Path) -> StringCatalogue:
    with open_bytes(path) as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise DataError(f"{path}: over {_LARGEST:,} bytes; divide the file")
    try:
        return read_catalogue(content)
    except DataError as error:
        raise DataError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error
