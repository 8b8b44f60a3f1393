"""Workbooks."""

from __future__ import annotations

import asyncio
import datetime
import io
import zipfile
from collections.abc import Sequence

import openpyxl
import pytest
from document_models import SayingService
from hypothesis import example, given, settings
from hypothesis import strategies as st
from office_files import (
    CapitalService,
    ReversingService,
    X,
    open_xml,
    part,
    translated,
    xlsm,
    xlsx,
    zipped,
)
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.table import Table

from dragoman.documents.file_translation import translate_file
from dragoman.documents.office.workbook import REPEATED
from dragoman.translation.service.interface import RefusedError, TextRequest

_BOLD = "<rPr><b/><sz val='11'/></rPr>"
_STRINGS = "xl/sharedStrings.xml"
_KEPT = ' xml:space="preserve"'


def run(words: str, look: str = "", space: str = "") -> str:
    return f"<r>{look}<t{space}>{words}</t></r>"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<t>one &amp; two</t>", "<t>ONE &amp; TWOde</t>"),
        ("<t>  a b </t>", f"<t{_KEPT}>  A Bde </t>"),
        ("<t>one\ntwo&#10;three</t>", f"<t{_KEPT}>ONEde\nTWOde&#10;THREEde</t>"),
        ("<t>one_x000D_two</t>", "<t>ONEde_x000D_TWOde</t>"),
        ("<t>12.5</t>", "<t>12.5</t>"),
        ("<t/>", "<t/>"),
        (
            "<t>word</t><rPh sb='0' eb='1'><t>reading</t></rPh><phoneticPr fontId='1'/>",
            "<t>WORDde</t>",
        ),
        (
            run("some ", space=_KEPT) + run("bold", _BOLD) + run(" text", space=_KEPT),
            run("SOME ", space=_KEPT) + run("BOLD", _BOLD) + run(" TEXTde", space=_KEPT),
        ),
        (run("wo", _BOLD) + "\n" + run("rd", _BOLD), run("WORDde", _BOLD)),
        (run("one\n", _BOLD) + run("two"), run("ONEde\n", _BOLD, _KEPT) + run("TWOde")),
        ("<t>one </t>" + run("two", _BOLD), run("ONE ", "", _KEPT) + run("TWOde", _BOLD)),
    ],
)
def test_strings(before: str, after: str) -> None:
    assert part(translated("a.xlsx", xlsx(before)), _STRINGS) == part(xlsx(after), _STRINGS)


def test_strings_in_cells_and_comments_are_translated_and_results_of_formulas_are_not() -> None:
    sheet = (
        '<row><c t="inlineStr"><is><t>{}</t></is></c><c t="str"><f>A1&amp;A2</f><v>one</v></c>'
        '<c t="s"><v>0</v></c></row>'
    )
    content = xlsx("<t>word</t>", sheet=sheet.format("one"), comments="<text><t>two</t></text>")
    written = translated("a.xlsx", content)
    assert sheet.format("ONEde") in part(written, "xl/sheet1.xml")
    assert "<text><t>TWOde</t></text>" in part(written, "xl/comments.xml")
    # Programs are told to make the texts of formulas again.
    assert '<calcPr calcId="1" fullCalcOnLoad="1"/>' in part(written, "xl/workbook.xml")
    assert "fullCalc" not in part(translated("a.xlsx", xlsx("<t>word</t>")), "xl/workbook.xml")


@pytest.mark.parametrize(
    "sheet",
    [
        '<f>IF(A1="Yes","x",2)</f>',
        "<f t='array' ref='A1'>COUNTIF(A:A,&quot;&lt;&gt;yes&quot;)</f>",
        '<dataValidation type="list"><formula1>"No,Yes ,Perhaps"</formula1></dataValidation>',
        '<cfRule type="containsText" text="YES"><formula>NOT(ISERROR(A1))</formula></cfRule>',
        '<filterColumn colId="0"><filters><filter val="Yes"/></filters></filterColumn>',
        '<customFilter operator="equal" val="yes"/>',
        "<f>SUM(T[Yes])</f>",
        "<f>T[[#This Row],[Yes]]*2</f>",
        "<f>[@Yes]*2</f>",
        '<x:cfRule xmlns:x="a>" a="&gt;" text="Yes"/>',
    ],
)
def test_words_that_formulas_filters_and_lists_name_stay(sheet: str) -> None:
    content = xlsx("<t>Yes</t>", "<t>Yes, sir</t>", sheet=sheet)
    found = part(translated("a.xlsx", content), _STRINGS)
    assert "<si><t>Yes</t></si><si><t>YES, SIRde</t></si>" in found


