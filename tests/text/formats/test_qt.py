"""Pairs from files of Qt Linguist."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.core.errors import DataError
from dragoman.text.formats import FORMATS
from soak.fuzzing.target import seed

FORM = FORMATS["qt"]


def pairs(path: Path, *, unreviewed: bool = False) -> list[tuple[str, str]]:
    form = FORM.with_unreviewed() if unreviewed else FORM
    return [pair[:2] for pair in form.read([path], ("en", "de"))]


def test_pairs(tmp_path: Path) -> None:
    path = tmp_path / "a.ts"
    path.write_bytes(seed("texts.ts").content)
    assert pairs(path) == [("Close it", "Zumachen")]
    assert pairs(path, unreviewed=True) == [("Close it", "Zumachen"), ("Save it", "Sichern")]
    assert FORM.languages(path) == ("en_US", "de_DE")
    path.write_text(
        "<TS><context><message numerus='yes'><source>%n day(s)</source><translation>"
        "<numerusform>%n Tag</numerusform><numerusform>%n Tage</numerusform></translation>"
        "</message></context></TS>"
    )
    assert pairs(path) == [("%n day(s)", "%n Tage")]
    assert FORM.languages(path) == ("en", None)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("<TS><context/></TS>", "no unit has a finished translation; finish the messages"),
        ("const a = 1", "not well-formed|no unit|damaged|XML"),
    ],
)
def test_damaged_files(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "a.ts"
    path.write_text(content)
    with pytest.raises(DataError, match=problem):
        pairs(path)


def test_typescript_is_no_file_of_qt(tmp_path: Path) -> None:
    (tmp_path / "a.ts").write_text("export const a = 1;\n")
    assert FORMATS["qt-files"].files(tmp_path, ("en", "de")) == []
    (tmp_path / "b.ts").write_text("<x/>")
    with pytest.raises(DataError, match="no file of Qt Linguist"):
        FORM.languages(tmp_path / "b.ts")
