"""Self-attention in a window against the dense one with a mask, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from families import build, random_ids, teacher_force
from largest_tensor import LargestTensor
from pydantic import ValidationError
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from dragoman.models import TransformerConfig
from dragoman.models.families.transformer import Transformer
from dragoman.models.layers.attention import mask_bias
from dragoman.models.layers.neighbourhood import Everywhere

SIZES: dict[str, Any] = {
    "encoder_layers": 2,
    "decoder_layers": 2,
    "d_model": 12,
    "d_ff": 13,
    "heads": 3,
    "dropout": 0.0,
}
CHOICES: list[dict[str, Any]] = [
    {},
    {"attention": "dot"},
    {"attention": "additive"},
    {"positions": "rotary"},
    {"positions": "alibi"},
    {"positions": "buckets", "distance_buckets": 4, "bucket_distance": 3},
    {"positions": "relative", "relative_distance": 1},
]


class Masked(Everywhere):
    """The same neighbours by a mask over all pairs."""

    def __init__(self, everywhere: Everywhere, size: int) -> None:
        super().__init__(everywhere.penalty)
        self.size = size

    def encoder_bias(self, mask: Tensor, like: Tensor, marked: Tensor | None = None) -> Tensor:
        n = mask.shape[1]
        near = torch.tensor([[abs(i - j) <= self.size // 2 for j in range(n)] for i in range(n)])
        own = torch.eye(n, dtype=torch.bool)
        allowed = near & mask[:, None, :] | own  # padding sees itself: it must see something
        return mask_bias(allowed[:, None], like.dtype) + (
            0 if self.penalty is None else self.penalty(n, n, 0, like)
        )

    def decoder_bias(self, rows: int, start: int, length: int, like: Tensor) -> Tensor:
        assert start == 0
        near = torch.tensor(
            [[0 <= i - j < self.size for j in range(length)] for i in range(length)]
        )
        return mask_bias(near, like.dtype) + (
            0 if self.penalty is None else self.penalty(length, length, 0, like)
        )


def dense_twin(model: Transformer) -> Transformer:
    """Of the same weights, whose self-attention computes all pairs and hides the far ones."""
    window = model.config.multi_head.window
    assert window is not None
    twin = build(model.config.model_copy(update={"window": None}))
    assert isinstance(twin, Transformer)
    mixings: list[Any] = [
        *(la.attention for la in twin.encoder),
        *(la.self_attention for la in twin.decoder),
    ]
    for mixing in mixings:
        assert isinstance(mixing.neighbourhood, Everywhere)
        mixing.neighbourhood = Masked(mixing.neighbourhood, window)
    weights = {
        name.replace("scoring.scoring", "scoring"): p for name, p in model.state_dict().items()
    }
    twin.load_state_dict(weights)
    return twin


@pytest.mark.parametrize("choices", CHOICES, ids=str)
@pytest.mark.parametrize(
    ("window", "source", "target"), [(3, 1, 1), (3, 7, 8), (5, 12, 13), (9, 3, 2)]
)
def test_equals_the_dense_form(
    window: int, source: int, target: int, choices: dict[str, Any]
) -> None:
    model = build(TransformerConfig(**SIZES, window=window, **choices))
    assert isinstance(model, Transformer)
    pieces, outputs = random_ids(3, source), random_ids(3, target, seed=2)
    mask = torch.arange(source) < torch.tensor([[source], [max(1, source - 1)], [1]])
    expected = teacher_force(dense_twin(model), pieces, mask, outputs)
    torch.testing.assert_close(teacher_force(model, pieces, mask, outputs), expected)
    free = build(TransformerConfig(**SIZES, **choices))
    if window < source:
        assert not torch.allclose(teacher_force(free, pieces, mask, outputs), expected)


def test_gradients_equal_those_of_the_dense_form() -> None:
    model = build(TransformerConfig(**SIZES, window=3))
    assert isinstance(model, Transformer)
    twin = dense_twin(model)
    source, target = random_ids(2, 8), random_ids(2, 7, seed=2)
    mask = torch.arange(8) < torch.tensor([[8], [2]])
    for each in (model, twin):
        teacher_force(each, source, mask, target).square().sum().backward()
    theirs = dict(twin.named_parameters())
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, theirs[name].grad)


def test_a_decoder_keeps_one_position_less_than_its_window() -> None:
    model = build(TransformerConfig(**SIZES, window=5))
    source = random_ids(1, 6)
    memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
    state: Any = model.start(memory)
    for step in range(1, 9):
        _, state = model.decode(random_ids(1, 1, seed=step), memory, state)
        assert state.length == step
        assert {layer.known.keys.shape[2] for layer in state.layers} == {min(step, 4)}


def encoding_cost(window: int | None, length: int) -> tuple[int, int]:
    """Operations and numbers of the largest tensor in reading a sentence."""
    model = build(TransformerConfig(**SIZES, window=window))
    source = random_ids(1, length)
    largest, counter = LargestTensor(), FlopCounterMode(display=False)
    with torch.no_grad(), counter, largest:
        model.encode(source, torch.ones_like(source, dtype=torch.bool))
    return counter.get_total_flops(), largest.largest


def test_time_and_memory_are_linear_in_the_length() -> None:
    work, memory = encoding_cost(5, 80)
    double_work, double_memory = encoding_cost(5, 160)
    assert double_work == 2 * work
    assert double_memory == 2 * memory
    dense_work, dense_memory = encoding_cost(None, 160)
    assert dense_work > 2 * double_work
    assert dense_memory >= 3 * 160**2 > 10 * double_memory


@pytest.mark.parametrize("window", [13, 1001])
def test_a_window_wider_than_the_sentence_costs_no_more_than_none(window: int) -> None:
    """In reading a source, and in each step of search."""

    def work(**choices: Any) -> int:
        model = build(TransformerConfig(**SIZES, **choices))
        source = random_ids(1, 12)
        counter = FlopCounterMode(display=False)
        with torch.no_grad(), counter:
            memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
            state = model.start(memory)
            for piece in random_ids(1, 12, seed=2).split(1, dim=1):
                _, state = model.decode(piece, memory, state)
        return counter.get_total_flops()

    assert work(window=window) == work()


def test_a_window_has_a_centre() -> None:
    with pytest.raises(ValidationError, match="window 4 has no centre"):
        TransformerConfig(window=4)
