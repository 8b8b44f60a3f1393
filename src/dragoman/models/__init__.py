"""The families of translation models, under one interface: tensors to scores."""

from dragoman.models.classifier import ClassifierConfig
from dragoman.models.deep_fusion import DeepFusionConfig
from dragoman.models.families.bytenet import ByteNetConfig
from dragoman.models.families.convs2s import ConvS2SConfig
from dragoman.models.families.recurrent import RecurrentConfig
from dragoman.models.families.recurrent_lm import RecurrentLMConfig
from dragoman.models.families.transformer import TransformerConfig
from dragoman.models.families.transformer_lm import TransformerLMConfig
from dragoman.models.registry import FAMILIES, ModelConfig

__all__ = [
    "FAMILIES",
    "ByteNetConfig",
    "ClassifierConfig",
    "ConvS2SConfig",
    "DeepFusionConfig",
    "ModelConfig",
    "RecurrentConfig",
    "RecurrentLMConfig",
    "TransformerConfig",
    "TransformerLMConfig",
]
