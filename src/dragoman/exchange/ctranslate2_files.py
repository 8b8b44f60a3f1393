"""Reading the files of a CTranslate2 model: ``model.bin``, ``config.json`` and the vocabularies.

The format of ``model.bin`` is that of ``ctranslate2.specs.ModelSpec.save``, binary versions 2 to 6.
Numbers are little-endian.  A string is UTF-8 behind its length in 16 bits, which includes a closing
zero byte.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.wording import named
from dragoman.exchange.foreign_files import ByteStream, parsed_json, read_object, read_text

BINARY_FILE, CONFIG_FILE = "model.bin", "config.json"
_VERSIONS = range(2, 7)
_TYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")
_WIDTHS = {4: "float32", 2: "int16", 1: "int8"}  # of version 3 and before, which have no types
_NUMPY = {"bfloat16": "uint16"}
_MOST_AXES = 8
_INT16_SCALE = 1000.0  # of early versions, which do not write it
_SUFFIXES = {"gamma": "weight", "beta": "bias"}


@dataclass(frozen=True)
class Binary:
    """The content of ``model.bin``."""

    specification: str
    """Kind of model, such as ``TransformerSpec``."""
    revision: int
    """Of that specification."""
    tensors: dict[str, Tensor]
    """Weights in float32, under names such as ``encoder.layer_0.ffn.linear_0.weight``."""
    numbers: dict[str, float]
    """Attributes, under names such as ``encoder.pre_norm``."""
    flags: frozenset[str]
    """Those of the attributes that are true or false rather than quantities."""
    types: frozenset[str]
    """Of the weights, such as ``int8``."""


def read_binary(file: Path) -> Binary:
    """The content of ``model.bin``."""
    stream = ByteStream.of(file)
    version = stream.number("I")
    if version not in _VERSIONS:
        raise ConfigError(
            f"{file}: of binary version {version}, or no model of CTranslate2; versions "
            f"{_VERSIONS[0]} to {_VERSIONS[-1]} are known here"
        )
    specification, revision = stream.text(stream.number("H")), stream.number("I")
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for _ in range(stream.number("I")):
        name = stream.text(stream.number("H"))
        arrays[name] = _array(stream, version, f"{file}: {named([name])}")
    types = {_type_name(array) for name, array in arrays.items() if name.endswith("weight")}
    if version >= 3:
        for _ in range(stream.number("I")):
            alias, name = stream.text(stream.number("H")), stream.text(stream.number("H"))
            if name not in arrays:
                raise DataError(
                    f"{file}: {named([alias])} is said to be {named([name])}, which is not"
                )
            arrays[alias] = arrays[name]
            if f"{name}_scale" in arrays:
                arrays[f"{alias}_scale"] = arrays[f"{name}_scale"]
    tensors, numbers = _dequantised(arrays, file)
    flags = {
        name.replace("/", ".")
        for name, array in arrays.items()
        if not array.shape and array.dtype == np.int8
    }
    return Binary(specification, revision, tensors, numbers, frozenset(flags), frozenset(types))


def _array(stream: ByteStream, version: int, where: str) -> np.ndarray[Any, Any]:
    """One variable; a number has no axes."""
    axes = stream.number("B")
    if axes > _MOST_AXES:
        raise DataError(f"{where}: has {axes} axes: damaged")
    shape = tuple(stream.number("I") for _ in range(axes))
    if version >= 4:
        kind = stream.number("B")
        if kind >= len(_TYPES):
            raise ConfigError(f"{where}: numbers of type {kind} are not known here")
        name, size = _TYPES[kind], stream.number("I")
    else:
        width = stream.number("B")
        if width not in _WIDTHS:
            raise DataError(f"{where}: numbers of {width} bytes: damaged")
        name, size = _WIDTHS[width], stream.number("I") * width
    dtype = np.dtype(_NUMPY.get(name, name)).newbyteorder("<")
    if size != math.prod(shape) * dtype.itemsize:
        raise DataError(f"{where}: {size} bytes for the shape {list(shape)} in {name}: damaged")
    try:
        return np.frombuffer(stream.bytes(size), dtype).reshape(shape)
    except ValueError as error:  # nothing in it, and other axes beyond all bounds
        raise DataError(f"{where}: has the shape {list(shape)}: damaged") from error


def _type_name(array: np.ndarray[Any, Any]) -> str:
    return "bfloat16" if array.dtype == np.uint16 else str(array.dtype.newbyteorder("="))


def _dequantised(
    arrays: dict[str, np.ndarray[Any, Any]], file: Path
) -> tuple[dict[str, Tensor], dict[str, float]]:
    """Weights in float32, and numbers.  A quantised weight is divided by its scale, per row.

    Names of the same weight share a tensor: there may be many in a small file.
    """
    tensors: dict[str, Tensor] = {}
    known: dict[tuple[int, int], Tensor] = {}  # by the identity of weight and scale
    numbers: dict[str, float] = {}
    for name, array in arrays.items():
        if name.endswith("weight_scale"):
            continue
        place, scale = name.replace("/", "."), arrays.get(f"{name}_scale")
        if not array.shape:
            numbers[place] = float(_float32(array))
            continue
        key = id(array), id(scale)
        if key not in known:
            known[key] = torch.from_numpy(_weight(array, scale, f"{file}: {named([name])}"))
        *scope, last = place.split(".")
        tensors[".".join([*scope, _SUFFIXES.get(last, last)])] = known[key]
    return tensors, numbers


def _weight(
    array: np.ndarray[Any, Any], scale: np.ndarray[Any, Any] | None, where: str
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A weight in float32."""
    wide = _float32(array)
    if array.dtype == np.int32:
        raise ConfigError(f"{where} is in int32, which is not known here")
    if array.dtype not in (np.int8, np.int16):
        return wide
    if scale is None and array.dtype == np.int8:
        raise DataError(f"{where} is quantised and has no scale: damaged")
    factor = np.array(_INT16_SCALE, np.float32) if scale is None else _float32(scale)
    if factor.shape not in ((), array.shape[:1]) or not np.all(factor > 0):
        raise DataError(f"{where} has a scale that does not fit it: damaged")
    rows = (-1, *[1] * (array.ndim - 1)) if factor.shape else ()
    return np.asarray(wide / factor.reshape(rows), np.float32)


def _float32(array: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
    if array.dtype == np.uint16:  # bfloat16: the first half of a float32
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32)


def read_config(directory: Path) -> dict[str, Any]:
    """``config.json``, which models of early versions do not have."""
    file = directory / CONFIG_FILE
    return read_object(file) if file.is_file() else {}


def read_pieces(directory: Path, side: str) -> list[str]:
    """The pieces of a side, ``source`` or ``target``, by number."""
    names = [f"{kind}_vocabulary.{end}" for kind in ("shared", side) for end in ("json", "txt")]
    file = next((directory / name for name in names if (directory / name).is_file()), None)
    if file is None:
        raise DataError(f"{directory}: has none of {', '.join(names)}")
    if file.suffix == ".txt":
        return read_text(file).removesuffix("\n").split("\n")
    pieces = parsed_json(file)
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise DataError(f"{file}: expected a list of pieces")
    return pieces
