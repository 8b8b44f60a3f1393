"""Tags around the words that translate the words that they were around."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from html.parser import HTMLParser
from xml.sax import parseString
from xml.sax.handler import ContentHandler

import pytest
from document_models import file_by
from hypothesis import assume, given
from hypothesis import strategies as st

from dragoman.documents.html import read_html
from dragoman.documents.marks.mark_placement import place_marks
from dragoman.documents.marks.marked_document import MarkedDocument
from dragoman.documents.marks.marked_text import MarkedText, escaped
from dragoman.documents.marks.markup_tokens import html_tokens
from dragoman.documents.xml import read_xml
from dragoman.text.terms.copied_text import protected
from dragoman.translation.service.translated_text import (
    Link,
    Rendering,
    TranslatedSentence,
    TranslatedText,
)

Read = Callable[[str], MarkedDocument]


def translated(source: str, target: str, links: Iterable[Link] = ()) -> TranslatedText:
    """A translation of one sentence."""
    sentence = TranslatedSentence(source, 0, (Rendering(target, links=tuple(links)),))
    return TranslatedText(target, "en", "de", None, (sentence,))


def linked(source: str, target: str, pairs: str) -> TranslatedText:
    """A translation whose words are linked as "0-1 1-0" says."""
    ours = [found.span() for found in re.finditer(r"\S+", source)]
    theirs = [found.span() for found in re.finditer(r"\S+", target)]
    indices = [tuple(map(int, pair.split("-"))) for pair in pairs.split()]
    return translated(source, target, [Link(*ours[i], *theirs[j]) for i, j in indices])


def placed(markup: str, target: str, pairs: str = "", read: Read = read_html) -> str:
    """Markup of one text with its translation."""
    document = read(markup)
    (marked,) = document.texts
    return document.joined([place_marks(marked, linked(marked.text, target, pairs))])


def copied(markup: str, read: Read = read_html) -> str:
    """Markup whose texts are translated by themselves."""
    document = read(markup)
    return document.joined(
        [place_marks(one, translated(one.text, one.text)) for one in document.texts]
    )


def test_marks_may_be_a_thousand_deep() -> None:
    markup = "see " + "<i>" * 1500 + "this" + "</i>" * 1500 + " now"
    assert copied(markup) == markup


@pytest.mark.parametrize(
    ("markup", "target", "pairs", "expected"),
    [
        ("the <b>red</b> house", "das rote Haus", "0-0 1-1 2-2", "das <b>rote</b> Haus"),
        ("the <b>red</b> house", "la maison rouge", "0-0 1-2 2-1", "la maison <b>rouge</b>"),
        # One wrong link, of "the" to the last word, costs nothing.
        (
            "a <i>very red</i> house",
            "maison très rouge",
            "1-1 2-2 3-0 0-2",
            "maison <i>très rouge</i>",
        ),
        # A word without a link between two that have one belongs to them.
        ("<i>to go</i> home", "zu x gehen heim", "0-0 1-2 2-3", "<i>zu x gehen</i> heim"),
        # Siblings change places, and do not overlap.
        (
            "<b>red</b> <i>house</i> here",
            "maison rouge ici",
            "0-1 1-0 2-2",
            "<i>maison</i> <b>rouge</b> ici",
        ),
        # What is within stays within.
        (
            "a <b>big <i>red</i></b> x",
            "x rouge grand un",
            "1-2 2-1 3-0 0-3",
            "x <b><i>rouge</i> grand</b> un",
        ),
        # Around all of it, whatever the links are.
        ("<p><b>red house</b></p>", "Haus rot ist", "0-1", "<p><b>Haus rot ist</b></p>"),
        # Signs go with the words that they went with.
        (
            "Say “<em>hi</em>” (<b>now</b>).",
            "Sag (jetzt) „hallo“!",
            "0-0 1-2 2-1",
            "Sag (<b>jetzt</b>) „<em>hallo</em>“!",
        ),
        ("He said <q>“yes”</q>.", "„Ja“ sagte er.", "0-2 1-1 2-0", "<q>„Ja“</q> sagte er."),
        ("a <q>“big”</q> x", "un « grand » x", "0-0 1-2 2-4", "un <q>« grand »</q> x"),
        # Only as many of them.
        ("see <q>'it'</q>", "'es', siehe", "0-1 1-0", "<q>'es'</q>, siehe"),
        # What is copied is where it is, whatever the links are.
        (
            "add-on <i>$x_y</i> of",
            "Erweiterung $x_y von",
            "0-0 1-0 2-2",
            "Erweiterung <i>$x_y</i> von",
        ),
        # But a short word is another one in another language.
        ("it <i>was</i> so", "was war so", "0-0 1-1 2-2", "was <i>war</i> so"),
        # Nothing says where it is: as a proportion of the sentence.
        ("one two <b>three</b> four", "eins zwei drei vier", "", "eins zwei <b>drei</b> vier"),
        # Names are the same on both sides.
        (
            "<b>Anna</b> saw the dog of Bert",
            "Den Hund von Bert sah Anna",
            "",
            "Den Hund von Bert sah <b>Anna</b>",
        ),
        ("the <b>red</b> house", "赤い家", "", "赤<b>い</b>家"),
        # Parts of words that are copied, perhaps in other case or with an ending.
        ("H<i>2</i>O is wet", "nass ist H2O", "0-2 1-1 2-0", "nass ist H<i>2</i>O"),
        ("a<i>1</i>, b<i>2</i> see", "siehe A1 B2", "0-1 1-2 2-0", "siehe A<i>1</i> B<i>2</i>"),
        ("CO<i>2</i> is gas", "CO2는 기체", "0-0 2-1", "CO<i>2</i>는 기체"),
        ("a <i>b</i><b>c</b> d", "a bc d", "0-0 1-1 2-2", "a <i>b</i><b>c</b> d"),
        # Parts of words that are translated: the whole word.
        ("yester<b>day</b> it rose", "es stieg gestern", "0-2 1-0", "es stieg <b>gestern</b>"),
        ("x<i>2</i> or x2", "x2 oder x2", "0-0 1-1 2-2", "<i>x2</i> oder x2"),
        # Two of one word: the second is around nothing, and not around another word.
        (
            "the <b>w</b>orld <i>b</i>ank's door",
            "die Tür der Weltbank",
            "0-0 1-3 2-3 3-1",
            "die Tür der <i></i><b>Weltbank</b>",
        ),
    ],
)
def test_tags_follow_their_words(markup: str, target: str, pairs: str, expected: str) -> None:
    assert placed(markup, target, pairs) == expected


@pytest.mark.parametrize(
    ("markup", "target", "pairs", "expected"),
    [
        ('Hello <x id="7"></x>, you', "Hallo, du", "0-0 1-1", 'Hallo <x id="7"></x>, du'),
        ("see <img> here", "hier siehe", "0-1 1-0", "<img> hier siehe"),
        ("you have <x/> mails", "Mails hast du", "0-2 1-1 2-0", "<x/> Mails hast du"),
        ("one<br>two", "ONE", "", "ONE<br>TWO"),
        ("see<sup></sup> it", "es sehen", "0-1 1-0", "es sehen<sup></sup>"),
        ("hi <img>", "hallo", "0-0", "hallo <img>"),
        ("<p>one <code>one <</p>", "A", "", "<p>A <code>one <</p>"),
        ("<img> hi", "hallo", "0-0", "<img> hallo"),
        ("a <!-- c --> b", "b a", "0-1 1-0", "<!-- c --> b a"),
    ],
)
def test_what_is_between_words_stays_beside_them(
    markup: str, target: str, pairs: str, expected: str
) -> None:
    document = read_html(markup)
    found = [
        place_marks(
            one, linked(one.text, target if len(document.texts) == 1 else one.text.upper(), pairs)
        )
        for one in document.texts
    ]
    assert document.joined(found) == expected


@pytest.mark.parametrize(
    ("markup", "target", "pairs", "expected"),
    [
        (
            "run <code>ls -l</code> now",
            "jetzt ls -l ausführen",
            "",
            "jetzt <code>ls -l</code> ausführen",
        ),
        # Its translation is replaced if links say where it is.
        (
            "the <code>for</code> loop",
            "die Schleife für",
            "0-0 1-2 2-1",
            "die Schleife <code>for</code>",
        ),
        # Otherwise it is put in.
        ("the <code>for</code> loop", "die Schleife", "", "die <code>for</code> Schleife"),
        (
            "<samp>A</samp> or <samp>A</samp> x",
            "A oder A y",
            "",
            "<samp>A</samp> oder <samp>A</samp> y",
        ),
        ("is [X1X] or [X2X]", "[X2X] oder [X1X] ist", "", "[X2X] oder [X1X] ist"),
        ("is [X1X] so", "ist so", "0-0 2-1", "ist [X1X] so"),
        ("is [X1X] so", "[X1X] ist [X1X] so", "", "[X1X] ist so"),
        ("is [X1X] so", "ist [x1x] [X9X]", "", "ist [X1X]"),
    ],
)
def test_what_is_not_translated_is_there_once(
    markup: str, target: str, pairs: str, expected: str
) -> None:
    assert placed(markup, target, pairs) == expected


@pytest.mark.parametrize(
    "markup",
    [
        "<p>Hello <b>world</b>!</p>",
        'Hello <x id="7"></x>, you have <x id="8"></x> new <i>mails</i>.',
        "<p>One <a href='x'>two <b>three</b></a> four<p>Five<br>six",
        "<b>Hello <i>you</b> there</i>",
        "Hi <img src=a> there. Hi<img> there. Hi <img>there, hi <img>",
        "See <a href=x><img src=i>text</a> now",
        "Rated <i class=star></i><i class=star></i> by <img src=a> <img src=b> them",
        "<p><img src=a> <img src=b> Hello <i></i><i></i></p>",
        "unclosed <b>bold",
        "close</b> it",
        "x &nbsp;y&nbsp;z &amp; &lt;script&gt;",
        "A line.\nAnother one.\r\n\r\nA paragraph.\n",
        "<ul>\n <li>One\n <li>Two <!-- c --> three\n</ul>\n",
        "one <a><i></i></a> two",
        "Press <samp>Ctrl</samp>+<samp>C</samp>.",
        'open <a href="',
        "open <!-- comment > x",
        "<title>A &amp; b</title><script>if (a < b) x('</p>')</script><style>b</style>",
    ],
)
def test_a_text_translated_by_itself_stays_as_it_is(markup: str) -> None:
    document = read_html(markup)
    found = []
    for one in document.texts:
        places = [m.span() for m in re.finditer(r"[^.]+\.?", one.text)]
        sentences = []
        for start, end in places:
            text = one.text[start:end].strip()
            at = one.text.index(text, start)
            sentences.append(TranslatedSentence(text, at, (Rendering(text),), at))
        answer = TranslatedText(one.text, "en", "de", None, tuple(sentences))
        found.append(place_marks(one, answer))
    assert document.joined(found) == markup


NAMES = st.sampled_from(["b", "i", "p", "x", "div", "code", "br"])
WORDS = st.sampled_from(
    ["one ", "two", " three", "&lt;b&gt;", "&amp;", " ", "[X1X]", "語", ". ", "\n"]
)


def elements(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    inner = st.lists(children, max_size=4).map("".join)
    return st.one_of(
        st.tuples(NAMES, inner).map(lambda one: f'<{one[0]} id="1">{one[1]}</{one[0]}>'),
        st.sampled_from(["<x/>", "<!--c-->"]),
        inner,
    )


XML = st.recursive(WORDS, elements, max_leaves=12)
SOUP = st.lists(
    st.one_of(
        WORDS,
        st.text(max_size=3),
        NAMES.flatmap(lambda n: st.sampled_from([f"<{n}>", f"</{n}>", f"<{n}/>", f"<{n} a='>'>"])),
        st.sampled_from(
            ["<", "<!--", "-->", "<a ", ">", "<script>", "</script>", "<title>", "&lt"]
        ),
        st.sampled_from(["<code>", "</code>", "<b class=notranslate>", "<img>", "<?x?>", "<!x>"]),
    ),
    max_size=14,
).map("".join)
TARGETS = st.one_of(
    st.text(max_size=20),
    st.lists(WORDS, max_size=8).map("".join),
    st.sampled_from(
        ["<script>x</script>", "</b>", "&lt;b>", "]]>", "<!--", "-->", "\x00", "a b c d"]
    ),
)


@st.composite
def answers(draw: st.DrawFn, marked: MarkedText) -> TranslatedText:
    """Any translation of a text, with any links, even impossible ones."""
    target = draw(TARGETS)
    numbers = st.integers(0, max(len(marked.text), len(target)))
    links = draw(st.lists(st.builds(Link, numbers, numbers, numbers, numbers), max_size=4))
    return translated(marked.text, target, links)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.found.append(f"<{tag} {attrs}>")

    def handle_endtag(self, tag: str) -> None:
        self.found.append(f"</{tag}>")


def tags(markup: str) -> Counter[str]:
    """The tags of a page, as Python's own parser finds them."""
    parser = _Tags()
    parser.feed(markup)
    parser.close()
    return Counter(parser.found)


