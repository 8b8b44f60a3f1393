"""A directory of results says what it was begun with, and refuses everything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.core.errors import ConfigError, SavedError
from dragoman.data.bulk.bulk_directory import BulkDirectory

ORIGIN = {"text": "a", "setting": 1}


def begun(path: Path) -> BulkDirectory:
    directory = BulkDirectory(path / "work", ["results"])
    assert directory.begin(ORIGIN) is None
    return directory


def test_finished_it_gives_back_what_it_was_given(tmp_path: Path) -> None:
    directory = begun(tmp_path)
    (directory.path / "results").write_bytes(b"all of them")
    directory.finish({"lines": 3})
    again = BulkDirectory(directory.path, ["results"])
    assert again.begin(ORIGIN) == {"lines": 3}
    (directory.path / "results").write_bytes(b"others")
    with pytest.raises(SavedError, match="results"):
        again.begin(ORIGIN)


def test_another_beginning_is_refused_by_the_names_of_what_differs(tmp_path: Path) -> None:
    path = begun(tmp_path).path
    with pytest.raises(ConfigError, match=r"other text or settings \(setting\); repeat"):
        BulkDirectory(path, ["results"]).begin({**ORIGIN, "setting": 2})


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"{}", b'{"origin": 3}', b"\xff"])
def test_a_damaged_note_of_its_origin_is_named(damage: bytes, tmp_path: Path) -> None:
    directory = begun(tmp_path)
    (note,) = directory.path.glob("*.json")
    note.write_bytes(damage)
    with pytest.raises(SavedError, match=rf"{note.name}: damaged; remove .* to begin again"):
        BulkDirectory(directory.path, ["results"]).begin(ORIGIN)
