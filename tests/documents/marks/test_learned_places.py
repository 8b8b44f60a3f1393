"""Documents through models that have learned inline tags."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_model import save_tiny_model

from dragoman.documents.content import translate_contents
from dragoman.documents.html import read_html
from dragoman.documents.marks.learned_places import learned_places, tag_spans
from dragoman.documents.marks.mark_placement import place_marks
from dragoman.documents.marks.marked_requests import questions
from dragoman.documents.marks.marked_text import MarkedText, walk
from dragoman.saved.system import TranslationSystem
from dragoman.text.examples import Direction
from dragoman.text.inline_tags import InlineTags
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.service.interface import TextRequest
from dragoman.translation.service.model_service import ModelService
from dragoman.translation.service.translated_text import (
    MarkPlace,
    Rendering,
    TranslatedSentence,
    TranslatedText,
)

KNOWN = InlineTags(pairs=3, points=2)
REQUEST = TextRequest("", "de", "en")


def marked(markup: str) -> MarkedText:
    (text,) = read_html(markup).texts
    return text


def placed(markup: str, target: str, *places: tuple[int, int, int]) -> str:
    """Markup of one sentence whose marks, by index, the service says to be at these places."""
    text = marked(markup)
    rendering = Rendering(target, places=tuple(MarkPlace(*one) for one in places))
    sentence = TranslatedSentence(text.text, 0, (rendering,))
    return place_marks(text, TranslatedText(target, "en", "de", None, (sentence,)))


@pytest.mark.parametrize(
    ("markup", "target", "places", "expected"),
    [
        ("the <b>red</b> house", "maison rouge", [(0, 7, 12)], "maison <b>rouge</b>"),
        ("<b>the house</b><img>", "maison", [], "<b>maison</b><img>"),
        ("a<b>b <i>c</i></b>", "cd e", [(0, 0, 2), (1, 1, 2)], "<b>c<i>d</i></b> e"),
        ("run <code>x &lt; y</code> now", "da x < y", [(0, 3, 8)], "da <code>x &lt; y</code>"),
        ("one <img>two", "un deux", [(0, 2, 2)], "un <img>deux"),
        ("one<img> two", "un deux", [(0, 2, 2)], "un<img> deux"),
        ("<img>one two", "un deux", [], "<img>un deux"),
        ("one two<img>", "un deux", [], "un deux<img>"),
        ("a <b>b</b> c", "a < c", [(0, 2, 3)], "a <b>&lt;</b> c"),
        # A placeholder that only the model has meant goes.
        ("a <b>b</b> {n}", "[X7X] c {n} {m} d", [(0, 6, 7), (1, 8, 11)], "<b>c</b> {n} d"),
    ],
)
def test_marks_are_where_the_model_says(
    markup: str, target: str, places: list[tuple[int, int, int]], expected: str
) -> None:
    assert placed(markup, target, *places) == expected


def test_a_mark_over_two_sentences_ends_where_the_second_has_it() -> None:
    text = marked("One <b>two. Three</b> four.")
    sentences = (
        TranslatedSentence("One two.", 0, (Rendering("Deux un.", places=(MarkPlace(0, 5, 7),)),)),
        TranslatedSentence(
            "Three four.", 9, (Rendering("Trois quatre.", places=(MarkPlace(0, 0, 5),)),), 9
        ),
    )
    answer = TranslatedText("Deux un. Trois quatre.", "en", "fr", None, sentences)
    assert place_marks(text, answer) == "Deux <b>un. Trois</b> quatre."
    unknown = replace(sentences[1], renderings=(Rendering("Trois quatre."),))
    assert learned_places(text, replace(answer, sentences=(sentences[0], unknown))) is None


def test_places_that_cross_are_not_used() -> None:
    text = marked("a <b>b</b> <i>c</i> d")
    crossing = (MarkPlace(0, 0, 3), MarkPlace(1, 2, 5))
    sentence = TranslatedSentence("a b c d", 0, (Rendering("a b c d", places=crossing),))
    answer = TranslatedText("a b c d", "en", "de", None, (sentence,))
    assert learned_places(text, answer) is None
    assert place_marks(text, answer) == "a <b>b</b> <i>c</i> d"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TranslationSystem]:
    path = tmp_path_factory.mktemp("model") / "tagged"
    direction = Direction(source_language="en", target_language="de")
    save_tiny_model(path, inline_tags=KNOWN, directions=(direction,), beam=2)
    yield TranslationSystem(models=(path,), device="cpu")


def asked(
    system: TranslationSystem, *markups: str, glossary: Glossary | None = None
) -> tuple[list[str], list[TranslatedText]]:
    """Markup translated as HTML, and what the service answers about its texts."""

    async def main() -> tuple[list[str], list[TranslatedText]]:
        async with await ModelService.open([system]) as service:
            requests = [replace(REQUEST, text=one, glossary=glossary) for one in markups]
            pages = await translate_contents(service, requests, "html")
            texts = [text for one in markups for text in read_html(one).texts]
            plain = replace(REQUEST, glossary=glossary)
            sent = [one for text in texts for one in questions(plain, [text], None)]
            return [page.text for page in pages], await service.translate(sent)

    return asyncio.run(main())


def tags_of(markup: str) -> list[str]:
    return sorted(re.findall(r"<[^>]*>", markup))


PARTS = st.recursive(
    st.sampled_from(["a ", "b c ", "e", " <br-> ", "<code>d9</code> ", "[X1X] "]),
    lambda inner: st.builds(
        lambda name, parts: f"<{name}>{''.join(parts)}</{name}> ",
        st.sampled_from(["b", "i", "u"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=5,
)


@settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(pages=st.lists(st.lists(PARTS, max_size=4).map("".join), min_size=8, max_size=8))
def test_tags_in_are_tags_out_whatever_the_model_writes(
    system: TranslationSystem, pages: list[str]
) -> None:
    for page, found in zip(pages, asked(system, *pages)[0], strict=True):
        assert tags_of(found) == tags_of(page)
        opened: list[str] = []
        for slash, name in re.findall(r"<(/?)(b|i|u)>", found):
            if slash:
                assert opened.pop() == name
            else:
                opened.append(name)
        assert not opened
        assert found.count("<code>d9</code>") == page.count("<code>d9</code>")


def test_the_model_says_where_marks_are_and_only_then(system: TranslationSystem) -> None:
    lines = [
        "a <b>b <i>c</i></b> <code>d9</code> e",
        "a <b>b</b> <i>c</i> <u>d</u> <s>e</s> a",  # more pairs than it knows
        "a <b>b</b> &lt;t1&gt; c",  # text that looks like a symbol
        "<b>a b c</b><img>",
        "<code>d9</code> <b>7</b>",
        "a b",
    ]
    pages, answers = asked(system, *lines)
    places = [one.sentences[0].renderings[0].places for one in answers if one.sentences]
    known = [None if one is None else len(one) for one in places]
    # The fifth has nothing to translate, and is not sent.
    assert known == [3, None, None, 0, None]
    assert not answers[0].links
    assert answers[1].links
    assert pages[4] == lines[4]


def test_terms_are_used_across_tags(system: TranslationSystem) -> None:
    glossary = Glossary.of({"b c": "e e d"})
    pages, answers = asked(system, "a b <b>c d</b> a", glossary=glossary)
    assert "e e d" in answers[0].text
    assert tags_of(pages[0]) == ["</b>", "<b>"]


def test_marks_of_a_text_are_sent_outer_first() -> None:
    text = marked("a <b>b <i>c</i> <img></b> <code>d</code>")
    assert [one.kind for one in tag_spans(text)] == ["pair", "pair", "point", "copy"]
    assert len(list(walk(text.marks))) == 4
