"""Tensors in a file: safetensors, with a digest of the contents."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from dragoman.core.errors import SavedError
from dragoman.core.files import atomic_write

_LENGTH_BYTES = 8
"""Bytes of the header's length, at the beginning of a file."""
_ALIGNMENT = 8
"""The length of a header is a multiple of these bytes."""


def write_tensors(
    path: Path, tensors: dict[str, Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors as safetensors with a digest of their content, and further ``metadata``.

    Raises:
        StorageError: a file cannot be written.
    """
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    content = safetensors.torch.save(kept, metadata={**(metadata or {}), "digest": _digest(kept)})
    header, data = _split(content)
    # Safetensors writes metadata in any order, but equal tensors must give equal files.
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    with atomic_write(path, "wb") as stream:
        stream.write(len(text).to_bytes(_LENGTH_BYTES, "little") + text)
        stream.write(data)


def _split(content: bytes) -> tuple[dict[str, Any], memoryview]:
    """The header and the data of a file of safetensors."""
    end = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    return json.loads(content[_LENGTH_BYTES:end]), memoryview(content)[end:]


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a file of :func:`write_tensors`.

    Raises:
        SavedError: the file is missing, truncated or altered, or may not be read.
    """
    with _opened(path) as stream:
        metadata = stream.metadata() or {}
        tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    if metadata.get("digest") != _digest(tensors):
        raise SavedError(
            f"{path}: its content was altered after it was written (digest differs); copy it "
            "again or use another checkpoint"
        )
    return tensors


def read_metadata(path: Path) -> dict[str, str]:
    """Metadata of a file of tensors, such as their digest, without reading the tensors.

    Raises:
        SavedError: the file is missing or damaged, or may not be read.
    """
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

    Services and containers run as other users.

    Args:
        path: a file or a directory.
        mode: as for :func:`os.access`.

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
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
