"""Readers of the files, weights and options of other toolkits; errors name the file."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import safetensors
import torch
from torch import Tensor

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.wording import named
from dragoman.exchange.pickled import check_tensor, read_pickled, tensors_in
from dragoman.saved.weights import is_finite, read_into_memory

_LARGEST_TEXT = 256 * 2**20
"""Bytes, ten times a vocabulary of a million pieces."""


def read_bytes(path: Path) -> bytes:
    """The content of a vocabulary or a configuration; refuses larger files."""
    try:
        if not path.is_file() and path.exists():  # a device or a pipe may have no end
            raise DataError(f"{path}: cannot be read: it is no ordinary file")
        if path.stat().st_size > _LARGEST_TEXT:
            raise DataError(f"{path}: larger than 256 MB, so it is no vocabulary or configuration")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_text(path: Path) -> str:
    """The content of a vocabulary or a configuration in UTF-8."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 (byte {error.start})") from error


def parsed_json(path: Path) -> Any:
    """The content of a JSON file."""
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error!s:.200}); download it again") from error


def read_object(path: Path) -> dict[str, Any]:
    """The content of a JSON file, which must be an object."""
    values = parsed_json(path)
    if not isinstance(values, dict):
        raise DataError(f"{path}: a JSON object is expected, found a {type(values).__name__}")
    return values


def numbered_from_zero(path: Path) -> dict[str, int] | None:
    """Pieces and their numbers in a JSON object; None if these are not 0, 1, 2 ..., each once."""
    ids = read_object(path)
    if any(type(number) is not int for number in ids.values()):
        return None
    return ids if sorted(ids.values()) == list(range(len(ids))) else None


def read_state(path: Path) -> dict[str, Tensor]:
    """The tensors of a file of safetensors, or of a ``state_dict`` that was pickled."""
    if path.suffix != ".safetensors":
        return tensors_in(read_pickled(path), path)
    try:
        with safetensors.safe_open(path, framework="pt") as stream:
            tensors = read_into_memory(path, stream)
    except (safetensors.SafetensorError, OSError) as error:
        raise DataError(f"{path}: damaged ({error!s:.200}); download it again") from error
    return tensors_in(tensors, path)


def read_shards(index: Path) -> dict[str, Tensor]:
    """The tensors of a model whose weights are in several files, which an index names."""
    places = read_object(index).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise DataError(f"{index}: weight_map: expected names of weights and of their files")
    tensors: dict[str, Tensor] = {}
    for name in dict.fromkeys(places.values()):
        if not isinstance(name, str) or Path(name).name != name or name in {"", ".", ".."}:
            raise DataError(f"{index}: {name!r:.80} is no name of a file beside it")
        shard = index.with_name(name)
        if not shard.is_file():
            raise DataError(f"{shard}: missing, and {index.name} names it; download it as well")
        tensors |= read_state(shard)
    if lost := sorted(places.keys() - tensors.keys()):
        raise DataError(f"{index}: the weight {lost[0]} is not in its file; download both again")
    return tensors


