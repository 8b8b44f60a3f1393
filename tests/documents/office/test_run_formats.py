"""Formats of runs that look different are told apart, and others are not."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from office_files import P, W

from dragoman.documents.office.part_tokens import part_tokens
from dragoman.documents.office.run_formats import format_key, is_seen_on_spaces

_NAMES = "b i strike dstrike caps smallCaps outline shadow emboss imprint vanish webHidden rtl cs"
TOGGLES = [f"w:{name}" for name in _NAMES.split()]
OTHERS = [
    '<w:u w:val="single"/>',
    '<w:color w:val="FF0000"/>',
    '<w:sz w:val="24"/>',
    '<w:rStyle w:val="Strong"/>',
    '<w:vertAlign w:val="superscript"/>',
    '<w:rFonts w:ascii="Arial" w:hAnsi="Arial"/>',
    '<w14:glow xmlns:w14="a" w14:rad="1"><w14:noFill/></w14:glow>',
    '<w14:glow xmlns:w14="a" w14:rad="1"><w14:solidFill/></w14:glow>',
]
PROPERTIES = [f"<{name}/>" for name in TOGGLES] + OTHERS


def key(properties: str, name: str = "w:rPr", space: str = W) -> str:
    text = f"<{name} {space}>{properties}</{name}>"
    return format_key(list(part_tokens(text)))


def test_every_property_and_every_pair_of_them_is_a_format_of_its_own() -> None:
    sets = [
        "",
        *PROPERTIES,
        *("".join(pair) for pair in combinations(PROPERTIES, 2)),
        *(f'<{name} w:val="0"/>' for name in TOGGLES),
    ]
    assert len({key(one) for one in sets}) == len(sets)


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ("<w:b/>", '<w:b w:val="1"/>'),
        ("<w:b/>", '<w:b w:val="on"></w:b>'),
        ("<w:b/>", '<w:b w:val="true"/>'),
        ('<w:b w:val="0"/>', '<w:b w:val="off"/>'),
        ('<w:b w:val="0"/>', '<w:b w:val="false"/>'),
        ("<w:b/><w:i/>", "<w:i/>\n  <w:b/>"),
        ("", '<w:lang w:val="en-GB"/><w:noProof/>'),
        ("", '<w:ins w:id="1" w:author="A"><w:b/></w:ins>'),
        ('<w:rFonts w:ascii="A"/>', '<w:rFonts w:hint="default" w:ascii="A"/>'),
        (
            '<w:rPrChange w:id="1" w:author="A" w:date="D"><w:rPr><w:b/></w:rPr></w:rPrChange>',
            '<w:rPrChange w:id="2" w:author="A" w:date="E"><w:rPr><w:b/></w:rPr></w:rPrChange>',
        ),
    ],
)
def test_notes_of_programs_make_no_format(one: str, same: str) -> None:
    assert key(one) == key(same)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<w:b/>", '<w:b w:val="0"/>'),
        ("", '<w:b w:val="0"/>'),
        ('<w:u w:val="single"/>', '<w:u w:val="double"/>'),
        ("", "<w:rPrChange><w:rPr/></w:rPrChange>"),
        ("<w:rPrChange><w:rPr/></w:rPrChange>", "<w:rPrChange><w:rPr><w:b/></w:rPr></w:rPrChange>"),
    ],
)
def test_what_can_be_seen_makes_one(one: str, other: str) -> None:
    assert key(one) != key(other)


def test_formats_of_slides() -> None:
    def of(attributes: str, inner: str = "") -> str:
        text = f"<a:rPr {P}{attributes}>{inner}</a:rPr>"
        return format_key(list(part_tokens(text)))

    noted = ' lang="en-US" altLang="de-DE" dirty="0" err="1" smtClean="0" noProof="1"'
    assert of(noted) == of("")
    different = [
        of(""),
        of(' b="1"'),
        of(' b="0"'),
        of(' i="1"'),
        of("", "<a:noFill/>"),
        of("", "<a:effectLst/>"),
        of("", "<a:ln><a:noFill/></a:ln>"),
        of("", '<a:hlinkClick r:id="r1"/>'),
    ]
    assert len(set(different)) == len(different)


@given(st.permutations(PROPERTIES[:8]))
def test_the_order_of_properties_makes_no_format(shuffled: list[str]) -> None:
    assert key("".join(shuffled)) == key("".join(PROPERTIES[:8]))


def test_some_formats_are_seen_on_white_space() -> None:
    assert all(
        is_seen_on_spaces(key(one))
        for one in ('<w:u w:val="single"/>', "<w:strike/>", '<w:highlight w:val="red"/>')
    )
    assert is_seen_on_spaces(format_key(list(part_tokens(f'<a:rPr {P} u="sng"/>'))))
    assert not is_seen_on_spaces(key('<w:b/><w:color w:val="red"/>'))
