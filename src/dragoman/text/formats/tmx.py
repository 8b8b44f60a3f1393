"""Translation memories (TMX 1.4b)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError
from xml.parsers.expat import errors as expat_errors

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from dragoman.core.errors import DataError
from dragoman.core.wording import named
from dragoman.text.formats.interface import Format, Pair, Sides
from dragoman.text.lines import open_bytes

_FIRST_UNITS = 1000  # of a translation memory, from which its languages are known
_NO_ELEMENTS = expat_errors.codes[expat_errors.XML_ERROR_NO_ELEMENTS]


class Tmx(Format):
    """A translation memory: units with a text in each of several languages."""

    name = "tmx"
    suffixes = (".tmx",)
    sides = "languages"

    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        """Pairs of two languages, in constant memory.

        ``en`` also finds ``en-US``. Units that lack one of the languages are skipped.  Codes inside
        a segment (``bpt``, ``ph`` ...) are not text and are dropped.

        Raises:
            DataError: not well-formed XML, or no unit has both languages.
        """
        (path,) = files
        return _read(path, sides)

    def offered_sides(self, path: Path) -> list[str]:
        """The languages of the first units, in the order of appearance."""
        found: dict[str, None] = {}
        for unit in islice(_units(path), _FIRST_UNITS):
            found.update(dict.fromkeys(_segments(unit)))
        return list(found)


def _read(path: Path, sides: Sides) -> Iterator[Pair]:
    source, target = sides
    languages: dict[str, None] = {}
    found = False
    for number, unit in enumerate(_units(path), 1):
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


def _units(path: Path) -> Iterator[Element]:
    """The ``tu`` elements of a translation memory; each is freed when the next is requested."""
    with open_bytes(path) as stream:
        body: Element | None = None
        try:
            for event, element in iterparse(stream, events=("start", "end")):
                name = _local(element.tag)
                if event == "start" and name == "body":
                    body = element
                elif event == "end" and name == "tu":
                    yield element
                    if body is not None:
                        body.clear()
        except ParseError as error:
            ended = error.code == _NO_ELEMENTS
            reason = "the file is empty or ends too early" if ended else f"not XML ({error})"
            raise DataError(f"{path}:{error.position[0]}: {reason}; export it again") from error
        except DefusedXmlException as error:
            raise DataError(
                f"{path}: declares XML entities, which are not read for safety; "
                "export it without a document type"
            ) from error
        except (LookupError, ValueError) as error:
            raise DataError(
                f"{path}: declares an encoding that is not read ({error}); export it as UTF-8"
            ) from error


def _segments(unit: Element) -> dict[str, str]:
    """The text of each language of a ``tu``; the first if a language occurs twice."""
    texts: dict[str, str] = {}
    for variant in unit:
        language = variant.get("{http://www.w3.org/XML/1998/namespace}lang") or variant.get("lang")
        if _local(variant.tag) == "tuv" and language:
            segments = (part for part in variant if _local(part.tag) == "seg")
            texts.setdefault(language, "".join(_text(next(segments, Element("seg")))))
    return texts


def _text(element: Element) -> Iterator[str]:
    """The text of a segment; of the elements inside, only highlighted text is text."""
    yield element.text or ""
    inside = [(iter(element), "")]  # no recursion: what is nested without end is text all the same
    while inside:
        parts, tail = inside[-1]
        part = next(parts, None)
        if part is None:
            inside.pop()
            yield tail
        elif _local(part.tag) == "hi":
            inside.append((iter(part), part.tail or ""))
            yield part.text or ""
        else:
            yield part.tail or ""


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


def _local(tag: str) -> str:
    """The name of an element without its namespace."""
    return tag.rpartition("}")[2]
