"""Characters that nobody sees: read by no model, unless a script needs them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.unseen import DIRECTION, UNSEEN, bare, is_unseen, with_direction, without_unseen
from dragoman.text.normalization import normalize
from dragoman.text.vocabularies import is_empty, prepare_line

SIGNS = (
    "a ä1א ש م ک क ् র ক ខ ល ᠠ 葛 ❤👩🏽🔥🏴\u20e3.\u00ad\u034f\u061c\u180b\u180e\u200b\u200c\u200d"
    "\u200e\u200f\u202a\u202b\u202c\u2060\u2066\u2069\ufe0e\ufe0f\ufeff\ufff9\ufffa\ufffb"
    "\U000e0067\U000e007f\U000e0100\u0301"
)
mixed = st.text(alphabet=SIGNS)


@pytest.mark.parametrize(
    "text",
    [
        "sev\u00aden houses",
        "\u200bseven\u200b houses\u200e",
        "\u2067seven\u2069 \u202bhouses\u202c\u200f",
        "se\u200bven hou\u2060ses",
        "seven\u200c hou\u200dses",
        "\ufeffseven hou\ufeffses",
        "sev\u034fen\ufe0f hou\u180eses\U000e0100",
        "se\u206aven\u2061 houses\U000e0041\U000e007f",
        "\ufff9seven\ufffaSEVEN\ufffb houses",
        "seven\u061c houses",
    ],
)
def test_what_no_script_needs_is_not_read(text: str) -> None:
    assert normalize(text) == "seven houses"


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم کتاب\u200cها",
        "PDF\u200cها و ۱۰\u200cساله",
        "ه\u200d. ش",
        "क्\u200dष और क्\u200cष",
        "র\u200d্য",
        "ശ്രീ\u0d7c അവന്\u200d വന്നു",
        "ශ්\u200dරී ලංකා",
        "ខ្ញុំ\u200bទៅ\u200bផ្សារ",
        "👩\u200d👩\u200d👧 👍🏽 👩🏽\u200d🚀",
        "❤\ufe0f\u200d🔥 ❤\ufe0e ✈\ufe0f",
        "1\ufe0f\u20e3 #\ufe0f\u20e3",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f and 🏴\u200d☠\ufe0f",
        "葛\U000e0100城",
        "ᠰᠠᠶᠢᠨ\u180eᠠ ᠭ\u180bᠠ",
    ],
)
def test_what_scripts_and_emoji_need_stays(text: str) -> None:
    assert normalize(text) == text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("می\u200c\u200cخواهم\u200c", "می\u200cخواهم"),
        ("خانه\u200c ها", "خانه ها"),
        ("👩\u200d and 👍\u200d", "👩 and 👍"),
        ("क\u200d x\u200dक", "क xक"),
        ("日\u200b本", "日本"),
        ("1\ufe0f 🏴\U000e0067 ❤\ufe0f\ufe0f", "1 🏴 ❤\ufe0f"),
        ("שלום\u200f!", "שלום!"),
    ],
)
def test_what_is_needed_elsewhere_is_not_read(text: str, read: str) -> None:
    assert normalize(text) == read


@given(mixed)
def test_twice_is_once(text: str) -> None:
    read = normalize(text)
    assert normalize(read) == read


@given(mixed)
def test_all_that_is_seen_stays(text: str) -> None:
    if "\ufff9" not in text:
        assert UNSEEN.sub("", without_unseen(text)) == UNSEEN.sub("", text)


@given(mixed)
def test_a_text_is_empty_if_nothing_of_it_is_read(text: str) -> None:
    assert is_empty(text) == (not prepare_line(text))


def test_long_runs_take_linear_time() -> None:
    run = "\u200d\u00ad" * 100_000
    assert without_unseen(f"a{run}b{run}") == "ab"
    assert bare(f"{run}\u2067\u2069{' ' * 100_000}a") == (0, 300_003)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        (" a b ", "a b"),
        ("\u200f\u200e a \u200eb\u200f.\u200e \u061c", "a \u200eb\u200f."),
        ("\u2067a b\u2069", "a b"),
        ("\u202b\u2067 a\u2069 \u202c", "a"),
        ("\u2067a\u2069 b", "\u2067a\u2069 b"),
        ("\u200e\u2067a\u2069 b\u202c\u200f", "\u2067a\u2069 b\u202c"),
        ("\u202ba\u202c b \u202bc\u202c", "\u202ba\u202c b \u202bc\u202c"),
        ("\u202ba\u2069", "\u202ba\u2069"),
        ("\u00ada", "\u00ada"),
        (" \u200f \u2067\u2069", ""),
    ],
)
def test_marks_of_direction_at_the_ends(text: str, inside: str) -> None:
    assert text[slice(*bare(text))] == inside


@given(mixed)
def test_what_is_bare_has_no_white_space_at_its_ends(text: str) -> None:
    start, stop = bare(text)
    assert text[start:stop] == text[start:stop].strip()
    assert not DIRECTION.sub("", text[:start] + text[stop:]).strip()


@pytest.mark.parametrize(
    ("text", "around"),
    [
        ("a \u2068{x}\u2069 b", "\u2068{x}\u2069"),
        ("\u200e{x}\u200f", "\u200e{x}\u200f"),
        ("\u2068{x} b\u2069", "{x}"),
        ("\u2067\u2068{x}\u2069 b\u2069", "\u2068{x}\u2069"),
        ("\u202b{x}\u2069", "{x}"),
        ("{x}", "{x}"),
    ],
)
def test_marks_of_direction_around_a_placeholder(text: str, around: str) -> None:
    place = text.index("{x}")
    assert text[slice(*with_direction(text, (place, place + 3)))] == around


def test_codes_that_stand_for_nothing_that_is_seen() -> None:
    assert all(map(is_unseen, ["\u00ad", "&shy;", "&#8203;", "<wbr/>", "<w:softHyphen/>", "wbr"]))
    assert not any(map(is_unseen, ["", "a", "<br/>", "-", " "]))
