"""Word translations measured with a dictionary, and used word by word."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.techniques.embedding.word_translation import WordByWord, word_accuracy
from dragoman.text.tokens import space_spans
from dragoman.text.word_vectors import WordVectors

GERMAN = WordVectors(
    ("ein", "Hund", "Katze", "rot", "."),
    np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0.2], [0, 0, 1], [1, 1, 1]], dtype=np.float32),
)
ENGLISH = WordVectors(
    (".", "a", "dog", "red", "cat", "Dog"),
    np.array(
        [[1, 1, 1], [1, 0.1, 0], [0, 1, -0.1], [0, 0.1, 1], [0, 1, 0.3], [0, 1, -0.3]],
        dtype=np.float32,
    ),
)


def test_precision_and_coverage() -> None:
    entries = {
        "hund": ("DOG",),  # right; case does not matter
        "Katze": ("dog", "mouse"),  # wrong at first, right among five
        "rot": ("unknown",),  # known, not answerable
        "Maus": ("cat",),  # not known
        "Ein": ("a",),  # right
    }
    found = word_accuracy(GERMAN, ENGLISH, entries, "d", neighbours=1)
    assert (found.asked, found.answerable, found.known) == (3, 3, 4)
    assert found.nearest.p1 == pytest.approx(200 / 3)
    assert found.nearest.p5 == 100
    frequent = word_accuracy(GERMAN, ENGLISH, entries, "d", maximum=2)
    assert (frequent.asked, frequent.answerable) == (2, 3)
    assert frequent.csls.p1 == 100
    assert asdict(frequent.csls) == {"p1": 100, "p5": 100}


def test_the_most_frequent_spelling_is_asked_for() -> None:
    source = WordVectors(("Hund", "hund"), np.array([[0, 1, 0], [1, 0, 0]], dtype=np.float32))
    assert word_accuracy(source, ENGLISH, {"hund": ("dog",)}, "d").nearest.p1 == 100


def test_nothing_to_measure() -> None:
    with pytest.raises(DataError, match=r"d: 1 of its words have a vector, and none of these"):
        word_accuracy(GERMAN, ENGLISH, {"rot": ("x",), "x": ("a",)}, "d")
    wide = WordVectors(("a",), np.ones((1, 4), dtype=np.float32))
    with pytest.raises(DataError, match=r"of dimension 3, the target of 4; train both"):
        word_accuracy(GERMAN, wide, {"ein": ("a",)}, "d")


def test_word_by_word() -> None:
    lines = ["Ein HUND,  rot: 3 Mäuse.", "", "katze rot."]
    translator = WordByWord(GERMAN, ENGLISH, neighbours=1)
    found = list(translator.translate(lines))
    assert found == ["a dog, red: 3 Mäuse.", "", "cat red."]
    assert list(translator.translate(["Hund"])) == ["dog"]  # known from before
    by_spaces = WordByWord(GERMAN, ENGLISH, space_spans, neighbours=1)
    assert list(by_spaces.translate(["ein Hund rot."])) == ["a dog rot."]


def test_a_word_is_found_in_any_case() -> None:
    words = ("McDonald", "Straße", "ein", "Ein")
    source = WordVectors(words, np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]], np.float32))
    translator = WordByWord(source, ENGLISH, neighbours=1)
    (found,) = translator.translate(["mcdonald MCDONALD STRASSE Ein EIN"])
    assert found == "dog dog red dog a"


def test_signs_are_no_translations() -> None:
    signs = WordVectors((".", "1"), np.ones((2, 3), dtype=np.float32))
    with pytest.raises(DataError, match=r"the target's vectors are of no words"):
        WordByWord(GERMAN, signs)
