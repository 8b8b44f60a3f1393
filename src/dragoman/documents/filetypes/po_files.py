"""Gettext catalogues: what is missing or fuzzy is translated, and all else stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import DocumentFormat, FileLanguages
from dragoman.documents.filetypes.spliced_document import Slot, SplicedDocument, fixed
from dragoman.documents.strings.icu_messages import read_message
from dragoman.documents.strings.plural_rules import catalogue_rule, catalogue_values
from dragoman.documents.strings.string_syntax import StringSyntax, flagged_syntax, shown_syntax
from dragoman.documents.strings.string_values import KeptValue, StringValue
from dragoman.text.character_encoding import CharacterEncoding
from dragoman.text.po_catalogue import (
    Catalogue,
    PoEntry,
    PoString,
    po_string,
    read_catalogue,
    read_entries,
)

_CHARSET = re.compile(r"(charset=\s*)[^\s;]+", re.IGNORECASE)
_PLURALS = re.compile(r"nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;\s](?:[^;]*[^;\s])?)")
_MOST_FORMS = 10
_CONTENT_TYPE = ("Content-Type", "text/plain; charset=UTF-8")
_WIDTH = 80


class PoFile(DocumentFormat):
    """A gettext catalogue, or a template of one (``.pot``).

    Its translations stay.  Missing and fuzzy ones are made, and marked fuzzy.
    """

    name = "PO"
    family = "translation files"
    suffixes = (".po", ".pot")
    media_type = "text/x-gettext-translation"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        catalogue = read_catalogue(content)
        languages.check_target(catalogue.fields.get("language"))
        source = languages.agreed_source(catalogue.fields.get("x-source-language"))
        slots = list(_Filling(catalogue, languages).slots())
        kind = _PoDocument if catalogue.charset else _OpenPoDocument
        encoding = CharacterEncoding(catalogue.encoding, catalogue.mark)
        return kind(catalogue.text, encoding, slots, source_language=source)


class _PoDocument(SplicedDocument):
    """A catalogue, which becomes UTF-8 if its encoding lacks characters of the translations."""

    @override
    def written(self, translations: Sequence[str]) -> bytes:
        joined = self.joined(translations)
        try:
            return self._encoding.mark + joined.encode(self._encoding.name)
        except UnicodeEncodeError:
            joined = _with_header(joined, lambda value: _CHARSET.sub(r"\1UTF-8", value, count=1))
            return CharacterEncoding("utf-8").encode(joined, is_markup=False)


class _OpenPoDocument(_PoDocument):
    """A catalogue that says no encoding: it does as soon as it has more than ASCII."""

    @override
    def joined(self, translations: Sequence[str]) -> str:
        joined = super().joined(translations)
        if all(translation.isascii() for translation in translations):
            return joined
        return _with_header(joined, lambda value: _with_field(value, *_CONTENT_TYPE))


class _Filling:
    def __init__(self, catalogue: Catalogue, languages: FileLanguages) -> None:
        self._text, self._entries = catalogue.text, catalogue.entries
        self._header, self._fields = catalogue.header, catalogue.fields
        self._languages = languages
        self._newline = "\r\n" if "\r\n" in self._text else "\n"
        # A catalogue with a line that gettext would have wrapped was written without wrapping.
        lines = self._text.splitlines()
        self._width = _WIDTH if all(len(line) <= _WIDTH or " " not in line for line in lines) else 0
        self._rule: tuple[int, str] | None = None
        self._syntax = shown_syntax(entry.msgid.value for entry in self._entries)

    def slots(self) -> Iterator[Slot]:
        for entry in self._entries:
            if entry is self._header or not entry.needs_translation:
                continue
            yield from self._entry(entry)
        if self._header is not None:
            yield from self._changed_header(self._header)

    def _entry(self, entry: PoEntry) -> Iterator[Slot]:
        syntax = flagged_syntax(entry.flags, self._syntax)
        values: list[StringValue]
        if entry.msgid_plural is None:
            values, keywords = [self._value(entry.msgid.value, syntax)], ["msgstr"]
        else:
            rule = self._plural_rule()
            plural = entry.msgid_plural.value
            values = catalogue_values(entry.msgid.value, plural, rule, syntax)
            keywords = [f"msgstr[{at}]" for at in range(len(values))]
        done = {one.keyword: self._text[one.start : one.stop] for one in entry.done}
        values = [
            KeptValue("") if keyword in done else value
            for keyword, value in zip(keywords, values, strict=True)
        ]
        if not any(value.texts for value in values):
            return

        def write(found: Sequence[str]) -> str:
            given = zip(keywords, found, strict=True)
            lines = [done.get(keyword) or self._field(keyword, one) for keyword, one in given]
            return self._newline.join(lines)

        yield from self._fuzzy(entry)
        start, stop = entry.msgstr[0].start, entry.msgstr[-1].stop
        yield Slot(start, stop, values, write, group=entry.start)

    def _value(self, text: str, syntax: StringSyntax) -> StringValue:
        return read_message(text, self._languages.target, syntax=syntax)

    def _field(self, keyword: str, value: str) -> str:
        return po_string(keyword, value, self._width, self._newline)

    def _fuzzy(self, entry: PoEntry) -> Iterator[Slot]:
        if "fuzzy" in entry.flags:
            return
        if entry.flags_start is not None:
            place = entry.flags_start + 2  # after "#,"
            yield fixed(place, place, " fuzzy,", entry.start)
        else:
            yield fixed(entry.start, entry.start, f"#, fuzzy{self._newline}", entry.start)

    def _plural_rule(self) -> tuple[int, str]:
        if self._rule is None:
            found = _PLURALS.search(self._fields.get("plural-forms", ""))
            if found is None:
                self._rule = catalogue_rule(self._languages.target)
            elif not 1 <= int(found[1]) <= _MOST_FORMS:
                raise DataError(
                    f"nplurals={found[1]} in the header is none of 1 to {_MOST_FORMS}; correct it"
                )
            else:
                self._rule = int(found[1]), found[2]
        return self._rule

    def _changed_header(self, header: PoEntry) -> Iterator[Slot]:
        """The header with what it lacks: language, plural forms, encoding."""
        value = header.msgstr[0].value
        if not self._fields.get("language"):
            value = _with_field(value, "Language", self._languages.target.replace("-", "_"))
        if self._rule and _PLURALS.search(self._fields.get("plural-forms", "")) is None:
            count, rule = self._rule
            value = _with_field(value, "Plural-Forms", f"nplurals={count}; plural={rule};")
        value = re.sub(r"charset=CHARSET\b", "charset=UTF-8", value)
        if value != header.msgstr[0].value:
            string: PoString = header.msgstr[0]
            yield fixed(string.start, string.stop, self._field("msgstr", value))


def _with_header(text: str, change: Callable[[str], str]) -> str:
    """A catalogue whose header, which may be missing, is changed."""
    newline = "\r\n" if "\r\n" in text else "\n"
    entries = read_entries(text)
    if not entries or not entries[0].is_header:
        header = po_string("msgstr", change(""), _WIDTH, newline)
        return f'msgid ""{newline}{header}{newline}{newline}{text}'
    string = entries[0].msgstr[0]
    header = po_string("msgstr", change(string.value), _WIDTH, newline)
    return f"{text[: string.start]}{header}{text[string.stop :]}"


def _with_field(value: str, name: str, content: str) -> str:
    """A header with a field, in its place if it is there without content."""
    line = f"{name}: {content}\n"
    found, count = re.subn(rf"(?mi)^{name}:.*\n", lambda _: line, value, count=1)
    return found if count else value.rstrip("\n") + ("\n" if value else "") + line
