"""How pages are written: white space, entities, ruby and hyphens where they were."""

from __future__ import annotations

import re

import pytest
from document_models import file_by

from dragoman.documents.html import read_html
from dragoman.documents.marks.mark_placement import place_marks
from dragoman.translation.service.translated_text import (
    Link,
    Rendering,
    TranslatedSentence,
    TranslatedText,
)


def reversed_words(text: str) -> str:
    return " ".join(reversed(text.upper().split(" ")))


def linked(markup: str, said: str, *links: tuple[str, str]) -> str:
    """A page whose only text is translated with links between words."""
    document = read_html(markup)
    (text,) = document.texts
    found = tuple(
        Link(
            text.text.index(one),
            text.text.index(one) + len(one),
            said.index(other),
            said.index(other) + len(other),
        )
        for one, other in links
    )
    sentence = TranslatedSentence(text.text, 0, (Rendering(said, links=found),))
    return document.joined([place_marks(text, TranslatedText(said, "en", "de", None, (sentence,)))])


SAME = [
    "<p>one <!-- c --><b>two</b><!-- d --> three</p>",
    "<p>\n  <b>\n  one </b>\n two</p>",
    "<p>caf&eacute; &mdash; &#169;&nbsp;&quot;R &amp; D&quot; &apos; a > b &gt; c R & D</p>",
    "<p>&nbsp;one&nbsp;<i></i>&nbsp;<b>&nbsp;two&nbsp;</b></p>",
    "<p>one\n   two\t<img>\n three</p>",
    "<p><ruby>one<rt>1<rt>2</ruby> two</p>",
    "<p>one&#xA0;two &AMP; &copy three</p>",
]


@pytest.mark.parametrize("page", SAME)
def test_a_page_that_is_translated_by_itself_keeps_every_byte(page: str) -> None:
    assert file_by(str, "a.html", page) == page


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<p>one &mdash; two</p>", "<p>TWO &mdash; ONE</p>"),
        ("<p>&quot;one&quot; two</p>", "<p>TWO &quot;ONE&quot;</p>"),
        ('<p>"one" two</p>', '<p>TWO "ONE"</p>'),
        ('<p>one &quot;a" two</p>', '<p>TWO "A" ONE</p>'),
        ("<p>Home > Start</p>", "<p>START > HOME</p>"),
        ("<p>Home &gt; Start</p>", "<p>START &gt; HOME</p>"),
        ("<p>Home &#62; Start</p>", "<p>START &#62; HOME</p>"),
        ("<p>one &#8211; &#xa9; two</p>", "<p>TWO &#xa9; &#8211; ONE</p>"),
        ("<p>a &lt; b</p>", "<p>B &lt; A</p>"),
        ("<p>R & D</p>", "<p>D & R</p>"),
        ("<p>R & D &amp; E</p>", "<p>E &amp; D &amp; R</p>"),
        ("<p>x & y & a</p>", "<p>A & Y & X</p>"),
    ],
)
def test_characters_are_written_as_they_were(before: str, after: str) -> None:
    assert file_by(reversed_words, "a.html", before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<a><i class=x></i>&nbsp;One two</a>", "<a><i class=x></i>&nbsp;TWO ONE</a>"),
        ("<a><i class=x></i> One two</a>", "<a><i class=x></i> TWO ONE</a>"),
        ("<a>One two&#160;<i class=x></i></a>", "<a>TWO ONE&#160;<i class=x></i></a>"),
        ("<p><img> <a>One two</a></p>", "<p><img> <a>TWO ONE</a></p>"),
        ("<p><img>&nbsp;<a>One two</a></p>", "<p><img>&nbsp;<a>TWO ONE</a></p>"),
        ("<p>&nbsp;&nbsp;One two&nbsp;</p>", "<p>&nbsp;&nbsp;TWO ONE&nbsp;</p>"),
        ("<a>\n  <i></i>\n  One two\n</a>", "<a>\n  <i></i>\n  TWO ONE\n</a>"),
        ("<p>\n<b>\n  One two </b>\n</p>", "<p>\n<b>\n  TWO ONE </b>\n</p>"),
        ("<p><b> One </b> two</p>", "<p>TWO <b> ONE </b></p>"),
        ("<a>A1</a>&nbsp;<a>B1</a>", "<a>B1</a>&nbsp;<a>A1</a>"),
        ("<p>One <b>two\n</b>\n<i>\nx1</i></p>", "<p><i>\nX1</i> <b>TWO\n</b> ONE</p>"),
        ("<p>One <i></i>\n</b>\n<br>two</p>", "<p>ONE <i></i>\n</b>\n<br>TWO</p>"),
        ("<p><b>One <i></i>\n</b>\n</p>", "<p><b>ONE <i></i>\n</b>\n</p>"),
        ("<p> </b>\n<b>One</b></p>", "<p> </b>\n<b>ONE</b></p>"),
        ("<p><b>(One)</b> two.</p>", "<p>TWO. <b>(ONE)</b></p>"),
        ("<p>One <b>{{ a }}</b>.</p>", "<p><b>{{ a }}</b>. ONE</p>"),
        ("<p>One </b>\n</i>\n</p>", "<p>ONE </b>\n</i>\n</p>"),
        ("<a>A1</a>&nbsp;|&nbsp;<a>B1</a>", "<a>B1</a>&nbsp;|&nbsp;<a>A1</a>"),
    ],
)
def test_white_space_stays_beside_what_it_was_beside(before: str, after: str) -> None:
    assert file_by(reversed_words, "a.html", before) == after


