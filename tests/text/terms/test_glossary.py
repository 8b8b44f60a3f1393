"""Glossaries: files, terms in texts, and what is wrong with them."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.text.lines import write_text
from dragoman.text.terms import glossary as glossary_module
from dragoman.text.terms.glossary import Glossary, _seats, unmet
from dragoman.text.terms.glossary_files import Term, read_kept
from dragoman.text.word_edges import Span

TABLE = """source\ttarget
House\tHaus|Hauses| Häuser
house number\tHausnummer

Home Assistant\t\tdo-not-translate
IT\tEDV\tcase-sensitive
it's on\tist an
"""

TBX = """<?xml version="1.0" encoding="UTF-8"?>
<{root} xmlns="urn:iso:std:iso:30042:ed-2" type="TBX-Basic" xml:lang="en"><text><body>
<{entry} id="1"><descrip type="subjectField">homes</descrip>
 <{lang} xml:lang="en-US"><{term}><term>house</term></{term}><{term}><term>home</term>
  </{term}></{lang}>
 <{lang} xml:lang="de">
  <{term}><term>Haus</term></{term}>
  <{term}><term>Heim</term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote>
  </{term}></{lang}>
</{entry}>
<{entry} id="2"><{lang} xml:lang="en"><{term}><term>House</term></{term}></{lang}>
 <{lang} xml:lang="de"><{term}><term>Gebäude</term></{term}></{lang}></{entry}>
