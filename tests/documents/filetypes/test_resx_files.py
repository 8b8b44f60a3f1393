"""Resources of .NET."""

from __future__ import annotations

import pytest
from string_files import opened, texts, translated

from dragoman.core.errors import DataError
from soak.fuzzing.target import seed

CONTENT = seed("texts.resx").content.decode()


def test_a_file() -> None:
    assert texts("a.resx", CONTENT) == [
        "Hello {0}, welcome & enjoy",
        "Two",
        "lines & more",
        "Some text",
    ]
    expected = CONTENT
    for before, after in (
        ("Hello {0}, &lt;b&gt;welcome", "HELLO {0}, &lt;b&gt;WELCOME"),
        ("&lt;/b&gt; &amp; enjoy", "&lt;/b&gt; &amp; ENJOY"),
        ("Two\nlines & more", "TWO\nLINES & MORE"),
        ("<value>Some text", "<value>SOME TEXT"),
    ):
        expected = expected.replace(before, after)
    assert translated("a.resx", CONTENT) == expected
    assert translated("a.resw", CONTENT, by=str) == CONTENT


def test_existing_translations() -> None:
    document = opened("a.resx", CONTENT)
    known = "<root><data name='label1.Text'><value>Ein Text</value></data></root>"
    assert document.keep_translations(opened("a.resx", known))
    assert len(document.texts) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<resources/>", "begins with <resources>, and not with <root>"),
        ("<root>\n<data>", "line 2"),
        (
            "<root><data name='a'><value>a b</value></data>\n<data name='a'/></root>",
            "'a' occurs twice, again at line 2",
        ),
    ],
)
def test_damaged_files(content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened("a.resx", content)
