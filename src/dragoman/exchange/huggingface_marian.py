"""What Hugging Face's MarianMTModel calls the parts of a Transformer; OPUS-MT is published so.

Tiedemann and Thottingal 2020, "OPUS-MT: Building open translation services for the World"; Marian:
Junczys-Dowmunt et al. 2018, arXiv:1804.00344.  The model normalises after each sublayer, has biases
everywhere, all sines before all cosines, and one more number per target piece
(``final_logits_bias``).  Its outputs begin with padding.
"""

from __future__ import annotations

import torch
from torch import Tensor

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
"""The weights, or an index of the files that they are in; the first that there is counts."""

ACTIVATIONS = {
    "relu": "relu",
    "swish": "swish",
    "silu": "swish",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}
"""Our names of activations by theirs; the first of several is the one that is written."""

_ATTENTION = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
_FEED_FORWARD = {"feed_forward.inner": "fc1", "feed_forward.outer": "fc2"}


def encoder_layer() -> dict[str, str]:
    """Their names of the parts of an encoder layer, by ours."""
    attention = {f"attention.{ours}": f"self_attn.{one}" for ours, one in _ATTENTION.items()}
    norms = {"residuals.0.norm": "self_attn_layer_norm", "residuals.1.norm": "final_layer_norm"}
    return {**attention, **_FEED_FORWARD, **norms}


def decoder_layer() -> dict[str, str]:
    """Their names of the parts of a decoder layer, by ours."""
    own = {f"self_attention.{ours}": f"self_attn.{one}" for ours, one in _ATTENTION.items()}
    cross = {f"cross_attention.{ours}": f"encoder_attn.{one}" for ours, one in _ATTENTION.items()}
    norms = {
        "residuals.0.norm": "self_attn_layer_norm",
        "residuals.1.norm": "encoder_attn_layer_norm",
        "residuals.2.norm": "final_layer_norm",
    }
    return {**own, **cross, **_FEED_FORWARD, **norms}


def layers(encoder_layers: int, decoder_layers: int) -> dict[str, str]:
    """Their names of all layers' parts, without ``.weight`` and ``.bias``, by ours."""
    found = {}
    for side, count, parts in (
        ("encoder", encoder_layers, encoder_layer()),
        ("decoder", decoder_layers, decoder_layer()),
    ):
        for number in range(count):
            for ours, theirs in parts.items():
                found[f"{side}.{number}.{ours}"] = f"model.{side}.layers.{number}.{theirs}"
    return found


def position_table(length: int, d_model: int) -> Tensor:
    """Their fixed positions, ``(length, d_model)``: the paper's, all sines before all cosines."""
    table = sinusoids(length, d_model)
    return torch.cat([table[:, 0::2], table[:, 1::2]], dim=1).float()
