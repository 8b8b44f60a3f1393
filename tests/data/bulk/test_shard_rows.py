"""What is packed is unpacked again, as a whole or one array at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dragoman.core.errors import SavedError
from dragoman.core.shard_files import ShardFiles
from dragoman.data.bulk.shard_rows import (
    Array,
    pack_arrays,
    pack_rows,
    read_array,
    unpack_arrays,
    unpack_rows,
)

some_arrays = st.lists(arrays(np.int32, st.integers(0, 5)), min_size=1, max_size=5)


@given(st.lists(st.lists(st.text(st.characters()) | st.integers()), max_size=5))
def test_rows(rows: list[list[str | int]]) -> None:
    """Half a surrogate pair, which UTF-8 cannot hold, survives."""
    assert unpack_rows(pack_rows(rows)) == rows
    assert unpack_rows(pack_rows([["\ud800"]])) == [["\ud800"]]


@given(some_arrays)
def test_arrays(packed: list[Array]) -> None:
    found = unpack_arrays(pack_arrays(packed), ["<i4"] * len(packed))
    assert [one.tolist() for one in found] == [one.tolist() for one in packed]


def test_one_array_of_a_shard(tmp_path: Path) -> None:
    packed = [np.arange(length, dtype=np.int32) for length in (3, 0, 5, 2)]
    files = ShardFiles(tmp_path, ".bin")
    content = pack_arrays(packed)
    files.write(0, content)
    for place, one in enumerate(packed):
        assert read_array(files, 0, place, 4, np.int32).tolist() == one.tolist()
    files.path(0).write_bytes(content[:-1] + b"\1")
    assert read_array(files, 0, 2, 4, np.int32).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(SavedError, match="repeat the command"):
        read_array(files, 0, 3, 4, np.int32)
    assert files.record(0) is None
    files.path(0).write_bytes(content[:10])
    with pytest.raises(SavedError, match="repeat the command"):
        read_array(files, 0, 0, 4, np.int32)
