from __future__ import annotations

import struct
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from studies.marian.binary import to_binary

NAMES = st.lists(st.text("abWö_:", min_size=1, max_size=9), min_size=1, max_size=4, unique=True)


@given(names=NAMES, sizes=st.lists(st.integers(1, 70), min_size=4, max_size=4))
def test_parameters_can_be_found_by_the_header(names: list[str], sizes: list[int]) -> None:
    arrays = {
        name: np.arange(size * 2, dtype=np.float32).reshape(size, 2)
        for name, size in zip(names, sizes, strict=False)
    }
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "model.npz", **arrays)  # type: ignore[arg-type]
        content = to_binary(Path(folder) / "model.npz")
    version, count = struct.unpack_from("<QQ", content)
    assert (version, count) == (1, len(arrays))
    heads = [struct.unpack_from("<4Q", content, 16 + 32 * i) for i in range(count)]
    place = 16 + 32 * count
    for name, (length, kind, _, _) in zip(arrays, heads, strict=True):
        assert content[place : place + length] == name.encode() + b"\0"
        assert kind == 0x404
        place += length
    for array, (_, _, axes, _) in zip(arrays.values(), heads, strict=True):
        assert struct.unpack_from(f"<{axes}i", content, place) == array.shape
        place += 4 * axes
    (skipped,) = struct.unpack_from("<Q", content, place)
    place += 8 + skipped
    for array, (_, _, _, size) in zip(arrays.values(), heads, strict=True):
        assert place % 256 == 0
        found = np.frombuffer(content, np.float32, array.size, place)
        np.testing.assert_array_equal(found, array.ravel())
        place += size
    assert place == len(content)
