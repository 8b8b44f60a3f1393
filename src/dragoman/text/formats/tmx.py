"""Translation memories (TMX 1.4b)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from xml.etree.ElementTree import Element

from dragoman.core.errors import DataError
from dragoman.core.unseen import is_unseen
from dragoman.core.wording import named
from dragoman.text.break_codes import BREAK, POINT, is_breaking_code, without_points
from dragoman.text.formats.interface import Format, Sides
from dragoman.text.pairs import Pair
from dragoman.text.xml_parts import each_part, local, text_within

_FIRST_UNITS = 1000  # of a translation memory, from which its languages are determined
_UNITS = ("tu",)


class Tmx(Format):
    """A translation memory: units with a text in each of several languages."""

    name = "tmx"
    suffixes = (".tmx",)
    counts = "unit"
    sides = "languages"

    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        """Pairs of two languages, in constant memory.

        ``en`` includes ``en-US``. Units that lack one of the languages are skipped.  Codes inside a
        segment (``bpt``, ``ph`` ...) are dropped without joining words.

        Raises:
            DataError: not well-formed XML, or no unit has both languages.
        """
        (path,) = files
        source, target = sides
        languages: dict[str, None] = {}
        found = False
        for number, unit in enumerate(each_part(path, _UNITS), 1):
            texts = _segments(unit)
            languages.update(dict.fromkeys(texts))
            pair = [_of_language(texts, language) for language in (source, target)]
            if pair[0] is not None and pair[1] is not None:
                found = True
                yield Pair(pair[0], pair[1], number)
        if not found:
            there = named(sorted(languages)) or "none"
            raise DataError(
                f"{path}: no unit has both {source!r} and {target!r}; languages there: {there}"
            )

    def offered_sides(self, path: Path) -> list[str]:
        """The languages of the first units, in the order of appearance."""
        found: dict[str, None] = {}
        for unit in islice(each_part(path, _UNITS), _FIRST_UNITS):
            found.update(dict.fromkeys(_segments(unit)))
        return list(found)


def _segments(unit: Element) -> dict[str, str]:
    """The text of each language of a ``tu``; the first if a language occurs twice."""
    texts: dict[str, str] = {}
    for variant in unit:
        language = variant.get("{http://www.w3.org/XML/1998/namespace}lang") or variant.get("lang")
        if local(variant) == "tuv" and language:
            segments = (part for part in variant if local(part) == "seg")
            text = without_points(text_within(next(segments, Element("seg")), _in_place))
            texts.setdefault(language, text)
    return texts


def _in_place(element: Element) -> str | None:
    """The replacement of an element in a segment. Only highlights are text; some end a line."""
    if local(element) == "hi":
        return None
    content = "".join(element.itertext())
    if is_breaking_code(element.attrib, content):
        return BREAK
    return POINT if local(element) == "ph" and not is_unseen(content) else ""


def _of_language(texts: dict[str, str], language: str) -> str | None:
    wanted = _language(language)
    for name, text in texts.items():
        if _language(name) == wanted:
            return text
    for name, text in texts.items():
        if _language(name).startswith(f"{wanted}-"):
            return text
    return None


def _language(name: str) -> str:
    return name.lower().replace("_", "-")
