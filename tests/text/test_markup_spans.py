"""Symbols in place of the markup of a text, and the markup in place of symbols."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.inline_tags import InlineTags
from dragoman.text.markup_spans import MarkupStyle, SymbolisedText, symbolised

STYLES: tuple[MarkupStyle, ...] = ("html", "placeholders")


def marked(text: str, tags: InlineTags | None = None) -> SymbolisedText:
    found = symbolised(text, STYLES, tags or InlineTags())
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Press <b>OK</b> to run {name}.", "Press<t1> OK</t1> to run <x1>."),
        ("See <a href='x'>this <i>page</i></a>", "See<t1> this<t2> page</t2></t1>"),
        ("One<br/>two %s", "One<x1>two <x2>"),
        ("{a} of {b}", "<x1> of <x2>"),
    ],
)
def test_there_and_back(text: str, read: str) -> None:
    found = marked(text)
    assert found.text == read
    assert found.written(read) == text
    assert found.lost(read) == ()


def test_a_translation_has_the_markup_where_its_symbols_are() -> None:
    found = marked("Press <b>OK</b> to run {name} on {host}.")
    translation = "<x2>: zum Starten von <x1><t1> OK</t1> drücken"
    assert found.written(translation) == "{host}: zum Starten von {name} <b>OK</b> drücken"


def test_what_a_translation_lacks() -> None:
    found = marked("Press <b>OK</b> to run {name}.")
    assert found.lost("Drücken<t1> OK</t1>") == ("{name}",)
    assert found.lost("Drücken<t1> OK") == ("<b>", "{name}")
    assert found.written("Drücken<t1> OK") == "Drücken<b> OK"


@pytest.mark.parametrize(
    "text", ["Plain text", "Enter <your name>", "A <t1> already", "{a}{b}{c}", "<b>a</b><i>b</i>"]
)
def test_texts_that_stay(text: str) -> None:
    assert symbolised(text, STYLES, InlineTags(pairs=1, points=2)) is None


_PARTS = st.sampled_from(["one", "two", "{a}", "%s", "<b>in</b>", "<i>{x} y</i>", "<br/>"])


@given(st.lists(_PARTS, min_size=1, max_size=8))
def test_any_text_is_written_again_but_for_spaces(parts: list[str]) -> None:
    found = symbolised(" ".join(parts), STYLES, InlineTags())
    if found is not None:
        written = found.written(found.text)
        assert written.replace(" ", "") == "".join(parts).replace(" ", "")


@given(st.lists(st.sampled_from(["<t1>", "</t1>", "<t2>", "<x1>", " ", "wort"]), max_size=9))
def test_any_translation_can_be_written(parts: list[str]) -> None:
    found = marked("Press <b>OK</b> to run {name}.")
    written = found.written("".join(parts))
    assert written.count("{name}") == parts.count("<x1>")
