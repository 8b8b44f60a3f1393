"""Results of layers of Hugging Face's models; run in the peers' environment.

huggingface_cases.py FILE     inputs, weights, results and gradients in float64, as safetensors
"""

from __future__ import annotations

import math
import sys

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import MixtralConfig
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock
from transformers.models.roformer.modeling_roformer import (
    RoFormerSelfAttention,
    RoFormerSinusoidalPositionalEmbedding,
)

Tensors = dict[str, Tensor]


def mixtral() -> Tensors:
    """A mixture of gated experts."""
    config = MixtralConfig(
        hidden_size=12, intermediate_size=20, num_local_experts=7, num_experts_per_tok=3
    )
    config._experts_implementation = "eager"
    layer = MixtralSparseMoeBlock(config).double().eval()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.3)
    x = torch.randn(3, 11, 12, dtype=torch.float64, requires_grad=True)
    result = layer(x)
    result.square().mean().backward()
    found = {"x": x, "result": result, "gradients.x": x.grad}
    for name, parameter in layer.named_parameters():
        found |= {f"weights.{name}": parameter, f"gradients.{name}": parameter.grad}
    return found


def roformer(rows: int = 2, heads: int = 3, length: int = 13, width: int = 8) -> Tensors:
    """Queries and keys rotated by their positions."""
    table = RoFormerSinusoidalPositionalEmbedding(length, width)
    table.weight.data.copy_(table.create_weight())
    angles = table(torch.Size([rows, length])).double()[None, None]
    query, key = torch.randn(2, rows, heads, length, width, dtype=torch.float64)
    turned = RoFormerSelfAttention.apply_rotary_position_embeddings(angles, query, key)
    return {"query": query, "key": key, "turned_query": turned[0], "turned_key": turned[1]}


def bloom(rows: int = 2, heads: int = 8, length: int = 9, width: int = 5) -> Tensors:
    """Weights of attention to earlier positions, lowered by distance."""
    query, key = torch.randn(2, rows, heads, length, width, dtype=torch.float64)
    mask = torch.ones(rows, length)
    alibi = build_alibi_tensor(mask, heads, torch.float64).view(rows, heads, 1, length)
    scores = query @ key.transpose(2, 3) / math.sqrt(width) + alibi
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    return {
        "query": query,
        "key": key,
        "weights": scores.masked_fill(later, -math.inf).softmax(-1),
    }


if __name__ == "__main__":
    torch.manual_seed(1)
    torch.Tensor.float = torch.Tensor.double  # type: ignore[method-assign]  # gates would be rounded to float32
    tensors = {
        f"{layer.__name__}.{name}": tensor.detach().contiguous().clone()
        for layer in (mixtral, roformer, bloom)
        for name, tensor in layer().items()
    }
    save_file(tensors, sys.argv[1])
