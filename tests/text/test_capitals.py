"""Words in their usual case, and capitals by the rules of each language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.capitals import (
    in_capitals,
    is_in_capitals,
    may_be_in_capitals,
    without_capitals,
)

WORDS = ["password", "change", "Merkel", "the", "USB", "e-mail", "don't"]
KNOWN = {word: (1, place) for place, word in enumerate(WORDS)}


def rarity(word: str) -> tuple[int, int]:
    """Pieces of a vocabulary with these words, which spells others in letters."""
    return KNOWN.get(word, (len(word), 0))


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Größe und Maß", "de", "GRÖSSE UND MASS"),
        ("istanbul'un ışığı", "tr", "İSTANBUL'UN IŞIĞI"),
        ("istanbul", "en", "ISTANBUL"),
        # Accents are lost, a diaeresis stays, and takes the place of an accent before it.
        ("Αλλαγή κωδικού", "el", "ΑΛΛΑΓΗ ΚΩΔΙΚΟΥ"),
        ("προϊόν, άυλος, Μάιος, ΐ", "el", "ΠΡΟΪΟΝ, ΑΫΛΟΣ, ΜΑΪΟΣ, Ϊ"),
        ("café naïve", "fr", "CAFÉ NAÏVE"),
        ("Сменить пароль", "ru", "СМЕНИТЬ ПАРОЛЬ"),
        ("블루투스 Wi-Fi", "ko", "블루투스 Wi-Fi"),
        ("პაროლი Wi-Fi", "ka", "პაროლი Wi-Fi"),
        ("1º piso", "es", "1º PISO"),
        ("", "de", ""),
    ],
)
def test_capitals_of_a_language(text: str, language: str, expected: str) -> None:
    assert in_capitals(text, language=language) == expected
    assert in_capitals(expected, language=language) == expected, "twice changes nothing"


@given(st.text("abcXYZ ?{}", max_size=20), st.integers(0, 20), st.integers(0, 9))
def test_kept_places_are_kept_to_the_letter(text: str, start: int, length: int) -> None:
    text = " ".join(text.split())
    start, end = min(start, len(text)), min(start + length, len(text))
    expected = text[:start].upper() + text[start:end] + text[end:].upper()
    assert in_capitals(text, [(start, end)]) == expected
    assert without_capitals(text.upper(), rarity, [(0, len(text))]) == text.upper()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CHANGE PASSWORD", True),
        ("É-Ñ 12!", True),
        ("STRAßE", True),
        ("1º PISO", True),
        ("Change", False),
        ("A1", False),
        ("12:30", False),
        ("BLUETOOTH 설정", False),
        ("AN iPHONE", False),
        ("", False),
    ],
)
def test_text_in_capitals(text: str, expected: bool) -> None:
    assert is_in_capitals(text) == expected
    assert may_be_in_capitals(text) or not expected


def test_kept_places_have_any_case() -> None:
    text = "DELETE {name}"
    assert not is_in_capitals(text) and is_in_capitals(text, [(7, 13)])
    assert not is_in_capitals("{NAME}: a", [(0, 6)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CHANGE THE PASSWORD!", "change the password!"),
        ("MERKEL'S PASSWORD", "Merkel's password"),
        ("THE USB PASSWORD", "the USB password"),
        ("PASSWORD UTF8 A_B2 SHA-256", "password UTF8 A_B2 SHA-256"),
        ("THE E-MAIL", "the e-mail"),
        ("DON'T CHANGE", "don't change"),
        # Nothing that the vocabulary knows better in another case.
        ("USB", "USB"),
        ("XYZQ", "XYZQ"),
        ("HELLO", "HELLO"),
        ("HELLO THE", "Hello the"),
    ],
)
def test_words_get_the_case_that_the_vocabulary_knows(text: str, expected: str) -> None:
    assert without_capitals(text, rarity) == expected


def test_short_words_may_be_acronyms() -> None:
    pieces = {"GPS": 3, "gps": 2, "Gps": 3, "SAVE": 4, "save": 2, "Save": 3, "LOGIN": 3, "login": 2}

    def counted(word: str) -> tuple[int, int]:
        return pieces.get(word, len(word)), 0

    assert without_capitals("GPS", counted) == "GPS"
    assert without_capitals("SAVE", counted) == "save"
    assert without_capitals("LOGIN", counted) == "login"


def test_the_more_frequent_of_two_pieces_wins() -> None:
    ids = {"AND": 900, "and": 40, "And": 300, "ID": 70, "id": 500, "Id": 800}

    def ranked(word: str) -> tuple[int, int]:
        return (1, ids[word]) if word in ids else (len(word), 0)

    assert without_capitals("AND", ranked) == "and"
    assert without_capitals("AND ID", ranked) == "and ID"


def test_turkish_words_lose_their_dots() -> None:
    turkish = {"ışık": (1, 0), "izin": (1, 1)}

    def known(word: str) -> tuple[int, int]:
        return turkish.get(word, (len(word), 0))

    assert without_capitals("IŞIK İZİN", known, language="tr") == "ışık izin"
    assert without_capitals("İZİN", known) == "izin"
