"""Weights of a model on disk: read, checked, put into a model, averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dragoman.core.errors import SavedError
from dragoman.models.interface import TranslationModel, fixed_tensors
from dragoman.saved.tensor_file import read_metadata, read_tensors

if TYPE_CHECKING:
    pass

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
        if not _is_finite(tensor):
            raise SavedError(
                f"{path}: the tensor {name} has NaN or infinite values: training had failed when "
                "it was written, or a conversion did; use another checkpoint"
            )
    return weights


def _is_finite(tensor: Tensor) -> bool:
    """Whether all values are finite; minimum and maximum need no copy, and propagate NaN."""
    if not tensor.is_floating_point() or not tensor.numel():
        return True
    return all(bool(extreme.isfinite()) for extreme in tensor.aminmax())


def weights_digest(directory: Path) -> str:
    """A digest that identifies the weights of a model or checkpoint, without reading them.

    Raises:
        SavedError: the file is missing or damaged.
    """
    return str(read_metadata(directory / WEIGHTS_FILE).get("digest"))


def weights_of(model: TranslationModel) -> dict[str, Tensor]:
    """The saved tensors of a model, by name; tied parameters appear once."""
    return {**dict(model.named_parameters()), **fixed_tensors(model)}


def load_weights(model: TranslationModel, weights: dict[str, Tensor], where: Path) -> None:
    """Copy weights into a model of the same configuration.

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
            tensor.copy_(weights[name])


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
    count = 0
    for count, path in enumerate(paths, start=1):  # noqa: B007
        weights = read(path)
        if not total:
            total = {name: tensor.double() for name, tensor in weights.items()}
            continue
        if {n: t.shape for n, t in weights.items()} != {n: t.shape for n, t in total.items()}:
            raise SavedError(f"{path}: cannot be averaged: it is of another configuration")
        for name, tensor in weights.items():
            total[name] += tensor
    return {name: (tensor / count).float() for name, tensor in total.items()}
