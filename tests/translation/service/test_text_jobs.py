from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_time import takes_linear_time

from dragoman.text.sentences import TextSpan
from dragoman.translation.service.text_jobs import LONGEST, divided, gap_between, planned

texts = st.text(st.sampled_from("ab, .;!\n你。，é"), min_size=2, max_size=60).filter(
    lambda text: text == text.strip() and len(text) > 1
)


@given(texts)
def test_halves_lose_nothing_and_are_shorter(text: str) -> None:
    one, two = divided(text, TextSpan(0, len(text)))
    assert 0 == one.start < one.end <= two.start < two.end == len(text)
    assert text[one.end : two.start].strip() == ""
    for start, end in (one, two):
        assert text[start:end] == text[start:end].strip()


def test_the_best_place_near_the_middle_is_taken() -> None:
    def halves(text: str) -> list[str]:
        return [text[slice(*span)] for span in divided(text, TextSpan(0, len(text)))]

    assert halves("one two, three four. five six seven") == [
        "one two, three four.",
        "five six seven",
    ]
    assert halves("one two three, four five six") == ["one two three,", "four five six"]
    assert halves("one two three four") == ["one two", "three four"]
    assert halves("a bcdefghijk") == ["a", "bcdefghijk"]
    assert halves("abcdef") == ["abc", "def"]


def test_no_sentence_is_longer_than_models_can_be_expected_to_read() -> None:
    text = "word " * 1000 + "x" * 5000
    for mode in ("sentences", "paragraphs", "none"):
        spans = planned(text, "en", mode)
        assert max(end - start for start, end in spans) <= LONGEST
        assert "".join(text[slice(*span)] for span in spans).replace(" ", "") == text.replace(
            " ", ""
        )


def test_white_space_between_sentences_is_that_of_the_target_where_the_source_has_none() -> None:
    assert gap_between("", "zh-Hans", "en") == " "
    assert gap_between("", "zh", "ja") == ""
    assert gap_between("", "en", "de") == ""
    assert gap_between("\n", "ja", "en") == "\n"


@pytest.mark.parametrize("sign", [".", " "])
def test_a_long_run_is_looked_through_once(sign: str) -> None:
    def work(times: int) -> None:
        text = f"a{sign * times}a"
        divided(text, TextSpan(0, len(text)))

    assert takes_linear_time(work, 60_000)
