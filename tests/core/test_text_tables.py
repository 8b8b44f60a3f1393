from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dragoman.core.text_tables import display_width, markdown_table, terminal_table

cells = st.text(st.sampled_from("ab |\n\\`1,"), max_size=8)


def rendered(table: str) -> list[list[str]]:
    """The cells of a table as a reader of Markdown sees them, row by row."""
    rows: list[list[str]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(table):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(token.content)
    return rows


def test_a_table_in_markdown() -> None:
    table = markdown_table(["run", "BLEU"], [["a|b", "20.1"], ["c\nd", ""]], "lr")
    assert table == "| run | BLEU |\n|---|---:|\n| a\\|b | 20.1 |\n| c d |  |"
    assert rendered(table) == [["run", "BLEU"], ["a|b", "20.1"], ["c d", ""]]


@given(st.lists(st.lists(cells, min_size=2, max_size=2), max_size=4))
def test_no_text_breaks_a_table(rows: list[list[str]]) -> None:
    found = rendered(markdown_table(["one", "other"], rows))
    shown = [[" ".join(cell.split()) for cell in row] for row in rows]
    assert found == [["one", "other"], *shown]


def test_columns_stand_below_one_another() -> None:
    rows = [["set", "BLEU", ""], ["dev", "7.25", "best"], ["test2016", "20.10", ""]]
    assert terminal_table(rows, "lrl").splitlines() == [
        "set        BLEU",
        "dev        7.25  best",
        "test2016  20.10",
    ]


def test_columns_stand_below_one_another_in_all_scripts() -> None:
    rows = [
        ["개발", "7.25", "best"],
        ["テスト", "１", ""],
        ["测试集", "20.10", "最好"],
        ["e\u0301\u200b", "1", "x"],
    ]
    table = terminal_table(rows, "lrl").splitlines()
    # As a terminal shows them: wide characters fill two columns, marks and zero-width spaces none.
    assert table == [
        "개발     7.25  best",
        "テスト     １",
        "测试集  20.10  最好",
        "e\u0301\u200b           1  x",
    ]


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("한국어", 6),
        ("ｱｲ", 2),
        ("Ａ", 2),
        ("नि", 2),
        ("🙂", 2),
        ("שָׁ", 1),
        ("\u200d", 0),
    ],
)
def test_the_width_of_a_text_on_a_terminal(text: str, width: int) -> None:
    assert display_width(text) == width


@pytest.mark.parametrize("alignment", ["l", "lrr"])
def test_every_column_has_an_alignment(alignment: str) -> None:
    with pytest.raises(ValueError):
        markdown_table(["run", "BLEU"], [["a", "20.1"]], alignment)
    with pytest.raises(ValueError):
        terminal_table([["a", "20.1"]], alignment)
