"""Names of the parts of Hugging Face's MarianMTModel, the form in which OPUS-MT is published.

Tiedemann and Thottingal 2020, "OPUS-MT: Building open translation services for the World"; Marian:
Junczys-Dowmunt et al. 2018, arXiv:1804.00344.  The model normalises after each sublayer, has biases
everywhere, all sines before all cosines, and one more number per target piece
(``final_logits_bias``).  Its outputs begin with padding.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from dragoman.exchange.layer_names import FAIRSEQ
from dragoman.models.layers.positions import sinusoids

CONFIG_FILE = "config.json"
GENERATION_FILE = "generation_config.json"
TOKENIZER_FILE = "tokenizer_config.json"
SOURCE_SPM, TARGET_SPM = "source.spm", "target.spm"
VOCABULARY_FILE, TARGET_VOCABULARY_FILE = "vocab.json", "target_vocab.json"
WEIGHT_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
"""The weights, or an index of their files; the first file that exists is read."""

ACTIVATIONS = {
    "relu": "relu",
    "swish": "swish",
    "silu": "swish",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}
"""Our names of activations by theirs; the first of several is written."""

LAYER_NAMES = replace(
    FAIRSEQ,
    encoder_layer="model.encoder.layers.{number}",
    decoder_layer="model.decoder.layers.{number}",
)


def position_table(length: int, d_model: int) -> Tensor:
    """Their fixed positions, ``(length, d_model)``: the paper's, all sines before all cosines."""
    table = sinusoids(length, d_model)
    return torch.cat([table[:, 0::2], table[:, 1::2]], dim=1).float()
