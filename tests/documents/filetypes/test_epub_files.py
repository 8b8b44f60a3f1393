"""Books."""

from __future__ import annotations

import asyncio
import io
import zipfile
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from office_files import CapitalService, ReversingService, body_of, epub, part, translated, zipped

from dragoman.documents.file_translation import TranslatedFile, translate_file
from dragoman.documents.filetypes import FileLanguages, document_format
from dragoman.translation.service.interface import RefusedError, TextRequest

_PAGE, _LIST, _CONTENTS = "OPS/my page.xhtml", "OPS/a.opf", "toc.ncx"


def book(content: bytes, source: str | None = None) -> TranslatedFile:
    request = TextRequest("", "de", source)
    return asyncio.run(translate_file(CapitalService(), "a.epub", content, request))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<h1>one</h1><p>two &amp; three</p>", "<h1>ONE</h1><p>TWO &amp; THREE</p>"),
        ("<p>a <b>bold</b> word</p>", "<p>A <b>BOLD</b> WORD</p>"),
        ("<p>a&#160;b&nbsp;c</p>", "<p>A&#160;B&#160;C</p>"),
        ("<p>one<br/>two</p>", "<p>ONE<br/>TWO</p>"),
        ('<p><a id="p1"/>one</p>', '<p><a id="p1"/>ONE</p>'),
        ("<textarea/><p>one</p><title/>", "<textarea/><p>ONE</p><title/>"),
        ("<p>one <![CDATA[<p>]]> two</p>", "<p>ONE <![CDATA[<p>]]> TWO</p>"),
        ("<pre>a  b</pre><p>one</p>", "<pre>a  b</pre><p>ONE</p>"),
    ],
)
def test_pages(before: str, after: str) -> None:
    assert body_of(book(epub(before)).content, _PAGE) == after


def test_titles_tables_of_contents_and_languages_change_and_names_of_people_do_not() -> None:
    found = book(epub("<p>one</p>", title="A &amp; b"))
    assert found.source == "en"
    listed, contents = part(found.content, _LIST), part(found.content, _CONTENTS)
    assert "<dc:title>A &amp; B</dc:title><dc:creator>Ann Other<" in listed
    assert "<dc:language>de</dc:language>" in listed
    assert '<package xml:lang="de">' in listed
    assert '<ncx xml:lang="de">' in contents
    assert "<docTitle><text>A &amp; B</text></docTitle>" in contents
    assert "<docAuthor><text>Ann Other</text></docAuthor>" in contents
    assert "<navLabel><text>ONE</text></navLabel>" in contents
    assert 'lang="de" xml:lang="de"><head><title/><script src="a.js"/>' in part(
        found.content, _PAGE
    )


def test_a_second_language_of_a_book_stays() -> None:
    content = epub("<p>one</p>")
    listed = part(content, _LIST).replace(
        "</dc:language>", "-GB</dc:language><dc:language>la</dc:language>"
    )
    found = book(epub("<p lang='la'>one</p>", **{_LIST: listed}))
    after = "<dc:language>de</dc:language><dc:language>la</dc:language>"
    assert after in part(found.content, _LIST)
    assert "<p lang='la'>ONE</p>" in part(found.content, _PAGE)


@pytest.mark.parametrize("said", ["und", "English!"])
def test_a_book_without_a_known_language_gets_one(said: str) -> None:
    listed = part(epub(""), _LIST).replace(">en<", f">{said}<")
    content = epub("<p>one</p>", **{_LIST: listed})
    assert (
        document_format("a.epub").read(content, FileLanguages(None, "de")).source_language is None
    )
    found = book(content, "en")
    assert "<dc:language>de</dc:language>" in part(found.content, _LIST)


