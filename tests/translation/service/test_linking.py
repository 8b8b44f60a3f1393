from __future__ import annotations

from pathlib import Path

import pytest
from tiny_model import save_tiny_model

from dragoman.text.context import ContextConfig
from dragoman.translation.service.linking import origins, through, word_links
from dragoman.translation.service.translated_text import Link
from dragoman.translation.translator import Translator


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    path = save_tiny_model(tmp_path_factory.mktemp("model") / "tiny", tags=("<2de>",))
    return Translator.load(path, device="cpu")


def test_links_are_words_of_both_texts_as_they_were_given(translator: Translator) -> None:
    source, target = "a\u00a0 bc  d", "e  d c"
    (links,) = word_links(translator, ["<2de> a bc d"], [(source, target)])
    assert links
    for link in links:
        assert source[link.source_start : link.source_end] in {"a", "bc", "d"}
        assert target[link.target_start : link.target_end] in {"e", "d", "c"}
    assert list(links) == sorted(links, key=lambda one: (one.target_start, one.source_start))


def test_what_is_too_long_has_no_links(translator: Translator) -> None:
    long = "a b " * 600
    assert word_links(translator, [long], [(long, "a")]) == [()]


@pytest.mark.parametrize("target", [False, True])
def test_no_links_where_the_translation_of_the_context_is_not_known(
    target: bool, tmp_path: Path
) -> None:
    context = ContextConfig(target=target)
    path = save_tiny_model(tmp_path / "model", context=context)
    translator = Translator.load(path, device="cpu")
    (links,) = word_links(translator, ["a b <sep> c"], [("c", "d")])
    assert (links == ()) is target


def test_places_are_found_where_normalisation_changes_a_word(translator: Translator) -> None:
    vocabulary = translator.vocabularies.source
    text = "e\u0301n  a"  # an accent of its own, which NFC joins to its letter
    place, read = origins(vocabulary, text), "\u00e9n a"
    assert text[place(0) : place(2)] == "e\u0301n"
    assert text[place(read.index("a")) : place(len(read))] == "a"


def test_links_over_a_third_language_meet_there() -> None:
    first = [Link(0, 3, 5, 8), Link(4, 6, 0, 4)]
    second = [Link(5, 8, 0, 2), Link(6, 8, 3, 4), Link(9, 10, 5, 6)]
    assert through(first, second) == (Link(0, 3, 0, 2), Link(0, 3, 3, 4))
