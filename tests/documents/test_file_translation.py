"""Files through a service whose answers are known."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from document_models import SayingService
from echo_service import EchoService
from office_files import docx, epub, odt, pptx, run, xlsm, xlsx
from translation.service.fake_systems import FakeSystem, service_of

from dragoman.documents.file_translation import Flaw, TranslatedFile, translate_file
from dragoman.documents.filetypes import DOCUMENT_FORMATS
from dragoman.translation.service.interface import RefusedError, TextRequest
from dragoman.translation.service.translated_text import (
    Rendering,
    TranslatedSentence,
    TranslatedText,
)


def file(
    name: str, content: bytes, service: EchoService | None = None, source: str | None = "en"
) -> TranslatedFile:
    request = TextRequest("", "de", source)
    return asyncio.run(translate_file(service or EchoService(), name, content, request))


@pytest.mark.parametrize(
    ("name", "content", "expected_name", "expected"),
    [
        (
            "a.txt",
            b"\xef\xbb\xbfOne.\r\n\r\n  Two\n12\n",
            "a.de.txt",
            b"\xef\xbb\xbfONE.de\r\n\r\n  TWOde\n12\n",
        ),
        (
            "b.TXT",
            "\ufeffOne\n".encode("utf-16-le"),
            "b.de.TXT",
            "\ufeffONEde\n".encode("utf-16-le"),
        ),
        (
            "c.html",
            "<meta charset=latin1><p>é".encode("latin1"),
            "c.de.html",
            b"<meta charset=latin1><p>\xc9de",
        ),
        (r"..\x/d.htm", b"<p>A</p>\r\n", "d.de.htm", b"<p>Ade</p>\r\n"),
    ],
)
def test_a_file_keeps_its_encoding_and_line_ends(
    name: str, content: bytes, expected_name: str, expected: bytes
) -> None:
    found = file(name, content)
    assert (found.name, found.content, found.source) == (expected_name, expected, "en")
    assert found.media_type == ("text/plain" if name.lower().endswith("txt") else "text/html")


def test_what_an_encoding_lacks_is_written_as_a_reference() -> None:
    content = "<meta charset=koi8-r><p>да &eacute;".encode("koi8-r")
    assert file("a.html", content).content.endswith("ДА ".encode("koi8-r") + b"&#201;de")


def test_a_long_file_tells_how_far_it_is() -> None:
    done: list[tuple[int, int]] = []
    service = EchoService()
    found = asyncio.run(
        translate_file(
            service,
            "a.txt",
            b"line\n" * 150,
            TextRequest("", "de", "en"),
            progress=lambda *one: done.append(one),
        )
    )
    assert done == [(0, 150), (64, 150), (128, 150), (150, 150)]
    assert found.content == b"LINEde\n" * 150
    assert found.characters == 600


def test_the_language_of_a_file_is_that_of_all_of_it() -> None:
    service = EchoService(("de", "fr"), ("en", "fr"))
    request = TextRequest("", "fr")
    content = b"one\n" * 100 + b"der\n"
    found = asyncio.run(translate_file(service, "a.txt", content, request))
    assert found.source == "de"


def test_a_part_of_a_file_waits_for_room_in_the_queue() -> None:
    class Full(EchoService):
        refused = 0

        async def translate(
            self, requests: Sequence[TextRequest], *, seconds: float | None = None
        ) -> list[TranslatedText]:
            if self.refused < 2:
                self.refused += 1
                raise RefusedError("busy", "full", 0.001)
            return await super().translate(requests, seconds=seconds)

    service = Full()
    assert file("a.txt", b"one", service).content == b"ONEde"
    assert service.refused == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.pdf", b"x", r"'\.pdf'"),
        ("/etc/passwd", b"x", "has no suffix"),
        ("", b"x", r"ends in \.txt, \.html, \.htm"),
        ("a.txt", b"\xff", "not UTF-8 at byte 1"),
        ("a.html", b"<meta charset=utf-7>x", "'utf-7'"),
        ("a.po", b'msgid ""\nmsgstr "Language: fr\\n"\n', "into 'fr', not 'de'; ask for 'fr'"),
        ("a.po", b'msgid ""\nmsgstr "Language: en\\n"\n', "the language of its source; give one"),
    ],
)
def test_bad_files_are_refused(name: str, content: bytes, message: str) -> None:
    with pytest.raises(RefusedError, match=message) as error:
        file(name, content)
    assert error.value.kind == "invalid"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", b""),
        ("a.txt", b"12\r\n\n"),
        ("a.html", b"<p></P><script>x</script>"),
    ],
)
def test_a_file_with_nothing_to_translate_comes_back_byte_for_byte(
    name: str, content: bytes
) -> None:
    found = file(name, content)
    assert (found.content, found.characters) == (content, 0)
    assert found.name == name.replace(".", ".de.")


def test_a_file_that_takes_too_long_is_refused() -> None:
    class Full(EchoService):
        async def translate(
            self, requests: Sequence[TextRequest], *, seconds: float | None = None
        ) -> list[TranslatedText]:
            assert seconds is not None and 0 < seconds <= 5
            raise RefusedError("busy", "full", 10)

    request = TextRequest("", "de", "en")
    with pytest.raises(RefusedError, match="full"):
        asyncio.run(translate_file(Full(), "a.txt", b"one", request, seconds=5))


def test_flaws_of_translations_are_told_but_for_what_is_put_back() -> None:
    class Flawed(EchoService):
        async def translate(
            self, requests: Sequence[TextRequest], *, seconds: float | None = None
        ) -> list[TranslatedText]:
            found = await super().translate(requests, seconds=seconds)
            return [self._flawed(one) for one in found]

        def _flawed(self, one: TranslatedText) -> TranslatedText:
            missing = {"One door": ("Tür",), "Run x-1": ("x-1",)}
            sentences = []
            for sentence in one.sentences:
                (best,) = sentence.renderings
                faults = ("repetition",) if "loop" in sentence.source else ()
                flawed = replace(best, missing=missing.get(sentence.source, ()), faults=faults)
                sentences.append(replace(sentence, renderings=(flawed,)))
            return replace(one, sentences=tuple(sentences))

    content = b"<p>One door<p>Run <code>x-1</code><p>A loop"
    found = file("a.html", content, Flawed())
    assert found.flaws == (Flaw("One door", ("Tür",)), Flaw("A loop", (), ("repetition",)))
    assert file("a.html", content).flaws == ()


def test_a_text_that_cannot_be_translated_stays_and_is_told() -> None:
    class Refusing(EchoService):
        async def translate(
            self, requests: Sequence[TextRequest], *, seconds: float | None = None
        ) -> list[TranslatedText]:
            if any("bad" in one.text for one in requests):
                raise RefusedError("invalid", "too long")
            return await super().translate(requests, seconds=seconds)

    told: list[tuple[str, str]] = []
    found = asyncio.run(
        translate_file(
            Refusing(),
            "a.txt",
            b"one\nbad\ntwo\n",
            TextRequest("", "de", "en"),
            untranslatable=lambda *one: told.append(one),
        )
    )
    assert (found.content, told) == (b"ONEde\nbad\nTWOde\n", [("bad", "too long")])
    with pytest.raises(RefusedError, match="too long"):
        file("a.txt", b"one\nbad\n", Refusing())


@pytest.mark.parametrize(
    ("name", "content", "left"),
    [
        ("a.json", '{"a": "TEXT", "b": "Two words"}', '{"a": "TEXT", "b": "Zwei"}'),
        (
            "a.po",
            'msgid "TEXT"\nmsgstr ""\n\nmsgid "Two words"\nmsgstr ""\n',
            'msgid "TEXT"\nmsgstr ""\n\n#, fuzzy\nmsgid "Two words"\nmsgstr "Zwei"\n',
        ),
        (
            "a.xlf",
            '<xliff version="2.0" srcLang="en" trgLang="de"><file id="f"><unit id="u">'
            "<segment><source>TEXT</source></segment>"
            "<segment><source>Two words</source></segment></unit></file></xliff>",
            '<xliff version="2.0" srcLang="en" trgLang="de"><file id="f"><unit id="u">'
            "<segment><source>TEXT</source></segment>"
            '<segment state="translated"><source>Two words</source><target>Zwei</target>'
            "</segment></unit></file></xliff>",
        ),
    ],
    ids=["json", "po", "xliff"],
)
@pytest.mark.parametrize(
    ("source", "said", "reason"),
    [
        ("Copy it", "", "its translation is empty"),
        ("All of {name}", "100%{name}", "would not have the same placeholders"),
    ],
    ids=["empty", "unlike"],
)
def test_strings_that_cannot_be_written_are_told(
    name: str, content: str, left: str, source: str, said: str, reason: str
) -> None:
    told: list[tuple[str, str]] = []
    found = asyncio.run(
        translate_file(
            SayingService(lambda text: "Zwei" if text == "Two words" else said),
            name,
            content.replace("TEXT", source).encode(),
            TextRequest("", "de", "en"),
            untranslatable=lambda *one: told.append(one),
        )
    )
    assert found.content.decode() == left.replace("TEXT", source)
    ((text, why),) = told
    assert text == source and reason in why


ONE_TEXT: dict[str, str | bytes] = {
    "a.txt": "Copy it\n",
    "a.html": "<p>Copy <b>it</b></p>",
    "a.md": "# Copy *it*\n",
    "a.mdx": "# Copy <b>it</b>\n",
    "a.rst": "Copy *it*\n=========\n",
    "a.adoc": "== Copy *it*\n",
    "a.srt": "1\n00:00:01,000 --> 00:00:02,000\n<i>Copy\nit</i>\n",
    "a.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\nCopy &amp; it\n",
    "a.ass": "[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,Copy {\\i1}it{\\i0}\n",
    "a.docx": docx(f"<w:p>{run('Copy ')}{run('it', '<w:b/>')}</w:p>"),
    "a.odt": odt("<text:p>Copy it</text:p>"),
    "a.odp": odt("<text:p>Copy it</text:p>", kind="presentation"),
    "a.ods": odt("<text:p>Copy it</text:p>", kind="spreadsheet"),
    "a.epub": epub("<p>Copy <b>it</b></p>", title="2", **{"toc.ncx": "<ncx/>"}),
    "a.pptx": pptx("<a:r><a:t>Copy it</a:t></a:r>"),
    "a.xlsx": xlsx("<t>Copy it</t>"),
    "a.xlsm": xlsm("<t>Copy it</t>"),
    "a.po": '#, c-format\nmsgid "Copy it"\nmsgstr ""\n',
    "a.xlf": '<xliff version="1.2"><file source-language="en" target-language="de"><body>'
    '<trans-unit id="1"><source>Copy <g id="1">it</g></source></trans-unit></body></file></xliff>',
    "a.tmx": '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>Copy it'
    "</seg></tuv></tu></body></tmx>",
    "a.json": '{"a": "Copy it"}',
    "a.yml": "a: 'Copy it'\n",
    "a.xml": '<resources><string name="a">Copy <b>it</b></string></resources>',
    "a.strings": '"a" = "Copy it";\n',
    "a.xcstrings": '{"sourceLanguage": "en", "strings": {"Copy it": {}}}',
    "a.resx": '<root><data name="a"><value>Copy it</value></data></root>',
    "a.ftl": "a = Copy it\n",
    "a.ts": "<TS language='de'><message><source>Copy it</source></message></TS>",
    "a.csv": "en,de\nCopy it,\n",
    "a.properties": "a = Copy it\n",
    "a.stringsdict": "<plist><dict><key>a</key><dict><key>NSStringLocalizedFormatKey</key>"
    "<string>Copy it</string></dict></dict></plist>",
}
"""A file of one text in each format."""


def test_every_format_has_a_file_of_one_text() -> None:
    suffixes = {name.removeprefix("a") for name in ONE_TEXT}
    assert [one.name for one in DOCUMENT_FORMATS if not suffixes & set(one.suffixes)] == []


@pytest.mark.parametrize("said", ["", " \n", "\u200b\ufeff", "{stray}"])
@pytest.mark.parametrize("name", ONE_TEXT)
def test_an_empty_translation_is_told_and_its_text_stays(name: str, said: str) -> None:
    content = ONE_TEXT[name]
    raw = content.encode() if isinstance(content, str) else content
    told: list[tuple[str, str]] = []
    request = TextRequest("", "de", "en")
    found = asyncio.run(
        translate_file(
            SayingService(lambda _: said),
            name,
            raw,
            request,
            untranslatable=lambda *one: told.append(one),
        )
    )
    assert found.content == raw
    ((_, reason),) = told
    assert reason == "its translation is empty"
    assert not found.flaws
    assert [one.reason for one in found.untranslated] == [reason]
    untold = asyncio.run(translate_file(SayingService(lambda _: said), name, raw, request))
    assert (untold.content, untold.untranslated) == (raw, found.untranslated)


def test_a_sentence_without_translation_leaves_its_text() -> None:
    """Its words would be gone without a trace among those of the others."""

    class Dropping(EchoService):
        async def translate(
            self, requests: Sequence[TextRequest], *, seconds: float | None = None
        ) -> list[TranslatedText]:
            found = await super().translate(requests, seconds=seconds)
            return [self._dropped(one) for one in found]

        def _dropped(self, one: TranslatedText) -> TranslatedText:
            kept = [each for each in one.sentences if "Nine" not in each.source]
            lost = [
                TranslatedSentence(each.source, each.start, (Rendering(""),))
                for each in one.sentences
                if "Nine" in each.source
            ]
            text = " ".join(each.renderings[0].text for each in kept)
            return replace(one, text=text, sentences=(*kept, *lost))

    told: list[tuple[str, str]] = []
    found = asyncio.run(
        translate_file(
            Dropping(),
            "a.html",
            b"<p>Seven euros. <i>Nine cents.</i><p>Eight. 9.",
            TextRequest("", "de", "en"),
            untranslatable=lambda *one: told.append(one),
        )
    )
    assert found.content == b"<p>Seven euros. <i>Nine cents.</i><p>EIGHT.de 9.de"
    assert told == [
        ("Seven euros. Nine cents.", "the translation of 'Nine cents.' is empty"),
    ]


def test_a_text_that_cannot_be_translated_is_no_translation_in_a_catalogue() -> None:
    class Refusing(EchoService):
        async def translate(
            self, requests: Sequence[TextRequest], *, seconds: float | None = None
        ) -> list[TranslatedText]:
            if any("bad" in one.text for one in requests):
                raise RefusedError("invalid", "too long")
            return await super().translate(requests, seconds=seconds)

    told: list[tuple[str, str]] = []
    content = 'msgid "good"\nmsgstr ""\n\nmsgid ""\n"good\\n"\n"bad"\nmsgstr ""\n'
    found = asyncio.run(
        translate_file(
            Refusing(),
            "a.po",
            content.encode(),
            TextRequest("", "de", "en"),
            untranslatable=lambda *one: told.append(one),
        )
    )
    assert found.content.decode() == content.replace(
        'msgid "good"\nmsgstr ""', '#, fuzzy\nmsgid "good"\nmsgstr "GOODde"'
    )
    assert told == [("bad", "too long")]


def test_characters_that_nobody_sees_do_not_change_a_translation() -> None:
    page = (
        "<p>sev&shy;en hou&#8203;ses</p><p>&lrm;seven houses&#8207;</p>"
        "<p><b>seven hou\u00adses&zwnj;</b></p>"
    )
    service = service_of(FakeSystem("en-de"))
    request = TextRequest("", "de", "en")
    found = asyncio.run(translate_file(service, "a.html", page.encode(), request))
    said = "SEVENde HOUSESde"
    assert found.content.decode() == (f"<p>{said}</p><p>&lrm;{said}&#8207;</p><p><b>{said}</b></p>")


@pytest.mark.parametrize(
    ("name", "content", "written"),
    [
        ("a.arb", '{"@@locale": "en", "a": "One"}', '{"@@locale": "de", "a": "ONE"}'),
        ("a.json", '{"en": {"a": "One"}}', '{"de": {"a": "ONE"}}'),
        ("a.yml", "en:\n  a: One\n", "de:\n  a: ONE\n"),
        (
            "a.tmx",
            '<tmx version="1.4"><header srclang="*all*"/><body><tu><tuv xml:lang="en"><seg>One'
            "</seg></tuv></tu></body></tmx>",
            '<tmx version="1.4"><header srclang="*all*"/><body><tu><tuv xml:lang="en"><seg>One'
            '</seg></tuv><tuv xml:lang="de" creationtool="Dragoman"><seg>ONE</seg></tuv></tu>'
            "</body></tmx>",
        ),
    ],
)
def test_a_file_that_says_its_language_is_written(name: str, content: str, written: str) -> None:
    """When it is read again to check it, it says the target language."""
    request = TextRequest("", "de", "en")
    service = SayingService(str.upper)
    found = asyncio.run(translate_file(service, name, content.encode(), request))
    assert (found.content.decode(), found.untranslated) == (written, ())
