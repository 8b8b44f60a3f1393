"""Documents of Word."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from office_files import (
    HEAD,
    CapitalService,
    ReversingService,
    W,
    body_of,
    docx,
    open_xml,
    part,
    run,
    translated,
    zipped,
)

from dragoman.translation.service.interface import RefusedError

_NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
BOLD, ITALIC = "<w:b/>", "<w:i/>"


def field(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def says(instruction: str) -> str:
    return f'<w:r><w:instrText xml:space="preserve"> {instruction} </w:instrText></w:r>'


def link(*content: str) -> str:
    return f'<w:hyperlink r:id="r1">{"".join(content)}</w:hyperlink>'


def paragraph(*content: str) -> str:
    return f"<w:p>{''.join(content)}</w:p>"


_TAB = "<w:r><w:tab/></w:r>"
_BOOKMARK = [f'<w:bookmark{end} w:id="1"/>' for end in ("Start", "End")]
_DELETED = '<w:del w:id="4"><w:r><w:delText>old</w:delText></w:r></w:del>'
_NOTE = '<w:r><w:rPr><w:rStyle w:val="N"/></w:rPr><w:footnoteReference w:id="2"/></w:r>'
_PAGE = [field("begin"), says("PAGE"), field("separate"), run("5"), field("end")]
_LINK = [field("begin"), says('HYPERLINK "http://a.b/"'), field("separate")]
_BOX = f"<w:txbxContent>{paragraph(run('in a box'))}</w:txbxContent>"
_BOXED = _BOX.replace("in a box", "IN A BOXde")


def both(box: str) -> str:
    """A text box, as Word writes it for itself and for old programs."""
    return (
        f'<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing>{box}</w:drawing>'
        f"</mc:Choice><mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )


ALTERNATIVES = (
    '<mc:AlternateContent><mc:Choice Requires="wps">{}</mc:Choice><mc:Fallback>{}</mc:Fallback>'
    "</mc:AlternateContent>"
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([run("one &amp; two")], [run("ONE &amp; TWOde")], id="words"),
        pytest.param(
            [run("by &lt;your  name&gt; and &lt;b c&gt;")],
            [run("BY &lt;YOUR  NAME&gt; AND &lt;b c&gt;de ").replace("de ", "de")],
            id="words in angle brackets, as in templates, are not lost",
        ),
        pytest.param(
            [
                '<w:pPr><w:jc w:val="both"/></w:pPr><w:r w:rsidR="1"><w:t>wo</w:t></w:r>',
                '<w:proofErr w:type="spellStart"/>',
                '<w:r w:rsidR="2"><w:rPr><w:lang w:val="en-GB"/></w:rPr>',
                "<w:lastRenderedPageBreak/><w:t>rd</w:t></w:r>",
                "<w:r><w:rPr><w:noProof/></w:rPr><w:softHyphen/><w:t>s</w:t></w:r>",
            ],
            [
                '<w:pPr><w:jc w:val="both"/></w:pPr>',
                '<w:r w:rsidR="1"><w:t>WORDSde</w:t></w:r>',
            ],
            id="a word that Word has cut apart",
        ),
        pytest.param(
            [
                run("see "),
                run("bold", BOLD),
                run(" words and "),
                run("it", ITALIC),
                run("alic", ITALIC),
            ],
            [run("SEE "), run("BOLD", BOLD), run(" WORDS AND "), run("ITALICde", ITALIC)],
            id="formats follow their words",
        ),
        pytest.param(
            [run("some of it "), run("is", BOLD), run(" "), run("bold", BOLD), run(" here")],
            [run("SOME OF IT "), run("IS BOLD", BOLD), run(" HEREde")],
            id="a space between words of one format",
        ),
        pytest.param(
            [run("see "), link(run("this", BOLD)), run(" now")],
            [
                run("SEE "),
                link(run("THIS", BOLD)),
                run(" NOWde"),
            ],
            id="a link",
        ),
        pytest.param(
            ["<w:r><w:t>name:</w:t><w:tab/><w:t>value</w:t><w:br/><w:t>line</w:t></w:r>"],
            [
                run("NAME:de"),
                _TAB,
                run("VALUEde"),
                "<w:r><w:br/></w:r>",
                run("LINEde"),
            ],
            id="texts end at tabs and line breaks",
        ),
        pytest.param(
            [
                run("word"),
                _NOTE,
                run(" and "),
                _DELETED,
                f'<w:ins w:id="5">{run("new")}</w:ins>',
                run(" text"),
            ],
            [
                run("WORD"),
                _NOTE,
                run(" AND "),
                _DELETED,
                f'<w:ins w:id="5">{run("NEW")}</w:ins>',
                run(" TEXTde"),
            ],
            id="notes, and text that is deleted or inserted",
        ),
        pytest.param(
            [
                run("page "),
                *_PAGE,
                run(" of "),
                *_LINK,
                run("this site", BOLD),
                field("end"),
                run(" now"),
            ],
            [
                run("PAGE "),
                *_PAGE,
                run(" OF "),
                *_LINK,
                run("THIS SITE", BOLD),
                field("end"),
                run(" NOWde"),
            ],
            id="fields",
        ),
        pytest.param(
            [
                f'<w:fldSimple w:instr=" PAGE ">{run("v")}</w:fldSimple>',
                run(" or "),
                f'<w:fldSimple w:instr="REF x">{run("this")}</w:fldSimple>',
            ],
            [
                f'<w:fldSimple w:instr=" PAGE ">{run("v")}</w:fldSimple>',
                run(" OR "),
                f'<w:fldSimple w:instr="REF x">{run("THISde")}</w:fldSimple>',
            ],
            id="simple fields",
        ),
        pytest.param(
            [
                field("begin"),
                says("TOC"),
                field("separate"),
                link(run("1"), _TAB, run("title"), _TAB, run("5")),
            ],
            [
                field("begin"),
                says("TOC"),
                field("separate"),
                link(run("1"), _TAB, run("TITLEde"), _TAB, run("5")),
            ],
            id="a table of contents",
        ),
        pytest.param(
            [run("out "), both(_BOX), run("side")],
            [run("OUT "), both(_BOXED), run("SIDEde")],
            id="a text box, twice the same",
        ),
        pytest.param([run("12"), both(_BOX)], [run("12"), both(_BOXED)], id="a text box alone"),
        pytest.param(
            [
                f"<w:sdt><w:sdtPr><w:tag/></w:sdtPr><w:sdtContent>{run('content')}</w:sdtContent></w:sdt>",
                run(" and "),
                "<m:oMath><m:r><m:t>x</m:t></m:r></m:oMath>",
                run(" more"),
            ],
            [
                f"<w:sdt><w:sdtPr><w:tag/></w:sdtPr><w:sdtContent>{run('CONTENT')}</w:sdtContent></w:sdt>",
                run(" AND "),
                "<m:oMath><m:r><m:t>x</m:t></m:r></m:oMath>",
                run(" MOREde"),
            ],
            id="controls and formulas",
        ),
        pytest.param(
            [
                run("a "),
                '<w:bookmarkStart w:id="0" w:name="b"/>',
                run("marked part"),
                '<w:bookmarkEnd w:id="0"/>',
                run(" of it"),
                run("hidden", "<w:vanish/>"),
            ],
            [
                run("A "),
                '<w:bookmarkStart w:id="0" w:name="b"/>',
                run("MARKED PART"),
                '<w:bookmarkEnd w:id="0"/>',
                run(" OF ITde"),
                run("hidden", "<w:vanish/>"),
            ],
            id="bookmarks, and text that is hidden",
        ),
        pytest.param(
            ["<w:r><w:t> e</w:t><w:noBreakHyphen/><w:t>mail\n  </w:t></w:r>", run(" me")],
            ["<w:r><w:t>E</w:t><w:noBreakHyphen/><w:t>MAIL MEde</w:t></w:r>"],
            id="hyphens, and space that Word does not show",
        ),
        pytest.param(
            ["<w:r><w:t>a</w:t><w:noBreakHyphen/><w:t>b c</w:t></w:r>", run("-d", BOLD), run("-e")],
            [
                "<w:r><w:t>A</w:t><w:noBreakHyphen/><w:t>B C</w:t></w:r>",
                run("-D", BOLD),
                run("-Ede"),
            ],
            id="only as many hyphens hold words together as before",
        ),
        pytest.param(
            [run("look "), ALTERNATIVES.format(run("this"), run("that")), run(" here")],
            [run("LOOK "), ALTERNATIVES.format(run("THISde"), run("THATde")), run(" HEREde")],
            id="alternatives",
        ),
        pytest.param(
            [
                "<w:r><w:t>5</w:t></w:r>",
                "<w:r><w:rPr><w:b/></w:rPr><w:t>\u00a0km\u3000\n</w:t></w:r>",
                "<w:r><w:t>\u2003long</w:t></w:r>",
            ],
            [
                "<w:r><w:t>5\u00a0</w:t></w:r>",
                "<w:r><w:rPr><w:b/></w:rPr><w:t>KM</w:t></w:r>",
                "<w:r><w:t>\u3000\u2003LONGde</w:t></w:r>",
            ],
            id="spaces that are no white space of XML",
        ),
        pytest.param(
            ["<w:r><w:t><![CDATA[a<b]]> c</w:t></w:r>"],
            [run("A&lt;B Cde")],
            id="a section of characters",
        ),
    ],
)
def test_paragraphs(before: list[str], after: list[str]) -> None:
    assert body_of(translated("a.docx", docx(paragraph(*before)))) == paragraph(*after)


def test_the_order_of_words_may_change() -> None:
    content = docx(paragraph(run("one "), run("two", BOLD), run(" three"), _NOTE, run(".")))
    assert body_of(translated("a.docx", content, ReversingService())) == paragraph(
        run(".eerht"), _NOTE, run(" "), run("owt", BOLD), run(" eno")
    )


def formats_by_word(content: bytes) -> Counter[tuple[str, str]]:
    """How often each word has each format, in any case; the words of a run are whole."""
    root = ElementTree.fromstring(part(content, "word/document.xml"))
    found: Counter[tuple[str, str]] = Counter()
    for one in root.iter(f"{{{_NAMESPACE}}}r"):
        names = [each.tag.partition("}")[2] for each in one.findall("./{*}rPr/*")]
        values = [str(sorted(each.attrib.values())) for each in one.findall("./{*}rPr/*")]
        look = str(sorted(zip(names, values, strict=True)))
        words = "".join(each.text or "" for each in one.findall("{*}t")).lower().split()
        found.update((word, look) for word in words)
    return found


_LOOKS = ["", "<w:b/>", "<w:i/>", "<w:b/><w:i/>", "<w:strike/>", "<w:caps/>", "<w:smallCaps/>"]
_LOOKS += ['<w:b w:val="0"/>', '<w:u w:val="single"/>', '<w:b/><w:color w:val="FF0000"/>']


@pytest.mark.parametrize("one", _LOOKS)
@pytest.mark.parametrize("other", _LOOKS)
def test_every_run_keeps_its_own_format(one: str, other: str) -> None:
    content = docx(paragraph(run("ab cd ", one), run("efg", other), run(" hi jk lm", one)))
    assert formats_by_word(translated("a.docx", content, CapitalService())) == formats_by_word(
        content
    )
    found = formats_by_word(translated("a.docx", content, ReversingService()))
    assert found == Counter(
        {(word[::-1], look): count for (word, look), count in formats_by_word(content).items()}
    )


def test_the_space_between_underlined_words_is_not_underlined() -> None:
    underlined = '<w:u w:val="single"/>'
    runs = [run("some "), run("is", underlined), run(" "), run("so", underlined), run(" here now")]
    found = body_of(translated("a.docx", docx(paragraph(*runs)), CapitalService()))
    assert found == paragraph(
        run("SOME "), run("IS", underlined), run(" "), run("SO", underlined), run(" HERE NOW")
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            [run("One", BOLD), run(" ", ITALIC), run("2", ITALIC), run(" ", BOLD), run("in", BOLD)],
            [run("ni ", BOLD), run("2", ITALIC), run(" enO", BOLD)],
            id="white space has no mark of its own",
        ),
        pytest.param(
            [run("Dept"), run(", ", BOLD), run("as it is of it,"), run(" ", BOLD), run("2012")],
            [run("2102 "), run(",", BOLD), run("ti fo si ti sa ,tpeD")],
            id="signs keep their format and lose no space",
        ),
        pytest.param(
            [run("name "), run("     ", '<w:u w:val="single"/>'), run(" and date")],
            [run("eman "), run("     ", '<w:u w:val="single"/>'), run(" etad dna")],
            id="texts end at a blank to fill in",
        ),
        pytest.param(
            [
                "<w:r><w:t>Signed on </w:t></w:r>",
                link(run("3 May", BOLD)),
                "<w:r><w:t> by all</w:t></w:r>",
            ],
            [run("lla yb "), link(run("yaM 3", BOLD)), run(" no dengiS")],
            id="spaces between runs that no attribute keeps",
        ),
        pytest.param(
            [
                run("one"),
                f'<w:ins w:id="1">{run(" ")}</w:ins>',
                run("two"),
                link(run(" ")),
                run("three"),
            ],
            [run("eerht owt"), link(), run(" eno"), '<w:ins w:id="1"></w:ins>'],
            id="white space that is all of an insertion or a link is read",
        ),
    ],
)
def test_white_space_and_signs(before: list[str], after: list[str]) -> None:
    found = body_of(translated("a.docx", docx(paragraph(*before)), ReversingService()))
    assert found == paragraph(*after)


def test_words_that_were_moved_stay_in_the_range_of_their_move() -> None:
    moved = '<w:moveTo w:id="2">{}</w:moveTo>'
    range_of = f'<w:moveToRangeStart w:id="1"/>{moved}<w:moveToRangeEnd w:id="1"/>'
    content = docx(paragraph(run("one "), range_of.format(run("two three")), run(" four five six")))
    assert body_of(translated("a.docx", content, ReversingService())) == paragraph(
        run("xis evif ruof "), range_of.format(run("eerht owt")), run(" eno")
    )


_CROSSING_RANGES = [
    f'<w:commentRange{end} w:id="{number}"/>'
    for end, number in [("Start", 1), ("Start", 2), ("End", 1), ("End", 2)]
]


def test_ends_of_ranges_that_cross_stay_in_order() -> None:
    ends = zip("abcd", _CROSSING_RANGES, strict=True)
    parts = [part for word, end in ends for part in (run(f"{word * 5} "), end)]
    content = docx(paragraph(*parts, run("eeeee fffff ggggg hhhhh iiiii jjjjj")))
    written = body_of(translated("a.docx", content, ReversingService()))
    starts_and_ends = [written.index(one) for one in _CROSSING_RANGES]
    assert starts_and_ends[0] < starts_and_ends[2] and starts_and_ends[1] < starts_and_ends[3]
    assert starts_and_ends[1] < written.index("ddddd") < starts_and_ends[3]
    assert written.count("<w:commentRange") == 4
    words = re.sub("<[^<>]*>", "", written)
    assert words == "jjjjj iiiii hhhhh ggggg fffff eeeee ddddd ccccc bbbbb aaaaa"


def test_parts_of_a_field_that_crosses_a_link_stay_in_order() -> None:
    parts = [*_LINK, field("end")]
    content = docx(
        paragraph(
            run("one "),
            link(*parts[:3], run("two ")),
            run("three "),
            parts[3],
            run("four five six seven"),
        )
    )
    written = body_of(translated("a.docx", content, ReversingService()))
    assert sorted(parts, key=written.index) == parts
    linked = ElementTree.fromstring(f"<a {W}>{written}</a>").find(".//{*}hyperlink")
    assert linked is not None and "".join(linked.itertext()).endswith("owt")


def test_what_programs_read_stays_as_it_is() -> None:
    kept = "&lt;b&gt; {name} %s https://a.b/c?d=1&amp;e=2 a@b.org"
    for service in (ReversingService(), ReversingService(reverses=False)):
        content = docx(paragraph(run(f"one {kept} two"), run(" three", BOLD)))
        written = body_of(translated("a.docx", content, service))
        assert all(f"{one}" in written for one in kept.split())
    assert translated("a.docx", content, service) == content


def test_a_paragraph_that_does_not_change_stays_as_it_is() -> None:
    cut = paragraph('<w:r w:rsidR="1"><w:t>1</w:t></w:r><w:proofErr/>', run("2"))
    found = body_of(translated("a.docx", docx(cut + paragraph(run("one")))))
    assert found == cut + paragraph(run("ONEde"))


def test_all_parts_with_words_are_translated() -> None:
    kinds = ["header", "footer", "footnotes", "endnotes", "comments"]
    content = docx(paragraph(run("body")), **{kind: paragraph(run(kind)) for kind in kinds})
    written = translated("a.docx", content)
    for kind in kinds:
        assert f">{kind.upper()}de<" in part(written, f"word/{kind}.xml")
    for name in ("[Content_Types].xml", "word/media/image1.png"):
        with (
            zipfile.ZipFile(io.BytesIO(content)) as old,
            zipfile.ZipFile(io.BytesIO(written)) as new,
        ):
            assert old.read(name) == new.read(name)
            assert old.namelist() == new.namelist()


def test_other_prefixes_and_encodings() -> None:
    main = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    text = (
        f'<?xml version="1.0" encoding="UTF-16"?><document xmlns="{main}"><p><r>'
        '<t xml:space="preserve">one </t></r>'
        "<r><rPr><b/></rPr><t>ünd</t></r></p></document>"
    )
    types = {"d.xml": "wordprocessingml.document.main"}
    content = open_xml(types, {"d.xml": ("\ufeff" + text).encode("utf-16-le")})
    with zipfile.ZipFile(io.BytesIO(translated("a.docx", content))) as archive:
        found = archive.read("d.xml").decode("utf-16")
    assert found == text.replace("one", "ONE").replace("ünd", "ÜNDde")


_WORDS = st.text("ab .12&", min_size=1, max_size=9).map(lambda text: text.replace("&", "&amp;"))
_RUNS = st.builds(run, _WORDS, st.sampled_from(["", BOLD, ITALIC, '<w:lang w:val="x"/>']))
_POINTS = st.sampled_from(
    [_NOTE, _DELETED, _TAB, both(_BOX), *_PAGE, *_LINK]
    + [f'<w:bookmark{end} w:id="{number}"/>' for end in ("Start", "End") for number in (1, 2)]
)
_INLINE = st.recursive(
    st.lists(_RUNS | _POINTS, max_size=5).map("".join),
    lambda inner: st.lists(
        st.builds(
            "<{0}>{1}</{0}>".format, st.sampled_from(["w:hyperlink", "w:ins", "w:smartTag"]), inner
        )
        | inner,
        max_size=3,
    ).map("".join),
    max_leaves=6,
)


def _structure(content: bytes) -> tuple[Counter[str], Counter[str], list[str]]:
    """Elements but those of runs, letters of words, and ends of ranges and fields, in order."""
    root = ElementTree.fromstring(part(content, "word/document.xml"))
    names = Counter(one.tag.partition("}")[2] for one in root.iter())
    for name in ("r", "rPr", "t", "b", "i", "lang"):
        del names[name]
    letters = Counter("".join("".join(root.itertext()).split()))
    ordered = [
        f"{one.tag} {sorted(one.attrib.items())}"
        for one in root.iter()
        if one.tag.endswith(("fldChar", "instrText"))
    ]
    return names, letters, ordered


@settings(max_examples=25)
@given(_INLINE)
def test_nothing_is_lost_or_doubled_whatever_the_order_of_words(inline: str) -> None:
    content = docx(paragraph(inline))
    written = translated("a.docx", content, ReversingService())
    before, after = _structure(content), _structure(written)
    assert after[:2] == before[:2]
    assert Counter(after[2]) == Counter(before[2])
    assert translated("a.docx", content, ReversingService(reverses=False)) == content


@pytest.mark.parametrize(
    ("kept", "after"),
    [
        (
            [_BOOKMARK[0], run("Dragoman", BOLD), _BOOKMARK[1], _NOTE, _TAB],
            [_BOOKMARK[0], run("Dragoman", BOLD), _BOOKMARK[1], _NOTE, _TAB],
        ),
        ([link(run("Dragoman")), _TAB], [link(run("Dragoman")), _TAB]),
        ([run("Drago"), *_PAGE[:3], run("man"), _PAGE[4], _TAB], None),
    ],
)
def test_a_text_that_stays_keeps_its_marks_beside_one_that_changes(
    kept: list[str], after: list[str] | None
) -> None:
    service = ReversingService(keeps=lambda text: text.startswith("Drago"))
    written = translated("a.docx", docx(paragraph(*kept, run("one two"))), service)
    assert body_of(written) == paragraph(*(after or kept), run("owt eno"))


def test_a_link_may_go_on_behind_a_text_that_stays() -> None:
    service = ReversingService(keeps=lambda text: text == "Dragoman")
    content = docx(paragraph(link(run("Dragoman"), _TAB, run("one two")), run(" three")))
    assert body_of(translated("a.docx", content, service)) == paragraph(
        link(run("Dragoman"), _TAB, run("eerht owt eno"))
    )


@settings(max_examples=25)
@given(_INLINE, _INLINE, _INLINE)
def test_nothing_is_lost_where_some_texts_stay(one: str, two: str, three: str) -> None:
    content = docx(paragraph(one, _TAB, two, _TAB, three))
    written = translated("a.docx", content, ReversingService(keeps=lambda text: len(text) % 2 == 0))
    before, after = _structure(content), _structure(written)
    assert after[:2] == before[:2]
    assert Counter(after[2]) == Counter(before[2])


def test_a_document_of_python_docx_opens_again() -> None:
    docx_package = pytest.importorskip("docx")
    document = docx_package.Document()
    document.add_heading("A title", 1)
    added = document.add_paragraph("Some ", style="List Bullet")
    added.add_run("bold").bold = True
    added.add_run(" words\tand\nlines")
    document.add_table(1, 1).cell(0, 0).text = "cell"
    document.sections[0].header.paragraphs[0].text = "head"
    buffer = io.BytesIO()
    document.save(buffer)
    found = docx_package.Document(io.BytesIO(translated("a.docx", buffer.getvalue())))
    assert [one.text for one in found.paragraphs] == [
        "A TITLEde",
        "SOME BOLD WORDSde\tANDde\nLINESde",
    ]
    assert [one.style.name for one in found.paragraphs] == ["Heading 1", "List Bullet"]
    assert [one.text for one in found.paragraphs[1].runs if one.bold] == ["BOLD"]
    assert found.tables[0].cell(0, 0).text == "CELLde"
    assert found.sections[0].header.paragraphs[0].text == "HEADde"


def test_a_document_with_nothing_to_translate_comes_back_byte_for_byte() -> None:
    content = docx(paragraph(run("12"), run("  ", BOLD), _DELETED) + "<w:p/>")
    assert translated("a.docx", content) == content


_MAIN = "wordprocessingml.document.main"
_DOCUMENT = f"<w:document {W}/>"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def open_main(content: str | bytes, kind: str = "wordprocessingml.document.main") -> bytes:
    """A package with one part."""
    return open_xml({"a.xml": kind}, {"a.xml": content})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"plain", "not a zip file"),
        (zipped({"a": "b"}), r"no part '\[Content_Types\]\.xml'"),
        (open_xml({}, {"a.xml": "<a/>"}), r"not a document of Word \(\.docx\), but something else"),
        (open_main("<a/>", "presentationml.presentation.main"), r"but a presentation \(\.pptx\)"),
        (open_main("<a/>", "ms-word.document.macroEnabled.main"), "has macros"),
        (open_xml({"a.xml": _MAIN}, {"a.xml": _DOCUMENT, "w/vbaProject.bin": "x"}), "has macros"),
        (open_main("<a>"), r"part 'a\.xml': not well-formed"),
        (open_main('<!DOCTYPE a [<!ENTITY b "c">]><a/>'), "document type"),
        (open_main(b"<a>\xff</a>"), r"part 'a\.xml': the file is not UTF-8"),
        (docx("<w:p>" * 30 + "</w:p>" * 30), "more than 16 paragraphs"),
        (docx("<w:q>" * 200 + "</w:q>" * 200), "more than 200 deep"),
    ],
)
def test_hostile_files_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(RefusedError, match=message) as error:
        translated("a.docx", content)
    assert error.value.kind == "invalid"


def test_what_is_external_stays_and_is_not_opened() -> None:
    relations = (
        f'{HEAD}<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" '
        'Target="http://127.0.0.1:9/x" TargetMode="External"/></Relationships>'
    )
    name = "word/_rels/document.xml.rels"
    content = open_xml(
        {"word/document.xml": _MAIN},
        {
            "word/document.xml": f"<w:document {W}>{paragraph(run('word'))}</w:document>",
            name: relations,
        },
    )
    assert part(translated("a.docx", content), name) == relations


def test_many_marks_take_little_time() -> None:
    ranges = [f'<w:bookmarkStart w:id="{number}"/>' for number in range(300)]
    ranges += [f'<w:bookmarkEnd w:id="{number}"/>' for number in reversed(range(300))]
    runs = [run("ab ", BOLD if number % 2 else "") for number in range(300)]
    content = docx(paragraph(*ranges[:300], *runs, *ranges[300:], field("begin") * 300))
    assert _structure(translated("a.docx", content))[0] == _structure(content)[0]
