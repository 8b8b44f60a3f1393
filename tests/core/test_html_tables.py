from __future__ import annotations

from xml.etree import ElementTree

from dragoman.core.html_tables import heat_table, html_table


def cells(table: str) -> list[list[str]]:
    """The texts of a table, row by row."""
    tree = ElementTree.fromstring(f"<div>{table.replace('&nbsp;', ' ')}</div>")
    return [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]


def test_values_are_escaped_and_rounded() -> None:
    rows = [{"text": "<b>&", "score": -1.23456, "faults": ("a", "b"), "none": None}]
    assert cells(html_table(rows)) == [["text", "score", "faults"], ["<b>&", "-1.235", "a, b"]]
    assert cells(html_table(rows, ("score", "text"))) == [["score", "text"], ["-1.235", "<b>&"]]


def test_a_long_table_is_cut() -> None:
    table = html_table([{"line_number": number} for number in range(1, 1052)])
    assert cells(table)[0] == ["line number"]
    assert len(cells(table)) == 51
    assert table.endswith("<p>and 1,001 more</p>")
    assert cells(html_table([])) == [[]]


def test_darker_cells_are_nearer_to_one() -> None:
    table = heat_table([[0.0, 1.0]], ["<s>"], ["a", "b"])
    assert cells(table) == [["", "a", "b"], ["<s>", " ", " "]]
    assert 'title="1.000" style="background:rgba(31,119,180,1.000)"' in table