def unseen(markup: str) -> Counter[str]:
    """What is no text, as it is written."""
    return Counter(token.raw for token in html_tokens(markup) if token.kind != "text")


@given(XML, st.data())
def test_well_formed_xml_stays_well_formed_whatever_its_translation(
    markup: str, data: st.DataObject
) -> None:
    document = read_xml(markup)
    found = [place_marks(one, data.draw(answers(one))) for one in document.texts]
    result = document.joined(found)
    parseString(f"<x>{result}</x>".encode(), ContentHandler())
    assert tags(result) == tags(markup)


@given(XML, st.data())
def test_all_of_the_translation_is_written_once(markup: str, data: st.DataObject) -> None:
    assume(not protected(html.unescape(markup)))
    for one in read_xml(markup).texts:
        answer = data.draw(answers(one).filter(lambda drawn: not protected(drawn.text)))
        tokens = html_tokens(place_marks(one, answer))
        written = "".join(html.unescape(token.raw) for token in tokens if token.kind == "text")
        assert "".join(written.split()) == "".join(html.unescape(escaped(answer.text)).split())


@given(SOUP, st.data())
def test_no_translation_becomes_markup(markup: str, data: st.DataObject) -> None:
    document = read_html(markup)
    found = [place_marks(one, data.draw(answers(one))) for one in document.texts]
    result = document.joined(found)
    assert unseen(result) == unseen(markup)


