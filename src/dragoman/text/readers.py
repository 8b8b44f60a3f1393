"""Readers of the formats that hold both sides in one file: TSV, JSONL, TMX and PO."""

from __future__ import annotations

import difflib
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError
from xml.parsers.expat import errors as expat_errors

import polib
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from dragoman.core.errors import DataError
from dragoman.text.lines import open_bytes, read_lines

_FIRST_UNITS = 1000  # of a translation memory, which tell its languages
_NO_ELEMENTS = expat_errors.codes[expat_errors.XML_ERROR_NO_ELEMENTS]


class Pair(NamedTuple):
    """A source and its translation."""

    source: str
    target: str
    line: int
    """Line of the file, or number of the entry where entries are no lines; from 1."""


def read_tsv(path: Path, source: str, target: str) -> Iterator[Pair]:
    """Pairs from two columns of a table with a header.

    Cells are separated by tabs; nothing is quoted, so a quotation mark is a character like any
    other.  A blank line is a pair of empty strings.

    Raises:
        DataError: a column is missing, or a row has not as many cells as the header.
    """
    lines = read_lines(path)
    header = next(lines).split("\t")
    places = [_column(header, name, path) for name in (source, target)]
    number = 1
    for number, line in enumerate(lines, 2):
        cells = line.split("\t")
        if len(cells) == len(header):
            yield Pair(cells[places[0]], cells[places[1]], number)
        elif line:
            raise DataError(
                f"{path}:{number}: {len(cells)} cells, but the header has {len(header)}; "
                "correct the line (cells are separated by tabs and cannot be quoted)"
            )
        else:
            yield Pair("", "", number)
    if number == 1:
        raise DataError(f"{path}: only a header and no rows; give a file with pairs")


def read_jsonl(path: Path, source: str, target: str) -> Iterator[Pair]:
    """Pairs from two keys of the JSON objects that stand one on a line.

    ``a.b`` reads ``b`` inside ``a``.  ``null`` is an empty string; so is a whole blank line.

    Raises:
        DataError: a line is no JSON object, lacks a key, or has something else than a string.
    """
    for number, line in enumerate(read_lines(path), 1):
        place = f"{path}:{number}"
        if not line.strip():
            yield Pair("", "", number)
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise DataError(f"{place}: not valid JSON ({reason}); correct the line") from error
        if not isinstance(record, dict):
            raise DataError(f"{place}: expected a JSON object, such as {{{source!r}: ...}}")
        yield Pair(_value(record, source, place), _value(record, target, place), number)


def read_tmx(path: Path, source: str, target: str) -> Iterator[Pair]:
    """Pairs of two languages from a translation memory (TMX 1.4b), in constant memory.

    ``en`` also finds ``en-US``.  Units that lack one of the languages are passed over.  Codes
    inside a segment (``bpt``, ``ph`` ...) are no text and are left out.

    Raises:
        DataError: not well-formed XML, or no unit has both languages.
    """
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
        there = ", ".join(sorted(languages)) or "none"
        raise DataError(
            f"{path}: no unit has both {source!r} and {target!r}; languages there: {there}"
        )


def read_po(path: Path) -> Iterator[Pair]:
    """Pairs of messages and translations from a gettext catalogue.

    Fuzzy, obsolete and untranslated entries are passed over.  Of plural forms, the first
    translates the singular and the last the plural; a language with one form has the plural
    alone.  The whole catalogue is held in memory.

    Raises:
        DataError: not a catalogue, or nothing in it is translated.
    """
    found = False
    for entry in _catalogue(path):
        if entry.obsolete or entry.fuzzy:
            continue
        for source, target in _messages(entry):
            if target:
                found = True
                yield Pair(source, target, entry.linenum)
    if not found:
        raise DataError(f"{path}: no translated entries; give a catalogue with translations")


def tmx_languages(path: Path) -> list[str]:
    """The languages of the first units of a translation memory, in the order of appearance.

    Raises:
        DataError: not well-formed XML.
    """
    found: dict[str, None] = {}
    for unit in islice(_units(path), _FIRST_UNITS):
        found.update(dict.fromkeys(_segments(unit)))
    return list(found)


def po_language(path: Path) -> str | None:
    """The language that a catalogue is a translation into, if its header says so.

    Raises:
        DataError: not a catalogue.
    """
    return _catalogue(path).metadata.get("Language") or None


def _column(header: list[str], name: str, path: Path) -> int:
    if header.count(name) > 1:
        raise DataError(f"{path}:1: the header has column {name!r} twice; rename one of them")
    if name not in header:
        raise DataError(f"{path}:1: no column {name!r}{_instead(name, header, 'columns')}")
    return header.index(name)


def _instead(name: str, known: Iterable[str], what: str) -> str:
    """What is there instead of ``name``, and which of it was perhaps meant."""
    names = [" ".join(one.split()) for one in known]
    close = difflib.get_close_matches(name, names, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    return f"{meant or ';'} {what} there: {', '.join(names) or 'none'}"


def _value(record: dict[str, Any], key: str, place: str) -> str:
    value: Any = record
    for part in [key] if key in record else key.split("."):
        if not isinstance(value, dict) or part not in value:
            known = value if isinstance(value, dict) else record
            raise DataError(f"{place}: no key {key!r}{_instead(part, known, 'keys')}")
        value = value[part]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(f"{place}: {key!r} is {json.dumps(value)[:40]}, expected a string")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise DataError(
                f"{place}: {key!r} has half of a surrogate pair (\\ud800 to \\udfff); "
                "correct the escape"
            ) from error
    return value


def _units(path: Path) -> Iterator[Element]:
    """The ``tu`` elements of a translation memory; each is gone when the next is asked for."""
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
    """The text of each language of a ``tu``; the first where a language stands twice."""
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


def _catalogue(path: Path) -> polib.POFile:
    # polib splits a string at U+2028 and its like, but a file only at its line ends.
    with tempfile.NamedTemporaryFile("w", suffix=".po", encoding="utf-8", newline="") as copy:
        for number, line in enumerate(read_lines(path), 1):
            if line.startswith(("msg", '"')) and not line.rstrip().endswith('"'):
                # polib would take the last character for the quotation mark, and drop it
                raise DataError(f"{path}:{number}: a string has no end; correct the line")
            copy.write(f"{line}\n")
        copy.flush()
        try:
            return polib.pofile(copy.name, encoding="utf-8")
        except (OSError, ValueError) as error:
            found = re.search(r"line (\d+)", str(error))
            place = f"{path}:{found[1]}" if found else str(path)
            raise DataError(
                f"{place}: not the syntax of a gettext catalogue; correct it"
            ) from error


def _messages(entry: polib.POEntry) -> list[tuple[str, str]]:
    if not entry.msgid_plural:
        return [(entry.msgid, entry.msgstr)]
    forms = [entry.msgstr_plural[number] for number in sorted(entry.msgstr_plural)]
    if not all(forms):
        return []
    plural = (entry.msgid_plural, forms[-1])
    return [plural] if len(forms) == 1 else [(entry.msgid, forms[0]), plural]