class ByteStream:
    """Bytes that are read in order; reading past the end is an error that names the file."""

    def __init__(self, content: bytes, where: Path) -> None:
        self._content, self._place, self._where = content, 0, where

    @classmethod
    def of(cls, file: Path) -> Self:
        """The content of a file of weights."""
        try:
            return cls(file.read_bytes(), file)
        except OSError as error:
            raise DataError(f"{file}: cannot be read: {error.strerror or error}") from error

    def bytes(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        if count > len(self._content) - self._place:
            raise DataError(
                f"{self._where}: ends at byte {len(self._content):,}, but more was announced: it "
                "is truncated or damaged; download it again"
            )
        self._place += count
        return self._content[self._place - count : self._place]

    def number(self, code: str) -> int:
        """The next number, in little-endian order, by its code in :mod:`struct`."""
        value: int
        (value,) = struct.unpack(f"<{code}", self.bytes(struct.calcsize(f"<{code}")))
        return value

    def text(self, count: int) -> str:
        """The next ``count`` bytes as text, which a zero byte may close."""
        encoded = self.bytes(count)
        try:
            return encoded.removesuffix(b"\0").decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{self._where}: damaged: a name is not UTF-8") from error


class ForeignWeights:
    """Weights of the file ``where`` under another toolkit's names, which are taken one by one."""

    def __init__(self, tensors: Mapping[str, Tensor], where: Path) -> None:
        self._tensors = dict(tensors)
        self.where = where
        self._taken: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    @property
    def names(self) -> list[str]:
        """Of all tensors."""
        return list(self._tensors)

    def dtype(self, name: str) -> torch.dtype:
        """The type in which a tensor is stored."""
        return self._tensors[name].dtype

    def take(self, name: str) -> Tensor:
        """A tensor of finite real numbers, in float32."""
        if name not in self._tensors:
            raise DataError(
                f"{self.where}: the weight {name} is missing; is this a whole model of the kind "
                "that its configuration names?"
            )
        tensor = self._tensors[name]
        check_tensor(name, tensor, self.where)
        if not tensor.is_floating_point():
            raise DataError(f"{self.where}: {name} holds {tensor.dtype}, expected real numbers")
        if not tensor.dim() or not tensor.numel():
            size = "one number" if tensor.numel() else "empty"
            raise DataError(f"{self.where}: {name} is {size}, expected a vector or a matrix")
        self._taken.add(name)
        tensor = tensor.detach().float().contiguous()
        if not is_finite(tensor):
            raise DataError(f"{self.where}: {name} has NaN or infinite values")
        return tensor

    def optional(self, name: str) -> Tensor | None:
        """A tensor, in float32; None if the model has none of that name."""
        return self.take(name) if name in self else None

    def table(self, name: str, width: int) -> Tensor:
        """A matrix of any number of rows, such as learned positions, ``(rows, width)``."""
        table = self.take(name)
        table = table[0] if table.dim() == 3 and len(table) == 1 else table
        if table.dim() != 2 or table.shape[1] != width:
            raise DataError(
                f"{self.where}: {name} has the shape {list(table.shape)}, expected {width} "
                "columns; its files do not belong together"
            )
        return table

    def layer(self, theirs: str, ours: str, *, bias: bool | None = None) -> dict[str, Tensor]:
        """The weight and bias of a linear layer or a normalisation, under our names.

        Args:
            theirs: the layer's name there, without ``.weight``.
            ours: its name here.
            bias: whether it has a bias here, which is zero if it has none there; by default as
                there.
        """
        layer = {f"{ours}.weight": self.take(f"{theirs}.weight")}
        if bias is not False and f"{theirs}.bias" in self:
            layer[f"{ours}.bias"] = self.take(f"{theirs}.bias")
        elif bias:
            layer[f"{ours}.bias"] = torch.zeros(len(layer[f"{ours}.weight"]))
        return layer

    def ignore(self, names: Iterable[str]) -> None:
        """Leave weights out that are known to mean nothing here, such as fixed positions."""
        self._taken.update(names)

    def release(self) -> None:
        """Keep the names alone, so that each tensor may be freed when it is converted."""
        self._tensors = dict.fromkeys(self._tensors, torch.empty(0))

    def check_all_taken(self) -> None:
        """Refuse a model that has more than was taken: it would be another function without it."""
        if left := sorted(self._tensors.keys() - self._taken):
            more = f" and {len(left) - 1} more" if len(left) > 1 else ""
            raise ConfigError(
                f"{self.where}: has the weight {named(left[:1])}{more}, which no family here "
                "can express"
            )


@dataclass(frozen=True)
class ForeignOptions:
    """Options by name, each checked when it is read."""

    values: Mapping[str, Any]
    where: Path
    """The file, for errors."""
    prefix: str = "option "
    """In front of a name in errors."""

    def get(self, name: str, default: Any = None) -> Any:
        """An option; the default if it is missing or null."""
        value = self.values.get(name)
        if isinstance(value, Tensor):  # which a pickle may hold anywhere
            raise DataError(f"{self.where}: {self.prefix}{name}: a tensor is no option")
        return default if value is None else value

    def of_type(self, name: str, kind: type, default: Any = None) -> Any:
        """An option of a type; integers are accepted as floats.  Required without a default."""
        value = self.get(name, default)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise DataError(
                f"{self.where}: {self.prefix}{name}: expected {kind.__name__}, found {value!r:.80}"
            )
        return value

    def choice(self, name: str, known: Sequence[Any], default: Any) -> Any:
        """One of the values that are known here."""
        value = self.get(name, default)
        if value not in known:
            raise ConfigError(
                f"{self.where}: {self.prefix}{name}: {value!r:.80} cannot be imported, only "
                + " or ".join(map(str, known))
            )
        return value

    def ours(self, name: str, table: Mapping[str, str], default: str) -> str:
        """Our name of a choice.

        Args:
            name: of the option.
            table: our names by theirs.
            default: their name of what a missing option means.
        """
        chosen = self.of_type(name, str, default)
        if chosen not in table:
            raise ConfigError(
                f"{self.where}: {self.prefix}{name}: {chosen!r:.80} is not known here, only "
                + " or ".join(table)
            )
        return table[chosen]

    def check(self, required: Mapping[str, Sequence[Any]]) -> None:
        """Refuse what a Transformer here lacks.

        Args:
            required: possible values of each option, first the meaning of a missing option.
        """
        for name, known in required.items():
            self.choice(name, known, known[0])
