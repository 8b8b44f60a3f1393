"""Tensors to scores: the families of translation models, under one interface."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from dragoman.models.families.bytenet import ByteNet, ByteNetConfig
from dragoman.models.families.convs2s import ConvS2S, ConvS2SConfig
from dragoman.models.families.recurrent import Recurrent, RecurrentConfig
from dragoman.models.families.recurrent_lm import RecurrentLM, RecurrentLMConfig
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.models.families.transformer_lm import TransformerLM, TransformerLMConfig
from dragoman.models.interface import TranslationModel


def _with_family(values: Any) -> Any:
    """A configuration that names no family is a Transformer's."""
    return {"family": "transformer", **values} if isinstance(values, dict) else values


ModelConfig = Annotated[
    TransformerConfig
    | RecurrentConfig
    | ConvS2SConfig
    | ByteNetConfig
    | TransformerLMConfig
    | RecurrentLMConfig,
    Field(discriminator="family"),
    BeforeValidator(_with_family),
]
"""The configuration of any family, told apart by its key ``family``."""

FAMILIES: dict[str, type[TranslationModel]] = {
    "transformer": Transformer,
    "recurrent": Recurrent,
    "convs2s": ConvS2S,
    "bytenet": ByteNet,
    "transformer_lm": TransformerLM,
    "recurrent_lm": RecurrentLM,
}
"""Every family by its name; each is made of (config, source_vocabulary, target_vocabulary)."""
