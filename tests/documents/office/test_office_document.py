"""A written office document is read again, and what is not as it was stays as it came."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from office_files import CapitalService, ReversingService, body_of, docx, odt, pptx, run, translated

from dragoman.documents.file_translation import translate_file
from dragoman.documents.filetypes import FileLanguages, document_format
from dragoman.documents.marks.marked_document import OutlineBlock
from dragoman.documents.office.paragraph import RunFormat
from dragoman.documents.written_check import CHANGED
from dragoman.translation.service.interface import TextRequest

_NOTE = '<w:r><w:footnoteReference w:id="2"/></w:r>'
_LINK = '<w:hyperlink r:id="r{}">{}</w:hyperlink>'


def paragraph(*content: str) -> str:
    return f"<w:p>{''.join(content)}</w:p>"


def outline(content: bytes, name: str = "a.docx") -> Sequence[OutlineBlock]:
    return document_format(name).read(content, FileLanguages("en", "de")).outline


def is_kept(before: str, after: str) -> bool:
    one, other = outline(docx(before)), outline(docx(after))
    return len(one) == len(other) and all(
        mine.is_kept_in(theirs) for mine, theirs in zip(one, other, strict=True)
    )


_BEFORE = paragraph(run("one {a} "), _NOTE, _LINK.format(1, run("two")), run(" three")) + paragraph(
    run("four")
)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("one", "ein Wort", True),
        (run("four"), run("vi", "<w:b/>") + "<w:proofErr/>" + run("er"), True),
        (_NOTE, "", False),
        (_NOTE, _NOTE * 2, False),
        ('w:id="2"', 'w:id="3"', False),
        ('r:id="r1"', 'r:id="r2"', False),
        ("{a}", "{b}", False),
        ("{a}", "{</w:t></w:r><w:r><w:t>a}", True),
        (run("four"), run("four") + "</w:p><w:p>", False),
    ],
)
def test_what_has_to_be_the_same(old: str, new: str, expected: bool) -> None:
    assert old in _BEFORE
    assert is_kept(_BEFORE, _BEFORE.replace(old, new)) == expected


def test_the_order_within_a_paragraph_may_change_and_that_of_paragraphs_may_not() -> None:
    one, two = run("one"), _LINK.format(1, run("two"))
    assert is_kept(paragraph(one, two, _NOTE), paragraph(_NOTE, two, one))
    assert not is_kept(paragraph(one, _NOTE) + paragraph(two), paragraph(two) + paragraph(_NOTE))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.docx", docx(_BEFORE)),
        ("a.odt", odt('<text:p>one <text:a href="b">two<text:tab/></text:a> three</text:p>')),
        ("a.pptx", pptx("<a:r><a:t>one</a:t></a:r><a:br/><a:r><a:t>two</a:t></a:r>")),
    ],
)
def test_translations_have_the_outline_of_their_source(name: str, content: bytes) -> None:
    for service in (CapitalService(), ReversingService()):
        found = translated(name, content, service)
        assert found != content
        pairs = zip(outline(content, name), outline(found, name), strict=True)
        assert all(one.is_kept_in(other) for one, other in pairs)


def test_a_text_that_would_lose_something_stays_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = RunFormat.run

    def careless(form: RunFormat, words: str, hyphens: int = 0) -> str:
        return plain(form, words, hyphens) + ("</w:p><w:p>" if "THREE" in words else "")

    monkeypatch.setattr(RunFormat, "run", careless)
    told: list[tuple[str, str]] = []
    found = asyncio.run(
        translate_file(
            CapitalService(),
            "a.docx",
            docx(_BEFORE),
            TextRequest("", "de", "en"),
            untranslatable=lambda text, reason: told.append((text, reason)),
        )
    )
    assert body_of(found.content) == _BEFORE.replace("four", "FOUR")
    assert told == [("one {a} two three", CHANGED)]


def test_notes_may_change_places_with_their_words() -> None:
    note = "<text:note><text:note-body><text:p{}>{}</text:p></text:note-body></text:note>"
    one, two = note.format("", "one a"), note.format(' text:style-name="P"', "two b")
    content = odt(f"<text:p>first{one} second{two} third</text:p>")
    found = body_of(translated("a.odt", content, ReversingService()), "content.xml")
    assert "tsrif" in found
    assert found.index("b owt") < found.index("a eno")
