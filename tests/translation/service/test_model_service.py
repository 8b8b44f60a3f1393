from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from translation.service.fake_systems import FakeSystem, known, service_of

from dragoman.text.terms.glossary import Glossary
from dragoman.translation.service import model_service
from dragoman.translation.service.interface import Pairing, RefusedError, TextRequest
from dragoman.translation.service.loaded_system import LoadedSystem
from dragoman.translation.service.model_service import ModelService
from dragoman.translation.service.text_jobs import TextJob, Unit, last_sentences
from dragoman.translation.service.translated_text import TranslatedSentence, TranslatedText


def run(use: Callable[[ModelService], Awaitable[Any]], *systems: FakeSystem, **options: Any) -> Any:
    """What ``use`` returns for a service over fake systems."""

    async def main() -> Any:
        async with service_of(*systems, **options) as service:
            try:
                return await use(service)
            finally:
                for system in systems:
                    system.translator.gate.set()

    return asyncio.run(main())


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition; a test that waits for ever is ended by pytest."""
    while not condition():
        await asyncio.sleep(0.001)


def translated(
    *requests: TextRequest, system: FakeSystem | None = None, **options: Any
) -> list[TranslatedText]:
    async def use(service: ModelService) -> list[TranslatedText]:
        return await service.translate(requests)

    found: list[TranslatedText] = run(use, system or FakeSystem("en-de", "en-fr"), **options)
    return found


def refusal(*requests: TextRequest, **options: Any) -> RefusedError:
    with pytest.raises(RefusedError) as raised:
        translated(*requests, **options)
    return raised.value


def to_german(text: str, **options: Any) -> TextRequest:
    return TextRequest(text, "de", "en", **options)


def test_a_long_context_of_many_texts_is_divided_once_and_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    divided: list[tuple[str, bool]] = []

    def divide(text: str, language: str, count: int, *, splitter: str) -> tuple[str, ...]:
        divided.append((text, threading.current_thread() is threading.main_thread()))
        return last_sentences(text, language, count)

    monkeypatch.setattr(model_service, "last_sentences", divide)
    system = FakeSystem("en-de", context=SimpleNamespace(sentences=2))
    context = "One. Two. " * 1000
    translated(*(to_german(f"Text {name}.", context=context) for name in "abc"), system=system)
    assert divided == [(context, False)]


def test_white_space_stays_and_places_are_right() -> None:
    text = "  Open it.\tClose  it!\r\n\n\u00a0Done\u2028now "
    (found,) = translated(to_german(text))
    assert found.text == "  OPENde IT.de\tCLOSEde IT!de\r\n\n\u00a0DONEde\u2028NOWde "
    for one in found.sentences:
        assert text.startswith(one.source, one.start)
        assert found.text.startswith(one.renderings[0].text, one.target_start)
    assert translated(to_german(""), to_german(" \n"))[0].text == ""
    assert translated(to_german(""), to_german(" \n"))[1].text == " \n"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("sev\u00aden hou\u200bses", "{}"),
        ("\u200bse\u2060ven houses\u200e", "{}\u200e"),
        (
            "\u200f\u2067seven houses\u2069\n\u200eseven \ufeffhouses ",
            "\u200f\u2067{0}\u2069\n\u200e{0} ",
        ),
        ("\u202bseven\u202c houses\u200f", "{}\u200f"),
    ],
)
def test_what_nobody_sees_is_not_read_and_marks_at_the_ends_stay(text: str, written: str) -> None:
    system = FakeSystem("en-de")
    (found,) = translated(to_german(text), system=system)
    read = "<2de> seven houses"
    assert found.text == written.format(known(read))
    assert {line for call in system.translator.calls for line in call} == {read}


def test_a_list_is_translated_at_once_and_languages_share_batches() -> None:
    system = FakeSystem("en-de", "en-fr")
    requests = [TextRequest(f"Word{n} here.", "de" if n % 2 else "fr", "en") for n in range(40)]
    found = translated(*requests, system=system)
    assert [one.text for one in found] == [
        known(f"<2{request.target}> {request.text}") for request in requests
    ]
    assert len(system.translator.calls) == 1


def test_equal_sentences_are_translated_once() -> None:
    system = FakeSystem("en-de")
    assert translated(to_german("Yes. Yes. Never. Yes."), system=system)[0].text == (
        "YES.de YES.de NEVER.de YES.de"
    )
    assert system.translator.calls == [["<2de> Yes.", "<2de> Never."]]


def test_batches_of_a_long_request_have_lines_of_similar_length() -> None:
    system = FakeSystem("en-de")
    lines = ["a", "b" + " b" * 9, "c c", "d" + " d" * 8, "e e e", "f" + " f" * 7]
    (found,) = translated(to_german("\n".join(lines)), system=system, batching={"batch_lines": 3})
    assert found.text.split("\n") == [known(f"<2de> {line}") for line in lines]
    assert [{line.split()[1] for line in call} for call in system.translator.calls] == [
        {"b", "d", "f"},
        {"a", "c", "e"},
    ]


def test_each_of_many_clients_gets_its_own_answer_in_few_batches() -> None:
    system = FakeSystem("en-de", "en-fr")

    async def use(service: ModelService) -> None:
        async def client(name: int) -> None:
            for turn in range(5):
                text = f"Client{name} says{turn}. Then more{name}."
                target = "de" if (name + turn) % 2 else "fr"
                (found,) = await service.translate([TextRequest(text, target, "en")])
                assert found.text == known(f"<2{target}> {text}")

        await asyncio.gather(*map(client, range(40)))

    run(use, system)
    assert sum(map(len, system.translator.calls)) == 400
    assert len(system.translator.calls) < 100


@settings(max_examples=20)
@given(st.text(st.sampled_from("ab, .;\n你。！é[X1]"), max_size=120), st.integers(7, 30))
def test_what_is_too_long_is_divided_and_nothing_is_lost(text: str, longest: int) -> None:
    system = FakeSystem("en-de", longest=longest)
    (found,) = translated(to_german(text, split="none"), system=system)
    sources = [one.source for one in found.sentences]
    assert "".join("".join(sources).split()) == "".join(text.split())
    end = 0
    for one in found.sentences:
        assert text[end : one.start].strip() == ""
        end = one.start + len(one.source)
    assert text[end:].strip() == ""


def test_what_cannot_be_translated_however_short_is_refused() -> None:
    error = refusal(to_german("abc"), system=FakeSystem("en-de", longest=3))
    assert (error.kind, str(error)) == ("invalid", "too long")


def test_what_has_no_letters_of_its_own_is_copied() -> None:
    system = FakeSystem("en-de")
    texts = ["12,5 %", "...", "\U0001f600 \u2192", "[X7X]", '<x id="7"></x>', "https://x.org/a"]
    assert [one.text for one in translated(*map(to_german, texts), system=system)] == texts
    assert system.translator.calls == []


@pytest.mark.parametrize("drops", [False, True])
def test_marks_survive_a_model_that_drops_them(drops: bool) -> None:
    (found,) = translated(
        to_german("Click [X7X], then wait [X8X] now.", nbest=2),
        system=FakeSystem("en-de", drops_marks=drops),
    )
    assert found.text.count("[X7X]") == found.text.count("[X8X]") == 1
    for word in ("CLICKde", "THENde", "WAITde"):
        assert word in found.text


def test_a_language_into_itself_is_left_alone() -> None:
    found = translated(TextRequest(" Hello. You ", "EN", "en"), TextRequest("Hallo", "de", "de_AT"))
    assert [(one.text, one.source, one.target) for one in found] == [
        (" Hello. You ", "en", "en"),
        ("Hallo", "de", "de"),
    ]


@pytest.mark.parametrize(
    ("request_", "kind", "words"),
    [
        (TextRequest("x", "xx", "en"), "unsupported", "'xx'; languages: de, en, fr"),
        (TextRequest("x", "de", "qq"), "unsupported", "from 'qq'"),
        (TextRequest("x", "fr", "de"), "unsupported", "from de into fr; from de, there is nothing"),
        (to_german("One. Two.", prefix="Das"), "invalid", "one sentence, and this one has 2"),
        (to_german("x", nbest=0), "invalid", "expected 1 to 101 translations, found 0"),
        (to_german("x", nbest=1000), "invalid", "found 1000"),
    ],
)
def test_bad_requests_are_refused(request_: TextRequest, kind: str, words: str) -> None:
    error = refusal(to_german("fine"), request_)
    assert error.kind == kind
    assert words in str(error)


def test_halves_of_characters_do_not_come_back() -> None:
    texts = ["a \ud800 b", "\udfff"]
    for one in translated(*map(to_german, texts), TextRequest("\ud800", "en", "en")):
        "".join([one.text, *(sentence.source for sentence in one.sentences)]).encode("utf-8")


def test_alternatives_and_prefixes() -> None:
    (found,) = translated(to_german("One. Two.", nbest=3))
    assert found.text == "ONE.de TWO.de"
    assert found.alternatives == ["ONE.de 2 TWO.de 2", "ONE.de 3 TWO.de 3"]
    assert [one.score for one in found.sentences[0].renderings] == [-1.0, -2.0, -3.0]
    (found,) = translated(to_german("One", prefix="Das "))
    assert found.text == "Das ONEde"


def test_two_systems_translate_through_a_pivot() -> None:
    one, two = FakeSystem("de-en"), FakeSystem("en-fr")

    async def use(service: ModelService) -> TranslatedText:
        assert service.directions() == [
            Pairing("de", "en"),
            Pairing("de", "fr"),
            Pairing("en", "fr"),
        ]
        glossary = Glossary.of({"haus": "maison"})
        request = TextRequest("Ein Haus. Gut.", "fr", "de", nbest=2, glossary=glossary)
        (found,) = await service.translate([request])
        return found

    found = run(use, one, two, pivots=("xx", "en"))
    assert found.text == "EINENfr HAUS.ENfr GUT.ENfr"
    assert [rendering.score for rendering in found.sentences[0].renderings] == [-2.0, -3.0]
    (carried,) = two.translator.glossaries
    assert [m.term.targets for m in carried.matches("EINen HAUS.en")] == [("maison",)]
    assert list(carried.matches("GUT.en")) == []
    assert one.translator.glossaries == [None]


def test_a_memory_answers_sentences_and_whole_texts() -> None:
    system, asked = FakeSystem("en-de", "en-fr"), []

    def remember(texts: Sequence[str], source: str, target: str) -> Mapping[str, str]:
        asked.append((sorted(texts), source, target))
        answers = {"Yes.": "Ja!", "One. Two.": "Eins, zwei."}
        return {text: answers[text] for text in texts if text in answers}

    requests = [
        to_german(" One. Two.\n"),
        to_german("Yes. No."),
        TextRequest("Yes.", "fr", "en", memory=False),
        to_german("Yes.", prefix="So "),
    ]
    found = translated(*requests, system=system, remember=remember)
    assert [one.text for one in found] == [" Eins, zwei.\n", "Ja! NO.de", "YES.fr", "So YES.de"]
    assert [one.sentences[0].renderings[0].from_memory for one in found] == [
        True,
        True,
        False,
        False,
    ]
    assert asked == [(["No.", "One.", "One. Two.", "Two.", "Yes.", "Yes. No."], "en", "de")]
    assert sorted(line for call in system.translator.calls for line in call) == [
        "<2de> No.",
        "<2de> Yes.",
        "<2fr> Yes.",
    ]


def test_a_memory_that_knows_nothing_of_a_direction_is_not_asked() -> None:
    asked = []

    def remember(texts: Sequence[str], source: str, target: str) -> Mapping[str, str]:
        asked.append((source, target))
        return {}

    translated(
        to_german("Yes."),
        TextRequest("Yes.", "fr", "en"),
        remember=remember,
        may_remember=lambda source, target: target == "fr",
    )
    assert asked == [("en", "fr")]


def test_sentences_are_streamed_in_order_before_all_are_done() -> None:
    system = FakeSystem("en-de")
    text = " ".join(f"This is number{n}." for n in range(20))

    async def use(service: ModelService) -> None:
        seen: list[TranslatedSentence] = []
        async for sentence in service.stream(to_german(text)):
            if not seen:
                assert sum(map(len, system.translator.calls)) == 2
            seen.append(sentence)
        (whole,) = await service.translate([to_german(text)])
        assert tuple(seen) == whole.sentences

    run(use, system)


def test_a_stream_whose_reader_was_too_slow_says_what_time_there_was() -> None:
    async def use(service: ModelService) -> None:
        reading = service.stream(to_german("One. Two. Three. Four."), seconds=0.2)
        with pytest.raises(RefusedError, match=r"not ready after 0\.2 s"):
            async for _ in reading:
                await asyncio.sleep(0.15)

    run(use, FakeSystem("en-de"))


def test_a_full_queue_says_when_to_come_back_and_time_is_bounded() -> None:
    system = FakeSystem("en-de")

    async def use(service: ModelService) -> None:
        system.translator.gate.clear()
        first = asyncio.ensure_future(service.translate([to_german("At work.")]))
        await until(lambda: len(system.translator.calls) == 1)
        second = asyncio.ensure_future(service.translate([to_german("a\nb\nc")]))
        await until(lambda: service.status().waiting_lines == 3)
        with pytest.raises(RefusedError) as busy:
            await service.translate([to_german("d\ne")])
        assert busy.value.kind == "busy"
        assert busy.value.retry_after is not None
        assert busy.value.retry_after >= 1
        with pytest.raises(RefusedError) as late:
            await service.translate([to_german("f")], seconds=0.02)
        assert (late.value.kind, late.value.retry_after) == ("timed_out", 5)
        assert service.status().waiting_lines == 3
        second.cancel()
        await until(lambda: service.status().waiting_lines == 0)
        system.translator.gate.set()
        assert (await first)[0].text == "ATde WORK.de"

    run(use, system, batching={"queue_lines": 4})
    assert system.translator.calls == [["<2de> At work."]]


@pytest.mark.parametrize("steps", range(5))
def test_a_cancellation_as_the_work_ends_is_not_lost(steps: int) -> None:
    async def use(service: ModelService) -> None:
        work = asyncio.ensure_future(service.translate([TextRequest("x", "de", "de")]))
        for _ in range(steps):
            await asyncio.sleep(0)
        is_cancelled = work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        assert work.cancelled() == is_cancelled

    run(use, FakeSystem("en-de"))


def test_a_text_of_more_sentences_than_may_wait_is_translated_in_parts() -> None:
    text = "\n".join(f"line{n}" for n in range(50))
    (found,) = translated(to_german(text), batching={"queue_lines": 8, "batch_lines": 2})
    assert found.text == "\n".join(f"LINE{n}de" for n in range(50))


def test_closing_answers_those_who_wait() -> None:
    system = FakeSystem("en-de")

    async def main() -> None:
        service = service_of(system)
        waiting = asyncio.ensure_future(service.translate([to_german("Stay. Here.")]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await service.close()
        assert (await waiting)[0].text == "STAY.de HERE.de"
        with pytest.raises(RefusedError, match="stopping"):
            await service.translate([to_german("x")])

    asyncio.run(main())
    assert system.translator.closed


def test_languages_are_detected_among_those_that_can_be_translated() -> None:
    pytest.importorskip("py3langid")
    system = FakeSystem("en-de", "fr-de", "de-en")

    async def use(service: ModelService) -> None:
        (german,) = await service.detect(["Das ist ein schönes Haus."])
        assert german[0].language == "de"
        assert sum(one.probability for one in german) == pytest.approx(1)
        assert await service.detect([" "]) == [[]]
        # "test" alone says nothing; beside a French text it is French.
        texts = ["test", "Voici une maison avec un grand jardin."]
        found = await service.translate([TextRequest(text, "de") for text in texts])
        assert [one.source for one in found] == ["fr", "fr"]
        for target in ("de", "DE-at"):
            judged = await service.detect_sources(texts, target)
            assert [one.language for one in judged] == ["fr", "fr"]
        (alone,) = await service.translate([TextRequest("test", "de")])
        assert (alone.source, alone.text) == ("en", "TESTde")
        assert alone.detection is not None
        (same,) = await service.translate([TextRequest("Das ist ein schönes Haus.", "de")])
        assert same.text == "Das ist ein schönes Haus."

    run(use, system, pivots=("en",))


def test_a_text_in_the_language_it_is_wanted_in_is_left_even_if_nothing_reads_that() -> None:
    pytest.importorskip("py3langid")

    async def use(service: ModelService) -> None:
        german = "Das ist ein schönes Haus."
        for text, expected in [
            (german, german),
            ("This is a beautiful house.", "THISde ISde Ade BEAUTIFULde HOUSE.de"),
            ("test", "TESTde"),  # nothing speaks for either language
        ]:
            (found,) = await service.translate([TextRequest(text, "de")])
            assert found.text == expected

    run(use, FakeSystem("en-de"))


def test_a_failure_of_one_direction_stops_the_other() -> None:
    good, bad = FakeSystem("en-de"), FakeSystem("en-fr", longest=3)

    async def use(service: ModelService) -> None:
        good.translator.gate.clear()
        with pytest.raises(RefusedError):
            await service.translate([to_german("x"), TextRequest("abc", "fr", "en")])
        good.translator.gate.set()

    run(use, good, bad, batching={"batches_at_once": 2})


def test_it_says_what_it_is_doing() -> None:
    system = FakeSystem("en-de")

    async def use(service: ModelService) -> None:
        await service.translate([to_german("One. Two. Three.")])
        status = service.status()
        assert status.directions == 1
        (one,) = status.systems
        assert (one.models, one.pairs) == (("fake",), (Pairing("en", "de"),))
        assert (one.lines, one.batches, one.waiting_lines, one.reloads) == (3, 1, 0, 0)
        assert one.problem is None
        assert service.tags(Pairing("en", "de")) == ("<ui>",)
        assert service.tags(Pairing("en", "en")) == ()

    run(use, system)


def test_nothing_is_kept_of_requests_that_were_answered() -> None:
    system = FakeSystem("en-de")

    async def use(service: ModelService) -> None:
        for name in range(50):
            await service.translate([to_german(f"Text {name}. And more.")])
        async for _ in service.stream(to_german("One. Two. Three.")):
            break
        gc.collect()
        await asyncio.sleep(0.01)  # the stream that nobody reads on is closed by the loop
        gc.collect()
        kept = [one for one in gc.get_objects() if type(one) in {TextJob, Unit}]
        assert kept == []

    run(use, system)


def test_a_request_of_several_rounds_is_finished_by_the_system_that_began_it() -> None:
    old, new = FakeSystem("en-de", longest=20), FakeSystem("en-fr")

    async def use(service: ModelService) -> None:
        old.translator.gate.clear()
        request = to_german("one two three, four five six seven", split="none")
        waiting = asyncio.ensure_future(service.translate([request]))
        await until(lambda: bool(old.translator.calls))
        service._exchange(0, cast("LoadedSystem", new))
        await asyncio.sleep(0.01)
        old.translator.gate.set()
        (found,) = await waiting
        assert found.text.split()[-1] == "SEVENde"
        assert service.directions() == [Pairing("en", "fr")]
        assert (await service.translate([TextRequest("a", "fr", "en")]))[0].text == "Afr"
        await until(lambda: old.translator.closed)

    run(use, old)
