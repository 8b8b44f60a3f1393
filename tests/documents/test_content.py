"""Texts with markup, and files, through a service whose answers are known."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
from echo_service import EchoService

from dragoman.documents import content
from dragoman.documents.content import (
    ContentFormat,
    MarkupOptions,
    repaired,
    translate_contents,
)
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.service.interface import RefusedError, TextRequest
from dragoman.translation.service.translated_text import (
    Detection,
    Link,
    Rendering,
    TranslatedSentence,
    TranslatedText,
)


def translated(
    texts: Sequence[str],
    kind: ContentFormat,
    service: EchoService | None = None,
    source: str | None = "en",
    markup: MarkupOptions | None = None,
) -> list[TranslatedText]:
    requests = [TextRequest(text, "de", source) for text in texts]
    return asyncio.run(translate_contents(service or EchoService(), requests, kind, markup))


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("text", "Hi <b>you</b>.", "HI <B>YOU</B>.de"),
        ("html", "<p>Hi <b>you</b>.\n Yes!</p>", "<p>HI <b>YOU</b>.de\n YES!de</p>"),
        ("html", "<ul><li>One<li>Two</ul>", "<ul><li>ONEde<li>TWOde</ul>"),
        ("html", "&lt;script&gt; &amp; x", "&lt;script&gt; &amp; Xde"),
        ("html", 'Hi <x id="7"></x>, you', 'HI <x id="7"></x>, YOUde'),
        ("html", "<p>1, 2</p>", "<p>1, 2</p>"),
        ("html", "<p>Hi {<b>12</b>}, %(<i>7</i>)s</p>", "<p>HI {<b>12</b>}, %(<i>7</i>)Sde</p>"),
        ("html", "Run <code>ls -l</code> now", "RUN <code>ls -l</code> NOWde"),
        (
            "xml",
            "<r><a>Hi</a><b>You <i/>x &amp; y</b></r>",
            "<r><a>HIde</a><b>YOU <i/>X &amp; Yde</b></r>",
        ),
        ("xml", "", ""),
    ],
)
def test_markup_stays_where_it_is(kind: ContentFormat, text: str, expected: str) -> None:
    (found,) = translated([text], kind)
    assert found.text == expected
    assert (found.source, found.target, found.detection) == ("en", "de", None)
    assert kind == "text" or found.sentences == ()


def test_all_texts_are_translated_in_one_call() -> None:
    service = EchoService()
    found = translated(["<p>One<p>Two <b>x</b>", "", "Three"], "html", service)
    assert [one.text for one in found] == ["<p>ONEde<p>TWO <b>Xde</b>", "", "THREEde"]
    (asked,) = service.calls
    assert [one.text for one in asked] == ["One", "Two x", "", "Three"]
    assert [one.links for one in asked] == [False, True, False, False]


def test_a_page_has_one_language() -> None:
    service = EchoService(("de", "fr"), ("en", "fr"))
    requests = [TextRequest("<p>One<p>der Zwei", "fr"), TextRequest("<p>one", "fr")]
    found = asyncio.run(translate_contents(service, requests, "html"))
    assert [one.source for one in found] == ["de", "en"]
    assert found[0].text == "<p>ONEfr<p>DER ZWEIfr"
    assert found[0].detection == ("de", 0.9)


def test_a_language_is_chosen_that_can_be_translated() -> None:
    service = EchoService(("de", "fr"), ("en", "de"))
    requests = [TextRequest("<p>One<p>Two", "FR-ca")]  # English, into which nothing here leads
    (found,) = asyncio.run(translate_contents(service, requests, "html"))
    assert (found.source, found.text) == ("de", "<p>ONEfr<p>TWOfr")


def test_pages_of_one_request_are_judged_together() -> None:
    judged: list[list[str]] = []

    class Judging(EchoService):
        async def detect_sources(self, texts: Sequence[str], target: str) -> list[Detection]:
            judged.append(list(texts))
            return await super().detect_sources(texts, target)

    requests = [TextRequest(text, "de") for text in ("<b>one</b>", "<br>", "<p>two<p>three")]
    asyncio.run(translate_contents(Judging(), requests, "html"))
    assert judged == [["one", "two\nthree"]]


def test_names_in_code_are_terms_and_plain_words_are_not() -> None:
    service = EchoService()
    given = Glossary.of({"one": "eins"})
    requests = [
        TextRequest(
            "<p>one <code>ls -l</code><p>two <samp>ok</samp><p>three", "de", "en", glossary=given
        ),
        TextRequest("<code>x1</code> and y", "de", "en"),
    ]
    asyncio.run(translate_contents(service, requests, "html"))
    terms = [
        found and [term.source for term in found.terms]
        for found in (one.kept or one.glossary for one in service.calls[0])
    ]
    assert [one.glossary for one in service.calls[0]] == [given, given, given, None]
    assert terms == [["one", "ls -l", "x1"], ["one", "ls -l", "x1"], ["one"], ["ls -l", "x1"]]


def test_the_glossary_of_the_request_wins() -> None:
    service = EchoService()
    given = Glossary.of({"ls -l": "auflisten"})
    request = TextRequest("a <code>LS -l</code>", "de", "en", glossary=given)
    (found,) = asyncio.run(translate_contents(service, [request], "html"))
    assert found.text == "A <code>LS -l</code>de"


def test_markup_options_are_passed_on() -> None:
    options = MarkupOptions(ignored_tags=("k",), splitting_tags=("s",))
    (found,) = translated(["a <k>b</k> <s>c</s>"], "xml", markup=options)
    assert found.text == "A <k>b</k> <s>Cde</s>"


@pytest.mark.parametrize(
    ("kind", "text", "refusal"),
    [("xml", "<a>", "invalid"), ("html", "<p>busy", "busy"), ("text", "busy", "busy")],
)
def test_refusals_are_told(kind: ContentFormat, text: str, refusal: str) -> None:
    with pytest.raises(RefusedError) as error:
        translated([text], kind)
    assert error.value.kind == refusal


def test_lost_placeholders_of_plain_text_come_back() -> None:
    class Careless(EchoService):
        async def translate(
            self, requests: Sequence[TextRequest], *, seconds: float | None = None
        ) -> list[TranslatedText]:
            return [
                TranslatedText(
                    one.text.replace("[X7X] ", ""),
                    found.source,
                    found.target,
                    None,
                    tuple(
                        type(part)(
                            part.source,
                            part.start,
                            tuple(
                                type(rendering)(rendering.text.replace("[X7X] ", ""))
                                for rendering in part.renderings
                            ),
                            part.target_start,
                        )
                        for part in found.sentences
                    ),
                )
                for one, found in zip(requests, await super().translate(requests), strict=True)
            ]

    (found,) = translated(["Hi [X7X] you"], "text", Careless())
    assert found.text == "HI [X7X] YOUde"


@pytest.mark.parametrize(("nbest", "beside"), [(1, False), (9, True)])
def test_placeholders_of_plain_text_are_repaired_beside_the_event_loop(
    nbest: int, beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of every alternative, if they are many."""
    threads: list[threading.Thread] = []

    def noted(one: TranslatedText) -> TranslatedText:
        threads.append(threading.current_thread())
        return one

    monkeypatch.setattr(content, "repaired", noted)
    request = TextRequest("Hi [X7X] you. " * 50, "de", "en", nbest=nbest)
    asyncio.run(translate_contents(EchoService(), [request, TextRequest("Yes", "de", "en")]))
    (thread,) = threads
    assert (thread is not threading.main_thread()) == beside


def test_lost_and_doubled_placeholders_are_repaired_in_all_renderings() -> None:
    first = TranslatedSentence(
        "Hi [X7X].",
        1,
        (Rendering("Hallo.", links=(Link(0, 2, 0, 5),)), Rendering("[X7X] [X7X] hi")),
        1,
    )
    second = TranslatedSentence("No [X8X] x", 12, (Rendering("Kein [X8X] x", 0.5),), 9)
    translated = TranslatedText(" Hallo.  Kein [X8X] x\n", "en", "de", None, (first, second))
    found = repaired(translated)
    assert found.text == " Hallo [X7X].  Kein [X8X] x\n"
    assert [one.text for one in found.sentences[0].renderings] == ["Hallo [X7X].", "[X7X] hi"]
    assert found.sentences[1].renderings == second.renderings
    for one in found.sentences:
        text = one.renderings[0].text
        assert found.text[one.target_start : one.target_start + len(text)] == text


def test_what_is_complete_stays_as_it_is() -> None:
    sentence = TranslatedSentence("[X1X] a", 0, (Rendering("a [X1X]", links=(Link(0, 5, 2, 7),)),))
    translated = TranslatedText("a [X1X]", "en", "de", None, (sentence,))
    assert repaired(translated) == translated
