"""Readers of the files of other toolkits; errors name the file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import safetensors
import torch
from torch import Tensor

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.wording import named
from dragoman.exchange.pickled import check_tensor, read_pickled, tensors_in

_LARGEST_TEXT = 256 * 2**20
"""Bytes, ten times a vocabulary of a million pieces."""


def read_bytes(path: Path) -> bytes:
    """The content of a vocabulary or a configuration.

    Raises:
        DataError: the file is missing, unreadable or larger than any vocabulary.
    """
    try:
        if not path.is_file() and path.exists():  # a device or a pipe may have no end
            raise DataError(f"{path}: cannot be read: it is no ordinary file")
        if path.stat().st_size > _LARGEST_TEXT:
            raise DataError(f"{path}: larger than 256 MB, so it is no vocabulary or configuration")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_text(path: Path) -> str:
    """The same as text.

    Raises:
        DataError: see :func:`read_bytes`, or it is not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 (byte {error.start})") from error


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object.

    Raises:
        DataError: see :func:`read_text`, or it is not a JSON object.
    """
    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error!s:.200}); download it again") from error
    if not isinstance(found, dict):
        raise DataError(f"{path}: a JSON object is expected, found a {type(found).__name__}")
    return found


def read_state(path: Path) -> dict[str, Tensor]:
    """The tensors of a file of safetensors, or of a ``state_dict`` that was pickled.

    Raises:
        DataError: the file is missing, damaged or hostile, or holds anything but tensors.
    """
    if path.suffix != ".safetensors":
        return tensors_in(read_pickled(path), path)
    try:
        with safetensors.safe_open(path, framework="pt") as stream:
            found = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError) as error:
        raise DataError(f"{path}: damaged ({error!s:.200}); download it again") from error
    return tensors_in(found, path)


def read_shards(index: Path) -> dict[str, Tensor]:
    """The tensors of a model whose weights are in several files, which an index names.

    Args:
        index: such as ``model.safetensors.index.json`` of Hugging Face.

    Raises:
        DataError: the index or a file is missing or damaged, or a tensor is not where it says.
    """
    places = read_object(index).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise DataError(f"{index}: weight_map: expected names of weights and of their files")
    found: dict[str, Tensor] = {}
    for name in dict.fromkeys(places.values()):
        if not isinstance(name, str) or Path(name).name != name or name in {"", ".", ".."}:
            raise DataError(f"{index}: {name!r:.80} is no name of a file beside it")
        shard = index.with_name(name)
        if not shard.is_file():
            raise DataError(f"{shard}: missing, and {index.name} names it; download it as well")
        found |= read_state(shard)
    if lost := sorted(places.keys() - found.keys()):
        raise DataError(f"{index}: the weight {lost[0]} is not in its file; download both again")
    return found


class ForeignWeights:
    """Weights under the names of another toolkit, which are taken one by one.

    Args:
        tensors: by the toolkit's names.
        where: the file, for messages.
    """

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
        """A tensor, in float32.

        Raises:
            DataError: it is missing, or not of finite real numbers.
        """
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
            found = "one number" if tensor.numel() else "empty"
            raise DataError(f"{self.where}: {name} is {found}, expected a vector or a matrix")
        self._taken.add(name)
        tensor = tensor.detach().float().contiguous()
        if not bool(torch.isfinite(tensor).all()):
            raise DataError(f"{self.where}: {name} has NaN or infinite values")
        return tensor

    def table(self, name: str, width: int) -> Tensor:
        """A matrix of any number of rows, such as learned positions, ``(rows, width)``.

        Raises:
            DataError: as for :meth:`take`, or it has another shape.
        """
        found = self.take(name)
        found = found[0] if found.dim() == 3 and len(found) == 1 else found
        if found.dim() != 2 or found.shape[1] != width:
            raise DataError(
                f"{self.where}: {name} has the shape {list(found.shape)}, expected {width} "
                "columns; its files do not belong together"
            )
        return found

    def layer(self, theirs: str, ours: str, *, bias: bool | None = None) -> dict[str, Tensor]:
        """The weight and bias of a linear layer or a normalisation, under our names.

        Args:
            theirs: the layer's name there, without ``.weight``.
            ours: its name here.
            bias: whether it has a bias here, which is zero if it has none there; by default as
                there.
        """
        found = {f"{ours}.weight": self.take(f"{theirs}.weight")}
        there = f"{theirs}.bias" in self
        if bias is None:
            bias = there
        if bias:
            zero = torch.zeros(len(found[f"{ours}.weight"]))
            found[f"{ours}.bias"] = self.take(f"{theirs}.bias") if there else zero
        return found

    def ignore(self, names: Iterable[str]) -> None:
        """Leave weights out that are known to mean nothing here, such as fixed positions."""
        self._taken.update(names)

    def check_all_taken(self) -> None:
        """Refuse a model that has more than was taken: it would be another function without it.

        Raises:
            ConfigError: names what is left.
        """
        if left := sorted(self._tensors.keys() - self._taken):
            more = f" and {len(left) - 1} more" if len(left) > 1 else ""
            raise ConfigError(
                f"{self.where}: has the weight {named(left[:1])}{more}, which no family here "
                "can express"
            )
