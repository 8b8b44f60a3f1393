"""Spreadsheets of LibreOffice."""

from __future__ import annotations

import pytest
from office_files import CapitalService, ReversingService, body_of, odt, part, translated

from dragoman.documents.filetypes import FileLanguages, document_format
from dragoman.translation.service.interface import RefusedError

_NOTE = "<office:annotation><dc:creator>Ann</dc:creator><text:p>{}</text:p></office:annotation>"


def cell(content: str, attributes: str = 'office:value-type="string"') -> str:
    return f"<table:table-cell {attributes}>{content}</table:table-cell>"


def paragraph(words: str) -> str:
    return f"<text:p>{words}</text:p>"


def ods(*content: str, **others: str) -> bytes:
    body = "".join(content)
    return odt(body, kind="spreadsheet", **others)


_STRING = 'office:value-type="string" office:string-value="{}"'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (cell(paragraph("one")), cell(paragraph("ONEde"))),
        (cell(paragraph("one"), ""), cell(paragraph("ONEde"), "")),
        (
            cell(paragraph("one") + paragraph("two <text:span>b</text:span>")),
            cell(paragraph("ONEde") + paragraph("TWO <text:span>Bde</text:span>")),
        ),
        (
            cell(paragraph("a &lt; &quot;b&quot;"), _STRING.format("a &lt; &quot;b&quot;")),
            cell(paragraph('A &lt; "B"de'), _STRING.format("A &lt; &quot;B&quot;de")),
        ),
        (
            cell(_NOTE.format("check it") + paragraph("5 May"), 'office:value-type="date"'),
            cell(_NOTE.format("CHECK ITde") + paragraph("5 May"), 'office:value-type="date"'),
        ),
        (
            cell(
                "<draw:frame><draw:text-box><text:p>box</text:p></draw:text-box></draw:frame>"
                "<text:p/>" + paragraph("5 <text:span>kg</text:span>"),
                'office:value-type="float"',
            ),
            cell(
                "<draw:frame><draw:text-box><text:p>BOXde</text:p></draw:text-box></draw:frame>"
                "<text:p/>" + paragraph("5 <text:span>kg</text:span>"),
                'office:value-type="float"',
            ),
        ),
    ],
)
def test_words_are_translated_and_values_are_not(before: str, after: str) -> None:
    assert body_of(translated("a.ods", ods(before)), "content.xml") == after


@pytest.mark.parametrize(
    "kept",
    [
        cell(paragraph("one"), f'table:formula="of:=[.A1]" {_STRING.format("one")}'),
        cell(paragraph("TRUE"), 'office:value-type="boolean"'),
        "<table:tracked-changes><table:previous><table:change-track-table-cell><text:p>old</text:p>"
        "</table:change-track-table-cell></table:previous></table:tracked-changes>",
        '<table:table table:name="Sheet one"/>',
        '<table:named-range table:name="prices"/>',
    ],
)
def test_formulas_values_and_names_stay(kept: str) -> None:
    content = ods(kept, cell(paragraph("two")))
    found = body_of(translated("a.ods", content), "content.xml")
    assert found == kept + cell(paragraph("TWOde"))


@pytest.mark.parametrize(
    "other",
    [
        '<table:table-cell table:formula="of:=IF([.A1]=&quot;yes&quot;;1;2)"/>',
        '<table:content-validation table:condition=\'of:cell-content-is-in-list("Yes";"No")\'/>',
        '<table:filter-condition table:operator="=" table:value="YES"/>',
        '<table:filter-set-item table:value="Yes"/>',
        '<table:data-pilot-field table:source-field-name="Yes"/>',
        '<style:map style:condition="cell-content()=&quot;Yes&quot;"/>',
    ],
)
def test_words_that_formulas_filters_and_lists_name_stay(other: str) -> None:
    content = ods(other, cell(paragraph("Yes"), _STRING.format("Yes")), cell(paragraph("yes, sir")))
    found = body_of(translated("a.ods", content), "content.xml")
    named = cell(paragraph("Yes"), _STRING.format("Yes"))
    assert found == other + named + cell(paragraph("YES, SIRde"))


def test_macros_and_other_parts_stay_and_words_that_stay_change_nothing() -> None:
    script = {"Basic/Standard/Module1.xml": "<a>one</a>"}
    content = ods(cell(paragraph("one")), **script)
    written = translated("a.ods", content)
    assert part(written, "Basic/Standard/Module1.xml") == "<a>one</a>"
    assert translated("a.ods", content, ReversingService(reverses=False)) == content


def test_translations_have_the_outline_of_their_source() -> None:
    value = cell(_NOTE.format("a b") + paragraph("1"), 'office:value-type="float"')
    content = ods(cell(paragraph("c d")), value, cell(paragraph("e"), _STRING.format("e")))
    for service in (CapitalService(), ReversingService()):
        found = translated("a.ods", content, service)
        assert found != content
        one, other = (
            document_format("a.ods").read(raw, FileLanguages("en", "de")).outline
            for raw in (content, found)
        )
        assert all(a.is_kept_in(b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"plain", "not a zip file"),
        (odt(""), r"not a spreadsheet \(\.ods\), but 'application/vnd\.oasis\..*text'"),
        (ods("<a>"), r"part 'content\.xml': not well-formed"),
        (ods("", **{"content.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}), "document type"),
    ],
)
def test_hostile_files_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(RefusedError, match=message) as error:
        translated("a.ods", content)
    assert error.value.kind == "invalid"
