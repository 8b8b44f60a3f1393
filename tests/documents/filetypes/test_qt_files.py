"""Files of Qt Linguist."""

from __future__ import annotations

import pytest
from string_files import opened, texts, translated

from dragoman.core.errors import DataError
from soak.fuzzing.target import seed

CONTENT = seed("texts.ts").content.decode()
UNFINISHED = '<translation type="unfinished">'


def test_a_file() -> None:
    assert texts("a.ts", CONTENT) == [
        *('&Open "%1" now', "1 file(s) found", "3 file(s) found", "Without any"),
        *("1 day(s)", "3 day(s)"),
    ]
    expected = CONTENT
    for before, after in (
        (
            f"menu</comment>\n        {UNFINISHED}",
            f"menu</comment>\n        {UNFINISHED}&amp;OPEN &quot;%1&quot; NOW",
        ),
        (
            "<numerusform></numerusform>\n            <numerusform></numerusform>",
            "<numerusform>%n FILE(S) FOUND</numerusform>\n"
            "            <numerusform>%n FILE(S) FOUND</numerusform>",
        ),
        (
            "hint</extracomment>\n",
            f"hint</extracomment>\n        {UNFINISHED}WITHOUT ANY</translation>\n",
        ),
        (
            '<translation type="unfinished"/>',
            f"{UNFINISHED}\n            <numerusform>%n DAY(S)</numerusform>\n"
            "            <numerusform>%n DAY(S)</numerusform>\n        </translation>",
        ),
    ):
        assert before in expected
        expected = expected.replace(before, after)
    assert translated("a.ts", CONTENT) == expected
    assert texts("a.ts", expected) == []


def test_forms_of_other_languages() -> None:
    content = CONTENT.replace('language="de_DE" ', "")
    found = translated("a.ts", content, "pl")
    assert '<TS version="2.1" sourcelanguage="en_US" language="pl">' in found
    assert found.count("<numerusform>%n DAY(S)</numerusform>") == 3
    assert "FILE(S)" not in found  # which has places for two forms
    assert translated("a.ts", content, "ja").count("DAY(S)") == 1


@pytest.mark.parametrize(
    ("content", "target", "message"),
    [
        (CONTENT, "fr", "for translations into 'de_DE', not 'fr'"),
        ("export const a = 1;", "de", "no elements of XML"),
        ("<ts/>", "de", "begins with <ts>, and not with <TS>"),
        ("<TS>\n<context>", "de", "line 2"),
    ],
)
def test_files_that_are_refused(content: str, target: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened("a.ts", content, target)
