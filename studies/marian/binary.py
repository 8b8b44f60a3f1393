"""Marian's binary format, in which its WebAssembly build reads a model, from a ``.npz``.

The layout is that of ``marian-conv`` for 32-bit floats: version and number of parameters; length of
the name, type, number of axes and bytes of each; names; shapes; and the values, each beginning at a
multiple of 256 bytes.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

_VERSION, _ALIGNMENT = 1, 256
_TYPES = {np.dtype("float32"): 0x404, np.dtype("int8"): 0x101}  # kind, and bytes of an element


def to_binary(npz: Path) -> bytes:
    """The content of a ``.npz`` of Marian, in its binary format."""
    with np.load(npz, allow_pickle=False) as archive:
        arrays = {name: np.ascontiguousarray(archive[name]) for name in archive.files}
    values = {name: _padded(array.tobytes()) for name, array in arrays.items()}
    head = struct.pack("<QQ", _VERSION, len(arrays))
    for name, array in arrays.items():
        sizes = len(name.encode()) + 1, _TYPES[array.dtype], array.ndim, len(values[name])
        head += struct.pack("<4Q", *sizes)
    head += b"".join(name.encode() + b"\0" for name in arrays)
    head += b"".join(struct.pack(f"<{one.ndim}i", *one.shape) for one in arrays.values())
    head += struct.pack("<Q", -(len(head) + 8) % _ALIGNMENT)  # bytes to skip
    return _padded(head) + b"".join(values.values())


def _padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % _ALIGNMENT)
