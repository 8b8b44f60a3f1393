"""Text of office documents that is in no run: initials, readings, attributes and charts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from document_models import SayingService
from echo_service import EchoService
from office_files import (
    CapitalService,
    O,
    ReversingService,
    body_of,
    docx,
    odt,
    open_xml,
    part,
    pptx,
    run,
    translated,
)

from dragoman.translation.service.interface import RefusedError

_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
_SPACES = (
    f'xmlns:wp="{_DRAWING}/wordprocessingDrawing" xmlns:pic="{_DRAWING}/picture" '
    f'xmlns:a="{_DRAWING}/main" xmlns:c="{_DRAWING}/chart"'
)


def paragraph(*content: str) -> str:
    return f"<w:p>{''.join(content)}</w:p>"


def capital(*content: str) -> str:
    """The body of a document, translated into capital letters."""
    return body_of(translated("a.docx", docx("".join(content)), CapitalService()))


def asked(content: bytes) -> list[str]:
    """The texts of a document that a service is asked for."""
    service = EchoService()
    translated("a.docx", content, service)
    return [one.text for call in service.calls for one in call]


def frame(*content: str, kind: str = "drop") -> str:
    place = f'<w:pPr><w:framePr w:dropCap="{kind}" w:lines="3"/></w:pPr>'
    return f"<w:p>{place}{''.join(content)}</w:p>"


_LARGE = '<w:sz w:val="96"/>'
_PLACE = '<w:pPr><w:jc w:val="both"/></w:pPr>'


@pytest.mark.parametrize(
    ("before", "words", "after"),
    [
        pytest.param(
            [frame(run("T", _LARGE)), paragraph(_PLACE, run("he house is "), run("old", "<w:b/>"))],
            "Das Haus ist alt",
            [frame(run("D", _LARGE)), paragraph(_PLACE, run("as Haus ist "), run("alt", "<w:b/>"))],
            id="the letter belongs to the word",
        ),
        pytest.param(
            [frame(run("A", _LARGE), kind="margin"), "\n ", paragraph(run(" house is old."))],
            "Ein Haus ist alt.",
            [frame(run("E", _LARGE), kind="margin"), "\n ", paragraph(run("in Haus ist alt."))],
            id="in the margin, with white space between",
        ),
        pytest.param(
            [frame(run("“I", _LARGE)), paragraph(run("t is”"))],
            "„Es ist“",
            [frame(run("„E", _LARGE)), paragraph(run("s ist“"))],
            id="with a quotation mark",
        ),
        pytest.param(
            [frame(run("Once", _LARGE)), paragraph(run(" upon a time"))],
            "Es war einmal",
            [frame(run("Es", _LARGE)), paragraph(run(" war einmal"))],
            id="a whole word",
        ),
        pytest.param(
            [frame(run("R", _LARGE)), paragraph('<w:bookmarkStart w:id="1"/>', run("&amp;D is"))],
            "F&E ist",
            [
                frame(run("F", _LARGE)),
                paragraph('<w:bookmarkStart w:id="1"/>', run("&amp;E ist")),
            ],
            id="signs are written as XML has them",
        ),
        pytest.param(
            [frame(run("T", _LARGE)), paragraph("<w:r><w:tab/></w:r>", run("one"))],
            "x",
            [frame(run("x", _LARGE)), paragraph("<w:r><w:tab/></w:r>", run("x"))],
            id="a tab parts them",
        ),
        pytest.param(
            [frame(run("T", _LARGE)), "<w:tbl/>", paragraph(run("one"))],
            "x",
            [frame(run("x", _LARGE)), "<w:tbl/>", paragraph(run("x"))],
            id="so does a table",
        ),
        pytest.param(
            [frame(run("A", _LARGE)), frame(run("B", _LARGE)), paragraph(run("c"))],
            "xy",
            [frame(run("xy", _LARGE)), frame(run("x", _LARGE)), paragraph(run("y"))],
            id="two of them",
        ),
        pytest.param([frame(run("A"))], "x", [frame(run("x"))], id="nothing behind it"),
    ],
)
def test_initials(before: list[str], words: str, after: list[str]) -> None:
    content = docx("".join(before))
    found = translated("a.docx", content, SayingService(lambda _: words))
    assert body_of(found) == "".join(after)
    assert translated("a.docx", content, ReversingService(reverses=False)) == content


def test_the_word_of_an_initial_is_read_as_a_whole() -> None:
    content = docx(frame(run("T", _LARGE)) + paragraph(run("he house")))
    assert asked(content) == ["The house"]


def ruby(base: str, reading: str) -> str:
    inner = f"<w:rt>{run(reading)}</w:rt><w:rubyBase>{base}</w:rubyBase>"
    return f'<w:r><w:ruby><w:rubyPr><w:lid w:val="ja-JP"/></w:rubyPr>{inner}</w:ruby></w:r>'


def test_readings_are_not_read_and_their_words_are() -> None:
    content = docx(paragraph(run("in "), ruby(run("Kyoto"), "kyo"), run(" today")))
    assert asked(content) == ["in Kyoto today"]
    assert body_of(translated("a.docx", content, ReversingService())) == paragraph(
        run("yadot "), ruby(run("otoyK"), "kyo"), run(" ni")
    )


def test_readings_in_text_documents() -> None:
    text = "<text:p>in <text:ruby><text:ruby-base>{}</text:ruby-base><text:ruby-text>kyo"
    text += "</text:ruby-text></text:ruby> {}</text:p>"
    content = odt(text.format("Kyoto", "today"))
    found = body_of(translated("a.odt", content, CapitalService()), "content.xml")
    assert found == text.replace("in <", "IN <").format("KYOTO", "TODAY")


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ('<wp:docPr id="1" name="Picture 1" title="{}" descr="{}"/>', ["one", "two &amp; three"]),
        ('<pic:cNvPr id="1" name="a b" descr="{}"/>', ["one two"]),
        ("<pic:cNvPr id='1' descr='{}'/>", ["one"]),
        ('<v:shape id="s 1" alt="{}"><v:textpath style="a:b" string="{}"/></v:shape>', ["a", "b"]),
        ('<w:tblPr><w:tblCaption w:val="{}"/><w:tblDescription w:val="{}"/></w:tblPr>', ["a", "b"]),
        ('<w:listItem w:displayText="{}" w:value="one"/>', ["one"]),
        ('<w:ddList><w:listEntry w:val="{}"/></w:ddList>', ["one"]),
        ('<w:helpText w:type="text" w:val="{}"/>', ["one"]),
        ('<wp:docPr descr="{}&#xA;&#xA;{}"/>', ["one line", "another"]),
    ],
)
def test_attributes_that_people_read(form: str, shown: Sequence[str]) -> None:
    body = f"<w:x {_SPACES}>{form}</w:x>"
    assert capital(body.format(*shown)) == body.format(
        *(one.upper().replace("&AMP;", "&amp;") for one in shown)
    )


@pytest.mark.parametrize("place", ["inline", "in a run"])
def test_attributes_within_a_paragraph(place: str) -> None:
    picture = '<w:drawing><wp:docPr xmlns:wp="{}" descr="{}"/></w:drawing>'
    picture = f"<w:r>{picture.format(_DRAWING + '/wordprocessingDrawing', '{}')}</w:r>"
    if place == "inline":
        picture = '<w:sdt><w:sdtPr><w:listItem w:displayText="{}" w:value="v"/></w:sdtPr>'
        picture += "<w:sdtContent>" + run("x") + "</w:sdtContent></w:sdt>"
    found = capital(paragraph(run("one "), picture.format("two"), run(" three")))
    assert found == paragraph(
        run("ONE "), picture.format("TWO").replace(">x<", ">X<"), run(" THREE")
    )


def test_links_have_hints() -> None:
    link = '<w:hyperlink r:id="r1" w:tooltip="{}">{}</w:hyperlink>'
    found = capital(paragraph(run("see "), link.format("a hint", run("this"))))
    assert found == paragraph(run("SEE "), link.format("A HINT", run("THIS")))


@pytest.mark.parametrize(
    "raw",
    ["photo.jpg", "C:\\x\\my photo.png", "https://a.example/b-c", "\\\\host\\a b", "12", "", " "],
)
def test_names_of_files_are_no_texts(raw: str) -> None:
    body = f'<w:x {_SPACES}><wp:docPr descr="{raw}"/>{paragraph(run("one"))}</w:x>'
    assert capital(body) == body.replace(">one<", ">ONE<")


def test_a_translation_ends_no_attribute() -> None:
    service = SayingService(lambda _: "a \"b\" 'c' & e\nf")
    for quote in "\"'":
        body = f"<w:x {_SPACES}><wp:docPr descr={quote}one{quote}/></w:x>"
        found = body_of(translated("a.docx", docx(body), service))
        value = "a &quot;b&quot; &#39;c&#39; &amp; e\nf"
        assert found.replace("\n", " ") == body.replace("one", value).replace("\n", " ")


def test_alternative_text_of_slides() -> None:
    shape = '<p:cNvPr id="1" name="Picture 1" descr="{}" title="{}"/>'
    content = pptx("<a:r><a:t>12</a:t></a:r>", slideMaster=shape, notesSlide=shape.format("a", "b"))
    written = translated("a.pptx", content, CapitalService())
    assert shape.format("A", "B") in part(written, "notesSlide.xml")
    assert shape in part(written, "slideMaster.xml")


def chart(name: str, kinds: str, title: str) -> str:
    """A chart with words of a workbook and words of its own."""
    cache = '<c:strRef><c:f>Sheet1!$A$1</c:f><c:strCache><c:ptCount val="1"/><c:pt idx="0"><c:v>{}'
    cache += "</c:v></c:pt></c:strCache></c:strRef>"
    numbers = (
        "<c:val><c:numRef><c:numCache><c:formatCode>General</c:formatCode><c:pt><c:v>a 1</c:v>"
    )
    numbers += "</c:pt></c:numCache></c:numRef></c:val>"
    text = f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx>"
    return (
        f"<c:chartSpace {_SPACES}>{text}</c:title><c:ser><c:tx>{cache.format(name)}</c:tx>"
        f"<c:cat>{cache.format(kinds)}</c:cat>{numbers}</c:ser></c:chartSpace>"
    )


@pytest.mark.parametrize("suffix", ["docx", "pptx"])
def test_the_words_of_charts(suffix: str) -> None:
    kind, main = {
        "docx": ("wordprocessingml.document.main", "w.xml"),
        "pptx": ("presentationml.presentation.main", "p.xml"),
    }[suffix]
    content = open_xml(
        {main: kind, "chart1.xml": "drawingml.chart"},
        {main: "<x/>", "chart1.xml": chart("Sales of cars", "East", "The chart")},
    )
    found = part(translated(f"a.{suffix}", content, CapitalService()), "chart1.xml")
    assert found == chart("SALES OF CARS", "EAST", "THE CHART")


def test_the_words_of_charts_of_text_documents() -> None:
    text = (
        f"<office:document-content {O} "
        'xmlns:chart="urn:oasis:names:tc:opendocument:xmlns:chart:1.0">'
        "<chart:title><text:p>{}</text:p></chart:title></office:document-content>"
    )
    space = 'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"'
    entry = '<manifest:file-entry manifest:media-type="application/vnd.oasis.opendocument.{}" '
    entry += 'manifest:full-path="{}/"/>'
    listed = entry.format("chart", "Object 1") + entry.format("formula", "Object 2")
    content = odt(
        "<text:p>one</text:p>",
        **{
            "META-INF/manifest.xml": f"<manifest:manifest {space}>{listed}</manifest:manifest>",
            "Object 1/content.xml": text.format("a title"),
            "Object 2/content.xml": text.format("a title"),
        },
    )
    written = translated("a.odt", content, CapitalService())
    assert part(written, "Object 1/content.xml") == text.format("A TITLE")
    assert part(written, "Object 2/content.xml") == text.format("a title")


def test_placeholders_of_controls_are_translated_where_they_are_kept() -> None:
    text = "<w:glossaryDocument {}><w:docPart><w:name w:val='a b'/>{}</w:docPart>"
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    text = text.format(space, "{}") + "</w:glossaryDocument>"
    content = open_xml(
        {"d.xml": "wordprocessingml.document.main", "g.xml": "wordprocessingml.document.glossary"},
        {"d.xml": "<x/>", "g.xml": text.format(paragraph(run("Click here")))},
    )
    found = part(translated("a.docx", content, CapitalService()), "g.xml")
    assert found == text.format(paragraph(run("CLICK HERE")))


def test_alternatives_within_one_another_are_bounded() -> None:
    deep = '<mc:AlternateContent><mc:Choice Requires="a">'
    ends = "</mc:Choice></mc:AlternateContent>"
    few, many = (deep * depth + paragraph(run("one")) + ends * depth for depth in (3, 40))
    assert capital(few) == few.replace(">one<", ">ONE<")
    with pytest.raises(RefusedError, match="more than 16"):
        capital(many)
