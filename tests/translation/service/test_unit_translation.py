"""What sentences become on their way through one system or two."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_model import save_tiny_model
from translation.service.fake_systems import FakeSystem, FakeTranslator, service_of

from dragoman.saved.system import TranslationSystem
from dragoman.text.examples import Direction
from dragoman.text.inline_tags import InlineTags, TagSpan
from dragoman.text.terms.copied_text import is_intact, protected
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.outputs import Translation
from dragoman.translation.service import unit_translation
from dragoman.translation.service.interface import RefusedError, TextRequest
from dragoman.translation.service.model_service import ModelService, ServiceOptions
from dragoman.translation.service.text_jobs import Unit
from dragoman.translation.service.translated_text import Link, TranslatedText
from dragoman.translation.translator import Translator

Asked = list[tuple[str, tuple[str, str]]]
"""What links were asked for: each line as it is read, with its source and its target."""


class FirstLosesMarks(FakeTranslator):
    """Its best translation is never what it should be."""

    def _translated(self, line: str, prefix: str, nbest: int) -> list[Translation]:
        best, *others = super()._translated(line, prefix, nbest)
        return [replace(best, text="all lost"), *others]


class SaysOneThing(FakeTranslator):
    """Translates everything in the same way."""

    def _translated(self, line: str, prefix: str, nbest: int) -> list[Translation]:
        found = super()._translated(line, prefix, nbest)
        return [replace(one, text="The building stands.") for one in found]


class SaysNothing(FakeTranslator):
    """Finds that nothing is the best translation of anything."""

    def _translated(self, line: str, prefix: str, nbest: int) -> list[Translation]:
        found = super()._translated(line, prefix, nbest)
        return [replace(one, text="") for one in found]


class Calibrated(FakeTranslator):
    """Says how sure it is."""

    def _translated(self, line: str, prefix: str, nbest: int) -> list[Translation]:
        found = super()._translated(line, prefix, nbest)
        return [replace(one, confidence=0.9) for one in found]


class Scored(FakeTranslator):
    """Scores its only piece."""

    def _translated(self, line: str, prefix: str, nbest: int) -> list[Translation]:
        found = super()._translated(line, prefix, nbest)
        return [replace(one, pieces=["▁a"], token_scores=[-1.0, -0.5]) for one in found]


class Flawed(FakeTranslator):
    """Lacks a term in everything, and loses marks too."""

    def _translated(self, line: str, prefix: str, nbest: int) -> list[Translation]:
        found = super()._translated(line, prefix, nbest)
        missing = (line.removeprefix("<2en> "),)
        return [replace(one, text="worse", missing=missing, faults=("length",)) for one in found]


def system(pair: str, translator: FakeTranslator) -> FakeSystem:
    found = FakeSystem(pair)
    found.translator = translator
    return found


def answered(request: TextRequest, *systems: FakeSystem) -> TranslatedText:
    async def main() -> TranslatedText:
        async with service_of(*systems, pivots=["en"]) as service:
            (found,) = await service.translate([request])
            return found

    return asyncio.run(main())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Link whole sentences, and note what was to be linked."""
    noted: Asked = []

    def whole(
        _: Translator, read: Sequence[str], pairs: Sequence[tuple[str, str]]
    ) -> list[tuple[Link, ...]]:
        noted.extend(zip(read, pairs, strict=True))
        return [(Link(0, len(source), 0, len(target)),) for source, target in pairs]

    monkeypatch.setattr(unit_translation, "word_links", whole)
    return noted


def test_sentences_that_meet_in_the_pivot_language_keep_their_own_terms() -> None:
    one, two = system("de-en", SaysOneThing()), FakeSystem("en-fr")
    text = "Das Haus steht. Das Bauwerk steht. Das Haus steht. Ein Haus steht. Das Gebäude steht."
    glossary = Glossary.of({"Haus": "maison", "Bauwerk": "bâtiment"})
    answered(TextRequest(text, "fr", "de", glossary=glossary), one, two)
    assert two.translator.calls == [["<2fr> The building stands."]] * 3
    terms = [
        [match.term.targets for match in carried.matches("The building stands.")]
        for carried in two.translator.glossaries
    ]
    assert terms == [[("maison",)], [("bâtiment",)], []]


def test_without_terms_such_sentences_are_translated_once() -> None:
    one, two = system("de-en", SaysOneThing()), FakeSystem("en-fr")
    answered(TextRequest("Das Haus steht. Das Bauwerk steht.", "fr", "de"), one, two)
    assert two.translator.calls == [["<2fr> The building stands."]]


def test_what_is_empty_in_the_pivot_language_stays_empty() -> None:
    """A tag alone would be translated into something that nobody has said."""
    one, two = system("de-en", SaysNothing()), FakeSystem("en-fr")
    found = answered(TextRequest("Das Haus steht.", "fr", "de"), one, two)
    assert (found.text, two.translator.calls) == ("", [[""]])


def test_what_a_translation_lacks_and_its_faults_are_told() -> None:
    flawed = system("de-en", Flawed())
    found = answered(TextRequest("Haus. Gebäude.", "en", "de"), flawed)
    best = [one.renderings[0] for one in found.sentences]
    assert [(one.text, one.missing, one.faults) for one in best] == [
        ("worse", ("Haus.",), ("length",)),
        ("worse", ("Gebäude.",), ("length",)),
    ]


def test_a_translation_made_of_pieces_has_the_faults_of_all() -> None:
    flawed = system("de-en", Flawed())
    found = answered(TextRequest("Das Haus {name} ein Haus {name} das Haus", "en", "de"), flawed)
    (best,) = found.sentences[0].renderings
    assert best.text == "worse {name} worse {name} worse"
    assert best.missing == ("Das Haus", "ein Haus", "das Haus")
    assert best.faults == ("length",)


