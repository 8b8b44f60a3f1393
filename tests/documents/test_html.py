"""Which texts a page has."""

from __future__ import annotations

import pytest

from dragoman.documents.html import read_html
from dragoman.documents.marks.mark_placement import place_marks
from dragoman.documents.marks.marked_document import MarkupOptions
from dragoman.documents.marks.marked_text import walk
from dragoman.translation.service.translated_text import (
    Rendering,
    TranslatedSentence,
    TranslatedText,
)


def texts(markup: str, options: MarkupOptions | None = None) -> list[str]:
    return [one.text for one in read_html(markup, options).texts]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<p>One <b>two</b>.<p>Three", ["One two.", "Three"]),
        ("One<br>two<BR/>three", ["One", "two", "three"]),
        ("<table><tr><td>a</td><td>b</table>", ["a", "b"]),
        ("One\n two.\n\n Three", ["One two.", "Three"]),
        ("a&nbsp;b &lt;i&gt; &amp;amp; &#x41; &copy", ["a\u00a0b <i> &amp; A ©"]),
        ("<title>A <b></title>", ["A <b>"]),
        ("<script>a b</script><style>c</style><pre>d</pre><svg><text>e</text></svg>", []),
        ("<textarea>a</textarea><!-- b --><iframe>c</iframe><input value=d>", []),
        ("12 <b>3.5</b> – &nbsp;", []),
        ("<code>x</code> <samp>Ctrl</samp>", []),
        ("Use <code>x + y</code> here", ["Use x + y here"]),
        (f"Use <code>{'x' * 101}</code> here", ["Use here"]),
        ("<p translate=no>a</p><p TRANSLATE='No'>b</p><p class='x notranslate'>c</p>d", ["d"]),
        ("<ul><li translate=no>a<li>b</ul>", ["b"]),
        ("one <span translate=no>Two</span> three", ["one Two three"]),
        ("<svg><title>a</title></svg> b <math><mi>c</mi></math> d", ["b d"]),
        ('Hello <x id="7"></x>, you', ["Hello, you"]),
        ("a <b> b</b> <i> </i> c", ["a b c"]),
        ("", []),
        ("<", []),
    ],
)
def test_texts_end_where_blocks_do(markup: str, expected: list[str]) -> None:
    assert texts(markup) == expected


def test_options_say_which_elements_split_and_are_ignored() -> None:
    markup = "<P>one <B>two</B></P><p>three<br>four</p>"
    assert texts(markup, MarkupOptions(ignored_tags=("P",))) == []
    assert texts(markup, MarkupOptions(splitting_tags=("B",))) == ["one", "two", "three", "four"]
    assert texts(markup, MarkupOptions(non_splitting_tags=("br",))) == ["one two", "threefour"]


def test_only_what_must_be_copied_is_kept() -> None:
    (one,) = read_html("Run <code>ls -l</code> <i>now</i>, [X7X]").texts
    assert one.kept == ["ls -l", "[X7X]"]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [("<b>all</b>", False), ("<img>all<img>", False), ("<b>a</b> b", True), ("a <img> b", True)],
)
def test_links_are_wanted_only_where_they_matter(markup: str, expected: bool) -> None:
    (one,) = read_html(markup).texts
    assert one.needs_links is expected


@pytest.mark.parametrize("unit", ["<b>x", "<b></b>x", "x</b>", "<b class=notranslate>x", "<p><b>x"])
def test_a_text_of_many_tags_has_bounded_work(unit: str) -> None:
    document = read_html(unit * 2000)
    assert sum(1 for part in document.texts for _ in walk(part.marks)) <= 100 * len(document.texts)
    sentence = TranslatedSentence("x", 0, (Rendering("y"),))
    answer = TranslatedText("y", "en", "de", None, (sentence,))
    found = document.joined([place_marks(one, answer) for one in document.texts])
    assert found.count("<") == 2000 * unit.count("<")