@pytest.mark.parametrize(
    "other",
    [
        {"pivotCacheDefinition": '<cacheField name="Yes"/>'},
        {"queryTable": '<queryTableField id="1" name="Yes"/>'},
        {"table": "<calculatedColumnFormula>T[Yes]</calculatedColumnFormula>"},
    ],
)
def test_words_that_other_parts_name_stay(other: dict[str, str]) -> None:
    content = xlsx("<t>Yes</t>", "<t>No</t>", **other)
    found = part(translated("a.xlsx", content), _STRINGS)
    assert "<si><t>Yes</t></si><si><t>NOde</t></si>" in found


def _table(*names: str) -> str:
    return "".join(f'<tableColumn id="1" name="{name}"/>' for name in names)


def _told(content: bytes, service: CapitalService | SayingService) -> tuple[bytes, list[str]]:
    told: list[str] = []
    request = TextRequest("", "de", "en")
    found = asyncio.run(
        translate_file(
            service, "a.xlsx", content, request, untranslatable=lambda *one: told.append(one[1])
        )
    )
    return found.content, told


def test_headers_of_tables_say_what_their_cells_say() -> None:
    names = ["Unit &quot;price&quot;", "Sum"]
    content = xlsx('<t>Unit "price"</t>', "<t>Sum</t>", "<t>more</t>", table=_table(*names))
    written, told = _told(content, CapitalService())
    assert _table("UNIT &quot;PRICE&quot;", "SUM") in part(written, "xl/table.xml")
    assert '<si><t>UNIT "PRICE"</t></si><si><t>SUM</t></si>' in part(written, _STRINGS)
    assert told == []


@pytest.mark.parametrize("said", ["same", "x" * 256])
def test_headers_stay_where_a_table_would_have_two_of_one_name_or_too_long_ones(said: str) -> None:
    content = xlsx("<t>one</t>", "<t>two</t>", "<t>cell</t>", table=_table("one", "two"))
    written, told = _told(content, SayingService(lambda _: said))
    assert _table("one", "two") in part(written, "xl/table.xml")
    strings = f"<si><t>one</t></si><si><t>two</t></si><si><t>{said}</t></si>"
    assert strings in part(written, _STRINGS)
    assert told == [REPEATED] * 2


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("<t>one\ntwo</t>", "one_x000a_two"),
        (run("one ") + run("two", _BOLD), "one two"),
    ],
)
def test_headers_that_their_cells_have_in_another_form_stay(cell: str, name: str) -> None:
    content = xlsx(cell, "<t>more</t>", table=_table(name))
    written = translated("a.xlsx", content)
    assert _table(name) in part(written, "xl/table.xml")
    assert f"<si>{cell}</si><si><t>MOREde</t></si>" in part(written, _STRINGS)


_THREADS = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"


@pytest.mark.parametrize(
    ("mention", "after"), [("", "ONEde"), ('<mention startIndex="0" length="3"/>', "one")]
)
def test_comments_in_threads_are_translated_unless_someone_is_named(
    mention: str, after: str
) -> None:
    thread = f'<ThreadedComments xmlns="{_THREADS}"><text>{{}}</text>{mention}</ThreadedComments>'
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Override PartName="/a.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        'spreadsheetml.sheet.main+xml"/><Override PartName="/b.xml" ContentType='
        '"application/vnd.ms-excel.threadedcomments+xml"/></Types>'
    )
    parts = {"[Content_Types].xml": types, "a.xml": f"<a {X}/>", "b.xml": thread.format("one")}
    assert part(translated("a.xlsx", zipped(parts)), "b.xml") == thread.format(after)


