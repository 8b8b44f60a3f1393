"""What translations must contain: terms, and what is copied from their sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.core.errors import ConfigError, DataError
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.glossary_files import Term
from dragoman.text.terms.terminology import (
    PROTECTED,
    LexicalConstraint,
    ProtectedKind,
    Terminology,
    counters,
    missing,
    nothing_to_count,
)


def names(terminology: Terminology, text: str) -> list[str]:
    return [one.name for one in terminology.constraints(text)]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (
            "placeholders",
            "{name} {0:.2f} {} {{ user }} %s %1$s %(count)d %.2f ${x} $HOME $[officename] $(ARG1) "
            "%PRODUCTNAME",
            "{name} {0:.2f} {} {{ user }} %s %1$s %(count)d %.2f ${x} $HOME $[officename] $(ARG1) "
            "%PRODUCTNAME",
        ),
        ("placeholders", "100 % of $ 5, {see below}", ""),
        ("tags", '<b>bold</b> <a href="x y"> <br/> &amp; &#39; a < b & c', None),
        ("urls", "See https://a.org/b?c=d&e. Mail me@a-b.org, www.a.org", None),
        (
            "urls",
            "www.a.org/b?c=1&d=2, (https://a.org/b_(c)).",
            "www.a.org/b?c=1&d=2 https://a.org/b_(c)",
        ),
        (
            "urls",
            "`http://` or `https://a.org`, „www.a.org“, http://...",
            "https://a.org www.a.org",
        ),
        ("urls", "http://…", ""),
        ("numbers", "3 of 1,234.5 in h264 or 5px, 2026.", "3 1,234.5 5 2026"),
        # no space tells where it begins or ends
        ("placeholders", "在$HOME目录中，删除%s个", "$HOME %s"),
        ("urls", "请访问https://a.org/b，然后联系me@a.org获取帮助", "https://a.org/b me@a.org"),
        ("urls", "詳細はwww.a.orgを参照、https://b.org에서", "www.a.org https://b.org"),
        ("numbers", "请等待10分钟。第5章、제3장、二〇二四年、h264を2個", "10 5 3 2"),
    ],
)
def test_what_is_protected(kind: ProtectedKind, text: str, expected: str | None) -> None:
    found = " ".join(names(Terminology(protect=[kind]), text))
    by_hand = {
        "tags": '<b> </b> <a href="x y"> <br/> &amp; &#39;',
        "urls": "https://a.org/b?c=d&e me@a-b.org www.a.org",
    }
    assert found == (by_hand[kind] if expected is None else expected)


def test_numbers_may_be_written_otherwise() -> None:
    constraints = Terminology(protect=["numbers"]).constraints("1,234.5 and 0.5 and 1,000,000")
    assert missing(constraints, "1.234,5, 0,5 und 1 000 000") == ()
    assert missing(constraints, "1234,5, 0.5 und 1000000") == ()
    assert missing(Terminology(protect=["numbers"]).constraints("１０ و ٢"), "10 and 2") == ()
    assert [one.name for one in missing(constraints, "1.234, 05 und 1.000")] == [
        "1,234.5",
        "0.5",
        "1,000,000",
    ]


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("10,000", ["10,000", "10.000", "10 000", "10000"]),
        ("1000", ["1000", "1,000", "1.000", "1 000"]),
        ("12345.5", ["12,345.5", "12.345,5", "12 345,5", "12345,5"]),
    ],
)
def test_thousands_may_be_set_apart_or_not(number: str, written: list[str]) -> None:
    constraints = Terminology(protect=["numbers"]).constraints(f"{number} users")
    assert [missing(constraints, f"{one} utilisateurs") for one in written] == [()] * len(written)
    assert missing(constraints, f"{number}0 utilisateurs") == constraints


@pytest.mark.parametrize(
    ("number", "other"),
    [("0.500", "0500"), ("1.5", "15"), ("10,00", "1000"), ("0123", "0,123"), ("123", "1,23")],
)
def test_what_is_no_thousand_keeps_its_mark(number: str, other: str) -> None:
    constraints = Terminology(protect=["numbers"]).constraints(number)
    assert missing(constraints, other) == constraints


def test_a_unit_may_join_a_number_that_has_one() -> None:
    terms = Terminology(protect=["numbers"])
    for source in ("5px", "等待5分", "第5次", "5분 동안"):
        assert missing(terms.constraints(source), "the 5th, 5s, 5min") == ()
    assert len(missing(terms.constraints("5 of them"), "the 5th")) == 1


def test_what_is_copied_must_occur_as_often() -> None:
    constraints = Terminology(protect=["placeholders"]).constraints("%dpx by %dpx")
    assert [one.whole for one in constraints] == [False, False]
    assert missing(constraints, "%dpx mal %dpx") == ()
    assert len(missing(constraints, "%dpx")) == 1


def test_the_longest_wins() -> None:
    glossary = Glossary.of({"name": "Name", "version 2": "Version 2", "a.org": "B"})
    terminology = Terminology([glossary], PROTECTED, [r"HA-\d+"])
    text = "name of {name}, version 2 at https://a.org/name or HA-12"
    assert names(terminology, text) == [
        *("Name", "{name}", "Version 2", "https://a.org/name", "HA-12")
    ]


def test_terms_are_constraints() -> None:
    glossary = Glossary(
        [Term("on", ("ein", "an")), Term("IT", ("EDV",), True), Term("X1", ("X1",), True, True)]
    )
    assert Terminology([glossary]).constraints("IT on X1") == (
        LexicalConstraint(("EDV",)),
        LexicalConstraint(("ein", "an", "Ein", "An")),
        LexicalConstraint(("X1",), copied=True),
    )


def test_of_two_glossaries_the_earlier_counts() -> None:
    one, other = Glossary.of({"on": "ein"}), Glossary.of({"on": "an", "off": "aus"})
    assert names(Terminology([one, other]), "on off") == ["ein", "aus"]
    assert names(Terminology([other]).also(one), "on off") == ["ein", "aus"]
    assert Terminology([one])
    assert not Terminology()


def test_tags_in_front_are_not_text() -> None:
    terminology = Terminology(protect=["tags"])
    known = frozenset(["<2de>", "<ui>"])
    constraints = terminology.constraints("<2de> <ui> <b>on <ui>", known)
    assert [one.name for one in constraints] == ["<b>", "<ui>"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [(r"a(b", "keep pattern 'a.b': missing"), (r"x*", "it matches the empty text")],
)
def test_bad_patterns_are_refused(pattern: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Terminology(patterns=[pattern])


def test_a_pattern_that_takes_for_ever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.text.terms.terminology._SECONDS", 0.01)
    terminology = Terminology(patterns=[r"(a|aa)+$"])
    with pytest.raises(DataError, match=r"takes over .* simplify"):
        terminology.constraints("a" * 60 + "b")


def test_part_of_a_match_may_be_empty() -> None:
    assert names(Terminology(patterns=[r"\bx?(?=y)|z"]), "y xy z") == ["x", "z"]


def test_places_of_what_is_copied_are_told_and_a_percentage_is_none() -> None:
    terms = Terminology(protect=["placeholders", "urls"])
    text = "a {b} 20%ige %d, 5%d www.x.org"
    found = [text[slice(*span)] for span in terms.protected(text)]
    assert found == ["{b}", "%d", "%d", "www.x.org"]


@pytest.mark.parametrize(
    ("source", "translation", "used"),
    [
        ("the device", "das Gerät", (1, 1)),
        ("the Device", "des Geräts", (1, 1)),
        ("the device", "der Gerätename", (0, 1)),
        ("device to device", "Gerät", (1, 2)),
        ("device to device", "von Gerät zu Gerät", (2, 2)),
        ("no IT here", "keine EDV", (1, 1)),
        ("is it here", "keine EDV", (0, 0)),
        ("a door", "ein Gerät", (0, 0)),
    ],
)
def test_terms_are_counted_as_whole_words(
    source: str, translation: str, used: tuple[int, int], tmp_path: Path
) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("device\tGerät|Geräts\nIT\tEDV\tcase-sensitive\n", encoding="utf-8")
    assert counters(path)["terms"](source, translation) == used


def test_placeholders_and_numbers_are_counted() -> None:
    found = counters()
    assert set(found) == {"placeholders", "numbers"}
    line = "Delete %1$s and {name} in <b>5 days</b>"
    assert found["placeholders"](line, "{name} und %1$s in <b>5 Tagen</b>") == (4, 4)
    assert found["placeholders"](line, "{Name} und %1$s in <b>5 Tagen") == (2, 4)
    assert found["numbers"]("5 of 1,000", "5 von 1.000") == (2, 2)
    assert found["numbers"]("5 of 6", "5 von 7") == (1, 2)
    assert found["placeholders"]("Delete %s files of %s", "%s의 파일 %s개를 삭제") == (2, 2)
    assert found["numbers"]("Wait 10 minutes", "10분 동안 기다리기") == (1, 1)


def test_what_no_source_has_is_named() -> None:
    metrics = ["bleu", "numbers", "placeholders"]
    sources = ["no digit", "but {one}"]
    assert nothing_to_count(sources, counters(), metrics) == ["numbers"]
    assert nothing_to_count([*sources, "5"], counters(), metrics) == []
    assert nothing_to_count(["", "plain"], counters(), ["placeholders"]) == ["placeholders"]


def test_a_broken_glossary_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such"):
        counters(tmp_path / "none.tsv")
