"""Checks and search look for the same strings."""

from __future__ import annotations

import pytest

from dragoman.text.terms.line_demands import USUAL, LineDemands
from dragoman.translation.checking.protected_strings import protected_findings

CODES = frozenset({"placeholders", "tags", "urls"})


@pytest.mark.parametrize(
    "code",
    [
        *("{name}", "%(key)r", "%s", "$HOME", "{% if a %}", "<b>", "</b>", "<br />", "&amp;"),
        *('<a href="x">', "<your name>", "<see it>", "https://a.org/b", "HTTP://A.ORG", "a@b.org"),
    ],
)
@pytest.mark.parametrize("source", ["open it", "open {it}", "a <b>c</b>"])
def test_what_is_invented_is_what_a_search_may_not_invent(code: str, source: str) -> None:
    translation = f"{source} {code}"
    said = [
        one.text
        for one in protected_findings(source, translation)
        if not one.in_source and one.kind in CODES
    ]
    demands = LineDemands((), source, frozenset(USUAL))
    assert tuple(said) == demands.invented(translation)
