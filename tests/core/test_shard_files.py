"""A shard is whole and recorded, or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.core.errors import SavedError
from dragoman.core.shard_files import ShardFiles


@pytest.fixture
def files(tmp_path: Path) -> ShardFiles:
    files = ShardFiles(tmp_path / "shards", ".bin")
    files.write(3, b"content", lines=7)
    return files


def test_what_was_written_is_read(files: ShardFiles) -> None:
    assert files.read(3) == b"content"
    assert files.facts(3)["lines"] == 7
    assert files.record(2) is None


def test_a_shard_without_its_record_is_not_finished(files: ShardFiles) -> None:
    """As after a kill between the two writes."""
    (files.folder / "000003.json").unlink()
    assert files.record(3) is None
    with pytest.raises(SavedError, match="repeat the command to make it again"):
        files.read(3)


@pytest.mark.parametrize("record", [b"", b"{", b"[]", b"{}", b'{"size_bytes": 7}'])
def test_a_damaged_record(files: ShardFiles, record: bytes) -> None:
    (files.folder / "000003.json").write_bytes(record)
    with pytest.raises(SavedError, match="repeat the command to make it again"):
        files.read(3)


def test_a_truncated_shard_is_made_again(files: ShardFiles) -> None:
    files.path(3).write_bytes(b"conten")
    assert files.record(3) is None


def test_an_altered_shard_is_forgotten(files: ShardFiles) -> None:
    files.path(3).write_bytes(b"contend")
    assert files.record(3) is not None, "nobody has read it yet"
    with pytest.raises(SavedError, match="altered"):
        files.read(3)
    assert files.record(3) is None


def test_a_note_is_of_all(files: ShardFiles) -> None:
    assert files.note() is None
    files.write_note({"sizes": [1, 2]})
    assert files.note() == {"sizes": [1, 2]}
    (files.folder / "all.json").write_text("3", encoding="utf-8")
    assert files.note() is None
