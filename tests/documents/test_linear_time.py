"""No document takes time that grows faster than it does; each of these once did."""

from __future__ import annotations

import pytest
from linear_time import takes_linear_time
from office_files import translated

_CUE = "1\n00:00:01,000 --> 00:00:02,000\na"
_PLURAL = 'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=(n != 1);'
_AFTER_PLURAL = 'a\\n"\n\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n'


NOTATIONS = [
    "[[a|b]] ",
    "[a](b) ",
    "[[a|",
    "[a](",
    "{{a",
    "{{a|{{b}} ",
    "%a",
    ":a",
    "%{",
    "${",
    "__a_",
]
NOTATIONS += [
    "<%= ",
    "{0,choice,",
    "%(a",
    "[",
    "@:{a",
    "$t(",
    "a | ",
    "`a b",
    "%-0",
    "%%a",
    r"\\(a(b",
]


@pytest.mark.parametrize(
    ("name", "before", "sign", "times", "after"),
    [
        ("a.html", "<p>a", "\t", 60_000, "a</p>"),  # an empty line was looked for at every tab
        ("a.md", "a ", "[^", 4000, ""),  # a footnote, at every bracket
        ("a.md", "---\ntitle: a", " ", 60_000, "b\n---\n\na"),
        ("strings.xml", '<resources><string name="a">a', "\n", 60_000, "a</string></resources>"),
        ("strings.xml", '<resources><string name="a">@', "a", 60_000, "!</string></resources>"),
        ("strings.xml", '<resources><string name="a">"a', " ", 60_000, "a</string></resources>"),
        ("a.xlf", '<?xml version="1.0"?><xliff version="1.2">', "\n", 60_000, "</xliff>"),
        ("a.md", "a\n", ": ", 2000, "b"),  # definitions in definitions
        ("a.adoc", "a ", " *a", 4000, ""),
        ("a.adoc", "a ", "[", 8000, ""),
        ("a.adoc", "a ", "\\*", 4000, ""),
        ("a.md", "a\n", ": b\n", 2000, ""),
        ("a.md", "a ", "{ .b ", 8000, ""),
        ("a.md", "a ", "{ .b }", 4000, ""),
        ("a.md", "a ", "[b]({{ c ", 2000, ""),
        ("a.rst", "a ", "a.", 20_000, " b"),  # names of references, at every part
        ("a.rst", "a `b", " ", 60_000, "<c>`_ d"),
        ("a.rst", "", "- ", 4000, "b"),
        ("a.rst", "", "== ==\n", 4000, "\na"),
        ("a.txt", "a ", "http://", 8000, " b"),  # one thing to copy
        ("a.txt", "a ", "{a}", 6000, " b"),  # many, each compared with all
        ("a.srt", _CUE, " ", 60_000, "b"),  # line breaks, at every space
        ("a.srt", _CUE, "\n- b", 2000, ""),  # speakers
        ("a.srt", _CUE, "\n[b", 8000, ""),
        ("a.srt", _CUE, "<rt>", 8000, ""),
        ("a.srt", "", "1:", 20_000, "\n" + _CUE),
        ("a.json", '{"a": "a', " ", 60_000, 'b"}'),
        *(
            pytest.param("a.json", '{"a": "a ', sign, 3000, ' b"}', marks=pytest.mark.exhaustive)
            for sign in NOTATIONS
        ),
        ("a.po", _PLURAL, " ", 2000, _AFTER_PLURAL),
        ("a.html", "<p>a <b>b", "!", 30_000, "b c</b></p>"),  # signs at the end of a mark
    ],
)
def test_long_runs_take_little_time(
    name: str, before: str, sign: str, times: int, after: str
) -> None:
    def work(times: int) -> None:
        translated(name, f"{before}{sign * times}{after}".encode())

    assert takes_linear_time(work, times)
