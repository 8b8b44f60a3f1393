"""AsciiDoc: what is translated, and what comes out as it went in."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from document_models import file_by
from hypothesis import example, given
from hypothesis import strategies as st
from string_files import opened, texts, translated

from soak.fuzzing.target import seed

PAGE = seed("page.adoc").content.decode()

_LINES = "= == . .a * ** - + -- ---- ==== |=== // //// [a] [[a]] :a: a:: ;; :: <1> 1. a. ''' <<< > "
_LINES += "image::a[b] include::a[] ifdef::a[] NOTE: ```"
_INLINE = (
    "*a* _a_ `a` +a+ #a# ^a^ ~a~ {a} ((a)) <<a>> <<a,b>> footnote:[a] link:a[b] $$a$$ ] [ \\ & "
)
_INLINE += "https://a.example a@b.example &amp; , "
SIGNS = f"{_LINES} {_INLINE}".split()


def structure(text: str) -> list[str]:
    """What of a document is no prose: lines of blocks, markers of lists, and inline macros."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        bare = line.strip()
        if re.fullmatch(r"[-=*_.+/|']{2,}|\+|\[.*\]|:[\w-]+:.*|//.*|\w+::\S*\[.*\]|", bare):
            found[bare] += 1
        elif marker := re.match(r"(?:[*.=]+|<\d>|NOTE:)\s|\.(?=\w)", bare):
            found[marker[0]] += 1
        for code in re.findall(r"(?<!\")`[a-z -]+`(?!\")|\w+:\S*?\[|<<\w+|\{[\w-]+\}", line):
            found[code] += 1
    del found["{empty}"]
    return sorted(found.elements())


def test_the_texts_of_a_page() -> None:
    assert texts("a.adoc", PAGE) == [
        "The garden: a short guide",
        "This is very important and quite new. See garden --help or the tools. Every line is a "
        "sentence, with a link and another one.",
        "First steps",
        "What you need",
        "A spade, see the page about spades",
        "Some water",
        "and patience",
        "A hat",
        "A pair of boots",
        "Open the door",
        "Close it again",
        "Wait for a minute.",
        "It greets you.",
        "The brain of a computer",
        "Its text is on the next line.",
        "With two signs",
        "Unless it is frozen.",
        "Water is wet. Really.",
        "Do not touch the fence.",
        "It is hot",
        "Gardens are for everybody.",
        "A sidebar with a Ctrl+C key and.",
        "Only on one page.",
        "Tools",
        "Old title",
        "Text below an old title with quoted words and <b>raw</b> and H2O.",
        "The end.",
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_does_not_change_keeps_its_bytes(newline: str) -> None:
    page = PAGE.replace("\n", newline)
    assert translated("a.asciidoc", page, by=str) == page
    assert file_by(str, "a.adoc", page) == page


def test_the_structure_of_a_page_stays() -> None:
    found = file_by(lambda text: text.replace("e", "é"), "a.adoc", PAGE)
    assert found.count("é") > 60
    assert structure(found) == structure(PAGE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Some *bold* text\n", "SOME *BOLD* TEXT\n"),
        ("NOTE: Some text\n", "NOTE: SOME TEXT\n"),
        ("One.\nTwo `x y` three\n", "ONE. TWO `x y` THREE\n"),
        ("* [x] Done\n+\nMore\n", "* [x] DONE\n+\nMORE\n"),
        ("Term:: Text\n", "Term:: TEXT\n"),
        (".Title\n----\ncode\n----\n", ".TITLE\n----\ncode\n----\n"),
        ("Title\n=====\nAnna\n\nText\n", "TITLE\n=====\nAnna\n\nTEXT\n"),
        ("[source]\ncode\n\nText\n", "[source]\ncode\n\nTEXT\n"),
        ("[subs=none]\nkept *it*\n\nText\n", "[subs=none]\nkept *it*\n\nTEXT\n"),
        (" literal\n\n:a: b \\\nc\n\nText\n", " literal\n\n:a: b \\\nc\n\nTEXT\n"),
        ("One line\n// kept\nand more\n", "ONE LINE\n// kept\nAND MORE\n"),
        ("====\n----\ncode\n----\nText\n====\n", "====\n----\ncode\n----\nTEXT\n====\n"),
        ("A link:a[text,window=_blank]\n", "A link:a[TEXT,window=_blank]\n"),
        ("See {url}[the page]\n", "SEE {url}[THE PAGE]\n"),
        ("A \\*star* {a}\n", "A \\*star* {a}\n"),
        ("> quoted\n\nText\n", "> quoted\n\nTEXT\n"),
        ("--\nAn open block\n--\n", "--\nAN OPEN BLOCK\n--\n"),
    ],
)
def test_blocks_and_marks(before: str, after: str) -> None:
    assert translated("a.adoc", before) == after


@pytest.mark.parametrize(
    ("source", "said", "written"),
    [
        ("Some text\n", "* a star", "{empty}* a star\n"),
        ("Some text\n", ".a caption", "{empty}.a caption\n"),
        ("Some text\n", "== a title", "{empty}== a title\n"),
        ("Some text\n", "// a comment", "{empty}// a comment\n"),
        ("Some text\n", "|===", "{empty}|===\n"),
        ("Some text\n", "a:: b", "a:{empty}: b\n"),
        ("Some text\n", "a *b* c", "a &#42;b&#42; c\n"),
        ("Some text\n", "[a]", "{empty}[a]\n"),
        (".Some text\n", ".a", ".{empty}.a\n"),
        ("Title\n-----\n\nText\n", "A longer one", "A longer one\n------------\n\nA longer one\n"),
    ],
)
def test_no_word_becomes_markup(source: str, said: str, written: str) -> None:
    assert file_by(lambda _: said, "a.adoc", source) == written


def test_signs_beside_letters_are_doubled() -> None:
    document = opened("a.adoc", "A *b* `c` and https://a.example[d]\n")
    said = "A\x010\x02b\x011\x02c\x012\x02d\x013\x02e\x014\x02"
    assert document.written([said]) == b"A**b**c``c``dlink:https://a.example[e]\n"


@given(
    st.lists(st.sampled_from([*SIGNS, "Wort", "x", "語"]), min_size=1, max_size=6), st.booleans()
)
@example(["a::"], True)
def test_whatever_a_model_says_is_text(said: list[str], is_glued: bool) -> None:
    page = (
        "= Title\n\n.Caption\n* One *item*\n\nTerm:: Text\n\nNOTE: Some `code` and {name}.\nMore.\n"
    )
    found = file_by(lambda _: ("" if is_glued else " ").join([*said, "Wort"]), "a.adoc", page)
    assert len(found.splitlines()) >= len(page.splitlines()) - 1
    assert len(texts("a.adoc", found)) == len(texts("a.adoc", page))
    assert "`code`" in found or "``code``" in found
    assert "{name}" in found
    lines = found.splitlines()
    assert lines[0].startswith("= ") and lines[2].startswith(".") and lines[3].startswith("* ")
    assert lines[5].startswith("Term:: ") and lines[7].startswith("NOTE: ")