<{entry} id="3"><{lang} xml:lang="ko"><{term}><term>집</term></{term}></{lang}></{entry}>
</body></text></{root}>
"""
DIALECTS = [
    {"root": "martif", "entry": "termEntry", "lang": "langSet", "term": "tig"},
    {"root": "tbx", "entry": "conceptEntry", "lang": "langSec", "term": "termSec"},
]


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "terms.tsv"
    path.write_text(text, encoding="utf-8")
    return path


def found(glossary: Glossary, text: str) -> list[tuple[str, str]]:
    return [(text[start:end], term.targets[0]) for term, start, end in glossary.matches(text)]


def test_a_table_is_read(tmp_path: Path) -> None:
    glossary = Glossary.read(table(tmp_path, TABLE))
    assert len(glossary) == 5
    assert glossary.terms[0] == Term("House", ("Haus", "Hauses", "Häuser"), line=2)
    assert glossary.terms[2] == Term(
        "Home Assistant", ("Home Assistant",), case_sensitive=True, do_not_translate=True, line=5
    )
    text = "The HOUSE has a house number, IT says Home Assistant; it's on, not home assistant"
    assert found(glossary, text) == [
        ("HOUSE", "Haus"),
        ("house number", "Hausnummer"),
        ("IT", "EDV"),
        ("Home Assistant", "Home Assistant"),
        ("it's on", "ist an"),
    ]


def test_a_compressed_table_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv.gz"
    with write_text(path) as stream:
        stream.write("house\tHaus\r\nroom\tZimmer\tcase-sensitive\r\n")
    assert [term.targets for term in Glossary.read(path).terms] == [("Haus",), ("Zimmer",)]


@pytest.mark.parametrize("header", ["es\ten", "ES\tEN-gb\tflags", "Source\tTarget\tFlags"])
def test_a_header_of_languages_is_no_term(tmp_path: Path, header: str) -> None:
    """``es`` is the commonest of Spanish words."""
    path = table(tmp_path, f"{header}\ncasa\thouse\n")
    assert [term.source for term in Glossary.read(path, ("es_MX", "en")).terms] == ["casa"]


def test_only_the_first_line_is_a_header(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """``so`` and ``da`` are codes of languages, too: a header if no languages are known."""
    path = table(tmp_path, "so\tda\nen\tde\n")
    assert [term.source for term in Glossary.read(path, ("en", "de")).terms] == ["so", "en"]
    assert "terms.tsv:1: so and da are taken for a term and its translation" in caplog.text
    caplog.clear()
    assert [term.source for term in Glossary.read(path).terms] == ["en"]
    assert "terms.tsv:1: so and da are taken for a header" in caplog.text


def test_words_that_are_no_languages_are_a_term_without_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = table(tmp_path, "no\tnein\n")
    for languages in (None, ("en", "de")):
        assert [term.source for term in Glossary.read(path, languages).terms] == ["no"]
    assert not caplog.records


@pytest.mark.parametrize("header", ["en\tfr", "fr\tde"])
def test_a_header_with_another_language_is_refused(tmp_path: Path, header: str) -> None:
    path = table(tmp_path, f"{header}\nhouse\tmaison\n")
    with pytest.raises(DataError, match=r"terms\.tsv:1: .* but the languages are en and de"):
        Glossary.read(path, ("en", "de"))


def test_a_header_with_the_target_language_first_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"terms\.tsv:1: the columns are de and en; .* en, into"):
        Glossary.read(table(tmp_path, "de\ten\nHaus\thouse\n"), ("en", "de"))


@pytest.mark.parametrize("names", DIALECTS, ids=["2", "3"])
def test_tbx_is_read(tmp_path: Path, names: dict[str, str]) -> None:
    path = tmp_path / "terms.tbx"
    path.write_text(TBX.format(**names), encoding="utf-8")
    glossary = Glossary.read(path, ("en", "de"))
    assert {term.source: term.targets for term in glossary.terms} == {
        "house": ("Haus", "Gebäude"),  # two concepts
        "home": ("Haus",),  # Heim is deprecated
    }
    with pytest.raises(DataError, match=r"no entry has terms in both 'en' and 'fr'.*en-US, de"):
        Glossary.read(path, ("en", "fr"))
    with pytest.raises(DataError, match="name the source and the target language"):
        Glossary.read(path)


def test_capitals_are_another_term_than_the_same_word(tmp_path: Path) -> None:
    path = tmp_path / "terms.tbx"
    content = TBX.format(**DIALECTS[0]).replace(">house<", ">US<").replace(">House<", ">us<")
    path.write_text(content.replace(">Haus<", ">USA<").replace(">Gebäude<", ">uns<"), "utf-8")
    glossary = Glossary.read(path, ("en", "de"))
    assert found(glossary, "US for us, Us") == [("US", "USA"), ("us", "uns"), ("Us", "uns")]
    assert [one.term.source for one in glossary.missing("US for us", "uns und uns")] == ["US"]


def test_concepts_share_a_term_however_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "terms.tbx"
    content = TBX.format(**DIALECTS[0]).replace(">house<", ">caf\u00e9\n  bar<")
    path.write_text(content.replace(">House<", ">Cafe\u0301 bar<"), encoding="utf-8")
    glossary = Glossary.read(path, ("en", "de"))
    assert {term.source: term.targets for term in glossary.terms} == {
        "caf\u00e9 bar": ("Haus", "Gebäude"),
        "home": ("Haus",),
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<tbx><text>", r"terms\.tbx:1: not XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><tbx>&b;</tbx>', "XML entities"),
        ("", "not XML"),
        ('<?xml version="1.0" encoding="nonsense"?><tbx/>', "encoding|not XML"),
    ],
)
def test_broken_tbx_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "terms.tbx"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        Glossary.read(path, ("en", "de"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("house\n", r"terms\.tsv:1: 1 column, expected"),
        ("house\tHaus\t\tsure\n", r"terms\.tsv:1: 4 columns"),
        ("a\tb\nhouse\t\n", r"terms\.tsv:2: an empty translation of 'house'"),
        ("house\tHaus||Heim\n", "an empty translation"),
        ("\tHaus\n", r":1: the term is empty"),
        ("house\tHaus\tcase\n", "no flag 'case'; flags there are: case-sensitive"),
        ("house\tHaus\n\nHOUSE\tHeim\n", r"terms\.tsv:3: 'HOUSE' is 'Heim', but 'Haus' in line 1"),
        ("house\tHaus\tdo-not-translate\n", "has the translation 'Haus'"),
        ("house\t\tdo-not-translate\nHouse\tHaus\nhouse\tHeim\tcase-sensitive\n", "in line 1"),
        ("", "the file is empty"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Glossary.read(table(tmp_path, text))


def test_terms_from_python_that_contradict_each_other_have_no_line() -> None:
    with pytest.raises(DataError, match=r"^glossary: 'it' is 'b', but 'a'; leave one .* one list$"):
        Glossary.of({"IT": "a", "it": "b"})


def test_what_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes(b"house\tHaus\nyear\tJ\xe4hr\n")
    with pytest.raises(DataError, match=r"terms\.tsv:2: not UTF-8"):
        Glossary.read(path)
    with pytest.raises(DataError, match="no such file"):
        Glossary.read(tmp_path / "none.tsv")


def test_the_same_twice_is_no_contradiction(tmp_path: Path) -> None:
    text = "house\tHaus|Heim\nHouse\tHeim|Haus\nHouse\tFirma\tcase-sensitive\n"
    glossary = Glossary.read(table(tmp_path, text))
    assert len(glossary) == 2
    # As it is written counts before as it is read.
    assert found(glossary, "House house HOUSE") == [
        ("House", "Firma"),
        ("house", "Haus"),
        ("HOUSE", "Haus"),
    ]


def test_text_is_normalised_on_both_sides() -> None:
    glossary = Glossary([Term("cafe\u0301  noir", ("schwarzer\u00a0Kaffee",))])
    assert len(glossary.matches("un caf\u00e9 noir")) == 1
    assert not glossary.missing("caf\u00e9  noir", "ein schwarzer  Kaffee")


def test_terms_need_no_spaces_where_there_are_none() -> None:
    glossary = Glossary.of({"设置": "settings", "스마트홈": "smart home"})
    assert found(glossary, "打开设置页面") == [("设置", "settings")]
    assert found(glossary, "스마트홈을 켜기") == [("스마트홈", "smart home")]


def test_what_is_missing() -> None:
    glossary = Glossary.of({"house": ["Haus", "Hauses"], "set up": "einrichten"})
    assert glossary.missing("House", "Das Haus") == []
    assert glossary.missing("Set up the house", "Einrichten des Hauses") == []
    (match,) = glossary.missing("the house beside the house", "das Haus neben dem Haushalt")
    assert (match.term.source, match.start) == ("house", 21)


def test_a_word_counts_for_one_term() -> None:
    assert unmet([["Haus"], ["Haus Nummer"]], "die Haus Nummer") == [0]
    assert unmet([["Haus", "Heim"], ["Haus"]], "Haus und Heim") == []
    assert unmet([["%d"], ["%d"]], "%dpx %dpx", whole=[False, False]) == []


def test_a_term_makes_room_within_its_own_place() -> None:
    glossary = Glossary.of({"Bank": ["Bank", "Bank of America"], "America": "America"})
    assert glossary.missing("Bank America", "Bank of America") == []
    assert unmet([["Haus", "Haus Nummer"], ["Nummer"], ["Nummer"]], "Haus Nummer") == [2]


def test_what_is_missing_many_times_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence with hundreds of placeholders, many of them lost, took half a second."""
    searched: list[int] = []

    def noted(index: int, *others: Any) -> dict[int, Span]:
        searched.append(index)
        return _seats(index, *others)

    monkeypatch.setattr(glossary_module, "_seats", noted)
    assert unmet([["%s"], ["%d"]] * 4, "%s %d %s", [False] * 8) == [3, 4, 5, 6, 7]
    assert searched == [0, 1, 2, 3, 4]


