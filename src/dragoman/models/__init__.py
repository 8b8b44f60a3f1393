"""Tensors to scores: the families of translation models, under one interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from dragoman.models.interface import TranslationModel
from dragoman.models.recurrent import Recurrent, RecurrentConfig
from dragoman.models.transformer import Transformer, TransformerConfig


def _named(values: Any) -> Any:
    """A Transformer where ``family`` is left out."""
    if isinstance(values, dict) and "family" not in values:
        return {"family": "transformer", **values}
    return values


ModelConfig = Annotated[
    TransformerConfig | RecurrentConfig, Field(discriminator="family"), BeforeValidator(_named)
]
"""The configuration of any family, told apart by its key ``family``."""

FAMILIES: dict[str, Callable[[Any, int, int], TranslationModel]] = {
    "transformer": Transformer,
    "recurrent": Recurrent,
}
