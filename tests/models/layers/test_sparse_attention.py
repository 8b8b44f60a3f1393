"""Sparse self-attention against the dense one with a mask, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from families import build, random_ids, teacher_force
from hypothesis import given, settings
from hypothesis import strategies as st
from largest_tensor import LargestTensor
from pydantic import ValidationError
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from dragoman.models import TransformerConfig, TransformerLMConfig
from dragoman.models.families.transformer import Transformer
from dragoman.models.layers import softmax
from dragoman.models.layers.attention import MultiHeadConfig, mask_bias
from dragoman.models.layers.neighbourhood import Everywhere

SIZES: dict[str, Any] = {
    "encoder_layers": 1,
    "decoder_layers": 2,
    "d_model": 12,
    "d_ff": 13,
    "heads": 3,
    "dropout": 0.0,
}


def sees(heads: MultiHeadConfig, i: int, j: int, head: int, *, causal: bool) -> bool:
    """Child et al. 2019, section 4.3, and its mirror image to the right in an encoder."""
    size = heads.stride
    if causal and j > i:
        return False
    if head < 2:  # of three heads
        if heads.sparsity == "fixed":
            return i // size == j // size
        return (
            i - j <= size
            if causal
            else -(size // 2) <= j - i <= size // 2 or (size % 2 == 1 and i - j == size // 2 + 1)
        )
    if heads.sparsity == "fixed":
        return j == 0 or j % size >= size - heads.summaries
    return (i - j) % size == 0


class Masked(Everywhere):
    """The same pattern by a mask over all pairs."""

    def __init__(self, heads: MultiHeadConfig) -> None:
        super().__init__()
        self.heads = heads

    def pattern(self, n: int, *, causal: bool) -> Tensor:
        seen = [
            [[sees(self.heads, i, j, head, causal=causal) for j in range(n)] for i in range(n)]
            for head in range(3)
        ]
        return torch.tensor(seen)[None]  # (1, heads, n, n)

    def encoder_bias(self, mask: Tensor, like: Tensor, marked: Tensor | None = None) -> Tensor:
        own = torch.eye(mask.shape[1], dtype=torch.bool)  # padding must see something
        seen = (
            self.pattern(mask.shape[1], causal=False) & mask[:, None, None, :]
            | own & ~mask[:, None, :, None]
        )
        return mask_bias(seen, like.dtype)

    def decoder_bias(self, rows: int, start: int, length: int, like: Tensor) -> Tensor:
        return mask_bias(self.pattern(length, causal=True), like.dtype)


def dense_twin(model: Transformer) -> Transformer:
    """Of the same weights, whose self-attention computes all pairs and hides most."""
    heads = model.config.multi_head
    plain = {"sparsity": "none", "stride": 16, "summaries": 1}
    twin = build(TransformerConfig(**{**model.config.model_dump(), **plain}))
    assert isinstance(twin, Transformer)
    mixings: list[Any] = [
        *(layer.attention for layer in twin.encoder),
        *(layer.self_attention for layer in twin.decoder),
    ]
    for mixing in mixings:
        mixing.neighbourhood = Masked(heads)
    twin.load_state_dict(model.state_dict())
    return twin


@settings(max_examples=8, deadline=None)
@given(
    pattern=st.sampled_from([("strided", 2), ("strided", 5), ("fixed", 2), ("fixed", 4)]),
    summaries=st.integers(1, 3),
    source=st.integers(1, 13),
    pieces=st.lists(st.integers(1, 7), min_size=1, max_size=4),
)
def test_equals_the_dense_form(
    pattern: tuple[str, int], summaries: int, source: int, pieces: list[int]
) -> None:
    sparsity, stride = pattern
    choices: dict[str, Any] = {"sparsity": sparsity, "stride": stride}
    if sparsity == "fixed":
        choices["summaries"] = min(summaries, stride - 1)
    model = build(TransformerConfig(**SIZES, **choices))
    assert isinstance(model, Transformer)
    ids, target = random_ids(2, source), random_ids(2, sum(pieces), seed=2)
    mask = torch.arange(source) < torch.tensor([[source], [(source + 1) // 2]])
    expected = teacher_force(dense_twin(model), ids, mask, target)
    torch.testing.assert_close(teacher_force(model, ids, mask, target), expected)
    memory = model.encode(ids, mask)
    state: Any = model.start(memory)
    parts = []
    for part in target.split(pieces, dim=1):  # any number of positions after any number
        hidden, state = model.decode(part, memory, state)
        parts.append(model.logits(hidden))
    torch.testing.assert_close(torch.cat(parts, dim=1), expected)


@pytest.mark.parametrize("sparsity", ["strided", "fixed"])
def test_two_layers_connect_all_positions_with_few_keys(sparsity: str) -> None:
    """And one does not; stride near the root of the length, as in section 4.2."""
    heads = MultiHeadConfig(heads=3, sparsity=sparsity, stride=4)
    reached = Masked(heads).pattern(16, causal=True)[0].any(0).double()
    earlier = torch.ones(16, 16).tril() > 0
    assert not (reached > 0)[earlier].all()
    assert (reached @ reached > 0)[earlier].all()


def cost(length: int, **choices: Any) -> tuple[int, int]:
    """Operations and numbers of the largest tensor in reading a sentence."""
    model = build(TransformerConfig(**{**SIZES, "heads": 2}, **choices))
    source = random_ids(1, length)
    largest, counter = LargestTensor(), FlopCounterMode(display=False)
    with torch.no_grad(), counter, largest:
        model.encode(source, torch.ones_like(source, dtype=torch.bool))
    return counter.get_total_flops(), largest.largest


@pytest.mark.parametrize("sparsity", ["strided", "fixed"])
def test_no_matrix_of_all_pairs_is_made(sparsity: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "_FEW", 1 << 30)  # its sums of short rows count as products
    work, largest = cost(144, sparsity=sparsity, stride=12)
    dense_work, dense_largest = cost(144)
    assert dense_largest == 2 * 144**2
    assert largest <= 3 * 144 * 12
    assert work < dense_work / 2


def test_a_step_of_decoding_compares_with_what_it_sees() -> None:
    for sparsity, most in (("strided", 17 + 17), ("fixed", 16 + 17)):
        model = build(
            TransformerLMConfig(
                layers=1, d_model=8, d_ff=4, heads=2, dropout=0.0, sparsity=sparsity, stride=16
            )
        )
        target = random_ids(1, 250)
        memory = model.encode(target[:, :1], torch.ones(1, 1, dtype=torch.bool))
        _, state = model.decode(target, memory, model.start(memory))
        counter = FlopCounterMode(display=False)
        with torch.no_grad(), counter:
            model.decode(random_ids(1, 1), memory, state)
        products = 4 * 8 * 8 + 2 * 8 * 4  # projections and feed-forward
        assert counter.get_total_flops() <= 2 * (products + most * 2 * 4)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"sparsity": "strided", "window": 5}, "window: 5 does not go with sparsity"),
        ({"sparsity": "strided", "heads": 1}, "sparsity needs 2 heads"),
        ({"sparsity": "strided", "summaries": 2}, "summaries: 2 is not read without sparsity: fix"),
        ({"stride": 5}, "stride: 5 is not read without sparsity"),
        ({"sparsity": "fixed", "stride": 4, "summaries": 4}, "summaries: 4 must be below stride"),
        ({"sparsity": "fixed", "attention": "additive"}, "not attention: additive"),
        ({"sparsity": "fixed", "positions": "alibi"}, "alibi does not go with sparsity: fixed"),
        (
            {"sparsity": "fixed", "encoder_mixing": "linear_attention", "decoder_mixing": "ssru"},
            "sparsity: fixed is not read without self_attention",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TransformerConfig(**choices)
    if "encoder_mixing" not in choices:
        with pytest.raises(ValidationError, match=message):
            TransformerLMConfig(**choices)
