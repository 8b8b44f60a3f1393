"""The size of a model, computed without its weights: before allocating memory for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from dragoman.core.device import machine_memory
from dragoman.core.errors import ConfigError
from dragoman.models import FAMILIES, ModelConfig
from dragoman.models.interface import TranslationModel

# PyTorch's "meta" device takes seconds to start.  Common sizes skip it: those where layers times
# experts times the square of the largest size is below this.  Vaswani's big model has 2e8.
_UNSUSPICIOUS = 5e8
_WEIGHT_BYTES = 4


def meta_model(
    config: ModelConfig, source_vocabulary: int, target_vocabulary: int
) -> TranslationModel:
    """A model whose parameters have shapes but no content.

    Raises:
        ConfigError: a size is beyond what PyTorch can address.
    """
    try:
        with torch.device("meta"):
            return FAMILIES[config.family](config, source_vocabulary, target_vocabulary)
    except (RuntimeError, OverflowError) as error:
        raise ConfigError(f"model: too large for any machine ({error}); lower its sizes") from error


def check_size(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
    """Refuse a model whose weights alone are larger than the memory of this machine.

    Raises:
        ConfigError: they are; the message gives the number of parameters.
    """
    if _rough_size(config.model_dump()) < _UNSUSPICIOUS:
        return
    model = meta_model(config, source_vocabulary, target_vocabulary)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    needed, memory = _WEIGHT_BYTES * parameters, machine_memory()
    if needed > memory:
        raise ConfigError(
            f"model: {parameters:,} parameters, whose weights alone take {needed / 1e9:,.0f} GB; "
            f"this machine has {memory / 1e9:,.0f} GB; lower the sizes of the model"
        )


def _rough_size(values: dict[str, Any]) -> float:
    numbers = list(_whole_numbers(values))
    layers = sum(number for name, number in numbers if name.endswith("layers"))
    experts = max((number for name, number in numbers if name == "experts"), default=1)
    return float(layers) * experts * float(max(number for _, number in numbers)) ** 2


def _whole_numbers(values: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _whole_numbers(value)
        elif isinstance(value, int):
            yield name, value
