"""Resources of .NET: ``Resources.resx``."""

from __future__ import annotations

from collections.abc import Iterator

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.documents.document_format import DocumentFormat, FileLanguages
from dragoman.documents.filetypes.element_text import element_text, element_writing
from dragoman.documents.filetypes.spliced_document import Slot, SplicedDocument, replacement
from dragoman.documents.strings.icu_messages import read_message
from dragoman.documents.strings.string_syntax import shown_syntax
from dragoman.documents.xml import XmlElement, read_xml_file
from dragoman.text.character_encoding import line_of
from dragoman.text.string_files.resx_entries import is_string


class ResxFile(DocumentFormat):
    """Resources of .NET, and of Windows apps (``.resw``)."""

    name = ".NET resources"
    family = "translation files"
    suffixes = (".resx", ".resw")
    media_type = "application/xml"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        text, encoding, root = read_xml_file(content)
        if root.name != "root":
            raise DataError(
                f"no resources of .NET: the file begins with <{root.name:.80}>, and not with <root>"
            )
        slots = list(_slots(text, root, languages.target))
        return SplicedDocument(text, encoding, slots, is_markup=True)


def _slots(text: str, root: XmlElement, target: str) -> Iterator[Slot]:
    data = [one for one in root.named("data") if is_string(one.attributes)]
    values = {one.attributes["name"]: one.first("value") for one in data}
    syntax = shown_syntax(map(element_text, values.values()))
    known: set[str] = set()
    for one in data:
        name, element = one.attributes["name"], one.first("value")
        if name in known:
            raise DataError(
                f"the name {name[:80]!r} occurs twice, again at line {line_of(text, one.start)}; "
                "remove one"
            )
        known.add(name)
        if element is not None and not element.is_tag and not element.children:
            value = read_message(element_text(element), target, syntax=syntax)
            yield replacement(
                element.inner, element.end, value, element_writing(element), key=(name,)
            )
