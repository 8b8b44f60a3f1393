"""Bilingual XLIFF as pairs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman.core.errors import DataError
from dragoman.text.formats import Pair, format_of

NAMESPACE_1 = "urn:oasis:names:tc:xliff:document:1.2"
NAMESPACE_2 = "urn:oasis:names:tc:xliff:document:2.0"


def version_1(units: str, target: str = ' target-language="de"') -> str:
    return (
        f'<?xml version="1.0"?><xliff version="1.2" xmlns="{NAMESPACE_1}">'
        f'<file original="a" datatype="html" source-language="en"{target}><body>{units}</body>'
        "</file></xliff>"
    )


def version_2(units: str) -> str:
    return (
        f'<xliff version="2.0" srcLang="en" trgLang="de" xmlns="{NAMESPACE_2}">'
        f'<file id="f">{units}</file></xliff>'
    )


def unit(source: str, target: str, attributes: str = "") -> str:
    return (
        f'<trans-unit id="x"><source>{source}</source><target{attributes}>{target}</target>'
        "</trans-unit>"
    )


def read(folder: Path, text: str) -> list[Pair]:
    path = folder / "a.xlf"
    path.write_text(text, encoding="utf-8")
    return list(format_of(path).read([path], ("", "")))


def sides(folder: Path, text: str) -> list[tuple[str, str]]:
    return [pair[:2] for pair in read(folder, text)]


def test_units_of_version_1_with_their_numbers(tmp_path: Path) -> None:
    group = f"<group><group>{unit('two &lt;b>', 'zwei')}</group></group>"
    text = version_1(unit("one", "eins") + group + unit("three", "drei"))
    wanted = [Pair("one", "eins", 1), Pair("two <b>", "zwei", 2), Pair("three", "drei", 3)]
    assert read(tmp_path, text) == wanted
    path = tmp_path / "a.xliff.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert list(format_of(path).read([path], ("", ""))) == wanted


def test_segments_of_version_2(tmp_path: Path) -> None:
    segments = (
        "<segment><source>A.</source><target>Ah.</target></segment><ignorable><source> </source>"
        '<target> </target></ignorable><segment state="reviewed"><source>B.</source>'
        "<target>Be.</target></segment>"
    )
    other = "<group id='g'><unit id='2'><segment><source>C</source></segment></unit></group>"
    text = version_2(f"<unit id='1'>{segments}</unit>{other}")
    assert read(tmp_path, text) == [Pair("A.", "Ah.", 1), Pair("B.", "Be.", 1)]


@pytest.mark.parametrize(
    ("state", "is_read"),
    [
        *(("new", False), ("needs-translation", False)),
        *(("needs-review-translation", False), ("translated", True), ("final", True)),
    ],
)
def test_targets_that_are_not_translated_are_passed_over(
    state: str, is_read: bool, tmp_path: Path
) -> None:
    text = version_1(unit("one", "eins") + unit("two", "two", f' state="{state}"'))
    assert sides(tmp_path, text) == [("one", "eins"), ("two", "two")][: 1 + is_read]


def test_initial_segments_are_passed_over(tmp_path: Path) -> None:
    one = "<segment{}><source>{}</source><target>x</target></segment>"
    text = version_2(
        f"<unit id='1'>{one.format('', 'a')}{one.format(' state=' + repr('initial'), 'b')}</unit>"
    )
    assert sides(tmp_path, text) == [("a", "x")]


def test_units_without_a_translation_are_passed_over(tmp_path: Path) -> None:
    lone = "<trans-unit id='1'><source>a</source></trans-unit>"
    older = (
        "<trans-unit id='2'><source>b</source><alt-trans><target>old</target></alt-trans>"
        "</trans-unit>"
    )
    empty = unit("c", "") + unit("d", " \n ") + unit("", "e") + unit("f", "<x id='1'/>")
    assert sides(tmp_path, version_1(lone + older + empty + unit("g", "h"))) == [("g", "h")]


def test_inline_codes_are_no_text_but_what_is_around_words_is(tmp_path: Path) -> None:
    source = (
        'Click <g id="1">the <mrk mtype="term">big</mrk></g> <bpt id="2">&lt;b></bpt>door'
        '<ept id="2">&lt;/b></ept><x id="3"/>, <x id="4" equiv-text="{{name}}"/> '
        '<ph id="5">%s</ph><ph id="6">&lt;br></ph>!'
    )
    assert sides(tmp_path, version_1(unit(source, "x"))) == [
        ("Click the big door, {{name}} %s!", "x")
    ]
    second = 'Hi <pc id="1">all</pc> <ph id="2" equiv="{x}"/> <sc id="3"/>a<ec startRef="3"/>'
    text = version_2(
        f"<unit id='1'><segment><source>{second}</source><target>y</target></segment></unit>"
    )
    assert sides(tmp_path, text) == [("Hi all {x} a", "y")]


def test_codes_without_end_need_no_recursion(tmp_path: Path) -> None:
    deep = "<g id='1'>x" * 20_000 + "</g>y" * 20_000
    assert sides(tmp_path, version_1(unit(deep, "z"))) == [("x" * 20_000 + "y" * 20_000, "z")]


def test_sides_that_are_divided_alike_give_their_segments(tmp_path: Path) -> None:
    mark = '<mrk mtype="seg" mid="{}">{}</mrk>'

    def divided(target: str) -> str:
        return version_1(
            "<trans-unit id='1'><source>A. B.</source><seg-source>"
            f"{mark.format(0, 'A.')} {mark.format(1, 'B.')}</seg-source><target>{target}</target>"
            "</trans-unit>"
        )

    both = f"{mark.format(1, 'Be.')} {mark.format(0, 'Ah.')}"
    assert sides(tmp_path, divided(both)) == [("A.", "Ah."), ("B.", "Be.")]
    assert sides(tmp_path, divided("Ah. Be.")) == [("A. B.", "Ah. Be.")]
    assert sides(tmp_path, divided(mark.format(0, "Ah und Be."))) == [("A. B.", "Ah und Be.")]
    half = f"{mark.format(0, '')}{mark.format(1, 'Be.')}"
    assert sides(tmp_path, divided(half)) == [("B.", "Be.")]


def test_indented_lines_are_one_unless_white_space_is_kept(tmp_path: Path) -> None:
    source = "\n    One\n    line.\n  "
    assert sides(tmp_path, version_1(unit(source, "x"))) == [("One line.", "x")]
    kept = version_1(unit(source, "x").replace("id=", "xml:space='preserve' id="))
    assert sides(tmp_path, kept) == [(source, "x")]
    assert sides(tmp_path, version_1(unit("One\nline. ", "x"))) == [("One\nline. ", "x")]


def test_the_file_states_its_languages(tmp_path: Path) -> None:
    found = []
    for text in (version_1(""), version_1("", ""), version_2(""), "<a/>"):
        path = tmp_path / "a.xlf"
        path.write_text(text)
        found.append(format_of(path).languages(path))
    assert found == [("en", "de"), ("en", None), ("en", "de"), (None, None)]


def test_files_of_several_languages_are_refused(tmp_path: Path) -> None:
    text = version_1(unit("one", "eins"))
    begin, end = text.index("<file"), text.index("</xliff>")
    part = text[begin:end]
    several = text[:end] + part.replace('"de"', '"fr"') + text[end:]
    with pytest.raises(DataError, match=r"a\.xlf: has parts in 'de' and in 'fr'; split it"):
        read(tmp_path, several)
    same = text[:end] + part.replace(' target-language="de"', "") + text[end:]
    assert sides(tmp_path, same) == [("one", "eins")] * 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            version_1("<trans-unit><source>a</source></trans-unit>"),
            "no unit has a finished translation",
        ),
        ("<tmx/>", "no unit has a finished translation"),
        ("not XML", "not XML"),
        (version_1(unit("a", "b"))[:-8], "ends too early"),
        ("<!DOCTYPE xliff>" + version_2(""), "has a document type, which is not read"),
        ("<!DOCTYPE xliff [<!ENTITY a 'b'>]>" + version_2(""), "has a document type"),
    ],
)
def test_bad_files(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=problem):
        read(tmp_path, text)


def test_line_breaks_and_codes_glue_no_words(tmp_path: Path) -> None:
    units = [
        unit('five<x id="1" ctype="lb"/>six', "fünf<ph id='1'>&lt;br/&gt;</ph>sechs"),
        unit('five<x id="LINE_BREAK"/>six.<x id="2"/>Seven', 'fünf sechs.<g id="2"/> Sieben'),
        unit('fi<bpt id="1"/>ve<ept id="1"/> ', 'fü<g id="1">nf</g>'),
        unit('fi<x id="1" equiv-text="&amp;shy;"/>ve', "fü<ph id='1'>&lt;wbr&gt;</ph>nf"),
        unit('<g id="1" ctype="x-p">five</g><g id="2" ctype="x-p">six</g>', "fünf"),
    ]
    assert [tuple(map(str.split, pair)) for pair in sides(tmp_path, version_1("".join(units)))] == [
        (["five", "six"], ["fünf", "sechs"]),
        (["five", "six.", "Seven"], ["fünf", "sechs.", "Sieben"]),
        (["five"], ["fünf"]),
        (["five"], ["fünf"]),
        (["five", "six"], ["fünf"]),
    ]


def test_line_breaks_of_version_2_glue_no_words(tmp_path: Path) -> None:
    source = 'five<ph id="1" type="fmt" subType="xlf:lb"/>six<ph id="2" disp="&lt;br/>"/>ten'
    target = '<pc id="3" dispStart="&lt;li>">fünf</pc><pc id="4" dispStart="&lt;li>">zehn</pc>'
    segment = f"<segment><source>{source}</source><target>{target}</target></segment>"
    (pair,) = sides(tmp_path, version_2(f'<unit id="1">{segment}</unit>'))
    assert [side.split() for side in pair] == [["five", "six", "ten"], ["fünf", "zehn"]]
