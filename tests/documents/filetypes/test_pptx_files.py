"""Presentations."""

from __future__ import annotations

import io
import zipfile

import pytest
from office_files import P, ReversingService, open_xml, part, pptx, run, translated

from dragoman.translation.service.interface import RefusedError

_BOLD = '<a:rPr lang="en-US" b="1"/>'


def words(text: str, look: str = "") -> str:
    return f"<a:r>{look}<a:t>{text}</a:t></a:r>"


_NUMBER = '<a:fld id="{1}" type="slidenum"><a:rPr lang="en-US"/><a:t>v</a:t></a:fld>'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([words("one &amp; two ")], [words("ONE &amp; TWOde ")]),
        (
            [words("wo", '<a:rPr lang="en-US" dirty="0" err="1"/>'), words("rd", "<a:rPr/>")],
            [words("WORDde", '<a:rPr lang="en-US" dirty="0" err="1"/>')],
        ),
        (
            ["<a:pPr/>", words("some "), words("bold", _BOLD), words(" text"), "<a:endParaRPr/>"],
            ["<a:pPr/>", words("SOME "), words("BOLD", _BOLD), words(" TEXTde"), "<a:endParaRPr/>"],
        ),
        (
            [words("one\ttwo"), "<a:br><a:rPr/></a:br>", words("three")],
            [
                words("ONEde"),
                words("\t"),
                words("TWOde"),
                "<a:br><a:rPr/></a:br>",
                words("THREEde"),
            ],
        ),
        (
            [words("one_x000B_two")],
            [words("ONEde"), words("_x000B_"), words("TWOde")],
        ),
        (
            [words("slide "), _NUMBER, words(" of it")],
            [words("SLIDE "), _NUMBER, words(" OF ITde")],
        ),
    ],
)
def test_paragraphs(before: list[str], after: list[str]) -> None:
    written = part(translated("a.pptx", pptx(*before)), "slide1.xml")
    assert written == part(pptx(*after), "slide1.xml")


def test_notes_and_comments_are_translated_and_layouts_are_not() -> None:
    one = f"<a:p>{words('one')}</a:p>"
    content = pptx(words("12"), notesSlide=one, slideLayout=one, comments="<p:text>a b</p:text>")
    written = translated("a.pptx", content)
    assert ">ONEde<" in part(written, "notesSlide.xml")
    assert ">one<" in part(written, "slideLayout.xml")
    assert "<p:text>A Bde</p:text>" in part(written, "comments.xml")


def test_a_picture_of_a_diagram_says_what_its_data_say() -> None:
    content = open_xml(
        {"p.xml": "presentationml.presentation.main", "a.xml": "drawingml.diagramData"},
        {
            "p.xml": "<p/>",
            "a.xml": f"<x {P}><a:p>{words('one')}</a:p><a:p>{words('one')}</a:p></x>",
        },
    )
    assert part(translated("a.pptx", content), "a.xml").count(words("ONEde")) == 2


def test_a_presentation_of_python_pptx_opens_again() -> None:
    package = pytest.importorskip("pptx")
    chart_data = pytest.importorskip("pptx.chart.data")
    kinds = pytest.importorskip("pptx.enum.chart")
    presentation = package.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "A title"
    body = slide.placeholders[1].text_frame.paragraphs[0]
    body.add_run().text = "some "
    bold = body.add_run()
    bold.text, bold.font.bold = "bold", True
    body.add_run().text = " text"
    slide.notes_slide.notes_text_frame.text = "a note"
    slide.shapes.add_table(1, 1, 0, 0, 9, 9).table.cell(0, 0).text = "cell"
    data = chart_data.CategoryChartData()
    data.categories = ["East"]
    data.add_series("Sales", (1,))
    chart = slide.shapes.add_chart(kinds.XL_CHART_TYPE.PIE, 0, 0, 9, 9, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "the chart"
    buffer = io.BytesIO()
    presentation.save(buffer)
    written = translated("a.pptx", buffer.getvalue())
    found = package.Presentation(io.BytesIO(written)).slides[0]
    frames = [one.text_frame for one in found.shapes if one.has_text_frame]
    assert [one.text for one in frames] == ["A TITLEde", "SOME BOLD TEXTde"]
    assert [one.text for one in frames[1].paragraphs[0].runs if one.font.bold] == ["BOLD"]
    assert found.notes_slide.notes_text_frame.text == "A NOTEde"
    table, drawn = found.shapes[2], found.shapes[3]
    assert table.table.cell(0, 0).text == "CELLde"
    assert drawn.chart.chart_title.text_frame.text == "THE CHARTde"
    assert list(drawn.chart.plots[0].categories) == ["EASTde"]
    assert [(one.name, list(one.values)) for one in drawn.chart.plots[0].series] == [
        ("SALESde", [1.0])
    ]
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(io.BytesIO(written)) as new:
        assert old.namelist() == new.namelist()
        changed = [name for name in old.namelist() if old.read(name) != new.read(name)]
    assert {name.split("/")[1] for name in changed} == {"slides", "notesSlides", "charts"}


def test_the_same_words_are_the_same_bytes() -> None:
    content = pptx(words("some "), words("bold", _BOLD), words("er text"))
    assert translated("a.pptx", content, ReversingService(reverses=False)) == content


def test_a_document_of_word_is_none() -> None:
    content = open_xml({"a.xml": "wordprocessingml.document.main"}, {"a.xml": run("one")})
    with pytest.raises(
        RefusedError, match=r"not a presentation \(\.pptx\), but a document of Word"
    ):
        translated("a.pptx", content)
