"""No document takes time that grows faster than it does; each of these once did."""

from __future__ import annotations

import time

import pytest
from office_files import translated

_PLURAL = 'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=(n != 1);'
_AFTER_PLURAL = 'a\\n"\n\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n'
SECONDS = 2.0
"""Of processor time: each needed more than twice as much, and takes a third of it or less."""


@pytest.mark.parametrize(
    ("name", "before", "signs", "after"),
    [
        ("a.html", "<p>a", "\t" * 60_000, "a</p>"),  # an empty line was looked for at every tab
        ("a.md", "a ", "[^" * 7500, ""),  # a footnote, at every bracket
        ("a.md", "---\ntitle: a", " " * 60_000, "b\n---\n\na"),
        ("strings.xml", '<resources><string name="a">a', "\n" * 60_000, "a</string></resources>"),
        ("strings.xml", '<resources><string name="a">@', "a" * 60_000, "!</string></resources>"),
        ("strings.xml", '<resources><string name="a">"a', " " * 60_000, "a</string></resources>"),
        ("a.xlf", '<?xml version="1.0"?><xliff version="1.2">', "\n" * 60_000, "</xliff>"),
        (
            "a.txt",
            "a ",
            "http://" * 8000,
            " b",
        ),  # one thing to copy
        ("a.txt", "a ", "{a}" * 20_000, " b"),  # many, each compared with all
        ("a.json", '{"a": "a', " " * 60_000, 'b"}'),
        ("a.po", _PLURAL, " " * 2000, _AFTER_PLURAL),
        ("a.html", "<p>a <b>b", "!" * 30_000 + "b", " c</b></p>"),  # signs at the end of a mark
    ],
)
def test_long_runs_take_little_time(name: str, before: str, signs: str, after: str) -> None:
    content = f"{before}{signs}{after}".encode()
    began = time.process_time()
    translated(name, content)
    assert time.process_time() - began < SECONDS
