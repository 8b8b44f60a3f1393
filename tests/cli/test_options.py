"""What options of several commands have in common."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import CommandLine, one_error


@pytest.mark.parametrize(
    "command",
    [
        "calibrate runs/my --output -",
        "calibrate runs/my --picture -",
        "embed train text.en --output -",
        "evaluate found wanted --picture -",
        "init train.tsv --output -",
        "parse runs/my --svg -",
        "filter runs/my train.en train.de --output -",
        "shortlist runs/my --output -",
        "terms train.tsv --details -",
        "translate runs/my --alignment -",
        "translate runs/my --write-system -",
        "tune runs/my --output -",
    ],
)
def test_files_beside_standard_output_are_not_written_to_it(
    dragoman: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A dash would be the name of a file."""
    monkeypatch.chdir(tmp_path)
    option = command.split()[-2]
    line = one_error(dragoman(*command.split()), 2)
    assert f"'{option}': this is not written to standard output; name a file" in line
    assert list(tmp_path.iterdir()) == []