@pytest.mark.parametrize("wanted", [False, True])
def test_scores_of_tokens_are_there_if_they_are_wanted(wanted: bool) -> None:
    request = TextRequest("Hello.", "de", "en", nbest=2, token_scores=wanted)
    (sentence,) = answered(request, system("en-de", Scored())).sentences
    scores = (("▁a", -1.0), ("</s>", -0.5)) if wanted else ()
    assert [one.token_scores for one in sentence.renderings] == [scores, scores]
    if wanted:
        with pytest.raises(RefusedError, match="gives no scores of tokens") as refused:
            answered(request, system("en-de", FakeTranslator(has_token_scores=False)))
        assert refused.value.kind == "unsupported"


def test_two_systems_have_no_confidence_together() -> None:
    """That of the second is about its own source, which the first may have got wrong."""
    for source, expected in (("en", 0.9), ("de", None)):
        systems = system("de-en", Calibrated()), system("en-fr", Calibrated())
        found = answered(TextRequest("Ja.", "fr", source), *systems)
        assert [each.confidence for each in found.sentences[0].renderings] == [expected]


@pytest.mark.parametrize(("work", "drops_marks"), [(is_intact, False), (protected, True)])
def test_marks_of_many_sentences_are_looked_for_beside_the_event_loop(
    work: Callable[..., object], drops_marks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_loop: list[bool] = []

    def noted(*arguments: str) -> object:
        in_loop.append(threading.current_thread() is threading.main_thread())
        return work(*arguments)

    monkeypatch.setattr(unit_translation, work.__name__, noted)
    text = "\n".join(["Click [X7X] now."] * 200)
    answered(TextRequest(text, "de", "en"), FakeSystem("en-de", drops_marks=drops_marks))
    assert in_loop == [False] * 200


def test_a_translation_that_begins_as_it_must_stays_whole_though_it_lacks_a_mark() -> None:
    request = TextRequest("Click [X7X] now.", "de", "en", nbest=2, prefix="Bitte ")
    found = answered(request, FakeSystem("en-de", drops_marks=True))
    assert [found.text, *found.alternatives] == ["Bitte CLICKde NOW.de", "Bitte CLICKde NOW.de 2"]
    found = answered(request, system("en-de", FirstLosesMarks()))
    assert [found.text, *found.alternatives] == ["Bitte CLICKde [X7X]de NOW.de 2"]


def test_sentences_without_their_marks_are_not_compared_with_one_another(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of them took seconds."""
    compared: list[object] = []

    def noted(one: Unit, other: object) -> bool:
        compared.append(other)
        return one is other

    monkeypatch.setattr(Unit, "__eq__", noted)
    request = TextRequest("Click [X7X] now.\n" * 9 + "Yes.", "de", "en", links=True)
    answered(request, FakeSystem("en-de", drops_marks=True))
    assert [pair for _, pair in asked] == [("Yes.", "YES.de")]
    assert not compared


def test_links_are_those_of_the_translation_that_is_given(asked: Asked) -> None:
    request = TextRequest("Click [X7X] now.", "de", "en", nbest=3, links=True)
    found = answered(request, system("en-de", FirstLosesMarks()))
    assert found.text == "CLICKde [X7X]de NOW.de 2"
    assert [pair for _, pair in asked] == [("Click [X7X] now.", found.text)]


def test_links_through_a_pivot_are_those_of_the_translation_that_is_given(asked: Asked) -> None:
    request = TextRequest("Click [X7X] now.", "fr", "de", nbest=2, links=True)
    found = answered(request, FakeSystem("de-en"), system("en-fr", FirstLosesMarks()))
    middle = "CLICKen [X7X]en NOW.en"
    assert found.text == "CLICKENfr [X7X]ENfr NOW.ENfr 2"
    assert [pair for _, pair in asked] == [(request.text, middle), (middle, found.text)]
    assert found.links == [Link(0, len(request.text), 0, len(found.text))]


def test_links_are_in_characters_of_the_text_as_it_was_given(asked: Asked) -> None:
    request = TextRequest("One.\nA   b  c.", "de", "en", links=True)
    found = answered(request, FakeSystem("en-de"))
    assert [read for read, _ in asked] == ["<2de> One.", "<2de> A b c."]
    assert [request.text[one.source_start : one.source_end] for one in found.links] == [
        "One.",
        "A   b  c.",
    ]


def test_links_are_read_without_symbols(asked: Asked, tmp_path: Path) -> None:
    """Of two sentences with marks, the model has learned as many as the first one has."""
    direction = Direction(source_language="en", target_language="de")
    path = save_tiny_model(
        tmp_path / "model", inline_tags=InlineTags(pairs=1), directions=(direction,), beam=2
    )
    spans = [(2, 3), (8, 9), (10, 11)]
    marks = tuple(TagSpan(start, stop, "pair") for start, stop in spans)
    request = TextRequest("a b c\nd e a", "de", "en", links=True, marks=marks)

    async def main() -> TranslatedText:
        described = TranslationSystem(models=(path,), device="cpu")
        async with await ModelService.open(
            [described], ServiceOptions(reload_seconds=0)
        ) as service:
            (found,) = await service.translate([request])
            return found

    first, second = asyncio.run(main()).sentences
    assert first.renderings[0].places is not None
    assert second.renderings[0].places is None
    assert asked == [
        ("a b c", ("a b c", first.renderings[0].text)),
        ("d e a", ("d e a", second.renderings[0].text)),
    ]
