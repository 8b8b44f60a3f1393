"""Tensors to scores: the families of translation models, under one interface."""

from __future__ import annotations

from dragoman.models.transformer import Transformer, TransformerConfig

ModelConfig = TransformerConfig
"""The configuration of any family, told apart by its key ``family``."""

FAMILIES = {"transformer": Transformer}
