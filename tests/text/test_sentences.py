"""Texts in segments."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencex import segment

from dragoman.core.errors import MissingExtraError
from dragoman.text import sentences
from dragoman.text.sentences import SplitMode, split_text

MODES: tuple[SplitMode, ...] = ("sentences", "flowing", "paragraphs", "none")
PARTS = st.one_of(
    st.sampled_from(["Dr. ", "Yes", ". ", "! ", "?", "。", "\n", "\r\n", "\u2028", "\t", "\u00a0"]),
    st.sampled_from(["{a. b}", "3. ", " ", "“", "”", "(", ")", "你好", "ok", "x.y", "...", "1"]),
    st.sampled_from(["\ud800", "\x85", "\u200b", "😀"]),
)
TEXTS = st.one_of(st.text(), st.lists(PARTS, max_size=20).map("".join))


def split(text: str, language: str = "en", mode: SplitMode = "sentences") -> list[str]:
    return [text[one.start : one.end] for one in split_text(text, language, mode)]


@given(TEXTS, st.sampled_from(["en", "de", "ja", "xx", "zh-Hans", ""]), st.sampled_from(MODES))
def test_segments_have_all_of_the_text_but_white_space(
    text: str, language: str, mode: SplitMode
) -> None:
    end = 0
    for one in split_text(text, language, mode):
        assert end <= one.start < one.end
        assert text[end : one.start].strip() == ""
        part = text[one.start : one.end]
        assert part == part.strip()
        assert mode in ("flowing", "none") or len(part.splitlines()) == 1
        end = one.end
    assert text[end:].strip() == ""


@given(TEXTS)
def test_more_sentences_than_lines(text: str) -> None:
    lines, sentences = split_text(text, "en", "paragraphs"), split_text(text, "en")
    assert {one.start for one in lines} <= {one.start for one in sentences}
    assert [(1 if text.strip() else 0)] == [len(split_text(text, "en", "none"))]


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["Dr. Smith went home.", '"Is it true?" he asked.', "Yes!", 'He said: "No."', "Ok"]),
        ("en", ["See e.g. Fig. 3.", "It costs 3.50 Euro.", "Really?", "I live in the U.S. Army."]),
        ("en", ["Call java.Lang.String, file.Name or me.", "Go to https://a.b/?q=1."]),
        ("en", ["Use {Hello. World} and {n}.", "Write [X7X]."]),
        ("en", ["1. First item.", "2. Second item."]),
        ("EN_us", ["One.", "Two."]),
        ("de", ["Am 3. Mai kam z. B. Dr. Müller.", "„Ist das so?“, fragte er.", "Ja, d. h. nein."]),
        ("de", ["Der 2. Weltkrieg, vgl. Abb. 5, war lang.", "»Nein!«", "Gut."]),
        ("de-AT", ["Am 3. Mai kam er.", "Er ging."]),
        ("fr", ["M. Dupont et Mme. Durand arrivent.", "« Oui ! » dit-il.", "Où ?"]),
        ("es", ["El Sr. García vive aquí.", "¿Qué?", "¡Hola!"]),
        ("cs", ["Např. to je č. 5 z nich.", "Je 5. května."]),
        ("pl", ["Np. Dr. Kowalski mieszka tutaj.", "Tak."]),
        ("ru", ["Т. е. нет.", "Да."]),
        ("ar", ["كيف حالك؟", "أنا بخير."]),
        ("hi", ["यह एक वाक्य है।", "दूसरा वाक्य।"]),
        ("xx", ["Hello there.", "Bye now."]),
    ],
)
def test_sentences_end_where_readers_end_them(language: str, sentences: Sequence[str]) -> None:
    assert split(" ".join(sentences), language) == sentences


@pytest.mark.parametrize(
    ("language", "sentences"),
    [("ja", ["これは文です。", "次の文です！", "最後？"]), ("zh", ["你好。", "再见！", "好"])],
)
def test_scripts_without_spaces_have_sentences(language: str, sentences: Sequence[str]) -> None:
    assert split("".join(sentences), language) == sentences


@pytest.mark.parametrize(
    "end", ["\n", "\r\n", "\r", "\n\n \t", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"]
)
def test_lines_end_at_each_kind_of_line_end(end: str) -> None:
    text = f" \u00a0one. Two{end}\tthree{end}"
    assert split(text) == ["one.", "Two", "three"]
    assert split(text, mode="paragraphs") == ["one. Two", "three"]
    assert split(text, mode="flowing") == ["one.", f"Two{end}\tthree"]
    assert split(text, mode="none") == [f"one. Two{end}\tthree"]


@pytest.mark.parametrize(
    "unit", ["Hello. ", "a", ".", '"', "a. ", "\n", "A.B.", "(", '"a. ', "{", "{a. ", "。", "1. "]
)
def test_a_long_text_has_bounded_work(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    spans = split_text(text, "de")
    assert sum(one.end - one.start for one in spans) <= len(text)


SENTENCES = [
    "今天天气很好。",
    "「你好！」",
    "She said hi. ",
    "Mr. Smith came. ",
    "3. ",
    "a.b.c ",
    "and so on; ",
]


@given(
    st.lists(st.sampled_from(SENTENCES), min_size=200, max_size=400), st.sampled_from(["en", "zh"])
)
@settings(max_examples=10)
def test_a_long_line_is_split_window_by_window(parts: list[str], language: str) -> None:
    """Into the same sentences as at once; what takes the square of them never sees many."""
    line = "".join(parts)
    sizes: list[int] = []

    def noted(code: str, text: str) -> list[str]:
        sizes.append(len(text))
        return segment(code, text)

    assert sentences._pieces(line, language, noted) == segment(language, line)
    assert max(sizes) <= 2000
    assert sum(sizes) <= 3 * len(line)


@pytest.mark.parametrize("unit", ["a", "ab "])
def test_windows_without_an_end_are_one_sentence(unit: str) -> None:
    assert sentences._pieces(unit * 3000, "en", segment) == [unit * 3000]


def test_without_sentencex_lines_still_work(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def missing(name: str, *rest: Mapping[str, object], **more: int) -> object:
        if name == "sentencex":
            raise ImportError(name)
        return imported(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", missing)
    assert split("One. Two\nthree", mode="paragraphs") == ["One. Two", "three"]
    with pytest.raises(MissingExtraError, match="sentencex is not installed"):
        split("One. Two")


@pytest.mark.parametrize("mode", ["sentences", "flowing", "paragraphs"])
@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("seven euros\tnine cents", ["seven euros", "nine cents"]),
        ("\ta one \t\t b\u00a0two\t", ["a one", "b\u00a0two"]),
        ("Item name      Price\u00a0\u00a0\u00a0\u00a0Count", ["Item name", "Price", "Count"]),
        ("The   house  is", ["The   house  is"]),
        ("see {count,     number} of `a\tb` <a     href='x'>", None),
        ("5 < 6\tand 7 > 3", ["5 < 6", "and 7 > 3"]),
    ],
)
def test_cells_of_a_line_are_segments(mode: SplitMode, text: str, cells: list[str] | None) -> None:
    assert [text[slice(*one)] for one in split_text(text, "en", mode)] == (cells or [text])


def test_indented_lines_that_flow_have_no_cells() -> None:
    text = "The house\n\t\tis     \n      small."
    assert [text[slice(*one)] for one in split_text(text, "en", "flowing")] == [text]
