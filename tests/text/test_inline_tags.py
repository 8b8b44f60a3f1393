"""Symbols of inline tags in text, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.inline_tags import (
    InlineTags,
    PlacedTag,
    TagKind,
    TagSpan,
    numbered,
    read_tags,
    renumbered,
    structure,
    symbols_in,
    without_tags,
    write_tags,
)
from dragoman.text.normalization import normalize


@st.composite
def tagged_texts(draw: st.DrawFn) -> tuple[str, list[TagSpan]]:
    """Words, and tags at their edges, none of which cross."""
    words = draw(
        st.lists(st.sampled_from(["a", "bc", "d,", "été", "日本"]), min_size=1, max_size=6)
    )
    text = " ".join(words)
    edges = [0]
    for word in words:
        edges.append(edges[-1] + len(word) + 1)
    spans: list[TagSpan] = []
    for _ in range(draw(st.integers(0, 4))):
        first = draw(st.integers(0, len(words) - 1))
        last = draw(st.integers(first, len(words) - 1))
        kind: TagKind = draw(st.sampled_from(["pair", "copy"]))
        span = TagSpan(edges[first], edges[last + 1] - 1, kind)
        if all(_apart(span, other) for other in spans):
            spans.append(span)
    return text, spans


def _apart(one: TagSpan, other: TagSpan) -> bool:
    if one.stop < other.start or other.stop < one.start:
        return True
    outer, inner = (one, other) if one.stop - one.start > other.stop - other.start else (other, one)
    within = outer.start <= inner.start and inner.stop <= outer.stop
    return within and outer.kind == "pair" and outer[:2] != inner[:2]


@given(tagged_texts())
def test_what_is_written_is_read_again(given_text: tuple[str, list[TagSpan]]) -> None:
    text, spans = given_text
    tags = numbered(spans)
    written = write_tags(text, tags)
    assert normalize(written) == written.strip()
    assert structure(symbols_in(written)) is not None
    copies = {one.number: text[one.start : one.stop] for one in tags if one.kind == "copy"}
    plain, found = read_tags(written, copies)
    assert plain == text
    assert found == {(one.kind == "pair", one.number): (one.start, one.stop) for one in tags}


@pytest.mark.parametrize(
    ("text", "spans", "written"),
    [
        ("Press OK now", [(6, 8, "pair")], "Press<t1> OK</t1> now"),
        ("Press OK now", [(5, 9, "pair")], "Press<t1> OK</t1> now"),
        ("Press", [(0, 5, "pair")], "<t1> Press</t1>"),
        ("Press", [(0, 0, "point"), (5, 5, "point")], "<x1> Press<x2>"),
        ("a b", [(2, 2, "point")], "a<x1> b"),
        ("a b", [(1, 1, "pair")], "a<t1></t1> b"),
        ("run {x}.", [(4, 7, "copy")], "run <x1>."),
        ("a b c", [(0, 5, "pair"), (2, 3, "pair")], "<t1> a<t2> b</t2> c</t1>"),
        ("日本語", [(0, 2, "pair")], "<t1> 日本</t1>語"),
    ],
)
def test_how_tags_are_written(text: str, spans: list[TagSpan], written: str) -> None:
    assert write_tags(text, numbered([TagSpan(*span) for span in spans])) == written


def test_tags_that_cross_are_refused() -> None:
    with pytest.raises(ValueError, match="cross"):
        write_tags("a b c", [PlacedTag(0, 3, "pair", 1), PlacedTag(2, 5, "pair", 2)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<t1> a</t1> <x1>", {("<t1>", None), ("<x1>", None)}),
        ("<t1> a<x1></t1>", {("<t1>", None), ("<x1>", "<t1>")}),
        ("a < b", set()),
        ("<t1> a", None),
        ("a</t1>", None),
        ("<t1><t2> a</t1></t2>", None),
        ("<x1> <x1>", None),
    ],
)
def test_structure(text: str, expected: set[tuple[str, str | None]] | None) -> None:
    assert structure(symbols_in(text)) == expected


def test_reading_what_a_model_may_write() -> None:
    assert without_tags("the <t1> red </t1> house <x1> .") == "the red house ."
    assert read_tags("a <x1> b", {1: "{n}"}) == ("a {n} b", {(False, 1): (2, 5)})
    assert read_tags("a<t1> b") == ("a b", {(True, 1): (1, 1)})
    assert without_tags("no <b>tags</b> of ours") == "no <b>tags</b> of ours"


def test_numbers_follow_the_source() -> None:
    sides = renumbered("<t7> a</t7> <x9> <x2>", "<x2> <t7> b</t7> <x9>")
    assert sides == ("<t1> a</t1> <x1> <x2>", "<x2> <t1> b</t1> <x1>")


def test_symbols_of_a_model() -> None:
    assert InlineTags(pairs=2, points=1).symbols() == ["<t1>", "</t1>", "<t2>", "</t2>", "<x1>"]
    assert InlineTags().fits(8, 16)
    assert not InlineTags().fits(9, 0)
