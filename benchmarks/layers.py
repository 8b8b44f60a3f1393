"""Our layers of Transformer variants compared with Hugging Face's on the same weights and inputs.

``loops/huggingface_cases.py`` writes their results; ``references.py`` prints the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from dragoman.models.layers.mixture import Mixture, MixtureConfig
from dragoman.models.layers.neighbourhood import Everywhere
from dragoman.models.layers.positions import DistancePenalty, Rotation
from dragoman.models.layers.scoring import DotProduct
from dragoman.models.layers.sublayers import GatedFeedForward

Tensors = dict[str, Tensor]
Pair = tuple[Tensor, Tensor]


def mixture(t: Tensors) -> Iterator[Pair]:
    """The result, and gradients of the input and all weights."""
    experts, outputs, width = t["weights.experts.down_proj"].transpose(1, 2).shape
    chosen = MixtureConfig(experts=experts, experts_per_token=3)
    ours = Mixture(width, chosen, partial(GatedFeedForward, width, outputs, 0.0)).double().eval()
    theirs = dict(_by_expert(t, "weights"))
    parameters = dict(ours.named_parameters())
    with torch.no_grad():
        for name, tensor in theirs.items():
            parameters[name].copy_(tensor)
    x = t["x"].clone().requires_grad_()
    result = ours(x)
    result.square().mean().backward()
    assert x.grad is not None
    yield result, t["result"]
    yield x.grad, t["gradients.x"]
    for name, gradient in _by_expert(t, "gradients"):
        found = parameters[name].grad
        assert found is not None
        yield found, gradient


def _by_expert(t: Tensors, kind: str) -> Iterator[tuple[str, Tensor]]:
    """Their weights, or gradients of them, under our names."""
    yield "gate.weight", t[f"{kind}.gate.weight"]
    both, outer = (t[f"{kind}.experts.{name}_proj"] for name in ("gate_up", "down"))
    for number, (gate_inner, down) in enumerate(zip(both, outer, strict=True)):
        gate, inner = gate_inner.chunk(2)
        yield f"experts.{number}.gate.weight", gate
        yield f"experts.{number}.inner.weight", inner
        yield f"experts.{number}.outer.weight", down


def rotation(t: Tensors) -> Iterator[Pair]:
    """Rotated queries and keys."""
    ours = Rotation(t["query"].shape[-1]).double()
    for name in ("query", "key"):
        yield ours(t[name], 0), t[f"turned_{name}"]


def distance_penalty(t: Tensors) -> Iterator[Pair]:
    """Weights of a decoder's self-attention."""
    rows, heads, length, _ = t["query"].shape
    bias = Everywhere(DistancePenalty(heads)).decoder_bias(rows, 0, length, t["query"])
    yield DotProduct().weights(t["query"], t["key"], bias, 0), t["weights"]


LAYERS = {
    "mixtral": ("Mixtral's gated experts: output, all gradients", mixture),
    "roformer": ("RoFormer's rotary queries and keys", rotation),
    "bloom": ("BLOOM's ALiBi, causal: attention weights", distance_penalty),
}
"""What is compared, by the layer's name in the file."""


def table(tensors: Tensors) -> Iterator[str]:
    """Rows of Markdown."""
    yield "| Hugging Face's | numbers | largest difference |"
    yield "|---|---:|---:|"
    for layer, (label, compare) in LAYERS.items():
        given = {
            name.removeprefix(f"{layer}."): tensor
            for name, tensor in tensors.items()
            if name.startswith(f"{layer}.")
        }
        pairs = list(compare(given))
        numbers = sum(theirs.numel() for _, theirs in pairs)
        difference = max((ours - theirs).abs().max().item() for ours, theirs in pairs)
        yield f"| {label} | {numbers:,} | {difference:.0e} |"
