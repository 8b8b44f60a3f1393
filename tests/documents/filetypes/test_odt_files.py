"""Text documents of LibreOffice."""

from __future__ import annotations

import zipfile
from collections import Counter
from io import BytesIO
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from office_files import ODT_TYPE, O, ReversingService, body_of, odt, part, translated, zipped

from dragoman.translation.service.interface import RefusedError

_STYLES = """
<style:style style:name="T1" style:family="text"><style:text-properties style:rsid="001"/>
</style:style><style:style style:name="T2" style:family="text"><style:text-properties
fo:font-weight="bold"/></style:style><style:style style:name="T3" style:family="text"
style:parent-style-name="Emphasis"/>
"""
_NOTE = "<text:note><text:note-citation>i</text:note-citation><text:note-body><text:p>{}</text:p>"
_NOTE += "</text:note-body></text:note>"
_COMMENT = '<office:annotation office:name="1"><dc:creator>Ann</dc:creator><text:p>{}</text:p>'
_COMMENT += "</office:annotation>"
_GONE = "<text:tracked-changes><text:deletion><text:p>gone</text:p></text:deletion>"
_GONE += "</text:tracked-changes>"
_BOX = "<draw:text-box><text:p>{}</text:p></draw:text-box>"
_LINK = '<text:a href="http://a.b/">{}</text:a>'
_PAGE = "<text:page-number>v</text:page-number>"


def span(words: str, style: int = 2) -> str:
    return f'<text:span text:style-name="T{style}">{words}</text:span>'


def paragraph(words: str) -> str:
    return f'<text:p text:style-name="P1">{words}</text:p>'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("one &amp; two", "ONE &amp; TWOde"),
        (f"wo{span('rd', 1)}s", "WORDSde"),
        (f"a {span('bo')}{span('ld')} {span('word')} is", f"A {span('BOLD WORD')} ISde"),
        (f"one{span(' ')}two{span('<text:s/>')}three", "ONE TWO THREEde"),
        (f"an {span('other', 3)} style", f"AN {span('OTHER', 3)} STYLEde"),
        ('\n  one\n\ttwo <text:s text:c="2"/>three', 'ONE TWO <text:s text:c="2"/>THREEde'),
        ("<text:s/>one", '<text:s text:c="1"/>ONEde'),
        ('<text:s text:c="999999999999"/>one', '<text:s text:c="999999999999"/>ONEde'),
        (
            "one<text:tab/>two<text:line-break/>three",
            "ONEde<text:tab/>TWOde<text:line-break/>THREEde",
        ),
        (f"page {_PAGE} of it", f"PAGE {_PAGE} OF ITde"),
        (f"see {_LINK.format('this')} now", f"SEE {_LINK.format('THIS')} NOWde"),
        (f"one{_NOTE.format('two')} three", f"ONE{_NOTE.format('TWOde')} THREEde"),
        (f"12{_NOTE.format('two')}", f"12{_NOTE.format('TWOde')}"),
        (
            f'one {_COMMENT.format("two")}three<office:annotation-end office:name="1"/> four',
            f'ONE {_COMMENT.format("TWOde")}THREE<office:annotation-end office:name="1"/> FOURde',
        ),
        ('one<text:change text:change-id="c"/> two', 'ONE<text:change text:change-id="c"/> TWOde'),
        ("on<text:soft-page-break/>e", "ONEde"),
        ("one <draw:frame/> two", "ONE <draw:frame/> TWOde"),
        (
            "see <loext:content-control>this</loext:content-control> now",
            "SEE <loext:content-control>THIS</loext:content-control> NOWde",
        ),
        (
            f"<draw:frame>{_BOX.format('in a box')}<svg:title>one</svg:title></draw:frame>",
            f"<draw:frame>{_BOX.format('IN A BOXde')}<svg:title>ONEde</svg:title></draw:frame>",
        ),
    ],
)
def test_paragraphs(before: str, after: str) -> None:
    found = body_of(translated("a.odt", odt(paragraph(before), _STYLES)), "content.xml")
    assert found == paragraph(after)


