"""Training text with the tags of its own markup, and with others at aligned phrases."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.text.examples import Direction, Example, Origin
from dragoman.text.inline_tags import InlineTags, structure, symbols_in, without_tags
from dragoman.text.markup_spans import read_markup
from dragoman.text.segments import SegmentTable
from dragoman.text.transforms import TransformConfig
from dragoman.text.transforms.inline_tagging import (
    InjectTagsConfig,
    MarkupTagsConfig,
    inline_tags,
    tagged_phrases,
)

SEGMENTS = SegmentTable([("red", "rotes"), ("house", "Haus"), ("old gate", "alte Tor"), ("a", "x")])
SOURCE = "The red house and the old gate of 1805 are here."
TARGET = "Hier sind das alte Tor und ein rotes Haus von 1805."


def example(source: str, target: str) -> Example:
    return Example(source, target, "en", "de", (), Origin("part", 1))


@pytest.mark.parametrize(
    ("source", "target", "styles", "expected"),
    [
        (
            "Use *name* in :mod:`ast` and ``x``.",
            "``x`` und :mod:`ast` haben *Name*.",
            ("rst",),
            (
                "Use<t1> name</t1> in <x1> and <x2>.",
                "<x2> und <x1> haben<t1> Name</t1>.",
            ),
        ),
        (
            "See :ref:`this page <page>` **now**",
            "Siehe **jetzt** :ref:`diese Seite <page>`",
            ("rst",),
            (
                "See<t1> this page</t1><t2> now</t2>",
                "Siehe<t2> jetzt</t2><t1> diese Seite</t1>",
            ),
        ),
        (
            "<b>One <i>two</i></b><br> three",
            "<b><i>Zwei</i> eins</b><br> drei",
            ("html",),
            ("<t1> One<t2> two</t2></t1><x1> three", "<t1><t2> Zwei</t2> eins</t1><x1> drei"),
        ),
        ("%s of {n}", "{n} von %s", ("placeholders",), ("<x1> of <x2>", "<x2> von <x1>")),
        # markup of one side alone, and tags that are nested otherwise
        ("Use *a*", "Nimm a", ("rst",), ("Use *a*", "Nimm a")),
        ("*a* and ``b``", "*a* und b", ("rst",), ("*a* and ``b``", "*a* und b")),
        (
            "<b>a <i>b</i></b>",
            "<b>a</b> <i>b</i>",
            ("html",),
            ("<b>a <i>b</i></b>", "<b>a</b> <i>b</i>"),
        ),
        ("2 * 3 * 4", "2 * 3 * 4", ("rst",), ("2 * 3 * 4", "2 * 3 * 4")),
        ("<t1> *a*", "<t1> *a*", ("rst",), ("<t1> *a*", "<t1> *a*")),
    ],
)
def test_markup_becomes_symbols(
    source: str, target: str, styles: tuple[Any, ...], expected: tuple[str, str]
) -> None:
    made = MarkupTagsConfig(styles=styles)(example(source, target), Random(0))
    assert (made.source, made.target) == expected


def test_more_tags_than_symbols_stay_markup() -> None:
    few = MarkupTagsConfig(inline_tags=InlineTags(pairs=1, points=1))
    line = "*a* *b*"
    assert few(example(line, line), Random(0)).source == line


def test_html_without_an_end_is_a_point() -> None:
    plain, found = read_markup("a<br>b</i> <b>c", ("html",))
    assert plain == "ab</i> c"
    assert [one.span.kind for one in found] == ["point", "point"]


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_tags_are_at_phrases_that_translate_each_other(seed: int) -> None:
    source, target = tagged_phrases(SOURCE, TARGET, SEGMENTS, InlineTags(pairs=3), Random(seed))
    ours, theirs = symbols_in(source), symbols_in(target)
    assert structure(ours) is not None
    assert structure(ours) == structure(theirs)
    assert ours.count("</t4>") == 0
    again = tagged_phrases(SOURCE, TARGET, SEGMENTS, InlineTags(pairs=3), Random(seed))
    assert again == (source, target)
    if not any(symbol.startswith("<x") for symbol in ours):
        assert (without_tags(source), without_tags(target)) == (SOURCE, TARGET)
    for tag in ("<t1>", "<t2>"):
        end = f"</{tag[1:]}"
        if tag in ours and _between(source, tag, end) == " red":
            assert _between(target, tag, end) == " rotes"


def _between(text: str, begin: str, end: str) -> str:
    return text.partition(begin)[2].partition(end)[0]


def test_all_kinds_of_tags_are_drawn() -> None:
    made = {
        tagged_phrases(SOURCE, TARGET, SEGMENTS, InlineTags(), Random(seed))[0]
        for seed in range(200)
    }
    assert any("<t1> red</t1>" in one for one in made)
    assert any("<t1> old gate</t1>" in one for one in made)
    assert any("of <x1> are" in one for one in made)
    assert any("The <x1> house" in one for one in made)
    assert any("<x1> red" in one for one in made)
    assert any("<t1> red house</t1>" in one for one in made)
    assert not any("<t1> red house and the old gate</t1>" in one for one in made)


def test_tags_join_those_of_a_line() -> None:
    source, target = "<t1> red <x1></t1> house", "<t1> rotes <x1></t1> Haus"
    found = [
        tagged_phrases(source, target, SEGMENTS, InlineTags(), Random(seed)) for seed in range(50)
    ]
    assert all(structure(symbols_in(a)) == structure(symbols_in(b)) is not None for a, b in found)
    assert any(a == "<t1><t2> red</t2> <x1></t1> house" for a, _ in found)
    broken = "<t1> red", "rotes"
    assert tagged_phrases(*broken, SEGMENTS, InlineTags(), Random(1)) == broken


def test_the_transform_reads_its_segments(tmp_path: Path) -> None:
    path = tmp_path / "segments.tsv"
    inject = InjectTagsConfig(segments=str(path), share=1)
    with pytest.raises(DataError, match="segments"):
        inject(example(SOURCE, TARGET), Random(1))
    path.write_text("source\ttarget\nred\trotes\n", encoding="utf-8")
    made = [inject(example(SOURCE, TARGET), Random(seed)) for seed in range(9)]
    assert len({one.source for one in made}) > 3
    direction = Direction(source_language="en", target_language="de")
    assert inject.is_random
    assert inject.is_for_sets
    assert inject.files() == [path]
    assert "segments" not in inject.text_settings()
    other_way: TransformConfig = inject
    assert other_way.reversed(direction) is None
    assert list(inject.symbols(direction)) == InlineTags().symbols()
    assert inline_tags([inject]) == InlineTags()
    assert inline_tags([MarkupTagsConfig(inline_tags=InlineTags(pairs=2))]) == InlineTags(pairs=2)
    assert inline_tags([]) is None
    several = [inject, MarkupTagsConfig(inline_tags=InlineTags(pairs=9, points=1))]
    assert inline_tags(several) == InlineTags(pairs=9, points=16)
    never = InjectTagsConfig(segments=str(path), share=1e-9)
    assert never(example(SOURCE, TARGET), Random(1)).source == SOURCE
