"""The size of a model, computed before memory for its weights is allocated."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import torch

from dragoman.core.device import machine_memory
from dragoman.core.errors import ConfigError
from dragoman.models import FAMILIES, ModelConfig
from dragoman.models.interface import TranslationModel

_WEIGHT_BYTES = 4
_MATRICES = 10
"""Maximum number of square matrices per layer: a decoder's two attentions and its network."""


def meta_model(
    config: ModelConfig, source_vocabulary: int, target_vocabulary: int
) -> TranslationModel:
    """A model whose parameters have shapes but no content."""
    family = FAMILIES[config.family]
    try:
        return without_values(partial(family, config, source_vocabulary, target_vocabulary))
    except (RuntimeError, OverflowError) as error:
        raise ConfigError(f"model: too large for any machine ({error}); lower its sizes") from error


def without_values(build: Callable[[], TranslationModel]) -> TranslationModel:
    """The model that ``build`` creates, on the "meta" device, where tensors have no values.

    A family of another package may read values while it is created, such as a learned number's
    first one.  It is then created as usual, and loses its values.
    """
    try:
        with torch.device("meta"):
            return build()
    except RuntimeError as error:
        if not needs_values(error):
            raise
    model = build()
    memo: dict[int, Any] = {}  # keeps matrices shared that are
    for tensor in chain(model.parameters(), model.buffers()):
        empty, learns = tensor.detach().to("meta"), tensor.requires_grad
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        memo[id(tensor)] = torch.nn.Parameter(empty, learns) if is_parameter else empty
    return copy.deepcopy(model, memo)


def needs_values(error: RuntimeError) -> bool:
    """Whether an operation failed because tensors of the "meta" device have no values."""
    return "meta" in str(error)


def check_size(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
    """Refuse a model whose weights alone exceed the memory of this machine."""
    # PyTorch's "meta" device takes seconds to start, so sizes that fit by a rough count skip it.
    most = _most_parameters(config.model_dump(), max(source_vocabulary, target_vocabulary))
    if _WEIGHT_BYTES * most <= machine_memory():
        return
    model = meta_model(config, source_vocabulary, target_vocabulary)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    needed, memory = _WEIGHT_BYTES * parameters, machine_memory()
    if needed > memory:
        raise ConfigError(
            f"model: {parameters:,} parameters, whose weights alone take {needed / 1e9:,.0f} GB; "
            f"this machine has {memory / 1e9:,.0f} GB; lower the sizes of the model"
        )


def _most_parameters(values: dict[str, Any], vocabulary: int) -> float:
    """An upper bound of the parameters, as if all matrices were as large as the largest."""
    numbers = list(_whole_numbers(values))
    layers = sum(number for name, number in numbers if name.endswith("layers"))
    experts = max((number for name, number in numbers if name == "experts"), default=1)
    kernel = max((number for name, number in numbers if name.endswith("_kernel_width")), default=1)
    width = float(max(number for _, number in numbers))
    return float(layers) * experts * kernel * _MATRICES * width**2 + 3 * vocabulary * width


def _whole_numbers(values: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """All whole numbers by name, and the width of all heads together if heads have a width."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _whole_numbers(value)
        elif isinstance(value, int):
            yield name, value
            if name in {"d_k", "d_v"}:
                yield name, value * values.get("heads", 1)
