"""Candidate terms: what is counted, and what is made of it."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.terms.term_extraction import (
    CandidateTerm,
    TermLimits,
    TokenizedPair,
    are_forms,
    c_values,
    extract_terms,
    grouped_forms,
    stop_words,
)
from dragoman.text.word_alignment import Aligned, align


def extract(
    pairs: list[tuple[str, str]], language: str = "en", **limits: float
) -> dict[str, CandidateTerm]:
    words = [TokenizedPair.of(*pair) for pair in pairs]
    found = extract_terms(
        pairs,
        words,
        align([one.keys for one in words]),
        language=language,
        limits=TermLimits(**limits),  # type: ignore[arg-type]
    )
    return {term.source: term for term in found}


PAIRS = [
    ("Restart the access point now", "Starten Sie den Zugangspunkt jetzt neu"),
    ("The access point is offline", "Der Zugangspunkt ist offline"),
    ("Name of the access point", "Name des Zugangspunkts"),
    ("Every device has a name", "Jedes Gerät hat einen Namen"),
    ("Remove the device", "Entfernen Sie das Gerät"),
    ("Name of the device", "Name des Geräts"),
    ("The device is offline", "Das Gerät ist offline"),
    ("Wait for a device", "Warten Sie auf ein Gerät"),
] * 3


def test_terms_are_found_with_their_forms() -> None:
    found = extract(PAIRS)
    assert found["device"].renderings[0].forms == ("Gerät", "Geräts")
    assert found["device"].count == found["device"].aligned == 15
    assert found["access point"].renderings[0].text == "Zugangspunkt"
    assert "access" not in found, "it occurs in a longer term only"
    assert not any(term.split()[0].lower() in {"the", "a", "of"} for term in found)


def test_the_most_telling_come_first() -> None:
    values = [term.c_value for term in extract(PAIRS).values()]
    assert values == sorted(values, reverse=True)


def test_a_term_with_two_translations_is_inconsistent() -> None:
    pairs = [("the old server", "der alte Server"), ("the old host", "der alte Rechner")] * 8
    pairs += [("the new server", "der neue Dienst"), ("the new host", "der neue Rechner")] * 4
    found = extract(pairs)
    assert found["server"].is_inconsistent
    assert [one.text for one in found["server"].renderings] == ["Server", "Dienst"]
    assert found["server"].share == pytest.approx(8 / 12)
    assert not found["host"].is_inconsistent
    assert "server" not in extract(pairs, minimum_share=0.7)
    assert "server" not in extract(pairs, minimum_count=9)
    assert not extract(pairs, inconsistent_share=0.5)["server"].is_inconsistent


def test_particles_after_a_korean_word_are_no_part_of_it() -> None:
    pairs = [("open settings", "설정을 열기"), ("close settings", "설정 닫기")] * 5
    words = [TokenizedPair.of(*pair) for pair in pairs]
    crossed = frozenset({(0, 1), (1, 0)})
    found = extract_terms(pairs, words, [Aligned(crossed, crossed)] * 10, language="en")
    assert {one.source: one.renderings[0].forms for one in found}["settings"] == ("설정",)


def test_a_span_that_other_words_share_is_no_translation() -> None:
    pairs = [("hot water", "Warmwasser")] * 6
    words = [TokenizedPair.of(*pair) for pair in pairs]
    links = [Aligned(frozenset({(1, 0)}), frozenset({(0, 0), (1, 0)}))] * 6
    found = extract_terms(pairs, words, links, language="en")
    assert [term.source for term in found] == ["hot water"]


counts = st.dictionaries(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple), st.integers(1, 9)
)


@given(counts)
def test_c_value_is_that_of_the_paper(found: dict[tuple[str, ...], int]) -> None:
    """Frantzi et al. 2000, section 3.1, with log(length + 1)."""
    for term, value in c_values(found).items():
        longer = [
            count
            for other, count in found.items()
            if other != term and any(other[i : i + len(term)] == term for i in range(len(other)))
        ]
        inside = sum(longer) / len(longer) if longer else 0
        assert value == pytest.approx(math.log2(len(term) + 1) * (found[term] - inside))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("gerät", "geräts", True),
        ("haus", "häuser", False),
        ("konfiguriert", "konfigurierten", True),
        ("gerät", "gerät an", False),
        ("datei", "dateiname", False),
        ("설정", "설정을", True),
        ("설정", "설명", False),
    ],
)
def test_forms_differ_at_the_end(one: str, other: str, same: bool) -> None:
    assert are_forms(one, other) is are_forms(other, one) is same


@given(st.lists(st.text("ab가나 ", min_size=1, max_size=6), unique=True, max_size=40))
def test_forms_are_grouped_as_if_all_were_compared_with_all(texts: list[str]) -> None:
    groups: list[list[str]] = []

    def stem(text: str) -> str | None:
        forms = (one for one in texts if one[-1] in "가나" and text.startswith(one))
        words = (one for one in forms if are_forms(one, text) and len(one.rpartition(" ")[2]) > 1)
        return min(words, key=len, default=None)

    for text in texts:
        group = next((g for g in groups if any(stem(text) == stem(one) for one in g)), None)
        if stem(text) is None or group is None:
            group = next((group for group in groups if are_forms(group[0], text)), None)
        if group is None:
            groups.append([text])
        else:
            group.append(text)
    assert grouped_forms(texts) == groups


def test_forms_of_a_korean_word_are_one_though_the_word_comes_last() -> None:
    assert grouped_forms(["설정을", "설정이", "설명을", "설정"]) == [
        ["설정을", "설정이", "설정"],
        ["설명을"],
    ]
    assert grouped_forms(["문서", "문제", "문"]) == [["문서", "문"], ["문제"]]
    forms = ("설정을", "설정이", "설정은", "설정")
    verbs = (("open", "열기"), ("close", "닫기"))
    pairs = [(f"{en} settings", f"{one} {ko}") for one in forms for en, ko in verbs] * 2
    words = [TokenizedPair.of(*pair) for pair in pairs]
    crossed = frozenset({(0, 1), (1, 0)})
    found = extract_terms(pairs, words, [Aligned(crossed, crossed)] * 16, language="en")
    (rendering,) = {one.source: one.renderings for one in found}["settings"]
    assert (rendering.forms, rendering.count) == (("설정",), 16)


def test_thousands_of_translations_are_not_all_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    def counted(one: str, other: str) -> bool:
        nonlocal compared
        compared += 1
        return are_forms(one, other)

    monkeypatch.setattr("dragoman.text.terms.term_extraction.are_forms", counted)
    texts = [f"{a}{b}{c}{d}" for a in "abcde" for b in "abcde" for c in "abcde" for d in "xyzuvw"]
    assert len(grouped_forms(texts)) == 125
    assert compared == 125 * 5


def test_stop_words_are_listed_or_frequent_and_short() -> None:
    assert stop_words("en-GB", Counter()) >= {"the", "don't", "don’t"}
    counted = Counter({"der": 50, "gerät": 40, "ist": 30, "설정": 30, "42": 20})
    assert stop_words("de", counted) == {"der", "ist"}
