"""Weights of a model on disk: read, checked, put into a model, averaged."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from typing_extensions import override

from dragoman.core.errors import SavedError
from dragoman.core.files import atomic_write
from dragoman.models.interface import TranslationModel

_LENGTH_BYTES = 8
"""Bytes of the header's length, at the beginning of a file."""
_ALIGNMENT = 8
"""The length of a header is a multiple of these bytes."""
_METADATA = "__metadata__"
"""In the header, beside the tensors."""


def write_tensors(
    path: Path, tensors: dict[str, Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors as safetensors with a digest of their content, and further ``metadata``.

    No copy of the tensors is made, unless they are elsewhere than on the CPU or not contiguous.
    """
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    header = _header(kept, {**(metadata or {}), "digest": _digest(kept)})
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    with atomic_write(path, "wb") as stream:
        stream.write(len(text).to_bytes(_LENGTH_BYTES, "little") + text)
        for name in header:
            if name != _METADATA:
                stream.write(_bytes_of(kept[name]))


def _header(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> dict[str, Any]:
    """The header that safetensors writes, whose tensors are in the order of their bytes."""
    empty = {name: torch.empty(0, dtype=tensor.dtype) for name, tensor in tensors.items()}
    content = safetensors.torch.save(empty)
    length = int.from_bytes(content[:_LENGTH_BYTES], "little")
    named: dict[str, Any] = json.loads(content[_LENGTH_BYTES : _LENGTH_BYTES + length])
    # Safetensors writes metadata in any order, but equal tensors must give equal files.
    header: dict[str, Any] = {_METADATA: dict(sorted(metadata.items()))}
    end = 0
    for name in (name for name in named if name != _METADATA):
        start, end = end, end + tensors[name].numel() * tensors[name].element_size()
        shape = list(tensors[name].shape)
        header[name] = {"dtype": named[name]["dtype"], "shape": shape, "data_offsets": [start, end]}
    return header


def _bytes_of(tensor: Tensor) -> memoryview:
    """The memory of a contiguous tensor on the CPU, which may be written to."""
    return tensor.reshape(-1).view(torch.uint8).numpy().data


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a file of :func:`write_tensors`, once, into memory of its own.

    Raises:
        SavedError: the file is missing, truncated or altered, or may not be read.
    """
    with _opened(path) as stream:
        metadata = stream.metadata() or {}
        tensors = read_into_memory(path, stream)
    if metadata.get("digest") != _digest(tensors):
        raise SavedError(
            f"{path}: its content was altered after it was written (digest differs); copy it "
            "again or use another checkpoint"
        )
    return tensors


def read_into_memory(path: Path, stream: Any) -> dict[str, Tensor]:
    """All tensors of a file that safetensors has opened, each in memory of its own.

    The tensors of safetensors itself are parts of a mapped file, which stays in memory until the
    last of them is gone.

    Raises:
        OSError: the file cannot be read.
    """
    names = list(stream.keys())
    tensors = {name: torch.empty_like(stream.get_tensor(name)) for name in names}
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        header = json.loads(file.read(length))
        for name, tensor in tensors.items():
            start, end = header[name]["data_offsets"]
            file.seek(_LENGTH_BYTES + length + start)
            if file.readinto(_bytes_of(tensor)) != end - start:
                raise OSError("it became shorter while it was read")
    return tensors


def read_metadata(path: Path) -> dict[str, str]:
    """Metadata of a file of tensors, such as their digest, without reading the tensors."""
    with _opened(path) as stream:
        return dict(stream.metadata() or {})


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A file opened by safetensors.

    Raises:
        SavedError: as above.
    """
    if not os.path.isfile(path):
        raise SavedError(f"{path}: no such file; is this a model, a checkpoint or a run?")
    check_readable(path, os.R_OK)
    if not _is_unicode(path):
        raise SavedError(f"{path}: its path is not in UTF-8, which safetensors needs; rename it")
    try:
        with safetensors.safe_open(path, framework="pt") as stream:
            yield stream
    except (safetensors.SafetensorError, OSError) as error:
        raise SavedError(
            f"{path}: truncated or damaged ({error!s:.200}); copy it again or use another "
            "checkpoint"
        ) from error


def _is_unicode(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def check_readable(path: Path, mode: int) -> None:
    """Refuse a path that this process may not read; safetensors would report it as missing.

    Services and containers run as other users.  The mode is that of :func:`os.access`.

    Raises:
        SavedError: permission is denied.
    """
    if not os.access(path, mode):
        raise SavedError(f"{path}: permission denied; let the user of this process read it")


def _digest(tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(_bytes_of(tensor))
    return digest.hexdigest()


WEIGHTS_FILE = "model.safetensors"


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read the weights of a model for use, checking that all of them are finite real numbers.

    Raises:
        SavedError: as for :func:`read_tensors`, or a weight is NaN, infinite, an integer or a
            truth value.
    """
    weights = read_tensors(path)
    for name, tensor in weights.items():
        if not tensor.is_floating_point():
            raise SavedError(
                f"{path}: the tensor {name} holds {tensor.dtype}, expected real numbers: a "
                "conversion rounded it; use the model as it was trained"
            )
        if not is_finite(tensor):
            raise SavedError(
                f"{path}: the tensor {name} has NaN or infinite values: training had failed when "
                "it was written, or a conversion did; use another checkpoint"
            )
    return weights


def is_finite(tensor: Tensor) -> bool:
    """Whether all values are finite; minimum and maximum need no copy, and propagate NaN."""
    if not tensor.is_floating_point() or not tensor.numel():
        return True
    return all(bool(extreme.isfinite()) for extreme in tensor.aminmax())


def weights_digest(directory: Path) -> str:
    """A digest that identifies the weights of a model or checkpoint, without reading them."""
    return str(read_metadata(directory / WEIGHTS_FILE).get("digest"))


def digest_of_tensors(tensors: Mapping[str, Tensor]) -> str:
    """The digest that :func:`write_tensors` records with these tensors."""
    return _digest({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})


def weights_of(model: TranslationModel) -> dict[str, Tensor]:
    """The saved tensors of a model, by name; tied parameters appear once."""
    return {**dict(model.named_parameters()), **fixed_tensors(model)}


def load_weights(
    model: TranslationModel, weights: dict[str, Tensor], where: Path, *, adopt: bool = False
) -> None:
    """Copy weights into a model of the same configuration.

    Args:
        model: the model.
        weights: by name.
        where: their file, for messages.
        adopt: whether learned weights of the same type become those of the model, without a copy.

    Raises:
        SavedError: a tensor is missing, left over or of another shape.
    """
    tensors = weights_of(model)
    unknown = sorted(weights.keys() - tensors.keys())
    missing = sorted(tensors.keys() - weights.keys())
    if unknown or missing:
        name, fault = (missing[0], "is missing") if missing else (unknown[0], "does not belong")
        raise SavedError(f"{where}: the weights are of another configuration: {name} {fault}")
    with torch.no_grad():
        for name, tensor in tensors.items():
            if tensor.shape != weights[name].shape:
                raise SavedError(
                    f"{where}: the weights are of another configuration: {name} should be "
                    f"{list(tensor.shape)}, found {list(weights[name].shape)}"
                )
            if adopt and tensor.dtype == weights[name].dtype and isinstance(tensor, nn.Parameter):
                tensor.data = weights[name]
            else:
                tensor.copy_(weights[name])


_DRAWING = frozenset(
    [
        *(Tensor.normal_, Tensor.uniform_, nn.init.normal_, nn.init.uniform_),
        *(nn.init.xavier_uniform_, nn.init.xavier_normal_),
        *(nn.init.kaiming_uniform_, nn.init.kaiming_normal_, nn.init.trunc_normal_),
    ]
)


class Undrawn(TorchFunctionMode):
    """While it is active, weights are not drawn at random: those of a file will replace them.

    Memory of a new tensor is only taken when something is written to it.
    """

    @override
    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func in _DRAWING:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def average_weights(
    paths: Iterable[Path], read: Callable[[Path], dict[str, Tensor]] = read_weights
) -> dict[str, Tensor]:
    """The mean of several weight files, tensor by tensor (Vaswani et al. 2017, section 6.1).

    Args:
        paths: the files; only one file's weights are in memory at a time, beside the sum.
        read: reads a file, as by :func:`read_merged_weights`; by default by :func:`read_weights`,
            which averages low-rank factors separately.

    Raises:
        SavedError: a file cannot be read, has a weight that is NaN or infinite, or the files are
            of different configurations.
    """
    total: dict[str, Tensor] = {}
    count, listed = 0, list(paths)
    if len(listed) == 1:  # no sum in float64
        return {name: tensor.float() for name, tensor in read(listed[0]).items()}
    for count, path in enumerate(listed, start=1):  # noqa: B007
        weights = read(path)
        if not total:
            total = {name: tensor.double() for name, tensor in weights.items()}
            continue
        if {n: t.shape for n, t in weights.items()} != {n: t.shape for n, t in total.items()}:
            raise SavedError(f"{path}: cannot be averaged: it is of another configuration")
        for name, tensor in weights.items():
            total[name] += tensor
    return {name: (tensor / count).float() for name, tensor in total.items()}


def fixed_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Tensors saved with a model but never learned: persistent buffers and frozen parameters."""
    saved = model.state_dict().keys()
    buffers = {name: buffer for name, buffer in model.named_buffers() if name in saved}
    return buffers | {n: p for n, p in model.named_parameters() if not p.requires_grad}