def test_a_term_makes_room_for_one_with_less_choice() -> None:
    glossary = Glossary.of({"house": ["Haus", "Gebäude"], "building": ["Gebäude", "Bau"]})
    assert glossary.missing("The house is a building", "Das Haus ist ein Gebäude") == []
    assert len(glossary.missing("The house is a building", "Das ist ein Gebäude")) == 1
    assert unmet([["a b"], ["b", "c"], ["c", "a"]], "a b c") == [2]


@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True), max_size=4),
    st.lists(st.sampled_from("abcd"), max_size=5),
)
def test_as_few_phrases_as_possible_are_missing(phrases: list[list[str]], words: list[str]) -> None:
    most = max(
        sum(word is not None for word in chosen)
        for chosen in product([*range(len(words)), None], repeat=len(phrases))
        if all(
            place is None or words[place] in phrase
            for place, phrase in zip(chosen, phrases, strict=True)
        )
        and len({*chosen} - {None}) == sum(place is not None for place in chosen)
    )
    assert len(unmet(phrases, " ".join(words))) == len(phrases) - most


def test_kept_terms_come_from_a_list(tmp_path: Path) -> None:
    path = table(tmp_path, "Home Assistant\n\n ESPHome \n")
    glossary = Glossary(read_kept(path), str(path))
    assert [term.targets for term in glossary.terms] == [("Home Assistant",), ("ESPHome",)]
    assert found(glossary, "esphome ESPHome") == [("ESPHome", "ESPHome")]
    assert glossary.place(glossary.terms[1]) == f"{path}:3"


@given(
    st.lists(st.text("ab ", min_size=1, max_size=4).filter(str.strip), max_size=6),
    st.text("abAB .", max_size=20),
)
def test_matching_finds_what_looking_everywhere_finds(sources: list[str], text: str) -> None:
    """Every candidate is what a plain search for each term finds."""
    glossary = Glossary(Term(source, ("x",)) for source in sources)
    expected = {
        (term.source, start)
        for term in glossary.terms
        for start in range(len(text))
        if text[start:].lower().startswith(term.source.lower())
        and not (start and text[start - 1].isalpha() and text[start].isalpha())
        and not text[start + len(term.source) :][:1].isalpha()
    }
    candidates = {(match.term.source, match.start) for match in glossary.candidates(text)}
    assert candidates == expected


def test_of_several_glossaries_the_first_that_has_a_term_decides() -> None:
    first, second = Glossary.of({"Door": "Tür"}), Glossary.of({"door": "Tor", "key": "Schlüssel"})
    joined = first.beside([second, Glossary.of({"key": "Taste", "UI": "Oberfläche"})])
    found = {match.term.source: match.term.targets for match in joined.matches("door key UI")}
    assert found == {"Door": ("Tür",), "key": ("Schlüssel",), "UI": ("Oberfläche",)}