def test_order_types_and_other_parts_stay() -> None:
    content = epub("<p>one</p>", **{"OPS/cover.xhtml": "<html lang='en'><img/></html>"})
    written = book(content).content
    assert written[30:58] == b"mimetypeapplication/epub+zip"
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(io.BytesIO(written)) as new:
        assert old.namelist() == new.namelist()
        assert new.infolist()[0].compress_type == zipfile.ZIP_STORED
        changed = [name for name in old.namelist() if old.read(name) != new.read(name)]
    assert changed == [_LIST, _CONTENTS, _PAGE]


def test_pages_that_are_not_well_formed_are_read_as_browsers_do() -> None:
    assert body_of(book(epub("<p>one<p>two & three")).content, _PAGE) == "<p>ONE<p>TWO & THREE"


_WORDS = st.text("ab .&<>'\"é\u00a0\u200d", max_size=9).map(
    lambda words: words.replace("&", "&amp;").replace("<", "&lt;")
)
_INLINE = st.recursive(
    st.lists(_WORDS | st.sampled_from(["<br/>", "<img src='a'/>", "&#233;"]), max_size=4).map(
        "".join
    ),
    lambda inner: st.lists(
        st.builds("<{0}>{1}</{0}>".format, st.sampled_from(["b", "i", "a"]), inner) | inner,
        max_size=3,
    ).map("".join),
    max_leaves=6,
)


@settings(max_examples=25, deadline=None)
@given(_INLINE)
def test_pages_stay_well_formed_and_words_that_stay_change_nothing(inline: str) -> None:
    content = epub(f"<p>{inline}</p>")
    assert translated("a.epub", content, ReversingService(reverses=False)) == content
    before, after = (
        ElementTree.fromstring(part(raw, _PAGE))
        for raw in (content, translated("a.epub", content, ReversingService()))
    )
    assert sorted(one.tag for one in before.iter()) == sorted(one.tag for one in after.iter())


_ENCRYPTION = (
    "<encryption><EncryptedData><EncryptionMethod Algorithm='{}'/><CipherData><CipherReference "
    "URI='OPS/a.otf'/></CipherData></EncryptedData></encryption>"
)


def test_a_book_with_hidden_fonts_is_translated() -> None:
    hidden = _ENCRYPTION.format("http://www.idpf.org/2008/embedding")
    content = epub("<p>one</p>", **{"META-INF/encryption.xml": hidden})
    assert body_of(book(content).content, _PAGE) == "<p>ONE</p>"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"plain", "not a zip file"),
        (zipped({"a": "b"}), "does not say what it is"),
        (zipped({"mimetype": "text/plain"}), r"not a book \(\.epub\), but 'text/plain'"),
        (zipped({"mimetype": "application/epub+zip"}), r"no part 'META-INF/container\.xml'"),
        (epub("", **{"META-INF/container.xml": "<a/>"}), "names no book"),
        (
            epub("", **{"META-INF/container.xml": part(epub(""), "META-INF/container.xml")[:60]}),
            r"part 'META-INF/container\.xml': not well-formed",
        ),
        (epub("", **{_LIST: "<package>"}), r"part 'OPS/a\.opf': not well-formed"),
        (
            epub("", **{"META-INF/encryption.xml": _ENCRYPTION.format("http://a/aes128-cbc")}),
            r"encrypted against copying \(DRM\)",
        ),
        (
            epub("", **{_PAGE: '<!DOCTYPE html [<!ENTITY b "c">]><html>&b;</html>'}),
            r"part 'OPS/my page\.xhtml': XML with declarations",
        ),
        (
            epub("", **{_CONTENTS: '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///c">]><a>&b;</a>'}),
            r"part 'toc\.ncx': XML with declarations",
        ),
    ],
)
def test_hostile_files_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(RefusedError, match=message) as error:
        translated("a.epub", content)
    assert error.value.kind == "invalid"


def test_too_long_books_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.documents.epub_package._MOST_TEXT", 99)
    with pytest.raises(RefusedError, match="at most 99 are read; divide the book"):
        translated("a.epub", epub(""))
