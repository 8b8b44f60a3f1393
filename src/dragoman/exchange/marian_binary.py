"""The binary files of Marian, which Firefox's models are: weights, mostly in int8, and a shortlist.

The formats are those of ``common/binary.cpp`` and ``data/shortlist.h`` of Marian as Bergamot has it
(github.com/browsermt/marian-dev).  Numbers are little-endian.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.wording import named
from dragoman.exchange.foreign_files import ByteStream
from dragoman.exchange.foreign_transformer import ForeignSides
from dragoman.exchange.marian_files import options_in
from dragoman.saved.shortlist import Shortlist, ShortlistOrigin
from dragoman.text.vocabularies import BOS, EOS, PAD, UNK
from dragoman.text.vocabularies.piece_links import PieceTable

_VERSION, _MAGIC = 1, 0xF11A48D5013417F5
_TYPES = {0x404: "float32", 0x402: "float16", 0x101: "int8"}
_INT8 = {0x4101, 0x10001}
"""Matrices for intgemm, of Bergamot and of Marian 1.12, in no processor's order."""
_MOST_WEIGHTS, _MOST_AXES = 100_000, 8
_ACTIVATIONS = "_QuantMultA"  # the scale of a matrix's inputs
_HASH_STEP, _HASH_BITS = 0x9E3779B9, 2**64 - 1


def read_binary_weights(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of a model by name, in floating point, and its options."""
    stream = ByteStream.of(path)
    if (version := stream.number("Q")) != _VERSION:
        raise DataError(f"{path}: no binary model of Marian (version {version}, expected 1)")
    count = stream.number("Q")
    if count > _MOST_WEIGHTS:
        raise DataError(f"{path}: has {count:,} weights: damaged")
    heads = [[stream.number("Q") for _ in range(4)] for _ in range(count)]
    names = [stream.text(length) for length, *_ in heads]
    shapes = []
    for name, (_, _, axes, _) in zip(names, heads, strict=True):
        if axes > _MOST_AXES:
            raise DataError(f"{path}: {named([name])} has {axes} axes: damaged")
        shapes.append(tuple(stream.number("I") for _ in range(axes)))
    stream.bytes(stream.number("Q"))  # up to a multiple of 256
    weights = {}
    for name, shape, (_, kind, _, size) in zip(names, shapes, heads, strict=True):
        content = stream.bytes(size)
        if not name.endswith(_ACTIVATIONS):
            weights[name] = _array(name, kind, shape, content, path)
    return weights, options_in(weights, path)


def _array(name: str, kind: int, shape: tuple[int, ...], content: bytes, path: Path) -> Any:
    """A parameter, without the bytes that fill its place up."""
    if kind not in {*_TYPES, *_INT8}:
        raise ConfigError(
            f"{path}: {named([name])} has numbers of type {kind:#x}, which are packed for one kind "
            "of processor or not known here"
        )
    dtype = np.dtype(_TYPES.get(kind, "int8")).newbyteorder("<")
    count = math.prod(shape)
    if not count or count * dtype.itemsize + (4 if kind in _INT8 else 0) > len(content):
        raise DataError(
            f"{path}: {named([name])} has the shape {list(shape)} in {len(content)} bytes: damaged"
        )
    values = np.frombuffer(content, dtype, count)
    if kind not in _INT8:
        return values.reshape(shape)
    (scale,) = np.frombuffer(content, "<f4", 1, offset=count)
    if not np.isfinite(scale) or scale <= 0:
        raise DataError(f"{path}: {named([name])} has the scale {scale:g}: damaged")
    wide = values.astype(np.float32) / scale
    # A matrix for products lies as (output, input), the embeddings as they are.
    return wide.reshape(shape) if "Wemb" in name else wide.reshape(shape[::-1]).T


def read_lexical_shortlist(path: Path, sides: ForeignSides) -> Shortlist:
    """A shortlist of Bergamot over our pieces; a piece of both sides may be copied, as there."""
    stream = ByteStream.of(path)
    magic, digest, first, best, starts, pieces = (stream.number("Q") for _ in range(6))
    if magic != _MAGIC:
        raise DataError(f"{path}: no binary shortlist of Marian")
    table = PieceTable(
        np.frombuffer(stream.bytes(8 * starts), "<u8").astype(np.int64),
        np.frombuffer(stream.bytes(4 * pieces), "<u4").astype(np.int64),
    )
    _check(table, sides, path)
    tail = table.pieces[: pieces // 2 * 2].astype("<u4").view("<u8")  # as Marian rounds
    if _hashed([first, best, starts, pieces, *table.starts.tolist(), *tail.tolist()]) != digest:
        raise DataError(f"{path}: damaged: its digest is another; download it again")
    source, target = (side.rows for side in sides.numbered)
    ours = {row: number for number, row in enumerate(target) if row is not None}
    copied = sides.are_equal
    lists = []
    for row in source:
        theirs = {row} if copied else set()
        if row is not None and row < starts - 1:
            theirs |= set(table.of(row).tolist())
        lists.append(sorted(ours[piece] for piece in theirs if piece in ours))
    frequent = (ours[row] for row in range(min(first, sides.sizes[1])) if row in ours)
    return Shortlist(
        table=PieceTable.of_lists(lists),
        always=_ints(sorted({PAD, UNK, BOS, EOS, *frequent})),
        origin=ShortlistOrigin(
            fingerprints=sides.vocabularies.fingerprints,
            likeliest=best,
            frequent=first,
            text=path.name,
            pairs=0,
        ),
    )


def _check(table: PieceTable, sides: ForeignSides, path: Path) -> None:
    starts, pieces = table.starts, table.pieces
    sound = len(starts) and starts[0] == 0 and starts[-1] == len(pieces)
    if not sound or (np.diff(starts) < 0).any():
        raise DataError(f"{path}: damaged: its lists do not follow one another; download it again")
    if len(starts) - 1 > sides.sizes[0] or (len(pieces) and pieces.max() >= sides.sizes[1]):
        raise DataError(
            f"{path}: has pieces that the vocabularies lack; its files do not belong together"
        )


def _hashed(values: Iterable[int]) -> int:
    """The digest of 64-bit numbers in Marian (boost's ``hash_combine``)."""
    seed = 0
    for value in values:
        seed ^= value + _HASH_STEP + (seed << 6) + (seed >> 2) & _HASH_BITS
    return seed


def _ints(values: list[int]) -> npt.NDArray[np.int64]:
    return np.array(values, np.int64)
