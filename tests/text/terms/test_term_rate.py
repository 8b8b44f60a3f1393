"""Counts of what translations owe their sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.core.errors import DataError
from dragoman.text.terms.term_rate import counters, nothing_to_count


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