@given(XML, st.data())
def test_pairs_of_html_stay_nested(markup: str, data: st.DataObject) -> None:
    assume("<br id" not in markup)
    document = read_html(markup)
    found = [place_marks(one, data.draw(answers(one))) for one in document.texts]
    result = document.joined(found)
    parseString(f"<x>{result}</x>".encode(), ContentHandler())
    assert tags(result) == tags(markup)


@pytest.mark.parametrize(
    ("markup", "target", "pairs", "expected"),
    [
        pytest.param(
            "<b>one two</b><i>,</i> <b>three</b>, four",
            "ONE TWO, THREE, FOUR",
            "0-0 1-1 2-2 3-3",
            "<b>ONE TWO</b><i>,</i> <b>THREE</b>, FOUR",
            id="signs stay around the same signs",
        ),
        pytest.param(
            "one, two, three<i>,</i> four",
            "ONE, TWO, THREE, FOUR",
            "0-0 1-1 2-2 3-3",
            "ONE, TWO, THREE<i>,</i> FOUR",
            id="the nearest of them",
        ),
        pytest.param(
            "one<i>;</i> two three",
            "ONE TWO THREE",
            "0-0 1-1 2-2",
            "ONE <i></i>TWO THREE",
            id="and around nothing if there are none",
        ),
        pytest.param(
            "go to /a/b/c/ now",
            "WON /C/B/A/ OT OG",
            "0-3 1-2 2-1 3-0",
            "WON /a/b/c/ OT OG",
            id="what is copied leaves none of its signs",
        ),
        pytest.param(
            "see <code>ab cd ef</code> now",
            "WON FE DC BA EES",
            "0-4 1-3 2-2 3-1 4-0",
            "WON <code>ab cd ef</code> EES",
            id="nor of its words",
        ),
        pytest.param(
            "one two—<b>three four</b>/five",
            "ONE TWO—THREE FOUR/FIVE",
            "0-0 1-1 2-2",
            "ONE TWO—<b>THREE FOUR</b>/FIVE",
            id="words that are the same within words that are linked as one",
        ),
        pytest.param(
            "{some_name}es now",
            "Er jetzt",
            "0-0 1-1",
            "{some_name}Er jetzt",
            id="what is copied takes the place of no other word",
        ),
    ],
)
def test_signs_have_places_too(markup: str, target: str, pairs: str, expected: str) -> None:
    assert placed(markup, target, pairs) == expected


def test_a_text_of_too_many_marks_stays_as_it_is() -> None:
    content = "Say {a} now. " + "<b>{b}</b> & {a} " * 600
    assert file_by(str.upper, "a.txt", content) == content
    few = file_by(str.upper, "a.txt", "Say {a} now. " + "{b} or {a} " * 6)
    assert few.startswith("SAY {a} NOW. {b} OR {a} ")
