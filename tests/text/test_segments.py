"""Short segments of pairs: cut out along links, and found again in pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.core.errors import DataError
from dragoman.text.segments import (
    SegmentLimits,
    SegmentTable,
    extract_segments,
    segment_lines,
)
from dragoman.text.terms.term_extraction import TokenizedPair
from dragoman.text.word_alignment import Aligned

PAIRS = [
    ("The red house, in the park", "Das rote Haus, im Park"),
    ("The red house falls", "Das rote Haus fällt"),
    ("A park in the rain", "Ein Park im Regen"),
]
# The comma is a word of the aligner; "in the" is "im".
LINKS = [
    {(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 4), (6, 5)},
    {(0, 0), (1, 1), (2, 2), (3, 3)},
    {(0, 0), (1, 1), (2, 2), (3, 2), (4, 3)},
]


def extracted(**limits: float) -> dict[tuple[str, str], int]:
    words = [TokenizedPair.of(*pair) for pair in PAIRS]
    aligned = [Aligned(frozenset(links), frozenset(links)) for links in LINKS]
    return extract_segments(
        PAIRS,
        words,
        aligned,
        language="en",
        limits=SegmentLimits(**limits),  # type: ignore[arg-type]
    )


def test_segments_are_whole_and_begin_and_end_with_words_that_say_something() -> None:
    assert extracted() == {
        ("house", "Haus"): 2,
        ("park", "Park"): 2,
        ("red", "rote"): 2,
        ("red house", "rote Haus"): 2,
    }, "the and in are stop words, and no comma is in any"
    once = extracted(minimum_count=1)
    assert list(once)[:4] == list(extracted()), "the most frequent first"
    assert once["park in the rain", "Park im Regen"] == 1
    assert ("house falls", "Haus fällt") in once and not any("," in one for one, _ in once)
    assert all(len(one.split()) <= 2 for one, _ in extracted(minimum_count=1, maximum_words=2))


def test_rare_translations_of_a_segment_are_left_out() -> None:
    words = [TokenizedPair.of("dog", "Hund")] * 9
    pairs = [("dog", "Hund")] * 9 + [("dog", "Katze")]
    words.append(TokenizedPair.of("dog", "Katze"))
    aligned = [Aligned(frozenset({(0, 0)}), frozenset({(0, 0)}))] * 10
    for share, kept in ((0.1, 2), (0.2, 1)):  # of ten
        limits = SegmentLimits(minimum_count=1, minimum_share=share)
        found = extract_segments(pairs, words, aligned, language="en", limits=limits)
        assert len(found) == kept and found["dog", "Hund"] == 9


def test_a_file_is_found_again_in_pairs(tmp_path: Path) -> None:
    path = tmp_path / "segments.tsv"
    path.write_text("\n".join(segment_lines(extracted())) + "\n", encoding="utf-8")
    table = SegmentTable.read(path)
    found = table.within("One red house", "Ein rotes Haus")
    assert found == [("house", "Haus")], "rote is in rotes, but is no word of it"
    assert table.within("My red house", "Das rote Haus") == [
        ("red", "rote"),
        ("red house", "rote Haus"),
        ("house", "Haus"),
    ]
    assert table.within("Red houses", "Haus") == []


def test_a_dictionary_is_found_however_its_accents_are_encoded(tmp_path: Path) -> None:
    path = tmp_path / "segments.tsv"
    path.write_text("source\ttarget\nCafe\u0301 \t Kaffee\u00a0haus\n", encoding="utf-8")
    found = SegmentTable.read(path).within("Café der Stadt", "Das Kaffee haus dort")
    assert found == [("Café", "Kaffee haus")]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "empty"),
        ("dog\tHund\n", ":1: expected the line source, tab, target; write the file with"),
        ("source\ttarget\n", "no segments"),
        ("source\ttarget\ndog\tHund\ncat\n", ":3: 'cat' is not a segment"),
        ("source\ttarget\ncat\t \n", ":2: "),
        ("source\ttarget\na\tb\tc\n", ":2: "),
    ],
)
def test_other_files_are_refused_by_line(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "segments.tsv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=problem) as caught:
        SegmentTable.read(path)
    assert str(path) in str(caught.value)


def test_links_of_one_direction_alone_are_not_enough() -> None:
    words = [TokenizedPair.of("dog", "Hund")] * 2
    unsure = [Aligned(frozenset(), frozenset({(0, 0)}))] * 2
    assert not extract_segments([("dog", "Hund")] * 2, words, unsure, language="en")
