"""Placeholders of strings: where they are, and whether a translation keeps them."""

from __future__ import annotations

import pytest

from dragoman.documents.strings.string_placeholders import filled_in, in_order, same_placeholders
from dragoman.documents.strings.string_syntax import Numbering, StringSyntax


@pytest.mark.parametrize(
    "placeholder",
    [
        "%s %1$d %@ %(name)s %-5.2f %% %lu %#@files@",
        "{} {0} {name} {0:>5} {{ name }} {date, date, short} %{name} %<n>d ${x} $x",
        "$t(key) $USER$ $1 @:message :ref:`foo <bar>` ``code`` [X7X] &nbsp; &#228;",
        "https://a.example/b?c=%20 me@a.example %1 %L1 %n %PRODUCTNAME",
    ],
)
def test_placeholders_are_found(placeholder: str) -> None:
    covered = {at for start, stop in filled_in(placeholder) for at in range(start, stop)}
    rest = "".join(sign for at, sign in enumerate(placeholder) if at not in covered)
    assert not rest.strip()


@pytest.mark.parametrize(
    ("source", "translation", "numbering", "expected"),
    [
        ("%s of %d", "von %d %s", "printf", "von %2$d %1$s"),
        ("%s of %d", "von %d %s", "none", "von %s %d"),
        ("%s of %d", "%s von %d", "printf", "%s von %d"),
        ("{} {}", "{} {}", "braces", "{} {}"),
        ("%(a)s %(b)s", "%(b)s %(a)s", "printf", "%(b)s %(a)s"),
        ("%s %% %d", "%d %% %s", "printf", "%2$d %% %1$s"),
    ],
)
def test_placeholders_that_changed_places(
    source: str, translation: str, numbering: Numbering, expected: str
) -> None:
    assert in_order(source, translation, StringSyntax(numbering=numbering)) == expected


def test_a_sign_in_front_of_a_placeholder_does_not_spoil_it() -> None:
    assert not same_placeholders("Hello %1$s", "Hallo %%1$s")
    assert not same_placeholders("Hello %(n)d", "Hallo %%(n)d")
    assert same_placeholders("Hello %1$s", "Hallo %%%1$s")
