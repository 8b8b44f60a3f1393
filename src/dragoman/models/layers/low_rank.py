"""Low-rank adapters of linear layers (Hu et al. 2021, "LoRA", arXiv:2106.09685, section 4.1).

A layer computes ``W x + (scale / rank) B A x``.  ``W`` stays fixed, and only the low-rank factors
``A`` (rank, inputs) and ``B`` (outputs, rank) learn.  ``B`` is zero at first, so that an adapted
model begins as the model itself.  ``W + (scale / rank) B A`` is one matrix again, so that using an
adapter costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError
from dragoman.models.interface import TranslationModel

_NAME = "low_rank"
"""The attribute of a layer that holds its low-rank term."""
_MARK = f".{_NAME}."
_ATTENTION = frozenset(["query", "key", "value", "output"])
_FEED_FORWARD = frozenset(["inner", "outer"])

AdaptedLayers = Literal["attention", "feed_forward", "all"]


class AdapterConfig(Config):
    """Low-rank adapters: all weights of the model stay fixed, and only small factors learn."""

    rank: int = Field(8, ge=1, le=4096)
    """Rank of the update of each matrix; the size of the adapter is proportional to it."""
    scale: float = Field(16.0, gt=0, le=1e6)
    """The update is multiplied by scale / rank (alpha / r in the paper), so that the learning rate
    need not change with the rank."""
    layers: AdaptedLayers = "all"
    """Which linear layers are adapted: the projections of attention, both layers of feed-forward
    networks, or every linear layer except the output projection."""


class LowRank(nn.Module):
    """The low-rank term of a linear layer: ``(scale / rank) B A x``."""

    factor: Tensor

    def __init__(self, inputs: int, outputs: int, config: AdapterConfig) -> None:
        super().__init__()
        self.down = nn.Parameter(torch.empty(config.rank, inputs))
        self.up = nn.Parameter(torch.zeros(outputs, config.rank))
        # Saved, so that the factor can be read from a file of weights alone.
        self.register_buffer("factor", torch.tensor(config.scale / config.rank))
        self._factor = config.scale / config.rank  # never rounded to the model's precision

    def forward(self, x: Tensor) -> Tensor:
        """``(..., inputs)`` to ``(..., outputs)``."""
        return functional.linear(functional.linear(x, self.down), self.up) * self._factor


def add_adapters(model: TranslationModel, config: AdapterConfig, seed: int) -> None:
    """Fix all weights of ``model``, and add low-rank factors, which learn, to its linear layers.

    The output of the model does not change by this.  Names of weights stay the same; factors are
    called ``LAYER.low_rank.down`` and ``up``.  ``seed`` draws the factors ``A``, which are uniform,
    with the range of PyTorch's linear layers.

    Raises:
        ConfigError: the model has no such layer.
    """
    layers = list(_adapted(model, config.layers))
    if not layers:
        others = "set layers: all, or " if any(_adapted(model, "all")) else ""
        raise ConfigError(
            f"training.adapter.layers: {config.layers}: {type(model).__name__} has no such linear "
            f"layers that an adapter can change; {others}train without an adapter"
        )
    model.requires_grad_(False)
    generator = torch.Generator().manual_seed(seed)
    for layer in layers:
        term = LowRank(layer.in_features, layer.out_features, config)
        bound = layer.in_features**-0.5
        with torch.no_grad():
            term.down.uniform_(-bound, bound, generator=generator)
        layer.add_module(_NAME, term.to(layer.weight.device))
        layer.register_forward_hook(_add)
    model.train(model.training)


def _adapted(model: TranslationModel, layers: AdaptedLayers) -> Iterator[nn.Linear]:
    """The linear layers that get an adapter.

    Excluded are layers with normalised weights, whose matrix is no parameter, layers of frozen
    modules, and the output projection, whose weights are often those of the embeddings.
    """
    frozen = {
        id(module)
        for name, module in model.named_modules()
        if any(name == fixed or name.startswith(f"{fixed}.") for fixed in model.frozen)
    }
    for name, module in model.named_modules():
        if type(module) is not nn.Linear or id(module) in frozen:
            continue
        last = name.rpartition(".")[2]
        if layers == "attention" and not (last in _ATTENTION and _within(name, "attention")):
            continue
        if layers == "feed_forward" and not (
            last in (*_FEED_FORWARD, "gate") and _within(name, "feed_forward")
        ):
            continue
        if model.part_of(name) != "embeddings":
            yield module


def _within(name: str, kind: str) -> bool:
    """Whether a layer belongs to a module such as ``cross_attention``."""
    return any(kind in part for part in name.split(".")[:-1])


def _add(layer: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
    """Forward hook that adds the term; a hook leaves the layer itself, and its name, in place."""
    added: Tensor = layer.get_submodule(_NAME)(inputs[0])
    return output + added


def is_factor(name: str) -> bool:
    """Whether a saved tensor belongs to an adapter."""
    return _MARK in name


def is_down(name: str) -> bool:
    """Whether a saved tensor is a factor ``A``, which is not zero at first."""
    return name.endswith(f"{_MARK}down")


def changed_matrix(factor: str) -> str:
    """The name of the matrix that a factor changes."""
    return f"{factor.partition(_MARK)[0]}.weight"


def merged(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights with the low-rank factors among them added to their matrices, in float64.

    Returns:
        The weights of the model alone, in their own precision.

    Raises:
        KeyError: a factor lacks its counterpart or its matrix.
        RuntimeError: a factor has another shape than its matrix needs.
    """
    matrices = {name: tensor for name, tensor in weights.items() if not is_factor(name)}
    for name in weights:
        if not is_down(name):
            continue
        layer = name.partition(_MARK)[0]
        down, up, factor = (weights[f"{layer}{_MARK}{part}"] for part in ("down", "up", "factor"))
        matrix = weights[f"{layer}.weight"]
        added = (up.double() @ down.double()) * factor.double()
        if added.shape != matrix.shape:
            raise RuntimeError(f"{layer}: {list(added.shape)} added to {list(matrix.shape)}")
        matrices[f"{layer}.weight"] = (matrix.double() + added).to(matrix.dtype)
    return matrices
