"""Tables with a column for each language: empty cells of the target language are filled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from typing_extensions import override

from dragoman.core.errors import DataError
from dragoman.core.wording import named
from dragoman.documents.document_format import DocumentFormat, FileLanguages
from dragoman.documents.filetypes.spliced_document import Slot, SplicedDocument
from dragoman.documents.strings.icu_messages import read_message
from dragoman.documents.strings.string_syntax import shown_syntax
from dragoman.text.character_encoding import decode
from dragoman.text.csv_cells import Cell, Table, read_table, written_cell
from dragoman.text.formats.projects.language_places import fitting_language
from dragoman.text.language_codes import is_language_tag

_SOURCES, _TARGETS = ("source", "src"), ("target", "translation", "tgt", "trg")


class CsvFile(DocumentFormat):
    """Tables of spreadsheets, whose columns are named after languages, or source and target."""

    name = "CSV"
    family = "translation files"
    suffixes = (".csv", ".tsv")
    media_type = "text/csv"

    @override
    def read(self, content: bytes, languages: FileLanguages) -> SplicedDocument:
        text, encoding = decode(content, is_page=False)
        table = read_table(text)
        source, target = _columns(table.header, languages)
        said = table.header[source]
        slots = list(_slots(text, table, (source, target), languages.target))
        return SplicedDocument(
            text, encoding, slots, source_language=said if is_language_tag(said) else None
        )


def _columns(header: Sequence[str], languages: FileLanguages) -> tuple[int, int]:
    """The columns of source and target.

    Raises:
        DataError: there is none, or there are several.
    """
    tags = [name for name in header if is_language_tag(name)]
    target = fitting_language(languages.target, tags) or _called(header, _TARGETS)
    if target is None:
        raise DataError(
            f"line 1: no column for {languages.target!r}; call an empty one so; columns there: "
            f"{named(header)}"
        )
    if languages.source is not None:
        found = [fitting_language(languages.source, tags), _called(header, _SOURCES)]
        sources = [one for one in found if one is not None][:1]
    else:
        sources = [name for name in tags if name != target] or [
            name for name in [_called(header, _SOURCES)] if name is not None
        ]
    if len(sources) != 1:
        problem = "several columns may be the source" if sources else "no column is the source"
        raise DataError(
            f"line 1: {problem}; ask for the language of one, or call one 'source'; columns there: "
            f"{named(header)}"
        )
    return header.index(sources[0]), header.index(target)


def _called(header: Sequence[str], names: Sequence[str]) -> str | None:
    return next((name for name in header if name.lower() in names), None)


def _slots(text: str, table: Table, columns: tuple[int, int], target: str) -> Iterator[Slot]:
    pairs = [(row.cells[columns[0]], row.cells[columns[1]]) for row in table.rows]
    syntax = shown_syntax(source.text for source, _ in pairs)
    for source, cell in pairs:
        if source.text.strip() and not cell.text.strip():
            value = read_message(source.text, target, syntax=syntax)
            is_quoted = any(_is_quoted(text, one) for one in (source, cell))

            def written(found: Sequence[str], is_quoted: bool = is_quoted) -> str:
                return written_cell(found[0], table.delimiter, is_quoted=is_quoted)

            if value.texts:
                yield Slot(cell.start, cell.stop, [value], written)


def _is_quoted(text: str, cell: Cell) -> bool:
    return text.startswith('"', cell.start) and cell.stop > cell.start
