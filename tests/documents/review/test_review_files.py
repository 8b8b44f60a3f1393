"""Translations for review in tools of translators, and documents of reviewed files."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from echo_service import EchoService

from dragoman.core.errors import DataError
from dragoman.documents.document_format import FileLanguages
from dragoman.documents.file_translation import Flaw, TranslatedFile, translate_file
from dragoman.documents.review.review_files import document_name, review_file, reviewed_document
from dragoman.documents.xml import read_xml_file
from dragoman.translation.service.interface import TextRequest
from soak.fuzzing.target import seed

LANGUAGES = FileLanguages("en", "de")
NAMES = [
    *("page.md", "page.rst", "page.html", "film.srt", "catalogue.po", "texts.yml", "strings.xml"),
    *("texts.properties", "texts.xcstrings", "texts.ts", "texts.csv", "version-1.xlf"),
]
PAGE = b"<p>Hello <b>good <i>old</i></b> you, {name}.<br>Bye <img src=a> then</p>\n<p>Second</p>"


def translation(name: str, content: bytes) -> TranslatedFile:
    request = TextRequest("", target="de", source="en")
    return asyncio.run(translate_file(EchoService(), name, content, request))


def reviewed(name: str = "a.html", content: bytes = PAGE) -> str:
    return review_file(name, content, translation(name, content), LANGUAGES).decode()


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_nobody_changed_gives_the_direct_translation(name: str) -> None:
    content = seed(name).content
    direct = translation(name, content).content
    review = reviewed(name, content)
    found = reviewed_document(review.encode())
    assert (found.content, found.changed, found.untranslated) == (direct, 0, ())
    saved = ElementTree.tostring(ElementTree.fromstring(review))  # as another tool writes it
    assert reviewed_document(saved).content == direct
    assert document_name(saved) == name


def test_units_and_their_codes() -> None:
    root = read_xml_file(reviewed().encode())[2]
    units = [one for one in root.walk() if one.local_name == "trans-unit"]
    assert len(units) == 3
    source, target = (units[0].children[at] for at in (0, 1))
    assert target.attributes == {"state": "translated", "state-qualifier": "leveraged-mt"}
    assert "".join(one.raw for one in source.tokens) == (
        'Hello <g id="1" ctype="bold" equiv-text="&lt;b&gt;">good <g id="2" ctype="italic" '
        'equiv-text="&lt;i&gt;">old</g></g> you, <x id="3" equiv-text="{name}"/>.'
    )


def test_what_reviewers_change_is_written() -> None:
    review = reviewed()
    changed = review.replace(">SECOND", ">Zweites &amp; &lt;Drittes&gt;").replace("HELLO", "Hallo")
    assert changed != review
    found = reviewed_document(changed.encode())
    assert (found.texts, found.changed) == (3, 2)
    direct = translation("a.html", PAGE).content.decode()
    expected = direct.replace("SECOND", "Zweites &amp; &lt;Drittes&gt;").replace("HELLO", "Hallo")
    assert found.content.decode() == expected


def test_a_target_that_is_emptied_leaves_the_source() -> None:
    review = re.sub(r"(<target[^>]*>)SECOND[^<]*", r"\1", reviewed())
    found = reviewed_document(review.encode())
    assert [one.text for one in found.untranslated] == ["Second"]
    assert b"<p>Second</p>" in found.content


def test_a_target_that_is_added_is_written() -> None:
    file = translation("a.html", PAGE)
    drafts = [one._replace(answer=None, reason="too long") for one in file.drafts]
    review = review_file("a.html", PAGE, replace(file, drafts=tuple(drafts)), LANGUAGES).decode()
    assert reviewed_document(review.encode()).content == PAGE
    assert "<target" not in review
    assert '<note from="Dragoman">not translated: too long</note>' in review
    review = review.replace("Second</source>", "Second</source><target>Zweites</target>")
    assert b"<p>Zweites</p>" in reviewed_document(review.encode()).content


def test_faults_and_low_confidence_are_for_review() -> None:
    file = translation("a.txt", b"One.\nTwo.\nThree.")
    answers = [one.answer for one in file.drafts]
    drafts = []
    for confidence, answer in zip((0.9, 0.2, None), answers, strict=True):
        assert answer is not None
        (sentence,) = answer.sentences
        rendering = replace(sentence.renderings[0], confidence=confidence)
        sentence = replace(sentence, renderings=(rendering,))
        drafts.append(replace(answer, sentences=(sentence,)))
    file = replace(
        file,
        drafts=tuple(
            one._replace(answer=answer) for one, answer in zip(file.drafts, drafts, strict=True)
        ),
        flaws=(Flaw("Three.", ("term",), ("repetition",), ("{x}",)),),
    )
    review = review_file("a.txt", b"One.\nTwo.\nThree.", file, LANGUAGES).decode()
    assert re.findall(r'state="([\w-]+)"', review) == [
        "translated",
        "needs-review-translation",
        "needs-review-translation",
    ]
    assert re.findall(r'<note from="Dragoman">(.*)</note>', review) == [
        "confidence 0.20",
        "lacks 'term'",
        "invents '{x}'",
        "looks degenerate: repetition",
    ]


@pytest.mark.parametrize(
    ("pattern", "instead", "message"),
    [
        (
            r'(<target.*)<x id="3"[^>]*/>',
            r"\1",
            r"unit 1: its target lacks the code 3 \('{name}'\)",
        ),
        (r"(<target.*?)HELLO", r'\1<x id="9"/>', "unit 1: its target has too many of the code 9"),
        (r'<trans-unit id="2"', '<trans-unit id="7"', "unit 2 is missing"),
        (r"<internal-file[^<]*</internal-file>", "", "has no document of 'dragoman translate"),
        (r"(<internal-file[^>]*>)....", r"\1abcd", "is damaged; translate it again"),
        (r"(<internal-file[^>]*>)", r"\1?", "is damaged; translate it again"),
    ],
)
def test_damaged_files(pattern: str, instead: str, message: str) -> None:
    review, count = re.subn(pattern, instead, reviewed(), count=1)
    assert count
    with pytest.raises(DataError, match=message):
        reviewed_document(review.encode())


def test_other_files_have_no_document() -> None:
    assert document_name(seed("version-1.xlf").content) is None
