"""Which arguments are files."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.tables.named_files import named_files
from studies.tables.plan import HERE


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ("{one} --glossary {here}/a.tsv --beam 4", ["{here}/a.tsv"]),
        ("--glossary='{here}/b c.tsv' {here}/a.tsv", ["{here}/b c.tsv", "{here}/a.tsv"]),
        ("{one} --set x.y={here}/a.tsv", ["{here}/a.tsv"]),
        ("{one}/a.tsv {here} {here}/gone.tsv '' =", []),
    ],
)
def test_files_are_named_alone_or_behind_an_option(
    arguments: str, names: list[str], tmp_path: Path
) -> None:
    """Those of stages are not, which may be made again."""
    for name in ("a.tsv", "b c.tsv", "one/a.tsv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    places = {HERE: tmp_path, "one": tmp_path / "one"}
    assert list(named_files(arguments, places, {"one"})) == names
