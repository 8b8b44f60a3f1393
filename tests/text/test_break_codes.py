"""Codes at which a text ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.break_codes import BREAK, POINT, is_breaking, is_breaking_code, without_points


@pytest.mark.parametrize(
    "shown",
    [
        *("<br/>", "<BR />", "<br class='x'>", "</p>", '<li id="1">', "<w:br/>", "[br]"),
        *(
            "\n",
            " \r\n",
            "\\n",
            "\\r\\n",
            "\\line ",
            "lb",
            "xlf:lb",
            "pb",
            "x-br",
            "x-li",
            "newline",
        ),
        *("LINE_BREAK", "LINE_BREAK_12", "START_PARAGRAPH", "CLOSE_TABLE_ROW_1", "START_TAG_DIV"),
    ],
)
def test_codes_that_end_a_text(shown: str) -> None:
    assert is_breaking(shown)


@pytest.mark.parametrize(
    "shown",
    [
        "<b>",
        "</link>",
        "<button>",
        "<brand/>",
        "x-b",
        "image",
        "{name}",
        "p",
        "\\name",
        "INTERPOLATION",
    ],
)
def test_codes_that_do_not(shown: str) -> None:
    assert not is_breaking(shown)


@pytest.mark.parametrize(
    "attributes",
    [
        {"ctype": "lb"},
        {"id": "LINE_BREAK"},
        {"id": "1", "equiv-text": "&lt;br&gt;"},
        {"id": "1", "type": "fmt", "subType": "xlf:lb"},
        {"id": "1", "disp": "<br/>"},
        {"id": "1", "dispStart": "<p>", "dispEnd": "</p>"},
        {"type": "lb", "x": "1"},
    ],
)
def test_attributes_say_what_a_code_is(attributes: dict[str, str]) -> None:
    assert is_breaking_code(attributes)
    assert not is_breaking_code(dict.fromkeys(attributes, "1"))
    assert is_breaking_code({"id": "1"}, "<br/>")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("euros*nine", "euros nine"),
        ("again.**If", "again. If"),
        ("bad* word", "bad word"),
        ("2*.5", "2.5"),
        ("*a, *(b)*", "a, (b)"),
        ("点击*继续", "点击继续"),
        ("a*b*c", "a b c"),
        ("x**", "x"),
        ("one|two|.", "one two."),
        ("|one*|“two”", " one “two”"),
    ],
)
def test_no_words_are_glued(text: str, read: str) -> None:
    assert without_points(text.replace("*", POINT).replace("|", BREAK)) == read


@given(st.text(alphabet=f"aA. 1x{POINT}{BREAK}"))
def test_no_point_is_left(text: str) -> None:
    read = without_points(text)
    bare = text.replace(POINT, "").replace(BREAK, "")
    assert read.replace(" ", "") == bare.replace(" ", "")
