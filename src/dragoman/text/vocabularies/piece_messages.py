"""The pieces of a serialised sentencepiece model, which is a protobuf message.

This module reads and writes them without the package protobuf, which is only in an extra.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

USER_DEFINED = 4
"""sentencepiece's type of a tag."""

_PIECES, _NAME = b"\x0a", b"\x0a"  # field 1 of a model, and field 1 of a piece
_SIZES = {1: 8, 5: 4}  # bytes of a fixed number, by wire type
_NUMBER, _BYTES = 0, 2  # the other wire types


def piece_message(piece: str, score: float, kind: int | None = None) -> bytes:
    """The message of another piece. Appending it to a model adds it to the model's list."""
    body = _named(piece) + b"\x15" + struct.pack("<f", score)
    body += b"" if kind is None else b"\x18" + _varint(kind)
    return _PIECES + _varint(len(body)) + body


def renamed(model: bytes, names: Mapping[str, str]) -> bytes:
    """A model with other names for some of its pieces, which keep their ids."""
    return b"".join(_renamed_field(model[start:end], names) for start, end in _fields(model))


def _renamed_field(field: bytes, names: Mapping[str, str]) -> bytes:
    if not field.startswith(_PIECES):
        return field
    _, start = _read_varint(field, 1)
    length, name_start = _read_varint(field, start + 1)
    name_end = name_start + length
    name = field[name_start:name_end].decode()
    if name not in names:
        return field
    body = _named(names[name]) + field[name_end:]
    return _PIECES + _varint(len(body)) + body


def _named(piece: str) -> bytes:
    text = piece.encode()
    return _NAME + _varint(len(text)) + text


def _fields(message: bytes) -> Iterator[tuple[int, int]]:
    """Start and end of each field of a message."""
    start = 0
    while start < len(message):
        key, end = _read_varint(message, start)
        if key & 7 == _NUMBER:
            _, end = _read_varint(message, end)
        elif key & 7 == _BYTES:
            length, end = _read_varint(message, end)
            end += length
        else:
            end += _SIZES[key & 7]
        yield start, end
        start = end


def _read_varint(message: bytes, start: int) -> tuple[int, int]:
    """The number at ``start``, and where it ends."""
    number, end = 0, start
    while True:
        number |= (message[end] & 127) << 7 * (end - start)
        end += 1
        if message[end - 1] < 128:
            return number, end


def _varint(number: int) -> bytes:
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])
