"""Markdown through services whose answers are known, or hostile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("markdown_it")

from document_models import Model, SayingService, file_by

from dragoman.documents.file_translation import TranslatedFile, translate_file
from dragoman.documents.markdown.markdown_inline import inline_pieces, new_parser
from dragoman.translation.service.interface import TextRequest

BLOCKS = [
    "# Head *x*\n",
    "one **bold** and [link](u) more `code`\nsecond line of it here\n",
    "> quote _em_ text\n> more quote\n",
    "- item a\n- item b\n  cont\n\n  para\n",
    "1. one\n2. two **x** y\n",
    "| a | b |\n|---|---|\n| c *d* | e `f` |\n",
    "Set ext\n===\n",
    "```\ncode\n```\n",
    '![alt text](p.png "tit le")\n',
    "see [ref] and [ref][] x\n",
    "line a  \nline b\\\nline c\n",
    "***both*** ~~del~~ <b>h</b> w\n",
    "[ref]: http://r\n",
    "<div>\n<p>html text</p>\n</div>\n",
    "Foot[^1] x\n",
    "[^1]: The note.\n",
    "- [ ] task\n",
]
SIGNS = ["Wort", " ", "*", "**", "_", "#", "# ", "1. ", "- ", "> ", "|", "`", "[", "]", "(", ")"]
SIGNS += ["[ref]", "<b>", "</b>", "<", "<!--", "&amp;", "\\", "~~", "![", "](x)", "---", "==="]
SIGNS += ["\n", "\n\n", "    ", "\t", ":", "<div>", "語", "\u2028", "```", "[^1]:", "123. "]
TAGS = {"<em>": "em_open", "</em>": "em_close", "<strong>": "strong_open"}
TAGS |= {"</strong>": "strong_close", "<del>": "s_open", "</del>": "s_close"}


def translated(source: str, model: Model) -> TranslatedFile:
    request = TextRequest("", "de", "en")
    return asyncio.run(translate_file(SayingService(model), "a.md", source.encode(), request))


def capitals(text: str) -> str:
    return text.upper()


def structure(text: str) -> list[Any]:
    """Blocks in order, with the markup of each, sorted; emphasis as HTML is emphasis."""
    found: list[Any] = []
    for token in new_parser().parse(text):
        if token.type != "inline":
            found.append((token.type, token.content if token.type == "fence" else ""))
            continue
        inner = []
        for child in token.children or []:
            if child.type in {"text", "text_special", "softbreak"}:
                continue
            kept = child.content if child.type in {"code_inline", "html_inline"} else ""
            address = child.attrGet("href") or child.attrGet("src") or ""
            inner.append(TAGS.get(kept, f"{child.type}{address}{kept}"))
        found.append(sorted(inner))
    return found


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=4).map("\n".join),
    st.lists(st.lists(st.sampled_from(SIGNS), max_size=8).map("".join), min_size=1, max_size=4),
)
def test_nothing_that_a_model_says_becomes_markup(source: str, said: list[str]) -> None:
    answers: dict[str, str] = {}

    def model(text: str) -> str:
        return answers.setdefault(text, said[len(answers) % len(said)])

    assert structure(file_by(model, "a.md", source)) == structure(source)


@given(st.lists(st.sampled_from([*SIGNS, "a_b", "![a](b)", "<http://x.y>"])).map("".join))
def test_the_pieces_of_a_paragraph_join_to_it(text: str) -> None:
    content = text.strip()
    pieces = inline_pieces(
        new_parser(), content, {"references": {"REF": {"href": "r", "title": ""}}}
    )
    assert "".join(piece.raw for piece in pieces) == content


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# Title *here* ##\r\n", "# TITLE *HERE* ##\r\n"),
        ("- [x] done  \n  next\n", "- [x] DONE  \n  NEXT\n"),
        ("> > * deep *item*\n", "> > * DEEP *ITEM*\n"),
        ('a [link](http://u.v "My title") b', 'A [LINK](http://u.v "MY TITLE") B'),
        ("![alt *t*](a_b.png)", "![ALT *T*](a_b.png)"),
        (
            "[ref], [ref][], [t][ref]\n\n[ref]: /u\n",
            "[REF][ref], [REF][ref], [T][ref]\n\n[ref]: /u\n",
        ),
        ("| a \\| b | `x\\|y` |\n|---|---|\n| c |\n", None),
        ("Note[^1]\n\n[^1]: word\n", "NOTE[^1]\n\n[^1]: WORD\n"),
        ("[^1]: one\n[^2]: two\n    more\n", "[^1]: ONE\n[^2]: TWO\n    MORE\n"),
        ("> a\n> [^a]: b c d e\n", "> A\n> [^a]: B C D E\n"),
        ("> [!NOTE]\n> care\n", "> [!NOTE]\n> CARE\n"),
        ("<p align=x>some &amp; text</p>\n", "<p align=x>SOME &amp; TEXT</p>\n"),
        ("```\ncode\n```\n\n    more\n", "```\ncode\n```\n\n    more\n"),
        ("say <code>ls -l</code> now", "SAY <code>ls -l</code> NOW"),
        ("Set\next\n---\n", "SET\nEXT\n---\n"),
        ("a<br>b **c<br/>d** e", "A<br>B **C<br/>D** E"),
        ("**a  \nb** [c\\\nd](u)", "**A  \nB** [C\\\nD](u)"),
        (
            "|a|\n|-|\n|<ul><li>b *c*</li><li>d</li></ul>|",
            "|A|\n|-|\n|<ul><li>B *C*</li><li>D</li></ul>|",
        ),
        ('word\n\n<img src="a"\n     width="9">\n', 'WORD\n\n<img src="a"\n     width="9">\n'),
        ("\ufeffone\n", "\ufeffONE\n"),
        ("", ""),
    ],
)
def test_layout_stays_as_it_is(source: str, expected: str | None) -> None:
    found = file_by(capitals, "a.md", source)
    if expected is None:
        assert structure(found) == structure(source)
        assert found.startswith("| A \\| B |")
    else:
        assert found == expected


def test_elements_that_end_lines_end_texts_too() -> None:
    texts: list[str] = []

    def model(text: str) -> str:
        texts.append(text)
        return text

    file_by(model, "a.md", "a<br>b **c  \nd** e <li>f g\n")
    assert texts == ["a", "b c", "d e", "f g"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("1. Tag", "1\\. Tag\n"),
        ("# Tag", "\\# Tag\n"),
        ("a * b", "a * b\n"),
        ("*a*", "\\*a\\*\n"),
        ("x <b> y", "x y\n"),
        ("ein_wort", "ein_wort\n"),
        ("", "text\n"),
    ],
)
def test_only_what_would_be_markup_is_escaped(said: str, expected: str) -> None:
    assert file_by(lambda _: said, "a.md", "text\n") == expected


def test_emphasis_that_markdown_cannot_write_is_html() -> None:
    found = file_by(lambda _: "(Haus)boot", "a.md", "a **(house)** boat\n")
    assert structure(found) == structure("a **(house)** boat\n")
    found = file_by(lambda _: "重要：set_x、*", "a.md", "**important:** set_x, *\n")
    assert found == "<strong>重要：</strong>set_x、*\n"


@pytest.mark.parametrize(
    "mark", ["{{ site.base_url }}", "https://a.b/c_d?e=1&f=~g", "%(a_b)d", r"{\*would\*}"]
)
def test_what_programs_read_is_not_escaped_with_the_words_beside_it(mark: str) -> None:
    source = f"Go \\<there> by {mark}, *please*.\n"
    assert file_by(lambda text: text.replace("Go", "Geh"), "a.md", source) == f"Geh{source[2:]}"


def test_a_paragraph_is_as_wide_as_it_was() -> None:
    source = "> some words on a line\n> and on the next line\n"
    assert file_by(lambda _: "wort " * 12, "a.md", source) == (
        "> wort wort wort wort\n> wort wort wort wort\n> wort wort wort wort\n"
    )


def test_words_of_front_matter_are_translated_and_its_keys_kept() -> None:
    source = '---\ntitle: "A: b"\nlayout: post\ndescription: it\'s\ntags: [x]\n---\ntext\n'
    expected = '---\ntitle: "A: B"\nlayout: post\ndescription: IT\'S\ntags: [x]\n---\nTEXT\n'
    assert file_by(capitals, "a.md", source) == expected
    assert 'description: "- a: b"' in file_by(lambda _: "- a: b", "a.md", source)


@pytest.mark.parametrize("lines", ["a\n  b", "a\n\n  b", "a\n\tb"])
def test_a_value_of_front_matter_over_several_lines_stays(lines: str) -> None:
    source = f"---\ntitle: one\nsummary: {lines}\n---\n\n    code\n"
    assert file_by(lambda _: "x: y", "a.md", source) == source.replace("one", '"x: y"')


@pytest.mark.parametrize("value", ["2024-02-30", "0b_", "1" * 5000])
def test_what_yaml_cannot_read_is_no_text_of_front_matter(value: str) -> None:
    source = f"---\ntitle: {value}\n---\ntext\n"
    assert file_by(capitals, "a.md", source) == source.replace("text", "TEXT")
    found = file_by(lambda _: value, "a.md", "---\ntitle: some day\n---\n")
    assert found == f'---\ntitle: "{value}"\n---\n'


@pytest.mark.parametrize(
    "source",
    [
        "some words of a line\nand   of the next one\n",
        "one two three four  \nfive six\n",
        "one \\\nfive &lt; six &amp; `a`\n",
        "[![A](b)](c)\n[![D](e)](f)\n[![G](h)](i)\n",
        "[The Book] and [the book][]\n\n[the book]: a\n",
        "<p align='x'>\n  <b>\n    five &lt; six\n    <a>seven</a>\n  </b>\n</p>\n",
        "<ul>\n  <li>five\n  six &quot;x&quot;\n</ul>\n",
        "a|b\n-|-\n1. c | # d\n- e  |  f\n",
        "---\ntitle:  'a b'   \n---\n",
        "**a** b **a** b *a*\n",
    ],
)
def test_a_text_that_stays_the_same_keeps_its_bytes(source: str) -> None:
    assert file_by(str, "a.md", source) == source


@pytest.mark.parametrize("end", ["  ", "   ", "\\", " \\"])
def test_a_hard_break_stays_as_it_is(end: str) -> None:
    source = f"> one two three{end}\n> four\n"
    assert file_by(capitals, "a.md", source) == f"> ONE TWO THREE{end}\n> FOUR\n"
    assert file_by(lambda text: f"{text} ", "a.md", source).count(f"three{end}\n") == 1


def test_lines_without_words_stay_lines() -> None:
    found = file_by(lambda text: f"{text}x", "a.md", "[![A](b)](c)\n[![D](e)](f)\n")
    assert found == "[![Ax](b)](c)\n[![Dx](e)](f)\n"


@pytest.mark.parametrize("said", ["1. x", "- x", "+ x", "# x", "> x", "    x", "--- x", "```x"])
@pytest.mark.parametrize(
    "table",
    ["some a | b\n---|---\nc | d\n", "a | b\n-|-\nsome c | d\n", "- some a|b\n  -|-\n  c|d\n"],
)
def test_a_cell_without_a_line_in_front_breaks_no_table(table: str, said: str) -> None:
    found = file_by(lambda text: said if "some" in text else text, "a.md", table)
    assert structure(found) == structure(table)
    assert said.strip() in found.replace("\\", "")


@pytest.mark.parametrize(
    "source",
    [
        "|a {n}|see https://a.b/c|\n|-|-|\n|%d b|c {m}|\n",
        "# a {n}\n\n- b {m} *c*\n\n![d {o}](e)\n",
        "---\ntitle: a {n}\n---\n\n:::tip b {m}\nc\n:::\n",
        "<p>a {n} <b>b %d</b></p>\n\n[c {m}](d 'e')\n",
    ],
)
def test_placeholders_raise_no_false_alarm(source: str) -> None:
    found = translated(source, lambda text: f"{text} x")
    assert not found.untranslated
    assert found.content.decode().count(" x") >= 2


def test_a_backslash_at_the_end_of_a_cell_escapes_nothing() -> None:
    found = file_by(lambda text: f"{text} x\\", "a.md", "|a|b|\n|-|-|\n|c|d|\n")
    assert structure(found) == structure("|a|b|\n|-|-|\n|c|d|\n")
    assert "c x\\" in found


def test_spans_of_code_stay_apart() -> None:
    found = file_by(lambda _: "Wort", "a.md", "words `one`/`two`\n")
    assert structure(found) == structure("words `one`/`two`\n")


def test_code_is_never_within_a_word() -> None:
    found = file_by(lambda _: "Hans handelt", "a.md", "set `an` here\n")
    assert found.count("`an`") == 1
    assert {"Hans", "handelt"} <= set(found.split())


def test_code_may_be_next_to_characters_of_another_script() -> None:
    found = file_by(lambda _: "设置an选项", "a.md", "set the `an` option\n")
    assert found == "设置`an`选项\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "<p>\n  <b>\n    five six\n    <i>seven</i>\n  </b>\n</p>\n",
            "<p>\n  <b>\n    FIVE SIX <i>SEVEN</i>\n  </b>\n</p>\n",
        ),
        ("<details>\n<summary>a b</summary>\n\nc *d*\n\n</details>\n", None),
        ('<div markdown="1">\n\n# a\n\n- b `c`\n\n</div>\n', None),
        ("<table>\n  <tr>\n    <td>a</td>\n\n    <td>b</td>\n  </tr>\n</table>\n", None),
        ("<!--\na\n\nb\n-->\nc\n", None),
    ],
)
def test_a_block_of_html_stays_one(source: str, expected: str | None) -> None:
    found = file_by(capitals, "a.md", source)
    assert structure(found) == structure(source)
    assert found.count("\n\n") == source.count("\n\n")
    if expected is not None:
        assert found == expected


def test_an_empty_translation_is_told() -> None:
    source = "# head\n\ntext\n\n|a|\n|-|\n|cell|\n\n<p>html</p>\n\n![image](x)\n"
    found = translated(source, lambda text: "" if text != "text" else "TEXT")
    assert found.content.decode() == source.replace("text", "TEXT")
    assert {text for text, _ in found.untranslated} == {"head", "a", "cell", "html", "image"}
    assert {reason for _, reason in found.untranslated} == {"its translation is empty"}


def test_a_passage_that_would_end_another_block_stays_as_it_is() -> None:
    """Each is right by itself, but not below what is in front of it."""
    source = "> quote\nlazy\n\n[a]: b\nwords\n"
    for said in ("- a", "===", "[c]: d", "| a |\n|-|", "    a"):
        found = file_by(lambda text, said=said: said, "a.md", source)  # type: ignore[misc]
        assert structure(found) == structure(source)
