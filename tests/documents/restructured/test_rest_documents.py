"""reStructuredText, with docutils as the reader of what is written."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from document_models import file_by
from docutils import nodes
from docutils.core import publish_doctree
from hypothesis import example, given, settings
from hypothesis import strategies as st
from string_files import opened, texts, translated

from soak.fuzzing.target import seed

PAGE = seed("page.rst").content.decode()
_WARNING, _NEVER = 2, 5
"""Levels of what docutils reports, and of what stops it."""


def read(content: str) -> nodes.document:
    overrides = {
        "report_level": _WARNING,
        "halt_level": _NEVER,
        "warning_stream": io.StringIO(),
        "file_insertion_enabled": False,
        "syntax_highlight": "none",
    }
    return publish_doctree(content, settings_overrides=overrides)


def structure(content: str) -> list[str]:
    """The classes of the nodes, each with those around it.  Marks may change places."""
    found = []
    for node in read(content).findall():
        if isinstance(node, nodes.Text):
            continue
        around, outer = [], node
        while outer is not None:
            around.append(type(outer).__name__)
            outer = outer.parent
        found.append(" ".join(around))
    return sorted(found)


def warnings(content: str) -> int:
    return sum(1 for _ in read(content).findall(nodes.system_message))


def test_a_page() -> None:
    assert warnings(PAGE) == 0
    assert texts("a.rst", PAGE) == [
        "Welcome here",
        "This is a short page with code, a link to a page, another link and strong words. See "
        "Python and, or up there; write to {name} about *args and product.",
        "First steps",
        "Install the program.",
        "Start it, and wait until it says hello.",
        "A second paragraph of the item.",
        "One item",
        "Another item:",
        "A nested item",
        "term",
        "What the term means.",
        "other term",
        "What the other means, in two lines.",
        "Read this first. It is important.",
        "Mind the gap.",
        "The caption of the picture.",
        "The legend.",
        "As somebody said:",
        "A quoted paragraph.",
        "Example",
        "The text of a note, in two lines.",
        "A titled box",
        "With some text.",
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_same_words_give_the_same_bytes(newline: str, encoding: str) -> None:
    content = PAGE.replace("\n", newline).encode(encoding)
    document = opened("a.rst", content)
    written = document.written([one.text for one in document.texts])
    assert len(document.texts) == len(texts("a.rst", PAGE))
    assert written != content  # its marks are lost
    assert translated("a.rst", PAGE.replace("\n", newline), by=str).encode(encoding) == content


@pytest.mark.parametrize(
    "model",
    [
        str.upper,
        lambda text: f"{text} {text}",
        lambda text: f"« {text} » : und *mehr* `davon_",
        lambda text: "".join(reversed(text)),
        lambda text: "重要な" + text.replace(" ", "言葉"),
        lambda text: "- " + text + "::",
        lambda text: ".. " + text,
    ],
)
def test_docutils_reads_the_same_structure(model: Callable[[str], str]) -> None:
    found = file_by(model, "a.rst", PAGE)
    assert found != PAGE
    assert warnings(found) == 0
    assert structure(found) == structure(PAGE)


BLOCKS = {
    "Title\n=====\n\ntext\n": "Ein viel längerer Titel\n=======================\n\nEin viel "
    "längerer Titel\n",
    "====\n ab\n====\n": "=========================\n Ein viel längerer Titel\n" + "=" * 25 + "\n",
    "So::\n\n  kept\n": "Ein viel längerer Titel ::\n\n  kept\n",
    "So ::\n\n> kept\n": "Ein viel längerer Titel ::\n\n> kept\n",
    "#. one\n#. two\n": "#. Ein viel längerer Titel\n#. Ein viel längerer Titel\n",
    "a) one\n\n   more\n": "a) Ein viel längerer Titel\n\n   Ein viel längerer Titel\n",
    "-\n  one\n": "-\n  Ein viel längerer Titel\n",
    ".. tip:: one\n": ".. tip:: Ein viel längerer Titel\n",
    ".. [A] one\n": ".. [A] Ein viel längerer Titel\n",
    "  one\n\n  -- two\n": "  Ein viel längerer Titel\n\n  -- two\n",
    "**one**\n": "**Ein viel längerer Titel**\n",
}


@pytest.mark.parametrize("content", BLOCKS)
def test_blocks(content: str) -> None:
    assert file_by(lambda _: "Ein viel längerer Titel", "a.rst", content) == BLOCKS[content]


@pytest.mark.parametrize(
    "content",
    [
        ".. Words of a comment\n",
        ".. _a: https://a.example/words\n",
        "__ https://a.example\n",
        ".. |a| image:: words.png\n",
        ".. image:: words.png\n   :alt: some words\n",
        ".. code-block:: text\n   :caption: words\n\n   some words\n",
        ".. math::\n\n   some words\n",
        ":field: some words\n",
        "-a  some words\n",
        ">>> words\nsome\n",
        "| some\n| words\n",
        "+---+\n| a |\n+---+\n",
        "====  ====\nsome  more\n\none   two\n====  ====\n",
        "a *word without end\n",
        "a `word without end\n",
        "some\twords\n",
        "``words``\n",
        "----\n",
        "...\n",
        "mild. One\nline\n",
        "- Title\n  =====\n",
        "::\n\n  words\n",
        "term::\n  words\n",
    ],
)
def test_what_stays(content: str) -> None:
    assert file_by(str.upper, "a.rst", content) == content


def test_a_title_that_is_a_target_stays() -> None:
    content = "Some words\n==========\n\nGo to `some words`_ here.\n"
    found = file_by(str.upper, "a.rst", content)
    assert found == "Some words\n==========\n\nGO TO `some words`_ HERE.\n"


def test_names_of_links_stay_one_of_a_kind() -> None:
    content = "A `b <https://a.example>`_ c.\n\nD `e <https://b.example>`_ f.\n"
    found = file_by(lambda _: "Das", "a.rst", content)
    assert warnings(found) == 0
    assert found == "`Das <https://a.example>`_\n\n`Das <https://b.example>`__\n"


@pytest.mark.parametrize(
    ("content", "said", "expected"),
    [
        ("one two\n", "1. eins", "\\1. eins\n"),
        ("one two\n", "a_ und b__ `c` |d|", "a\\_ und b\\_\\_ \\`c` \\|d|\n"),
        ("one two\n", "snake_case 2 * 3 a*b", "snake_case 2 * 3 a*b\n"),
        ("one\n  two\n", "mot : sens", "mot\u00a0: sens\n  mot : sens\n"),
        ("see :ref:`the page <a>` now\n", "voir la page", "voir :ref:`la page <a>`\n"),
        ("one\n", "Ende::", "Ende:\\:\n"),
    ],
)
def test_signs_are_written_as_text(content: str, said: str, expected: str) -> None:
    assert file_by(lambda _: said, "a.rst", content) == expected


SAID = st.lists(
    st.sampled_from(
        [*"*_`|<>:-.=\\ ", "**", "``", "ab", "1.", "..", "::", "\n", "語", "[1]_", "a_"]
    ),
    min_size=1,
    max_size=8,
).map("".join)


@settings(max_examples=25)
@given(SAID)
@example("語**語")
@example("-- x")
@example("a` b")
def test_whatever_a_model_says_the_structure_stays(said: str) -> None:
    for content in (
        "Title\n=====\n\n- one **two** ``x y`` three\n\n  term\n    def\n\n.. note:: one\n   two\n",
        "  one *two* `three <https://a.example>`__ [#]_\n\n.. [#] note\n",
    ):
        found = file_by(lambda text: f"{said}{text}", "a.rst", content)
        assert structure(found) == structure(content), found
        found = file_by(lambda _: f"x {said}", "a.rst", content)
        assert structure(found) == structure(content), found
