"""String catalogues of Xcode: strings without the target language get it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import DocumentFormat, FileLanguages
from dragoman.documents.filetypes.spliced_document import Slot, SplicedDocument
from dragoman.documents.json_text import JsonNode, read_json
from dragoman.documents.strings.plural_rules import translated_forms
from dragoman.documents.strings.string_syntax import APPLE
from dragoman.documents.strings.string_values import PlainValue, StringValue
from dragoman.text.character_encoding import decode, line_of
from dragoman.text.formats.projects.language_places import fitting_language
from dragoman.text.string_files.xcstrings_entries import UNDONE, UNREVIEWED, is_translated

_DEEPEST = 8
_LONGEST_NUMBER = 20
_STEP = re.compile(r"\{[^\S\n]*\n([ \t]+)\"")

Write = Callable[[Iterator[str]], Any]
"""A part of a localization, from the translations of its values in order."""


class XcstringsFile(DocumentFormat):
    """Catalogues of Xcode 15 and later."""

    name = "Xcode string catalogue"
    family = "translation files"
    suffixes = (".xcstrings",)
    media_type = "application/json"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        text, encoding = decode(content, is_page=False)
        root = read_json(text)
        source, strings = root.text("sourceLanguage"), root.get("strings")
        if not source or strings is None or strings.kind != "object":
            raise DataError("no string catalogue: it lacks sourceLanguage or strings")
        languages.agreed_source(source)
        reading = _Reading(text, source, strings, languages.target)
        return SplicedDocument(text, encoding, list(reading.slots()), source_language=source)


class _Reading:
    """The strings that lack a language."""

    def __init__(self, text: str, source: str, strings: JsonNode, target: str) -> None:
        self._text, self._source, self._strings, self._target = text, source, strings, target
        offered = {
            language.name
            for entry in strings.members
            for language in _members(entry.node.get("localizations"))
        }
        self._language = fitting_language(target, offered) or target.replace("_", "-")
        step = _STEP.match(text, text.find("{"))
        self._step = step[1] if step else None
        self._colon = " : " if re.search(r"\"\s+:", text) else ": "

    def slots(self) -> Iterator[Slot]:
        for member in self._strings.members:
            entry = member.node
            if entry.kind != "object" or not is_translated(self._value(entry)):
                continue
            known = {one.name: one.node for one in _members(entry.get("localizations"))}
            source = known.get(self._source)
            there = known.get(self._language)
            if self._language == self._source or (there is not None and not _is_undone(there)):
                continue
            values: list[StringValue] = []
            if source is None:
                write = self._unit(member.name, values)
            else:
                write = self._localization(self._value(source), source, values)
            if any(value.texts for value in values):
                yield self._slot(entry, there, values, write)

    def _slot(
        self, entry: JsonNode, there: JsonNode | None, values: Sequence[StringValue], write: Write
    ) -> Slot:
        """The localization of an entry, instead of an empty one or in the order of languages."""
        languages = entry.get("localizations")
        if there is not None:
            return self._replaced(there, values, write)
        if languages is None:
            name, depth = "localizations", 3
            before = [one for one in entry.members if one.name < name]
            node, place = entry, before[-1].node.stop if before else None
        else:
            name, depth, node = self._language, 4, languages
            before = [one for one in languages.members if one.name < name]
            place = before[-1].node.stop if before else None

        def written(found: Sequence[str]) -> str:
            content = write(iter(found))
            if languages is None:
                content = {self._language: content}
            raw = f"{json.dumps(name)}{self._colon}{self._dumped(content, depth)}"
            line = self._line(depth)
            if place is not None:
                return f",{line}{raw}"
            if node.members:
                return f"{line}{raw},"
            return f"{line}{raw}{self._line(depth - 1)}"

        start = node.start + 1 if place is None else place
        stop = node.stop - 1 if not node.members else start
        return Slot(start, stop, values, written)

    def _replaced(self, there: JsonNode, values: Sequence[StringValue], write: Write) -> Slot:
        return Slot(
            there.start, there.stop, values, lambda found: self._dumped(write(iter(found)), 4)
        )

    def _dumped(self, content: Any, depth: int) -> str:
        """JSON as the file writes it, a number of levels deep."""
        raw = json.dumps(
            content,
            ensure_ascii=False,
            indent=self._step,
            separators=("," if self._step else ", ", self._colon),
        )
        return raw.replace("\n", self._line(depth))

    def _line(self, depth: int) -> str:
        return "" if self._step is None else "\n" + self._step * depth

    def _localization(
        self, source: dict[str, Any], node: JsonNode, values: list[StringValue], depth: int = 0
    ) -> Write:
        """A localization like that of the source, with the plural forms of the target."""
        if depth > _DEEPEST:
            raise DataError(
                f"line {line_of(self._text, node.start)}: variations with more than {_DEEPEST} "
                "levels are not read"
            )
        parts: dict[str, Write] = {}
        for name, inner in source.items():
            if name == "stringUnit":
                parts[name] = self._unit(_text(inner), values, wraps=False)
            elif name == "variations":
                parts[name] = self._variations(inner, node, values, depth)
            elif name == "substitutions":
                parts[name] = self._each(inner, node, values, depth)
            else:  # the number and format of an argument
                parts[name] = lambda found, inner=inner: inner  # type: ignore[misc]
        return lambda found: {name: part(found) for name, part in parts.items()}

    def _variations(
        self, source: object, node: JsonNode, values: list[StringValue], depth: int
    ) -> Write:
        parts: dict[str, Write] = {}
        for name, cases in source.items() if isinstance(source, dict) else ():
            forms = _forms(cases) if name == "plural" else None
            if forms is None:
                parts[name] = self._each(cases, node, values, depth)
                continue
            wanted = translated_forms(forms, self._target, syntax=APPLE)
            if "zero" in forms and "zero" not in wanted:
                wanted = {"zero": PlainValue(forms["zero"], 0, APPLE), **wanted}
            values += wanted.values()
            names = list(wanted)
            parts[name] = lambda found, names=names: {  # type: ignore[misc]
                form: _wrapped(next(found)) for form in names
            }
        return lambda found: {name: part(found) for name, part in parts.items()}

    def _each(self, source: object, node: JsonNode, values: list[StringValue], depth: int) -> Write:
        members = source.items() if isinstance(source, dict) else ()
        parts = {
            name: self._localization(inner, node, values, depth + 1)
            for name, inner in members
            if isinstance(inner, dict)
        }
        return lambda found: {name: part(found) for name, part in parts.items()}

    def _unit(self, text: str, values: list[StringValue], *, wraps: bool = True) -> Write:
        values.append(PlainValue(text, None, APPLE))
        return lambda found: _wrapped(next(found)) if wraps else _made(next(found))

    def _value(self, node: JsonNode) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self._text[node.start : node.stop], parse_int=_number)
        return value if isinstance(value, dict) else {}


def _number(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise DataError(f"a number with {len(digits):,} digits is not read")
    return int(digits)


def _members(node: JsonNode | None) -> list[Any]:
    return [] if node is None else node.members


def _is_undone(localization: JsonNode) -> bool:
    """Whether a localization is empty, or a string in the state ``new``."""
    unit = localization.get("stringUnit")
    if unit is None:
        return not localization.members
    return unit.text("state") == UNDONE or not (unit.text("value") or "").strip()


def _forms(cases: object) -> dict[str, str] | None:
    """The plural forms, if they are plain strings of which one is ``other``."""
    if not isinstance(cases, dict) or "other" not in cases:
        return None
    units = {name: case.get("stringUnit") for name, case in cases.items() if isinstance(case, dict)}
    plain = {name: _text(unit) for name, unit in units.items() if isinstance(unit, dict)}
    return plain if len(plain) == len(cases) else None


def _text(unit: object) -> str:
    value = unit.get("value") if isinstance(unit, dict) else None
    return value if isinstance(value, str) else ""


def _made(text: str) -> dict[str, str]:
    return {"state": UNREVIEWED, "value": text}


def _wrapped(text: str) -> dict[str, Any]:
    return {"stringUnit": _made(text)}