def _made() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Sales 2026"
    sheet.append(["Product", "Price", "Status", "Day"])
    sheet.append(["Red apple", 1.5, "open", datetime.date(2026, 1, 2)])
    sheet.append(["Green pear", 2.5, "closed", datetime.date(2026, 1, 3)])
    sheet["A5"] = CellRichText("A ", TextBlock(InlineFont(b=True), "bold"), " word")
    sheet["A6"] = "One line\nand a second"
    sheet["B6"] = '=IF(C2="open","still open",Sales 2026!A2)'
    sheet["C6"] = "=SUM(T[Price])"
    sheet["A6"].comment = Comment("Please check", "Ann")
    sheet.add_table(Table(displayName="T", ref="A1:D3"))
    choice = DataValidation(type="list", formula1='"open,closed"')
    sheet.add_data_validation(choice)
    choice.add("C2")
    chart = BarChart()
    chart.title = "Prices of fruit"
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "F2")
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def test_a_workbook_of_openpyxl_opens_again() -> None:
    content = _made()
    written = translated("a.xlsx", content, CapitalService())
    book = openpyxl.load_workbook(io.BytesIO(written), rich_text=True)
    sheet = book.active
    assert sheet is not None
    assert book.sheetnames == ["Sales 2026"]
    days = [datetime.datetime(2026, 1, day) for day in (2, 3)]
    assert list(sheet.iter_rows(values_only=True, max_row=3)) == [
        ("PRODUCT", "Price", "STATUS", "DAY"),
        ("RED APPLE", 1.5, "open", days[0]),
        ("GREEN PEAR", 2.5, "closed", days[1]),
    ]
    rich = sheet["A5"].value
    assert str(rich) == "A BOLD WORD"
    assert [one.text for one in rich if isinstance(one, TextBlock) and one.font.b] == ["BOLD"]
    assert sheet["A6"].value == "ONE LINE\nAND A SECOND"
    assert sheet["A6"].comment.text == "PLEASE CHECK"
    formulas = ['=IF(C2="open","still open",Sales 2026!A2)', "=SUM(T[Price])"]
    assert [sheet["B6"].value, sheet["C6"].value] == formulas
    names = ["PRODUCT", "Price", "STATUS", "DAY"]
    assert [one.name for one in sheet.tables["T"].tableColumns] == names
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(io.BytesIO(written)) as new:
        assert old.namelist() == new.namelist()
        changed = {name for name in old.namelist() if old.read(name) != new.read(name)}
    assert {name.split("/")[1] for name in changed} == {
        *("worksheets", "comments", "tables", "charts")
    }
    assert translated("a.xlsx", content, ReversingService(reverses=False)) == content


_WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(_WORDS | st.integers(0, 9**9) | st.sampled_from(["a", "=B1&1"]))))
@example([["line one\nline two", "_x0041_", " <b>&amp; ", 5]])
def test_cells_hold_what_they_held_and_words_that_stay_change_nothing(
    rows: Sequence[Sequence[str | int]],
) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in rows:
        sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    content = buffer.getvalue()
    assert translated("a.xlsx", content, ReversingService(reverses=False)) == content
    found = translated("a.xlsx", content, ReversingService())
    before, after = (
        openpyxl.load_workbook(io.BytesIO(raw)).active.iter_rows(values_only=True)
        for raw in (content, found)
    )
    for old, new in zip(before, after, strict=True):
        assert len(old) == len(new)
        for one, other in zip(old, new, strict=True):
            if isinstance(one, str) and not one.startswith("="):
                assert set(other) <= {*one, " "}
            else:
                assert other == one


def test_macros_stay_as_they_are() -> None:
    written = translated("a.xlsm", xlsm("<t>one</t>"))
    assert "<t>ONEde</t>" in part(written, _STRINGS)
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        assert archive.read("xl/vbaProject.bin") == b"\xd0macro"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", b"plain", "not a zip file"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "the file is encrypted"),
        ("a.xlsx", zipped({"a": "b"}), r"no part '\[Content_Types\]\.xml'"),
        ("a.xlsx", xlsm(), r"not a workbook \(\.xlsx\), but a workbook with macros"),
        ("a.xlsm", xlsx(), r"not a workbook with macros \(\.xlsm\), but a workbook \(\.xlsx\)"),
        (
            "a.xlsx",
            open_xml({"a.xml": "wordprocessingml.document.main"}, {"a.xml": "<a/>"}),
            "but a document of Word",
        ),
        ("a.xlsx", xlsx("<t>"), r"part 'xl/sharedStrings\.xml': not well-formed"),
        ("a.xlsx", xlsx(table='<!DOCTYPE a SYSTEM "file:///b">'), r"table\.xml': not well-formed"),
        ("a.xlsx", xlsx("<r>" * 200 + "</r>" * 200), "nested more than 200 deep"),
    ],
)
def test_hostile_files_are_refused(name: str, content: bytes, message: str) -> None:
    with pytest.raises(RefusedError, match=message) as error:
        translated(name, content)
    assert error.value.kind == "invalid"


def test_too_large_sheets_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.documents.filetypes.workbook_files._MOST_CELLS", 99)
    with pytest.raises(RefusedError, match="at most 99 are read; divide the workbook"):
        translated("a.xlsx", xlsx())
