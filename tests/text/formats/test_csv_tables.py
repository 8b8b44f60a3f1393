"""CSV as a format of pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.core.errors import DataError
from dragoman.text.formats import FORMATS


def table(folder: Path, text: str) -> Path:
    path = folder / "strings.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_columns_by_their_names(tmp_path: Path) -> None:
    path = table(tmp_path, 'key;en;de\na;One;Eins\nb;"Two; 2";"Zwei\n2"\n')
    assert FORMATS["csv"].offered_sides(path) == ["key", "en", "de"]
    found = [tuple(pair[:3]) for pair in FORMATS["csv"].read([path], ("en", "de"))]
    assert found == [("One", "Eins", 2), ("Two; 2", "Zwei\n2", 3)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("en,de\na,b\n", ":1: no column 'fr'.*de"),
        ("en,fr\n", "only a header and no rows"),
        ('en,fr\n"a,b\n', "strings.csv: line 2: a cell begins"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        list(FORMATS["csv"].read([table(tmp_path, text)], ("en", "fr")))
