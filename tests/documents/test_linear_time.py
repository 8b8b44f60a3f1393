"""No document takes time that grows faster than it does; each of these once did."""

from __future__ import annotations

import time

import pytest
from office_files import translated

LENGTH = 20_000
SECONDS = 2.0
"""Of processor time: each needed several times as much, and takes a tenth of it or less."""


@pytest.mark.parametrize(
    ("name", "before", "sign", "after"),
    [
        ("a.html", "<p>a", "\t", "a</p>"),  # an empty line was looked for at every tab
        ("a.md", "a ", "[^", ""),  # a footnote, at every bracket
        ("a.md", "---\ntitle: a", " ", "b\n---\n\na"),
        ("strings.xml", '<resources><string name="a">a', "\n", "a</string></resources>"),
        ("strings.xml", '<resources><string name="a">@', "a", "!</string></resources>"),
        ("strings.xml", '<resources><string name="a">"a', " ", "a</string></resources>"),
        ("a.xlf", '<?xml version="1.0"?><xliff version="1.2">', "\n", "</xliff>"),
        ("a.txt", "a ", "http://", " b"),  # one thing to copy, sought as a regular expression
        ("a.txt", "a ", "{a}", " b"),  # many, each compared with all
        ("a.json", '{"a": "a', " ", 'b"}'),
    ],
)
def test_long_runs_take_little_time(name: str, before: str, sign: str, after: str) -> None:
    content = f"{before}{sign * (LENGTH // len(sign))}{after}".encode()
    began = time.process_time()
    translated(name, content)
    assert time.process_time() - began < SECONDS