def test_headings_lists_tables_and_tracked_deletions() -> None:
    body = (
        '<text:h text:outline-level="1">head</text:h><text:list><text:list-item>'
        "{}</text:list-item></text:list><table:table xmlns:table="
        '"urn:oasis:names:tc:opendocument:xmlns:table:1.0"><table:table-cell>{}</table:table-cell>'
        "</table:table>"
    )
    found = body_of(
        translated("a.odt", odt(body.format("<text:p>a</text:p>", "<text:p>b</text:p>"))),
        "content.xml",
    )
    assert found == body.replace("head<", "HEADde<").format(
        "<text:p>Ade</text:p>", "<text:p>Bde</text:p>"
    )


def test_headers_are_translated_and_the_type_stays_first_and_packed_as_it_is() -> None:
    styles = (
        f"<office:document-styles {O}><office:automatic-styles>{_STYLES}</office:automatic-styles>"
        "<office:master-styles><style:header><text:p>{}</text:p></style:header>"
        "</office:master-styles></office:document-styles>"
    )
    content = odt(paragraph("one"), **{"styles.xml": styles.format(f"he{span('ad', 1)}")})
    written = translated("a.odt", content)
    assert part(written, "styles.xml") == styles.format("HEADde")
    with zipfile.ZipFile(BytesIO(written)) as archive:
        first = archive.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
    assert written[30 : 38 + len(ODT_TYPE)] == b"mimetype" + ODT_TYPE.encode()


_WORDS = st.text("ab .12\n", min_size=1, max_size=9)
_POINTS = st.sampled_from(
    [
        _PAGE,
        _NOTE.format("x"),
        _COMMENT.format("y"),
        '<office:annotation-end office:name="1"/>',
        '<text:bookmark text:name="b"/>',
        '<text:s text:c="3"/>',
        "<text:tab/>",
    ]
)
_INLINE = st.recursive(
    st.lists(_WORDS | _POINTS, max_size=5).map("".join),
    lambda inner: st.lists(
        st.builds(span, inner, st.sampled_from([1, 2, 3])) | inner, max_size=3
    ).map("".join),
    max_leaves=6,
)


def _structure(content: bytes) -> tuple[Counter[str], Counter[str]]:
    """Elements but spans and spaces, and letters."""
    root = ElementTree.fromstring(part(content, "content.xml"))
    names = Counter(one.tag.partition("}")[2] for one in root.iter())
    del names["span"], names["s"]
    return names, Counter("".join("".join(root.itertext()).split()))


@settings(max_examples=25)
@given(_INLINE)
def test_nothing_is_lost_or_doubled_whatever_the_order_of_words(inline: str) -> None:
    content = odt(paragraph(inline), _STYLES)
    assert _structure(translated("a.odt", content, ReversingService())) == _structure(content)
    assert translated("a.odt", content, ReversingService(reverses=False)) == content


def test_a_document_with_nothing_to_translate_comes_back_byte_for_byte() -> None:
    content = odt(f"{_GONE}{paragraph('12')}{paragraph('')}<text:p/>")
    assert translated("a.odt", content) == content


_SHEET = ODT_TYPE.replace("text", "spreadsheet")
_ENCRYPTED = (
    '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:file-entry>'
    "<m:encryption-data/></m:file-entry></m:manifest>"
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"plain", "not a zip file"),
        (zipped({"a": "b"}), "does not say what it is"),
        (odt("", mimetype=_SHEET), "but 'application/vnd.oasis.*spreadsheet'"),
        (odt("", **{"Basic/script-lc.xml": "<a/>"}), "has macros"),
        (odt("", **{"META-INF/manifest.xml": _ENCRYPTED}), "is encrypted"),
        (zipped({"mimetype": ODT_TYPE}), r"no part 'content\.xml'"),
        (odt("", **{"content.xml": "<a>"}), r"part 'content\.xml': not well-formed"),
        (odt("", **{"content.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}), "document type"),
        (odt("", **{"content.xml": '<!DOCTYPE a SYSTEM "file:///b"><a/>'}), "document type"),
        (odt("<text:p>" * 30 + "</text:p>" * 30), "more than 16 paragraphs"),
    ],
)
def test_hostile_files_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(RefusedError, match=message) as error:
        translated("a.odt", content)
    assert error.value.kind == "invalid"
