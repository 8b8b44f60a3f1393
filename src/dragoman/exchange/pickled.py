"""Reads pickled checkpoints of other toolkits; nothing else reads foreign pickles.

A pickle is a program.  PyTorch's restricted reader only builds tensors, containers and
numbers from it, and :data:`ALLOWED` adds classes that hold attributes alone.  Anything else is
refused with its name.
"""

from __future__ import annotations

import os
import pickle
import re
import zipfile
from argparse import Namespace
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.core.errors import DataError
from dragoman.core.wording import named

ALLOWED: tuple[type, ...] = (Namespace,)
"""Classes that may be made beside those of PyTorch's restricted reader: a ``Namespace`` holds the
options that fairseq and OpenNMT-py were called with, and runs nothing when it is made."""


class StandIn:
    """Takes the place of an object of a library that is not needed: holds attributes, runs nothing.

    OpenNMT-py 2 keeps its dictionaries in objects of torchtext, together with functions that are
    of no use here.
    """

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments

    def __setstate__(self, state: object) -> None:
        if isinstance(state, dict):
            self.__dict__.update(state)


REPLACED = (
    "functools.partial",
    "onmt.inputters.text_dataset.TextMultiField",
    "onmt.inputters.text_dataset._feature_tokenize",
    "torchtext.data.field.Field",
    "torchtext.data.field.RawField",
    "torchtext.data.utils._split_tokenizer",
    "torchtext.legacy.data.field.Field",
    "torchtext.legacy.data.field.RawField",
    "torchtext.legacy.data.utils._split_tokenizer",
    "torchtext.legacy.vocab.Vocab",
    "torchtext.vocab.Vocab",
)
"""Names that a checkpoint of OpenNMT-py 2 may hold.  Each becomes a :class:`StandIn`, so that
nothing of that name is imported or called."""


_CONTAINERS = (dict, list, tuple, set, frozenset, Namespace, StandIn)
_MOST_VALUES = 20_000_000
"""The vocabularies of a large model have a million entries."""
_MOST_LEVELS = 100
_UNFINISHED = (0, 0)


def _stand_in(name: str) -> type[StandIn]:
    """A class of that full name, as PyTorch before 2.7 needs it for a replacement."""
    module, _, last = name.rpartition(".")
    return type(last, (StandIn,), {"__module__": module, "__qualname__": last})


_REFUSED = re.compile(r"(?:GLOBAL|class|function)\s+`?([\w.]+)")


def read_pickled(path: Path) -> Any:
    """The values that ``torch.save`` wrote into a file, without running anything that it names.

    Raises:
        DataError: the file is missing or damaged, is no checkpoint, is larger inside than outside,
            or holds something that is neither data nor in :data:`ALLOWED`.
    """
    _check_size(path)
    allowed: list[Any] = [*ALLOWED, *map(_stand_in, REPLACED)]
    try:
        with torch.serialization.safe_globals(allowed):
            values = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise DataError(f"{path}: {_explained(str(error))}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except Exception as error:  # a damaged pickle may end in any error of its opcodes
        raise DataError(
            f"{path}: damaged, or no checkpoint of PyTorch ({type(error).__name__}: "
            f"{_one_line(error)}); download it again"
        ) from error
    _check_extent(values, path)
    return values


def _check_extent(whole: object, path: Path) -> None:
    """Refuse values that are small in a file and endless when they are compared or shown.

    A pickle may refer to a part many times: 40 lists, each with the one before ten times, have more
    values than a computer can count.
    """
    known: dict[int, tuple[int, int]] = {}  # values and levels of a container, by its id
    waiting: list[tuple[object, bool]] = [(whole, False)]
    while waiting:
        value, is_left = waiting.pop()
        parts = _parts(value)
        inner = [part for part in parts if isinstance(part, _CONTAINERS)]
        if is_left:
            below = [known[id(part)] for part in inner]
            values = 1 + len(parts) - len(inner) + sum(size for size, _ in below)
            levels = 1 + max((depth for _, depth in below), default=0)
            if values > _MOST_VALUES or levels > _MOST_LEVELS:
                break
            known[id(value)] = values, levels
        elif id(value) not in known:
            known[id(value)] = _UNFINISHED
            waiting.append((value, True))
            waiting.extend((part, False) for part in inner)
        elif known[id(value)] == _UNFINISHED:
            break
    else:
        return
    raise DataError(
        f"{path}: its values have no end, or are in one another without end; this is not a file "
        "to be trusted"
    )


def _parts(value: object) -> Collection[object]:
    """The direct parts of a container."""
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, (Namespace, StandIn)):
        return list(vars(value).values())
    return value if isinstance(value, (list, tuple, set, frozenset)) else ()


def tensors_in(values: object, path: Path, what: str = "weights") -> dict[str, Tensor]:
    """The values of a pickle as a mapping of names to tensors, checked.

    Args:
        values: part of the result of :func:`read_pickled`.
        path: the file, for messages.
        what: expected content, for messages.
    """
    if not isinstance(values, dict) or not values:
        raise DataError(f"{path}: holds no {what} where they are expected")
    for name, tensor in values.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise DataError(
                f"{path}: holds {str(name)!r:.80} of type {type(tensor).__name__} among the "
                f"{what}, where only tensors are expected"
            )
        check_tensor(name, tensor, path)
    return values


def check_tensor(name: str, tensor: Tensor, path: Path) -> None:
    """Refuse a tensor that is sparse or quantised, or takes more memory than the file holds."""
    plain = tensor.layout == torch.strided and not tensor.is_quantized
    if not plain or tensor.is_meta:
        raise DataError(f"{path}: {named([name])} is no plain tensor; convert it to float32 first")
    if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise DataError(
            f"{path}: {named([name])} has the shape {list(tensor.shape)}, which is more than the "
            "file holds; this is not a file to be trusted"
        )


def _check_size(path: Path) -> None:
    """Refuse archives whose content is larger than themselves, before anything is unpacked."""
    if not os.path.isfile(path):
        raise DataError(f"{path}: no such file")
    try:
        if not zipfile.is_zipfile(path):
            return  # the older format, which is read piece by piece
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise DataError(f"{path}: damaged ({_one_line(error)}); download it again") from error
    if sum(entry.file_size for entry in entries) > path.stat().st_size:
        raise DataError(
            f"{path}: its content is larger than the file, which no checkpoint of PyTorch is; "
            "this is not a file to be trusted"
        )


def _explained(message: str) -> str:
    """A message of PyTorch's restricted reader, in a line of ours."""
    refused = _REFUSED.search(message)
    if refused is None:
        return f"damaged, or no checkpoint of PyTorch ({_one_line(message)}); download it again"
    return (
        f"holds {refused[1]}, which is not data: reading it could run code of whoever wrote the "
        "file, so it is refused; save the weights alone, with the toolkit that wrote them, as "
        "safetensors or a state_dict"
    )


def _one_line(error: object) -> str:
    return f"{' '.join(str(error).split()):.160}"