@pytest.mark.parametrize(
    "ruby",
    [
        "<ruby>house<rp>(</rp><rt>haus</rt><rp>)</rp></ruby>",
        "<ruby><rb>house</rb><rt>haus</rt></ruby>",
        "<ruby>house<rt>haus</ruby>",
        "<ruby>house<rp>(<rt>haus<rp>)</ruby>",
        "<ruby><rb>house<rtc><rt>haus</ruby>",
        "<ruby>house<rt>haus</rt><rtc>Haus</rtc></ruby>",
    ],
)
def test_readings_are_not_read_and_stay_with_their_base(ruby: str) -> None:
    before = f"<p>The {ruby} here</p>"
    assert [one.text for one in read_html(before).texts] == ["The house here"]
    links = ("The", "das"), ("house", "Haus"), ("here", "hier")
    after = linked(before, "hier Haus das", *links)
    assert after == f"<p>hier {ruby.replace('house', 'Haus', 1)} das</p>"


def test_several_readings_stay_in_their_ruby() -> None:
    before = "<p>A <ruby>new<rt>1</rt>house<rt>2</rt></ruby> here</p>"
    after = linked(before, "hier neuhaus ein", ("newhouse", "neuhaus"), ("here", "hier"))
    found = re.fullmatch(r"<p>hier <ruby>(.*)</ruby> ein</p>", after)
    assert found is not None
    assert re.sub(r"<rt>\d</rt>", "", found[1]) == "neuhaus"
    assert re.findall(r"\d", found[1]) == ["1", "2"]


@pytest.mark.parametrize(
    ("before", "said", "links", "after"),
    [
        (
            "the <b>twenty</b>-<i>third</i> hour",
            "Stunde dreiundzwanzigste die",
            [("the", "die"), ("twenty-third", "dreiundzwanzigste"), ("hour", "Stunde")],
            "Stunde <i></i><b>dreiundzwanzigste</b> die",
        ),
        (
            "the <b>twenty</b>-<i>third</i> hour",
            "Stunde zwanzig-dritte die",
            [("the", "die"), ("twenty-third", "zwanzig-dritte"), ("hour", "Stunde")],
            "Stunde <b>zwanzig</b>-<i>dritte</i> die",
        ),
        (
            "a state-of-the-<b>art</b> tool",
            "Werkzeug hochmodernes ein",
            [("a", "ein"), ("state-of-the-art", "hochmodernes"), ("tool", "Werkzeug")],
            "Werkzeug <b>hochmodernes</b> ein",
        ),
        (
            "a <a href=1>well</a>-known house",
            "Haus bekanntes ein",
            [("a", "ein"), ("well-known", "bekanntes"), ("house", "Haus")],
            "Haus <a href=1>bekanntes</a> ein",
        ),
        (
            "a <b>pre</b>\u2011war house",
            "Haus Vorkriegs ein",
            [("a", "ein"), ("pre\u2011war", "Vorkriegs"), ("house", "Haus")],
            "Haus <b>Vorkriegs</b> ein",
        ),
    ],
)
def test_tags_in_a_compound_stay_at_the_word_that_it_became(
    before: str, said: str, links: list[tuple[str, str]], after: str
) -> None:
    assert linked(before, said, *links) == after


def test_a_tag_around_code_within_a_word_is_around_the_code_alone() -> None:
    before = "<p>See <a><code>list</code></a>s here</p>"
    after = linked(
        before, "Hier lists sehen", ("See", "sehen"), ("lists", "lists"), ("here", "Hier")
    )
    assert after == "<p>Hier <a><code>list</code></a>s sehen</p>"


def test_white_space_between_tags_makes_no_empty_line() -> None:
    before = "<p><i>\n One\n</i>\n<input>\n<b>\n two\n</b>\n<input>\n</p>"
    for model in (str.upper, reversed_words):
        assert re.search(r"\n\s*\n", file_by(model, "a.html", before)) is None
    after = file_by(str.upper, "a.html", before).split()
    assert after == before.replace("One", "ONE").replace("two", "TWO").split()
